"""One claimed run: from its journal to the next park or to its end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, Final

from runtime_core.agents.loop import OutcomeUnknown
from runtime_core.approvals.deadlines import expired, expiry, is_over
from runtime_core.approvals.questions import QuestionError
from runtime_core.engine import divergence as divergences
from runtime_core.engine import pauses
from runtime_core.engine.calls import Calls, effect_of
from runtime_core.engine.changes import ChangedCalls
from runtime_core.engine.encore import Encore
from runtime_core.engine.failures import (
    CallFailed,
    durable_forbidden,
    end_of_run,
    error_text,
    tool_failed,
)
from runtime_core.engine.frames import DurableFrame, Outcome, Place
from runtime_core.engine.ledger import Ledger
from runtime_core.engine.losses import Losses
from runtime_core.engine.parking import SHORT_WAIT_S, Waits, due_of, due_time
from runtime_core.engine.quota import CODE, Quota, excess
from runtime_core.engine.repeats import Stand
from runtime_core.engine.replays import Replays
from runtime_core.hosts.base import Divergence, HandlerCall, HandlerFailure, HostUnavailable, NoteKind, RecordedCall
from runtime_core.journal.base import Claim, Fenced, Journal
from runtime_core.wire.json import JsonText, dumps
from runtime_core.wire.runs import PAUSE_KINDS, Entry, PauseRow, RunStatus, SlotPath, parent_slot, slot
from runtime_core.wire.settings import Limits

log = logging.getLogger(__name__)

_ALARM_S: Final = 30.0
_UNLOADABLE: Final = frozenset({"load-failed", "no-handler"})


class Stuck(Exception):  # noqa: N818
    """The run cannot go on until somebody repairs something; the message says what."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class RunDriver:
    """Advances one run. Durable handlers are frames with legs; everything they call is executed here.

    The run is over for this driver when it parked, ended, was cancelled or was taken away (`Fenced`).
    """

    def __init__(
        self, claim: Claim, journal: Journal, calls: Calls, root: Place, limits: Limits, *, twice: bool = False
    ) -> None:
        self._claim = claim
        self._journal = journal
        self._calls = calls
        self._origin = calls.origin
        self._spans = calls.spans
        self._root = root
        self._ledger = Ledger(journal, claim, calls.spans, idle=self._look, broken=self._broken)
        dry = replace(calls.origin, dry=True, strict=True)
        self._encore = Encore(claim, journal, self._ledger, calls.spans, dry, root) if twice else None
        self._limits = limits
        self._quota = Quota(limits, claim.run.params, self._warn)
        self._frames: dict[SlotPath, DurableFrame] = {}
        self._asked: dict[SlotPath, PauseRow] = {}
        self._waits = Waits()
        self._sleeping: dict[SlotPath, tuple[DurableFrame, HandlerCall]] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._active: dict[SlotPath, HandlerCall] = {}
        self._losses = Losses()
        self._replays = Replays()
        self._changed = ChangedCalls(journal, claim.run.id, self._warn)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ending: asyncio.Task[None] | None = None
        self._stopping = False
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def run_id(self) -> str:
        return self._claim.run.id

    @property
    def revision(self) -> str:
        return self._claim.revision

    async def drive(self) -> None:
        """Go on until the run parks or ends. Raises `Stuck`, or the fault that stopped the journal."""
        run = self._claim.run
        try:
            await self._load()
            self._spans.start("", "tool", run.tool, run.params, since=run.created_at)
            if self._claim.epoch == 1:
                self._ledger.save_spans()
            resumed = self._claim.epoch > 1
            self._open_frame(DurableFrame(self, self._root, run.params, run.created_at, is_resumed=resumed))
            await self._over
        finally:
            self._release()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def cancel(self) -> None:
        """The run was cancelled: handlers get ``ctx.signal`` and are dropped after their grace."""
        if self._closed:
            return
        for frame in self._frames.values():
            frame.abort("cancelled")
        self._frames.clear()
        self._conclude()
        self._spans.close()

    async def stop(self, grace_s: float) -> None:
        """Let go of the run without losing anything: calls that are executed may end and are journaled, none begins."""
        self._stopping = True
        busy = [task for task in self._tasks if not task.done()]
        if busy and not self._closed:
            await asyncio.wait(busy, timeout=grace_s)
        await self._ledger.drained()
        if self._ending is not None:
            await asyncio.wait({self._ending})
        if self._closed:
            return
        try:
            await self._journal.append(self._claim, [], self._spans.take())
        except Exception as error:  # noqa: BLE001 - the run goes on from its journal anyway
            log.info("%s: spans of a stopped leg were not stored: %s", self.run_id, error)
        self._conclude()

    async def _load(self) -> None:
        if self._claim.epoch == 1:
            return
        entries, asked, spans, warnings = await asyncio.gather(
            self._journal.load(self.run_id),
            self._journal.pauses(self.run_id),
            self._journal.spans(self.run_id),
            self._journal.warnings(self.run_id),
        )
        self._ledger.load(entries, warnings)
        self._replays.expect([entry for entry in entries if entry.state == "started"], self._is_durable)
        self._quota.load(entries)
        self._asked = {pause.slot: pause for pause in asked if pause.outcome is None}
        self._spans.resume(spans, self._ledger.finished_entries)

    # Frames ------------------------------------------------------------------------------------------------------

    def _open_frame(self, frame: DurableFrame) -> None:
        self._frames[frame.path] = frame
        self._spawn(self._start(frame))

    async def _start(self, frame: DurableFrame) -> None:
        path = frame.path
        finished, started = self._ledger.finished(path), {entry.n: entry for entry in self._ledger.started(path)}
        for at, call in self._active.items():  # made in a process that was lost meanwhile
            if parent_slot(at) == path:
                started.setdefault(call.seq, self._intent(frame, call, _now()))
        try:
            await frame.start(self._origin, finished, list(started.values()), holds=self._replays.holds)
        except HostUnavailable as error:
            self._conclude(Stuck("host-unavailable", str(error)))

    def _close_frame(self, path: SlotPath) -> None:
        """A handler ended: whatever still goes on below it is of no use any more."""
        del self._frames[path]
        for below in [known for known in self._frames if known.startswith(f"{path}/")]:
            self._frames.pop(below).drop()
        self._waits.forget_below(path)
        self._replays.over(path)

    def _is_durable(self, name: str) -> bool:
        tool = self._origin.bundle.tools.get(name)
        return tool is not None and tool.durable

    def _lives(self, frame: DurableFrame) -> bool:
        return self._frames.get(frame.path) is frame

    def on_called(self, frame: DurableFrame, call: HandlerCall) -> None:
        at = slot(frame.path, call.seq)
        if self._closed or self._stopping:
            return
        known = self._active.get(at) or self._ledger.result((frame.path, call.seq))
        if known is not None:
            self._attach(frame, call, known)
            return
        refusal = self._quota.refusal(at, call, len(self._active))
        self._active[at] = call
        self._begin(frame, call, at, refusal)
        if self._replays.is_expected(at) and at not in self._frames:
            self._replays.over(at)

    def _begin(self, frame: DurableFrame, call: HandlerCall, at: SlotPath, refusal: JsonText | None) -> None:
        if refusal is not None and self._quota.exhausted:
            self._end("failed", error=refusal)
        elif refusal is not None:
            self._spans.start(at, call.kind, call.name, call.args)
            self._complete(frame, call, (False, refusal))
        elif call.outcome is not None:
            self._spans.start(at, call.kind, call.name, call.args)
            self._complete(frame, call, call.outcome)
        elif call.kind in PAUSE_KINDS:
            self._ask(frame, call)
        elif call.kind in ("sleep", "timer"):
            self._sleep(frame, call)
        elif call.kind == "tool":
            self._call_tool(frame, call)
        elif call.kind == "subagent":
            self._spawn(self._execute(frame, call))
        else:
            self._spans.start(at, call.kind, divergences.span_name(call.kind, call.name), call.args)
            self._complete(frame, call, (False, durable_forbidden(call.kind)))

    def _attach(self, frame: DurableFrame, call: HandlerCall, known: HandlerCall | Entry) -> None:
        """A fresh process asks for a call that is being executed, or whose result is on its way: nothing to do."""
        if (known.kind, known.name) != (call.kind, call.name):
            recorded = RecordedCall(call.seq, known.kind, known.name, known.digest)
            self.on_diverged(frame, Divergence(call.seq, recorded, call))

    def on_noted(self, frame: DurableFrame, kind: NoteKind, value: Any) -> None:
        if kind == "params-changed":
            self._changed.note(frame.place.names, frame.path, value)
        else:
            self._origin.note(frame.place, kind, value)

    def _warn(self, kind: str, text: str) -> None:
        """Tell once what is odd about the run, in the log of the handlers and on the run."""
        if self._ledger.warn(kind, text):
            self._origin.note(self._root, "warning", text)

    def on_replayed(self, frame: DurableFrame) -> None:
        self._replays.replayed(frame)

    def on_settled(self) -> None:
        self._look()

    def on_returned(self, frame: DurableFrame, value: JsonText) -> None:
        if frame.caller is None:
            self._end("completed", result=value)
        else:
            self._leave(frame, (True, value))

    def on_failed(self, frame: DurableFrame, failure: HandlerFailure) -> None:
        if failure.lost and self._losses.exhausted(frame.path, self._ledger.size, failure):
            again = f"{failure.message} It did so again and again at the same place of its run."
            self._end("failed", error=error_text("host-hung", again))
        elif failure.lost:
            log.warning("%s: %s Going on from the journal.", self.run_id, failure.message)
            self._spawn(self._start(frame))
        elif frame.is_resumed and failure.code in _UNLOADABLE:
            self._conclude(Stuck(failure.code, failure.message))
        elif frame.caller is None:
            status, error = end_of_run(failure)
            self._end(status, error=error)
        else:
            self._leave(frame, (False, tool_failed(frame.place.tool.name, failure).error))

    def on_diverged(self, frame: DurableFrame, divergence: Divergence) -> None:
        if self._closed:
            return
        for known in self._frames.values():
            known.drop()
        self._conclude_with(self._park_diverged(frame, divergence))

    def _leave(self, frame: DurableFrame, outcome: Outcome) -> None:
        assert frame.caller is not None
        assert frame.call is not None
        self._close_frame(frame.path)
        self._complete(frame.caller, frame.call, outcome, began=frame.started_at)

    # Calls -------------------------------------------------------------------------------------------------------

    def _complete(
        self,
        frame: DurableFrame,
        call: HandlerCall,
        outcome: Outcome,
        *,
        began: float | None = None,
        expired: PauseRow | None = None,
    ) -> None:
        """Journal the outcome of a call, and of its question if that is how it ended, then hand it to the handler."""
        at = slot(frame.path, call.seq)
        ok, value = self._quota.outcome(call, *outcome)
        self._spans.finish(at, ok, value)
        if not self._lives(frame):
            return
        now = _now()
        entry = replace(
            self._intent(frame, call, began or now), state="ok" if ok else "error", value=value, ended_at=now
        )
        self._ledger.record(entry, partial(self._completed, frame, at, entry), expired)

    def _completed(self, frame: DurableFrame, at: SlotPath, entry: Entry) -> None:
        self._active.pop(at, None)
        if not self._closed and self._lives(frame):
            frame.deliver(entry)

    def _intent(self, frame: DurableFrame, call: HandlerCall, at: float, value: JsonText | None = None) -> Entry:
        return Entry(
            frame.path, call.seq, call.kind, call.name, call.digest, "started", value, at, epoch=self._claim.epoch
        )

    def _call_tool(self, frame: DurableFrame, call: HandlerCall) -> None:
        tool = self._origin.bundle.tools.get(call.name)
        if tool is None or not tool.durable:
            self._spawn(self._execute(frame, call))
            return
        at = slot(frame.path, call.seq)
        intent = self._ledger.intent((frame.path, call.seq))
        began = intent.started_at if intent is not None else _now()
        self._spans.start(at, "tool", call.name, call.args, since=began)
        try:
            self._calls.child_tool(frame.place, call.name, call.args)
        except CallFailed as failed:
            self._complete(frame, call, (False, failed.error))
            return
        if intent is None:
            self._ledger.record(self._intent(frame, call, began), _nothing)
        place = frame.place.child(tool, call.seq)
        self._open_frame(DurableFrame(self, place, call.args, began, frame, call, is_resumed=intent is not None))

    async def _execute(self, frame: DurableFrame, call: HandlerCall) -> None:
        """Run an inline child or a subagent; an intent goes first unless it may simply be run again."""
        began = _now()
        if effect_of(self._origin, call) == "once":
            intent = self._ledger.intent((frame.path, call.seq))
            if intent is not None:
                self._ask_what_happened(frame, call, intent)
                return
            self._spans.start(slot(frame.path, call.seq), call.kind, call.name, call.args)
            await self._ledger.record_intent(self._intent(frame, call, began))
        try:
            outcome = await self._calls.perform(frame.place, call)
        except OutcomeUnknown as unknown:
            log.warning("%s: the outcome of %s is unknown: %s", self.run_id, call.name, unknown)
            if self._lives(frame):
                self._ask_what_happened(frame, call, self._intent(frame, call, began))
            return
        self._complete(frame, call, outcome, began=began)

    def _ask(self, frame: DurableFrame, call: HandlerCall) -> None:
        at = slot(frame.path, call.seq)
        now = _now()
        self._spans.wait(at, call.kind, divergences.span_name(call.kind, call.name), call.args)
        try:
            asked = pauses.question(self._claim, frame.place.names, at, call, now)
        except QuestionError as problem:
            self._complete(frame, call, (False, error_text(problem.code, str(problem), name="TypeError")))
            return
        known = self._asked.get(at)
        if known is None:
            refusal = self._quota.question_refusal(asked.spec)
            if refusal is not None:
                self._complete(frame, call, (False, refusal))
                return
            self._wait_for_answer(frame, call, asked, self._intent(frame, call, now))
        elif known.fingerprint == asked.fingerprint:
            self._wait_for_answer(frame, call, known)
        else:
            self.on_diverged(frame, Divergence(call.seq, RecordedCall(call.seq, call.kind, call.name, ""), call))

    def _wait_for_answer(
        self, frame: DurableFrame, call: HandlerCall, pause: PauseRow, intent: Entry | None = None
    ) -> None:
        if is_over(pause, _now()):
            self._expire(frame, call, pause)
            return
        self._waits.ask(pause, intent)
        self._sleeping[pause.slot] = (frame, call)
        self._set_alarm()

    def _expire(self, frame: DurableFrame, call: HandlerCall, pause: PauseRow) -> None:
        """Nobody answered in time: the call ends as its author said (decision 7)."""
        closed = expired(pause, _now())
        left = expiry(closed)
        assert left.value is not None
        self._complete(frame, call, (left.state == "ok", left.value), began=pause.asked_at, expired=closed)

    def _ask_what_happened(self, frame: DurableFrame, call: HandlerCall, intent: Entry) -> None:
        """The call was in flight when its process died: only a person can say whether it may be made again."""
        at = slot(frame.path, call.seq)
        self._spans.doubt(at)
        known = self._asked.get(at)
        self._waits.ask(known or pauses.interrupted_call(self._claim, frame.place.names, at, call, intent, _now()))

    def _sleep(self, frame: DurableFrame, call: HandlerCall) -> None:
        at = slot(frame.path, call.seq)
        intent = self._ledger.intent((frame.path, call.seq))
        now = _now()
        self._spans.wait(at, call.kind, divergences.span_name(call.kind, call.name), call.args)
        try:
            due = due_of(intent) if intent is not None else due_time(call.kind, call.args, now)
        except ValueError as problem:
            self._complete(frame, call, (False, error_text("invalid-params", str(problem), name="TypeError")))
            return
        if due <= now:
            self._complete(frame, call, (True, "null"), began=intent.started_at if intent is not None else now)
            return
        if intent is None:
            self._ledger.record(self._intent(frame, call, now, dumps(due)), _nothing)
        if due - now < SHORT_WAIT_S:
            self._spawn(self._nap(frame, call, due - now))
        else:
            self._waits.sleep(at, due)
            self._sleeping[at] = (frame, call)
            self._set_alarm()

    async def _nap(self, frame: DurableFrame, call: HandlerCall, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._complete(frame, call, (True, "null"))

    # Parking and ending ------------------------------------------------------------------------------------------

    @property
    def _closed(self) -> bool:
        return self._ending is not None or self._over.done()

    def _look(self) -> None:
        """Park, if nothing moves any more and something is waited for."""
        if self._closed or self._stopping or self._tasks or self._ledger.busy or not self._waits:
            return
        if not all(frame.is_settled for frame in self._frames.values()):
            return
        if not self._wake_sleepers():
            self._conclude_with(self._park())

    def _wake_sleepers(self) -> bool:
        """Complete the sleeps that became due, and the questions that expired, while something else went on."""
        over = self._waits.over(time.time())
        for at in over:
            frame, call = self._sleeping.pop(at)
            pause = self._waits.take(at)
            if pause is not None:
                self._expire(frame, call, pause)
            else:
                self._complete(frame, call, (True, "null"))
        return bool(over)

    def _set_alarm(self) -> None:
        """Look again when the next time has come, by the wall clock, which may jump."""
        if self._alarm is not None:
            self._alarm.cancel()
        at = self._waits.next_time()
        if at is not None:
            wait = min(max(at - time.time(), 0.0), _ALARM_S)
            self._alarm = asyncio.get_running_loop().call_later(wait, self._on_alarm)

    def _on_alarm(self) -> None:
        if not (self._closed or self._stopping):
            self._wake_sleepers()
            self._set_alarm()

    async def _park(self) -> None:
        if await self._differs(Stand("waits")):
            return
        self._spans.rest()
        await self._journal.park(
            self._claim,
            self._waits.status,
            pauses=self._waits.open_pauses(),
            entries=list(self._waits.entries.values()),
            wake_at=self._waits.wake_at,
            spans=self._spans.take(),
        )

    async def _park_diverged(self, frame: DurableFrame, divergence: Divergence) -> None:
        """Stop; the questions that are open stay so, and can be answered when the run was resumed."""
        self._cancel_tasks()
        run = self._claim.run
        found = await divergences.find(
            self._journal, run, self._claim.revision, frame.place.names, frame.path, divergence
        )
        log.warning("%s: %s", found.code, found.message)
        await self._ledger.drained()
        await self._stop_as_diverged(found.to_json())

    async def _stop_as_diverged(self, error: JsonText) -> None:
        self._spans.rest()
        await self._journal.park(
            self._claim, "diverged", pauses=list(self._asked.values()), error=error, spans=self._spans.take()
        )

    async def _differs(self, stand: Stand) -> bool:
        """Whether the leg goes another way when it is replayed at once; the run is stopped then."""
        error = await self._encore.error(stand, self._waits) if self._encore is not None else None
        if error is not None:
            await self._stop_as_diverged(error)
        return error is not None

    def _end(self, status: RunStatus, *, result: JsonText | None = None, error: JsonText | None = None) -> None:
        if self._closed:
            return
        problem = excess(f"What {self._root.tool.name} ended with", result or error or "null", self._limits)
        if problem is not None:
            status, result, error = "failed", None, error_text(CODE, f"{problem} Return less.")
        self._conclude_with(self._finish(status, result, error))

    async def _finish(self, status: RunStatus, result: JsonText | None, error: JsonText | None) -> None:
        self._cancel_tasks()
        await self._ledger.drained()
        if await self._differs(Stand("returned", result) if error is None else Stand("failed", error)):
            return
        self._spans.finish("", error is None, result or error or "null")
        self._spans.close()
        await self._journal.finish(self._claim, status, result=result, error=error, spans=self._spans.take())

    def _conclude_with(self, last: Coroutine[Any, Any, None]) -> None:
        self._ending = asyncio.get_running_loop().create_task(self._write_last(last))

    async def _write_last(self, last: Coroutine[Any, Any, None]) -> None:
        await self._changed.told()
        await self._ledger.drained()
        try:
            await last
        except Exception as error:  # noqa: BLE001 - whatever it is, drive() reports it
            self._broken(error)
        else:
            self._conclude()

    def _broken(self, error: Exception) -> None:
        """The journal refused: the run belongs to somebody else now, or the storage fails."""
        if isinstance(error, Fenced):
            self._ending = None
            self.cancel()
        else:
            self._conclude(error)

    def _conclude(self, error: Exception | None = None) -> None:
        if self._over.done():
            return
        if error is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(error)

    def _release(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        for frame in self._frames.values():
            frame.drop()
        self._cancel_tasks()

    def _cancel_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s: advancing the run failed", self.run_id, exc_info=error)
            assert isinstance(error, Exception)
            self._conclude(error)
        else:
            self._look()


def _now() -> float:
    """Whole milliseconds, so that a handler sees the same time live and in replay."""
    return round(time.time() * 1000) / 1000


def _nothing() -> None:
    pass
