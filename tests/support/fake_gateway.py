"""A gateway without a runtime: tests push batches into it and look at what the window asked of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from inbox_app.gateway.automations import AutomationGateway
from inbox_app.gateway.base import (
    Answer,
    Batch,
    GatewayError,
    Outcome,
    Pause,
    PausePage,
    Preview,
    Run,
    RunDetail,
    RunPage,
    Start,
)
from inbox_app.gateway.builds import BuildGateway
from inbox_app.gateway.catalog import Catalog
from inbox_app.gateway.chats import ChatGateway
from inbox_app.gateway.evals import EvalGateway
from tests.support.builders import run


class FakeGateway:
    """Holds what waits, goes on and has ended. ``refuse`` makes `open` fail with that error."""

    def __init__(
        self,
        pauses: Sequence[Pause] = (),
        *,
        ended: Sequence[Run] = (),
        going: Sequence[Run] = (),
        details: Sequence[RunDetail] = (),
        page: int = 100,
        refuse: GatewayError | None = None,
    ) -> None:
        self.pauses = list(pauses)
        self.ended = list(ended)
        self.going = list(going)
        self.details = {detail.run.id: detail for detail in details}
        self.page = page
        self.refuse = refuse
        self.answers: list[Answer] = []
        self.previewed: list[Answer] = []
        self.foresight = Preview("complete", "", "")
        self.cancelled: list[str] = []
        self.resumed: list[tuple[str, str | None]] = []
        self.followed: list[str | None] = []
        self.reply: Outcome | GatewayError = Outcome("complete", None)
        self.starts: list[Start] = []
        self.start_reply: Outcome | GatewayError = GatewayError("NOT_FOUND", "a fake gateway runs nothing")
        self.started = asyncio.Event()
        self.started.set()
        self.working: Sequence[str] = ()
        self.opened = False
        self.closed = False
        self.chats: ChatGateway | None = None
        self.catalog: Catalog | None = None
        self.evals: EvalGateway | None = None
        self.automations: AutomationGateway | None = None
        self.builds: BuildGateway | None = None
        self._batches: asyncio.Queue[Batch | None] = asyncio.Queue()

    @property
    def connection(self) -> str:
        return "Built-in"

    @property
    def identity(self) -> str:
        return "local:test"

    def push(self, batch: Batch | None) -> None:
        """Deliver a batch; None ends the watch, as a runtime that stops."""
        self._batches.put_nowait(batch)

    async def open(self) -> None:
        if self.refuse is not None:
            raise self.refuse
        self.opened = True

    async def close(self) -> None:
        self.closed = True
        self._batches.put_nowait(None)

    async def pending(self, limit: int = 100, cursor: str | None = None) -> PausePage:
        start = int(cursor or 0)
        end = min(start + self.page, len(self.pauses))
        more = str(end) if end < len(self.pauses) else None
        return PausePage(self.pauses[start:end], len(self.pauses), more)

    async def runs(self, *, finished: bool, limit: int = 100, cursor: str | None = None) -> RunPage:
        found = self.ended if finished else self.going
        start = int(cursor or 0)
        end = min(start + self.page, len(found))
        more = str(end) if end < len(found) else None
        return RunPage(found[start:end], len(found), more)

    async def run(self, run_id: str) -> RunDetail:
        if run_id in self.details:
            return self.details[run_id]
        known = next((ended for ended in (*self.ended, *self.going) if ended.id == run_id), None)
        waiting = [pause for pause in self.pauses if pause.run_id == run_id]
        return RunDetail(known or run(id=run_id, status="awaiting_input"), waiting, (), ())

    async def answer(self, answer: Answer) -> Outcome:
        self.answers.append(answer)
        if isinstance(self.reply, GatewayError):
            raise self.reply
        return self.reply

    async def preview(self, answer: Answer) -> Preview:
        self.previewed.append(answer)
        return self.foresight

    async def cancel(self, run_id: str) -> Outcome:
        self.cancelled.append(run_id)
        return Outcome("cancelled", run_id)

    async def resume(self, run_id: str, revision: str | None) -> Outcome:
        self.resumed.append((run_id, revision))
        if isinstance(self.reply, GatewayError):
            raise self.reply
        return self.reply

    async def start(self, start: Start) -> Outcome:
        """Replies as soon as ``started`` is set."""
        self.starts.append(start)
        await self.started.wait()
        if isinstance(self.start_reply, GatewayError):
            raise self.start_reply
        return self.start_reply

    async def watch(self) -> AsyncIterator[Batch]:
        first = await self.pending()
        yield Batch(opened=first.items, reset=True, next_cursor=first.next_cursor, total=first.total)
        while (batch := await self._batches.get()) is not None:
            yield batch

    def follow(self, run_id: str | None) -> None:
        self.followed.append(run_id)
