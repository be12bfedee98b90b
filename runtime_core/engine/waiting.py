"""The branches of a run that wait for an answer or for a time, and what ends their waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from runtime_core.approvals.deadlines import expired, expiry, is_over
from runtime_core.approvals.questions import QuestionError
from runtime_core.engine import pauses
from runtime_core.engine.conclusion import Conclusion
from runtime_core.engine.failures import error_text
from runtime_core.engine.frames import DurableFrame, now
from runtime_core.engine.open_calls import OpenCalls
from runtime_core.engine.parking import SHORT_WAIT_S, Waits, due_of, due_time
from runtime_core.engine.quota import Quota
from runtime_core.engine.tasks import Tasks
from runtime_core.hosts.base import Divergence, HandlerCall, RecordedCall
from runtime_core.journal.base import Claim
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.json import dumps
from runtime_core.wire.runs import Entry, PauseRow, SlotPath, slot

_ALARM_S: Final = 30.0


class Waiting:
    """``diverged`` is told of a question that is not the one which an earlier leg asked."""

    def __init__(
        self,
        claim: Claim,
        calls: OpenCalls,
        waits: Waits,
        quota: Quota,
        tasks: Tasks,
        conclusion: Conclusion,
        diverged: Callable[[DurableFrame, Divergence], None],
    ) -> None:
        self._claim = claim
        self._calls = calls
        self._waits = waits
        self._quota = quota
        self._tasks = tasks
        self._conclusion = conclusion
        self._diverged = diverged
        self._branches: dict[SlotPath, tuple[DurableFrame, HandlerCall]] = {}
        self._alarm: asyncio.TimerHandle | None = None

    def ask(self, frame: DurableFrame, call: HandlerCall) -> None:
        """A handler asks a person, or asks again what it asked in an earlier leg."""
        at = slot(frame.path, call.seq)
        asked_at = now()
        self._calls.wait(frame, call)
        try:
            asked = pauses.question(self._claim, frame.place.names, at, call, asked_at)
        except QuestionError as problem:
            self._calls.fail(frame, call, error_text(problem.code, str(problem), name="TypeError"))
            return
        known = self._waits.known.get(at)
        if known is None:
            refusal = self._quota.question_refusal(asked.spec)
            if refusal is not None:
                self._calls.fail(frame, call, refusal)
                return
            self._wait_for_answer(frame, call, asked, self._calls.new_intent(frame, call, asked_at))
        elif fingerprint(known.kind, known.spec) == asked.fingerprint:
            self._wait_for_answer(frame, call, known)
        else:
            self._diverged(frame, Divergence(call.seq, RecordedCall(call.seq, call.kind, call.name, ""), call))

    def ask_what_happened(self, frame: DurableFrame, call: HandlerCall, intent: Entry) -> None:
        """The call was in flight when its process died: only a person can say whether it may be made again."""
        at = slot(frame.path, call.seq)
        self._calls.doubt(frame, call)
        known = self._waits.known.get(at)
        self._waits.ask(known or pauses.interrupted_call(self._claim, frame.place.names, at, call, intent, now()))

    def sleep(self, frame: DurableFrame, call: HandlerCall) -> None:
        """A handler sleeps, or goes on sleeping since an earlier leg."""
        intent = self._calls.intent(frame, call)
        at = now()
        self._calls.wait(frame, call)
        try:
            due = due_of(intent) if intent is not None else due_time(call.kind, call.args, at)
        except ValueError as problem:
            self._calls.fail(frame, call, error_text("invalid-params", str(problem), name="TypeError"))
            return
        if due <= at:
            self._calls.complete(frame, call, (True, "null"), began=intent.started_at if intent is not None else at)
            return
        if intent is None:
            self._calls.save_intent(frame, call, at, dumps(due))
        if due - at < SHORT_WAIT_S:
            self._tasks.start(self._nap(frame, call, due - at))
        else:
            path = slot(frame.path, call.seq)
            self._waits.sleep(path, due)
            self._branches[path] = (frame, call)
            self._set_alarm()

    def wake(self) -> bool:
        """Complete the sleeps that became due, and the questions that expired; False if there are none."""
        over = self._waits.over(time.time())
        for at in over:
            frame, call = self._branches.pop(at)
            pause = self._waits.take(at)
            if pause is not None:
                self._expire(frame, call, pause)
            else:
                self._calls.complete(frame, call, (True, "null"))
        return bool(over)

    def close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()

    def _wait_for_answer(
        self, frame: DurableFrame, call: HandlerCall, pause: PauseRow, intent: Entry | None = None
    ) -> None:
        if is_over(pause, now()):
            self._expire(frame, call, pause)
            return
        self._waits.ask(pause, intent)
        self._branches[pause.slot] = (frame, call)
        self._set_alarm()

    def _expire(self, frame: DurableFrame, call: HandlerCall, pause: PauseRow) -> None:
        """Nobody answered in time: the call ends as its author said (decision 7)."""
        closed = expired(pause, now())
        left = expiry(closed)
        assert left.value is not None
        self._calls.complete(frame, call, (left.state == "ok", left.value), began=pause.asked_at, expired=closed)

    async def _nap(self, frame: DurableFrame, call: HandlerCall, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._calls.complete(frame, call, (True, "null"))

    def _set_alarm(self) -> None:
        """Look again when the next time has come, by the wall clock, which may jump."""
        self.close()
        at = self._waits.next_time()
        if at is not None:
            wait = min(max(at - time.time(), 0.0), _ALARM_S)
            self._alarm = asyncio.get_running_loop().call_later(wait, self._on_alarm)

    def _on_alarm(self) -> None:
        if not self._conclusion.is_near:
            self.wake()
            self._set_alarm()
