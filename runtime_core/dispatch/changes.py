"""What listeners of a runtime are told, wherever it was done: by this process or by another."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from runtime_core.approvals.eligibility import pause_wire
from runtime_core.journal.base import Journal
from runtime_core.wire.runs import FINISHED, PauseRow, RunRow, Span

log = logging.getLogger(__name__)

ChangeKind = Literal["pause-opened", "pause-closed", "run", "span", "automation"]


@dataclass(frozen=True, slots=True)
class Change:
    """``wire`` by kind: the pause object, the run (`RunRow.to_wire`), the span with ``replayed``, or the event of an
    automation (contract 7.6), whose id stands in place of that of a run."""

    kind: ChangeKind
    run_id: str
    wire: dict[str, Any]


Listener = Callable[[Change], None]


class Changes:
    """Reads the event outbox of the journal and tells listeners; told of spans directly by the legs of this process."""

    def __init__(self, journal: Journal, is_code_changed: Callable[[RunRow], Awaitable[bool]]) -> None:
        self._journal = journal
        self._is_code_changed = is_code_changed
        self._listeners: dict[Listener, str | None] = {}
        self._seq = 0
        self._moving: set[str] = set()
        self._seen: dict[str, dict[str, Span]] = {}

    @property
    def is_heard(self) -> bool:
        return bool(self._listeners)

    async def tell_again(self, run_ids: Sequence[str]) -> None:
        """Tell of runs of which something else than what is in the journal changed."""
        for run_id in run_ids:
            await self._tell_run(run_id)

    async def start(self) -> None:
        self._seq = await self._journal.last_event()

    def subscribe(self, listener: Listener, who: str | None) -> Callable[[], None]:
        self._listeners[listener] = who
        return partial(self._unsubscribe, listener)

    def _unsubscribe(self, listener: Listener) -> None:
        self._listeners.pop(listener, None)

    def span(self, span: Span, replayed: bool) -> None:
        if self._listeners:
            self._tell(Change("span", span.run_id, span_wire(span, replayed)))

    async def catch_up(self, *, executes: bool) -> set[str]:
        """Tell what happened since the last time; returns the runs that ended.

        A runtime that does not execute learns of calls from what the executor stored.
        """
        touched: dict[str, None] = {}
        while events := await self._journal.events(self._seq):
            self._seq = events[-1].seq
            for event in events:
                if event.type.startswith("automation_"):
                    self._tell(Change("automation", event.run_id, {"type": event.type, **event.body}))
                else:
                    touched[event.run_id] = None
        ended = {run_id for run_id in touched if await self._tell_run(run_id)}
        if not executes and self._listeners:
            self._moving.update(touched)
            await self._foreign_spans()
        return ended

    async def _foreign_spans(self) -> None:
        for run_id in list(self._moving):
            run = await self._journal.run(run_id)
            if run is None or run.status != "running":
                self._moving.discard(run_id)
            seen = self._seen.setdefault(run_id, {})
            for span in await self._journal.spans(run_id):
                if run is not None and seen.get(span.slot) != span:
                    seen[span.slot] = span
                    self.span(span, span.leg < run.epoch)
            if run_id not in self._moving:
                del self._seen[run_id]

    async def _tell_run(self, run_id: str) -> bool:
        run = await self._journal.run(run_id)
        if run is None:
            return False
        if self._listeners:
            more = {"code_changed": True} if await self._is_code_changed(run) else {}
            self._tell(Change("run", run_id, {**run.to_wire(), **more}))
            for pause in await self._journal.pauses(run_id):
                self._tell_pause(pause, run.shown_status, {} if pause.outcome else more)
        return run.status in FINISHED

    def _tell_pause(self, pause: PauseRow, status: str, more: dict[str, Any]) -> None:
        kind = "pause-opened" if pause.outcome is None else "pause-closed"
        for listener, who in list(self._listeners.items()):
            self._tell_one(listener, Change(kind, pause.run_id, {**pause_wire(pause, who, status=status), **more}))

    def _tell(self, change: Change) -> None:
        for listener in list(self._listeners):
            self._tell_one(listener, change)

    def _tell_one(self, listener: Listener, change: Change) -> None:
        try:
            listener(change)
        except Exception:
            log.exception("a listener failed on %s of %s", change.kind, change.run_id)


def span_wire(span: Span, replayed: bool) -> dict[str, Any]:
    return {**span.to_wire(), "replayed": replayed}
