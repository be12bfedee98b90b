"""One claimed run: from its journal to the next park or to its end."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any, Final, cast

from runtime_core.agents.loop import NO_MODEL, OutcomeUnknown
from runtime_core.engine.allowed import objection
from runtime_core.engine.calls import Calls, effect_of
from runtime_core.engine.changes import ChangedCalls, changed_question
from runtime_core.engine.conclusion import Conclusion, Stuck
from runtime_core.engine.ears import Tally
from runtime_core.engine.encore import Encore
from runtime_core.engine.failures import CallFailed, durable_forbidden, end_of_run, error_text, place_of, tool_failed
from runtime_core.engine.frames import DurableFrame, Outcome, Place, now
from runtime_core.engine.handlers import Handlers
from runtime_core.engine.ledger import Ledger
from runtime_core.engine.losses import Losses
from runtime_core.engine.open_calls import OpenCalls
from runtime_core.engine.parking import Waits
from runtime_core.engine.quota import Quota, end_refusal
from runtime_core.engine.tasks import Tasks
from runtime_core.engine.waiting import Waiting
from runtime_core.hosts.base import Divergence, HandlerCall, HandlerFailure, HostUnavailable, NoteKind, RecordedCall
from runtime_core.journal.base import Claim, Fenced, Journal
from runtime_core.tools.base import Prepare, ReadyTool
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.runs import PAUSE_KINDS, RunStatus, parent_slot, slot
from runtime_core.wire.settings import Limits

log = logging.getLogger(__name__)

QUESTION_SHOWN: Final = 200
_UNLOADABLE: Final = frozenset({"load-failed", "no-handler"})


class RunDriver:
    """Advances one run. Durable handlers are frames with legs; everything they call is executed here.

    The run is over for this driver when it parked, ended, was cancelled or was taken away (`Fenced`).
    """

    def __init__(
        self,
        claim: Claim,
        journal: Journal,
        calls: Calls,
        root: Place,
        tally: Tally,
        limits: Limits,
        *,
        twice: bool = False,
    ) -> None:
        self._claim = claim
        self._journal = journal
        self._calls = calls
        self._origin = origin = calls.origin
        self._spans = spans = calls.spans
        self._root = root
        self._ledger = ledger = Ledger(journal, claim, spans, tally, idle=self._look, broken=self._on_broken)
        self._limits = limits
        self._quota = Quota(limits, claim.run.params, self._warn)
        self._losses = Losses()
        self._changed = ChangedCalls(journal, claim.run.id, self._warn)
        self._tasks = tasks = Tasks(self._look, self._on_task_failed)
        self._waits = waits = Waits()
        dry = replace(origin, dry=True, strict=True)
        encore = Encore(claim, journal, ledger, dry, root) if twice else None
        self._conclusion = Conclusion(claim, journal, ledger, waits, tasks, self._changed, encore, self._on_broken)
        self._open = OpenCalls(claim.epoch, ledger, spans, self._quota, self._conclusion)
        self._waiting = Waiting(claim, self._open, waits, self._quota, tasks, self._conclusion, self.on_diverged)
        self._handlers = Handlers(origin, ledger, self._open, waits, tasks, self._on_unavailable)

    @property
    def run_id(self) -> str:
        return self._claim.run.id

    @property
    def tool(self) -> str:
        return self._claim.run.tool

    @property
    def revision(self) -> str:
        return self._claim.revision

    async def drive(self) -> None:
        """Go on until the run parks or ends. Raises `Stuck`, or the fault that stopped the journal."""
        run, is_resumed = self._claim.run, self._claim.epoch > 1
        try:
            changed = await self._load() if is_resumed else None
            if changed is not None:
                self._conclusion.diverge(*changed)
                await self._conclusion.over()
                return
            self._spans.start("", "tool", run.tool, run.params, since=run.created_at)
            if not is_resumed:
                self._ledger.save_spans()
            self._handlers.open(DurableFrame(self, self._root, run.params, run.created_at, is_resumed=is_resumed))
            await self._conclusion.over()
        finally:
            self._waiting.close()
            self._handlers.drop()
            self._tasks.cancel()
            await self._tasks.wait()
            self._ledger.close()
            await self._changed.close()

    def cancel(self) -> None:
        """The run was cancelled: handlers get ``ctx.signal`` and are dropped after their grace."""
        if not self._conclusion.is_decided:
            self._let_go()

    async def stop(self, grace_s: float) -> None:
        """Let go of the run without losing anything: calls that are executed may end and are journaled, none begins."""
        self._conclusion.announce()
        if not self._conclusion.is_decided:
            await self._tasks.wait(grace_s)
        await self._ledger.drained()
        await self._conclusion.written()
        if self._conclusion.is_decided:
            return
        try:
            await self._ledger.flush()
        except Exception as error:  # noqa: BLE001 - the run goes on from its journal anyway
            log.info("%s: spans of a stopped leg were not stored: %s", self.run_id, error)
        self._conclusion.reach()

    async def _load(self) -> tuple[Place, Divergence] | None:
        """Take over what earlier legs left; a question that was answered and is not the one that was asked."""
        entries, asked, spans, warnings = await asyncio.gather(
            self._journal.load(self.run_id),
            self._journal.pauses(self.run_id),
            self._journal.spans(self.run_id),
            self._journal.warnings(self.run_id),
        )
        self._ledger.load(entries, warnings)
        self._quota.load(entries)
        self._handlers.expect([entry for entry in entries if entry.state == "started"])
        self._waits.known = {pause.slot: pause for pause in asked if pause.outcome is None}
        changed = changed_question(asked, spans)
        if changed is None:
            given = {pause.slot: pause.answered_by or "" for pause in asked if pause.kind == "attention"}
            self._spans.resume(spans, self._ledger.finished_entries, given)
            return None
        pause, divergence = changed
        return replace(self._root, path=parent_slot(pause.slot), names=pause.names), divergence

    # What the handlers do ----------------------------------------------------------------------------------------

    def on_called(self, frame: DurableFrame, call: HandlerCall) -> None:
        if self._conclusion.is_near:
            return
        known = self._open.known(frame, call)
        if known is None:
            at = slot(frame.path, call.seq)
            refusal = self._quota.refusal(at, call, len(self._open))
            self._open.add(frame, call)
            self._begin(frame, call, refusal)
            self._handlers.called(at)
        elif (known.kind, known.name) != (call.kind, call.name):
            recorded = RecordedCall(call.seq, known.kind, known.name, known.digest)
            self.on_diverged(frame, Divergence(call.seq, recorded, call))
        # else a fresh process asks for a call that is being executed, or whose result is on its way: nothing to do

    def on_given_up(self, frame: DurableFrame, seq: int) -> None:
        if not self._conclusion.is_decided:
            at = slot(frame.path, seq)
            self._handlers.give_up(at)
            self._waits.give_up(at)
            self._open.give_up(at)

    def on_noted(self, frame: DurableFrame, kind: NoteKind, value: Any) -> None:
        if kind == "params-changed":
            self._changed.note(frame.place.names, frame.path, value)
        else:
            self._origin.note(frame.place, kind, value)

    def on_replayed(self, frame: DurableFrame) -> None:
        self._handlers.replayed(frame)

    def on_settled(self) -> None:
        self._look()

    def on_returned(self, frame: DurableFrame, value: JsonText) -> None:
        self._tell_unanswered(frame)
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
            self._handlers.start(frame)
        elif frame.is_resumed and failure.code in _UNLOADABLE:
            self._conclusion.reach(Stuck(failure.code, failure.message))
        elif frame.caller is None:
            self._tell_failed(frame, failure)
            status, error = end_of_run(failure)
            at = None if frame.place.is_gate else place_of(failure, self._origin.bundle.root)
            self._end(status, error=error if at is None else dumps({**cast("Any", loads(error)), "at": at}))
        else:
            self._tell_failed(frame, failure)
            self._leave(frame, (False, tool_failed(frame.place.tool.name, failure).error))

    def on_diverged(self, frame: DurableFrame, divergence: Divergence) -> None:
        if not self._conclusion.is_decided:
            self._handlers.drop()
            self._conclusion.diverge(frame.place, divergence)

    def _tell_failed(self, frame: DurableFrame, failure: HandlerFailure) -> None:
        self._origin.note_failure(frame.place, failure)
        self._tell_unanswered(frame)

    def _tell_unanswered(self, frame: DurableFrame) -> None:
        """Code that goes on without an answer takes the promise of one for a yes."""
        if self._conclusion.is_decided:
            return
        for pause in self._waits.questions_below(frame.path):
            asked: Any = loads(pause.spec)
            question = str(asked["question"])[:QUESTION_SHOWN]
            self._warn(
                f"unanswered {pause.slot}",
                f'Tool "{" > ".join(pause.names)}" asked {question!r} and ended without the answer. '
                "Write await before it if the answer counts.",
            )

    def _leave(self, frame: DurableFrame, outcome: Outcome) -> None:
        assert frame.caller is not None
        assert frame.call is not None
        self._handlers.close(frame.path)
        self._open.complete(frame.caller, frame.call, outcome, began=frame.started_at)

    # Calls -------------------------------------------------------------------------------------------------------

    def _begin(self, frame: DurableFrame, call: HandlerCall, refusal: JsonText | None) -> None:
        if refusal is not None and self._quota.exhausted:
            self._end("failed", error=refusal)
        elif refusal is not None:
            self._open.start(frame, call)
            self._open.fail(frame, call, refusal)
        elif call.outcome is not None:
            began = now() - call.took_s
            self._open.start(frame, call, since=began)
            self._open.complete(frame, call, call.outcome, began=began)
        elif call.kind in PAUSE_KINDS:
            self._waiting.ask(frame, call)
        elif call.kind in ("sleep", "timer"):
            self._waiting.sleep(frame, call)
        elif call.kind == "tool":
            self._call_tool(frame, call)
        elif call.kind == "subagent":
            self._execute(frame, call)
        else:
            self._open.start(frame, call)
            self._open.fail(frame, call, durable_forbidden(call.kind))

    def _call_tool(self, frame: DurableFrame, call: HandlerCall) -> None:
        ready = self._origin.ready(call.name)
        if ready is not None and ready.prepare is not None:
            self._write(frame, call, ready, ready.prepare)
            return
        tool = self._origin.bundle.tools.get(call.name)
        if tool is None or not tool.durable:
            self._execute(frame, call)
            return
        intent = self._open.intent(frame, call)
        began = intent.started_at if intent is not None else now()
        self._open.start(frame, call, since=began)
        try:
            self._calls.child_tool(frame.place, call.name, call.args)
        except CallFailed as failed:
            self._open.fail(frame, call, failed.error)
            return
        if intent is None:
            self._open.save_intent(frame, call, began)
        place = frame.place.child(tool, call.seq)
        self._handlers.open(DurableFrame(self, place, call.args, began, frame, call, is_resumed=intent is not None))

    def _write(self, frame: DurableFrame, call: HandlerCall, tool: ReadyTool, prepare: Prepare) -> None:
        """A write of a store needs no intent: it is there if, and only if, its entry is."""
        self._open.start(frame, call)
        try:
            write = self._calls.prepared(frame.place, call, tool, prepare)
        except CallFailed as failed:
            self._open.fail(frame, call, failed.error)
        else:
            self._open.write(frame, call, write)

    def _execute(self, frame: DurableFrame, call: HandlerCall) -> None:
        task = self._tasks.start(self._perform(frame, call))
        self._open.execute(slot(frame.path, call.seq), task, makes_calls=self._origin.makes_calls(call))

    async def _perform(self, frame: DurableFrame, call: HandlerCall) -> None:
        """Run an inline child or a subagent; an intent goes first unless it may simply be run again."""
        began, at = now(), slot(frame.path, call.seq)
        if frame.place.is_gate and self._open.intent(frame, call) is None:
            try:
                error = await objection(self._calls, frame.place, call)
            except Stuck as stuck:
                self._conclusion.reach(stuck)
                return
            if error is not None:
                self._open.start(frame, call)
                self._open.fail(frame, call, error)
                return
        if call.kind == "subagent" and self._claim.epoch > 1 and await self._calls.lacks_model(call.name):
            self._conclusion.reach(Stuck("model-unavailable", f'The agent "{call.name}" cannot run: {NO_MODEL}.'))
            return
        if effect_of(self._origin, call) == "once":
            intent = self._open.intent(frame, call)
            if intent is not None:
                self._waiting.ask_what_happened(frame, call, intent)
                return
            self._open.start(frame, call)
            await self._open.store_intent(frame, call, began)
            if self._open.is_given_up(at):
                return
        try:
            outcome = await self._calls.perform(frame.place, call)
        except OutcomeUnknown as unknown:
            log.warning("%s: the outcome of %s is unknown: %s", self.run_id, call.name, unknown)
            if not (frame.is_over or self._open.is_given_up(at)):
                self._waiting.ask_what_happened(frame, call, self._open.new_intent(frame, call, began))
            return
        self._open.complete(frame, call, outcome, began=began)

    # Letting go --------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Park, if nothing moves any more and something is waited for."""
        if self._conclusion.is_near or self._tasks or self._ledger.busy or not self._waits:
            return
        if self._handlers.are_settled and not self._waiting.wake():
            self._conclusion.park()

    def _end(self, status: RunStatus, *, result: JsonText | None = None, error: JsonText | None = None) -> None:
        if self._conclusion.is_decided:
            return
        refusal = end_refusal(self._root.tool.name, result or error or "null", self._limits)
        if refusal is not None:
            status, result, error = "failed", None, refusal
        self._conclusion.finish(status, result, error)

    def _let_go(self) -> None:
        """The run is not ours any more."""
        if not self._conclusion.is_over:
            self._handlers.abort()
            self._conclusion.reach()
            self._spans.close()

    def _warn(self, kind: str, text: str) -> None:
        """Tell once what is odd about the run, in the log of the handlers and on the run."""
        if self._ledger.warn(kind, text):
            self._origin.note(self._root, "warning", text)

    def _on_broken(self, error: Exception) -> None:
        """The journal refused: the run belongs to somebody else now, or the storage fails."""
        if isinstance(error, Fenced):
            self._let_go()
        else:
            self._conclusion.reach(error)

    def _on_unavailable(self, error: HostUnavailable) -> None:
        self._conclusion.reach(Stuck(error.code, str(error)))

    def _on_task_failed(self, error: Exception) -> None:
        log.error("%s: advancing the run failed", self.run_id, exc_info=error)
        self._conclusion.reach(error)
