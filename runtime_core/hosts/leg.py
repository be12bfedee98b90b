"""One invocation of a handler as the runtime sees it: its open calls, its clock, whether it waits."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, Final

from runtime_core.hosts.base import Divergence, HandlerFailure, HandlerJob, LegEvents, NoteKind, RecordedCall
from runtime_core.hosts.protocol import Message, Raw, read_call, read_failure
from runtime_core.wire.json import JsonText, loads

PROGRESS_S: Final = 15 * 60
ABORT_S: Final = 5.0


class _Leftover:
    """Implements `LegEvents` for a handler whose call has failed: what it prints while it cleans up is still noted."""

    def __init__(self, events: LegEvents) -> None:
        self.noted = events.noted

    def ignore(self, *_: object, **__: object) -> None:
        pass

    called = returned = failed = diverged = given_up = replayed = settled = ignore


class HostLeg:
    """Implements `Leg`. ``send`` puts a message on the way to the process, ``ended`` is called once, at the end."""

    def __init__(
        self,
        number: int,
        job: HandlerJob,
        events: LegEvents,
        clock: Callable[[], float],
        send: Callable[[dict[str, object]], None],
        ended: Callable[[HostLeg], None],
    ) -> None:
        self.number = number
        self.job = job
        self._events = events
        self._send = send
        self._ended = ended
        self._is_over = False
        self._is_settled = False
        self._sent = 1
        self._handled = 0
        self._waited = 0
        self._is_stirred = False
        self._open: set[int] = set()
        self._early: set[int] = set()
        self._used = 0.0
        self._clock = clock
        self._counting_since: float | None = clock()
        self._progress_at = clock()
        self._abort_reason: str | None = None
        self._abort_at = 0.0

    @property
    def is_settled(self) -> bool:
        return self._is_settled

    @property
    def is_aborted(self) -> bool:
        """The handler may be cleaning up."""
        return self._abort_reason is not None

    @property
    def is_untouched(self) -> bool:
        """The process has not said that it handled any message of it."""
        return self._handled == 0

    @property
    def is_busy(self) -> bool:
        """It was handed everything the process has handled and does not wait for more."""
        return self._waited < self._handled or self._is_stirred

    def deliver(self, seq: int, ok: bool, value: JsonText, at_ms: float) -> None:
        if seq in self._open:
            self._close(seq)
        else:
            self._early.add(seq)
        self._forward({"t": "result", "run": self.number, "seq": seq, "ok": ok, "at": at_ms, "value": Raw(value)})

    def go(self) -> None:
        self._forward({"t": "go", "run": self.number})

    def abort(self, reason: str) -> None:
        if self._abort_reason is None:
            self._abort_reason = reason
            self._abort_at = self._clock()
            self._forward({"t": "abort", "run": self.number, "reason": reason})

    def drop(self) -> None:
        if not self._is_over and self._abort_reason is None:  # what is aborted has a moment to clean up
            self._forward({"t": "drop", "run": self.number})
            self._end()

    # ---- what the process says -------------------------------------------------------------------------

    def on_call(self, message: Message) -> None:
        call = read_call(message)
        self._is_settled = False
        self._is_stirred = True
        if call.seq in self._early:  # a call of an earlier leg, asked for again while its result was on the way
            return
        self._open.add(call.seq)
        if self._counting_since is not None:
            self._used += self._clock() - self._counting_since
            self._counting_since = None
        self._events.called(call)

    def on_cleared(self, seq: int) -> None:
        """The handler gave up a call: it waits for it no more."""
        self._is_settled = False
        self._is_stirred = True
        self._close(seq)
        self._events.given_up(seq)

    def on_note(self, message: Message) -> None:
        self._events.noted(message["kind"], loads(message["value"]))

    def on_stray(self, kind: NoteKind, value: Any) -> None:
        """Output of the process while this is its only leg."""
        self._events.noted(kind, value)

    def handled(self) -> None:
        """The process has handled one more message of this leg."""
        self._handled += 1

    def on_waits(self, handled: int) -> None:
        self._waited = handled
        self._is_stirred = False
        if handled == self._sent and not self._is_over:
            self._is_settled = True
            self._events.settled()

    def on_done(self, message: Message) -> None:
        self._end()
        if self._abort_reason is not None:
            self._events.failed(self._cancelled())
        elif message["ok"]:
            self._events.returned(JsonText(message["value"]), message["warn"])
        else:
            self._events.failed(read_failure(message["error"]))

    def on_diverged(self, message: Message) -> None:
        self._end()
        seq: int = message["seq"]
        made = read_call(message["made"]) if message["made"] is not None else None
        failure = read_failure(message["error"]) if message["error"] is not None else None
        self._events.diverged(Divergence(seq, self._recorded(seq), made, failure))

    def on_replayed(self) -> None:
        self._events.replayed()

    def on_file(self, read: int, ok: bool, value: JsonText) -> None:
        self._forward({"t": "file", "run": self.number, "id": read, "ok": ok, "value": Raw(value)})

    def fail(self, code: str, message: str, *, has_begun: bool = True) -> None:
        """End the leg from this side; an abort that was asked for counts as done."""
        if not self._is_over:
            self._end()
            if self._abort_reason is None:
                self._events.failed(HandlerFailure("Error", message, code, begun=has_begun))
                return
            if code != "cancelled":
                self._events.noted("warning", f"While it was being cancelled: {message}")
            self._events.failed(self._cancelled())

    # ---- time ------------------------------------------------------------------------------------------

    def touch(self) -> None:
        """Something came from the process."""
        self._progress_at = self._clock()

    def check(self, loading: Set[str]) -> bool:
        """Fail the call if its time is up (decision 25), and end the leg after a moment for it to clean up; whether
        either was so. ``loading``: entries being loaded.
        """
        now = self._clock()
        used = self._used + (now - self._counting_since if self._counting_since is not None else 0.0)
        if self._abort_reason is not None:
            if now - self._abort_at >= ABORT_S:
                self._give_up("cancelled", self._abort_reason)
        elif used >= self.job.timeout_s:
            limit = f"{self.job.timeout_s:g} s"
            is_loading = self.job.entry in loading
            late = f"was still being loaded after {limit}" if is_loading else f"did not finish within {limit}"
            self._run_out(f"{self.job.entry} {late}, not counting its calls.", has_begun=not is_loading)
        elif now - self._progress_at >= PROGRESS_S:
            self._run_out(f"{self.job.entry} made no progress for {PROGRESS_S // 60} minutes.")
        else:
            return False
        return self._is_over or self._abort_at == now

    def _run_out(self, message: str, *, has_begun: bool = True) -> None:
        """The call fails at once; the handler gets ``ctx.signal``, and nothing it does counts any more."""
        if not has_begun:
            self._give_up("deadline", message)
            return
        events, self._events = self._events, _Leftover(self._events)
        self.abort(message)
        events.failed(HandlerFailure("Error", message, "deadline"))

    def _give_up(self, code: str, message: str) -> None:
        self._forward({"t": "drop", "run": self.number})
        self.fail(code, message)

    # ---- inside ----------------------------------------------------------------------------------------

    def _forward(self, message: dict[str, object]) -> None:
        if not self._is_over:
            self._sent += 1
            self._is_settled = False
            self._progress_at = self._clock()
            self._send(message)

    def _close(self, seq: int) -> None:
        self._open.discard(seq)
        if not self._open and self._counting_since is None:
            self._counting_since = self._clock()

    def _end(self) -> None:
        self._is_over = True
        self._is_settled = False
        self._ended(self)

    def _cancelled(self) -> HandlerFailure:
        return HandlerFailure("AbortError", self._abort_reason or "the run was cancelled", "cancelled")

    def _recorded(self, seq: int) -> RecordedCall:
        return next(call for call in [*self.job.recorded, *self.job.started] if call.seq == seq)
