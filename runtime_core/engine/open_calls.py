"""The calls of journaled handlers that have no result yet, and how they get one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from runtime_core.engine.attachments import without_data
from runtime_core.engine.conclusion import Conclusion
from runtime_core.engine.divergence import span_name
from runtime_core.engine.frames import DurableFrame, Outcome, now
from runtime_core.engine.ledger import Ledger
from runtime_core.engine.quota import Quota
from runtime_core.hosts.base import HandlerCall
from runtime_core.spans.book import SpanBook
from runtime_core.wire.json import JsonText
from runtime_core.wire.runs import Entry, PauseRow, SlotPath, is_below, parent_slot, slot
from runtime_core.wire.stores import StoreWrite


class OpenCalls:
    """A call is open from the moment its handler makes it to the moment its outcome is stored. ``len``: how many are.

    ``epoch``: that of the leg which makes them.
    """

    def __init__(self, epoch: int, ledger: Ledger, spans: SpanBook, quota: Quota, conclusion: Conclusion) -> None:
        self._epoch = epoch
        self._ledger = ledger
        self._spans = spans
        self._quota = quota
        self._conclusion = conclusion
        self._open: dict[SlotPath, HandlerCall] = {}
        self._executing: dict[SlotPath, tuple[asyncio.Task[None], bool]] = {}
        self._given_up: set[SlotPath] = set()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, frame: DurableFrame, call: HandlerCall) -> None:
        self._open[slot(frame.path, call.seq)] = call

    def execute(self, at: SlotPath, task: asyncio.Task[None], *, makes_calls: bool) -> None:
        """The call is executed by this task. ``makes_calls``: what it executes makes others in its turn."""
        self._executing[at] = task, makes_calls
        task.add_done_callback(lambda _: self._executing.pop(at, None))

    def give_up(self, path: SlotPath) -> None:
        """The handler waits no more for the call at this place. What is in flight may end, nothing follows it."""
        self._given_up.add(path)
        below = [at for at in self._open if at == path or is_below(at, path)]
        for at in below:
            task, makes_calls = self._executing.get(at, (None, False))
            if task is None or makes_calls:
                del self._open[at]
            if task is not None and makes_calls:
                task.cancel()
        self._spans.give_up(path, {at for at in below if at in self._open})

    def is_given_up(self, at: SlotPath) -> bool:
        return any(at == path or is_below(at, path) for path in self._given_up)

    def known(self, frame: DurableFrame, call: HandlerCall) -> HandlerCall | Entry | None:
        """What is open or stored where this call stands."""
        return self._open.get(slot(frame.path, call.seq)) or self._ledger.result((frame.path, call.seq))

    def started(self, frame: DurableFrame) -> Sequence[Entry]:
        """The calls of a handler that have no result, also those made in a process that was lost meanwhile."""
        started = {entry.n: entry for entry in self._ledger.started(frame.path)}
        for at, call in self._open.items():
            if parent_slot(at) == frame.path:
                started.setdefault(call.seq, self.new_intent(frame, call, now()))
        return list(started.values())

    # Spans -------------------------------------------------------------------------------------------------------

    def start(self, frame: DurableFrame, call: HandlerCall, *, since: float | None = None) -> None:
        """The call is executed. ``since``: when it really began, if that was earlier."""
        at = slot(frame.path, call.seq)
        given = without_data(call.args) if call.kind == "subagent" else call.args
        self._spans.start(at, call.kind, span_name(call.kind, call.name), given, since=since)

    def wait(self, frame: DurableFrame, call: HandlerCall) -> None:
        """The call waits for an answer or a time."""
        self._spans.wait(slot(frame.path, call.seq), call.kind, span_name(call.kind, call.name), call.args)

    def doubt(self, frame: DurableFrame, call: HandlerCall) -> None:
        """The call may or may not have been executed."""
        self._spans.doubt(slot(frame.path, call.seq))

    # Entries -----------------------------------------------------------------------------------------------------

    def intent(self, frame: DurableFrame, call: HandlerCall) -> Entry | None:
        """The stored entry of a call that was started and has no result."""
        return self._ledger.intent((frame.path, call.seq))

    def new_intent(self, frame: DurableFrame, call: HandlerCall, at: float, value: JsonText | None = None) -> Entry:
        return Entry(frame.path, call.seq, call.kind, call.name, call.digest, "started", value, at, epoch=self._epoch)

    def save_intent(self, frame: DurableFrame, call: HandlerCall, at: float, value: JsonText | None = None) -> None:
        self._ledger.record(self.new_intent(frame, call, at, value))

    async def store_intent(self, frame: DurableFrame, call: HandlerCall, at: float) -> None:
        """As `save_intent`, and wait until it is safe."""
        await self._ledger.record_intent(self.new_intent(frame, call, at))

    def complete(
        self,
        frame: DurableFrame,
        call: HandlerCall,
        outcome: Outcome,
        *,
        began: float | None = None,
        expired: PauseRow | None = None,
    ) -> None:
        """Journal the outcome of a call, and of its question if that is how it ended, then hand it to the handler."""
        ok, value = self._quota.outcome(call, *outcome)
        self._spans.finish(slot(frame.path, call.seq), ok, value)
        if frame.is_over:
            return
        ended = now()
        intent = self.new_intent(frame, call, began or ended)
        entry = replace(intent, state="ok" if ok else "error", value=value, ended_at=ended)
        self._ledger.record(entry, partial(self._stored, frame), expired)

    def write(self, frame: DurableFrame, call: HandlerCall, write: StoreWrite) -> None:
        """Make a write of a store in the transaction that journals its call, then hand out what it gave."""
        at = now()
        entry = replace(self.new_intent(frame, call, at), state="ok", ended_at=at, write=write)
        self._ledger.record(entry, partial(self._written, frame))

    def fail(self, frame: DurableFrame, call: HandlerCall, error: JsonText) -> None:
        """Journal that a call failed without having been executed."""
        self.complete(frame, call, (False, error))

    def _written(self, frame: DurableFrame, entry: Entry) -> None:
        assert entry.value is not None
        self._quota.add(entry.value)
        self._spans.finish(slot(entry.path, entry.n), True, entry.value)
        self._stored(frame, entry)

    def _stored(self, frame: DurableFrame, entry: Entry) -> None:
        self._open.pop(slot(entry.path, entry.n), None)
        if not (self._conclusion.is_decided or frame.is_over):
            frame.deliver(entry)
