"""What became of the tools that were started here: on its way, running, asking, ended, refused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from PySide6.QtCore import QObject, Signal

from inbox_app.commands.starting import start_tool
from inbox_app.errors import sentence
from inbox_app.gateway.base import Batch, Gateway, GatewayError, Outcome, Pause, Run, Start
from inbox_app.tools_panel.attached import read_files

_KINDS: Final = {"completed": "complete"}
"""What a status of a run is called as the kind of an outcome, where that is another word."""
ENDED: Final = frozenset({"complete", "failed", "cancelled", "expired"})


@dataclass(frozen=True, slots=True)
class Launch:
    """One start. ``outcome`` and ``refusal`` are None while it is on its way; ``at`` is when it last changed."""

    started_at: float
    at: float
    outcome: Outcome | None = None
    refusal: GatewayError | None = None

    @property
    def is_on_its_way(self) -> bool:
        return self.outcome is None and self.refusal is None

    @property
    def run_id(self) -> str | None:
        return self.outcome.run_id if self.outcome is not None else None


class Launches(QObject):
    """The last start of every tool, by the key of the tool. ``changed`` carries that key."""

    changed = Signal(str)

    def __init__(
        self,
        gateway: Callable[[], Gateway | None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        clock: Callable[[], float] = time.time,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._gateway = gateway
        self._spawn = spawn
        self._clock = clock
        self._launches: dict[str, Launch] = {}

    def get(self, key: str) -> Launch | None:
        return self._launches.get(key)

    def is_on_its_way(self, key: str) -> bool:
        launch = self._launches.get(key)
        return launch is not None and launch.is_on_its_way

    def launch(self, key: str, start: Start, files: Sequence[str] = ()) -> bool:
        """Start a tool, with files by their paths; False, and nothing is started, while it is on its way already or
        there is no runtime."""
        gateway = self._gateway()
        if gateway is None or self.is_on_its_way(key):
            return False
        now = self._clock()
        self._put(key, Launch(now, now))
        self._spawn(self._run(key, gateway, start, files), f"start {start.tool}")
        return True

    def take(self, batch: Batch) -> None:
        """Go on with what the runtime says of the runs that were started here."""
        runs = {run.id: run for run in batch.runs}
        asked = {pause.run_id: pause for pause in batch.opened}
        for key, launch in list(self._launches.items()):
            outcome = launch.outcome
            if outcome is None or outcome.run_id is None:
                continue
            after = self._after(outcome, runs.get(outcome.run_id), asked.get(outcome.run_id), set(batch.closed))
            if after is not outcome:
                self._put(key, replace(launch, outcome=after, at=self._clock()))

    def _after(self, outcome: Outcome, run: Run | None, pause: Pause | None, closed: set[str]) -> Outcome:
        if outcome.kind in ENDED:
            return outcome
        if outcome.pause is not None and outcome.pause.id in closed:
            outcome = replace(outcome, kind="running", pause=None)
        if run is not None:
            reason = str((run.error or {}).get("message") or "")
            kind = _KINDS.get(run.status, run.status)
            if kind != outcome.kind or kind in ENDED:
                kept = outcome.pause if kind == "awaiting-input" else None
                outcome = replace(outcome, kind=kind, result=run.result, reason=reason, pause=kept)
        if pause is not None and pause != outcome.pause:
            outcome = replace(outcome, kind="awaiting-input", pause=pause)
        return outcome

    async def _run(self, key: str, gateway: Gateway, start: Start, files: Sequence[str]) -> None:
        began = self._launches[key]
        try:
            reply = await _started(gateway, start, files)
        except BaseException as error:
            self._put(key, replace(began, refusal=GatewayError("INTERNAL_ERROR", sentence(error)), at=self._clock()))
            raise
        if isinstance(reply, GatewayError):
            self._put(key, replace(began, refusal=reply, at=self._clock()))
            return
        self._put(key, replace(began, outcome=reply, at=self._clock()))
        if reply.kind == "running" and reply.run_id is not None:
            await self._look_again(gateway, reply.run_id)

    async def _look_again(self, gateway: Gateway, run_id: str) -> None:
        """It may have gone on before the reply was here."""
        try:
            detail = await gateway.run(run_id)
        except GatewayError:
            return
        self.take(Batch(opened=detail.pauses, runs=[detail.run]))

    def _put(self, key: str, launch: Launch) -> None:
        self._launches[key] = launch
        self.changed.emit(key)


async def _started(gateway: Gateway, start: Start, files: Sequence[str]) -> Outcome | GatewayError:
    try:
        attachments = await asyncio.to_thread(read_files, files) if files else None
    except GatewayError as error:
        return error
    return await start_tool(gateway, replace(start, attachments=attachments))
