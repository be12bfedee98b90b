"""A dry replay: the handlers of a run against its journal in memory, with nothing executed and nothing stored.

It ends at the first thing the journal does not hold, and never later than its limit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from runtime_core.approvals.deadlines import expired, expiry, is_over
from runtime_core.approvals.questions import QuestionError
from runtime_core.engine import pauses
from runtime_core.engine.calls import effect_of
from runtime_core.engine.divergence import describe
from runtime_core.engine.failures import end_of_run, error_text, tool_failed
from runtime_core.engine.frames import DurableFrame, Origin, Outcome, Place
from runtime_core.engine.parking import due_of, due_time
from runtime_core.hosts.base import Divergence, HandlerCall, HandlerFailure, HostUnavailable, NoteKind, RecordedCall
from runtime_core.journal.base import Claim
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.json import JsonText, dumps
from runtime_core.wire.runs import PAUSE_KINDS, CallKind, Entry, PauseRow, RunRow, SlotPath, is_below, slot

_NOT_ITS_OWN: Final = frozenset({"load-failed", "no-handler", "deadline"})
"""Failures of a handler that say nothing about what it does."""


@dataclass(frozen=True, slots=True)
class Script:
    """What is replayed. ``finished`` entries stand in the order in which their results were handed out; ``asked`` are
    the questions that stay open, by slot.
    """

    run: RunRow
    finished: Sequence[Entry]
    started: Sequence[Entry]
    asked: Mapping[SlotPath, PauseRow]


@dataclass(frozen=True, slots=True)
class NextCall:
    """A call the journal does not hold; ``names`` from the top tool down to the handler that makes it.

    ``due``: when a sleep or a timer would be over, in seconds since the epoch.
    """

    at: SlotPath
    kind: CallKind
    name: str
    params: JsonText
    names: tuple[str, ...]
    due: float | None = None


@dataclass(frozen=True, slots=True)
class Met:
    """A divergence and the handler that met it."""

    names: tuple[str, ...]
    path: SlotPath
    divergence: Divergence


@dataclass(frozen=True, slots=True)
class Ending:
    """How a dry replay ended. ``value`` by kind: returned: the result; failed and unknown: the error object.

    ``calls`` and ``questions`` are new ones, in the order of their slots; ``changed`` names recorded calls that were
    made with other parameters; ``wake_at`` is when the first of its sleeps is over; ``met`` says what diverged;
    ``given_up`` are the slots of calls that are waited for no more, nor is what is below them.
    """

    kind: Literal["returned", "failed", "waits", "diverged", "unknown"]
    value: JsonText | None = None
    met: Met | None = None
    calls: Sequence[NextCall] = ()
    questions: Sequence[PauseRow] = ()
    changed: Sequence[str] = ()
    wake_at: float | None = None
    given_up: Sequence[SlotPath] = ()


@dataclass(slots=True)
class _Found:
    calls: list[NextCall] = field(default_factory=list[NextCall])
    questions: list[PauseRow] = field(default_factory=list[PauseRow])
    changed: list[str] = field(default_factory=list[str])
    due: dict[SlotPath, float] = field(default_factory=dict[SlotPath, float])
    given_up: list[SlotPath] = field(default_factory=list[SlotPath])

    def give_up(self, path: SlotPath) -> None:
        self.given_up.append(path)
        self.calls = [call for call in self.calls if call.at != path and not is_below(call.at, path)]
        self.questions = [one for one in self.questions if one.slot != path and not is_below(one.slot, path)]
        self.due = {at: due for at, due in self.due.items() if at != path and not is_below(at, path)}


class Rehearsal:
    """One dry replay; ``origin`` must be dry. ``moment``: what is over by then goes on (None: sleeps never end)."""

    def __init__(self, script: Script, origin: Origin, root: Place, *, moment: float | None = None) -> None:
        assert origin.dry
        self._script = script
        self._origin = origin
        self._root = root
        self._moment = moment
        self._intents = {(entry.path, entry.n): entry for entry in script.started}
        self._frames: dict[SlotPath, DurableFrame] = {}
        self._starting: set[asyncio.Task[None]] = set()
        self._found = _Found()
        self._ending: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    async def play(self, limit_s: float) -> Ending:
        run = self._script.run
        self._open(DurableFrame(self, self._root, run.params, run.created_at, is_resumed=True))
        try:
            async with asyncio.timeout(limit_s):
                return await self._ending
        except TimeoutError:
            return unknown("deadline", f"{self._root.tool.name} did not come to a stop within {limit_s:g} s.")
        finally:
            for frame in self._frames.values():
                frame.drop()
            for task in self._starting:
                task.cancel()

    # Frames ------------------------------------------------------------------------------------------------------

    def _open(self, frame: DurableFrame) -> None:
        self._frames[frame.path] = frame
        task = asyncio.get_running_loop().create_task(self._start(frame))
        self._starting.add(task)
        task.add_done_callback(self._on_started)

    async def _start(self, frame: DurableFrame) -> None:
        script = self._script
        finished = [entry for entry in script.finished if entry.path == frame.path]
        started = [entry for entry in script.started if entry.path == frame.path]
        try:
            await frame.start(self._origin, finished, started)
        except HostUnavailable as error:
            self._end(unknown(error.code, str(error)))

    def _on_started(self, task: asyncio.Task[None]) -> None:
        self._starting.discard(task)
        if task.cancelled():
            return
        if (error := task.exception()) is not None and not self._ending.done():
            self._ending.set_exception(error)
        self.on_settled()

    def _leave(self, frame: DurableFrame, outcome: Outcome) -> None:
        assert frame.caller is not None
        assert frame.call is not None
        del self._frames[frame.path]
        for below in [path for path in self._frames if is_below(path, frame.path)]:
            self._frames.pop(below).drop()
        _deliver(frame.caller, frame.call, outcome)

    # What the handlers do ----------------------------------------------------------------------------------------

    def on_called(self, frame: DurableFrame, call: HandlerCall) -> None:
        if self._ending.done():
            return
        at = slot(frame.path, call.seq)
        intent = self._intents.get((frame.path, call.seq))
        if call.kind in PAUSE_KINDS:
            self._ask(frame, call, at)
        elif at in self._script.asked:
            return  # whether it is made again is the question that stays open
        elif call.kind in ("sleep", "timer"):
            self._sleep(frame, call, at, intent)
        elif intent is None:
            self._found.calls.append(_next(frame, call, at))
        else:
            self._go_on(frame, call, at, intent)

    def _go_on(self, frame: DurableFrame, call: HandlerCall, at: SlotPath, intent: Entry) -> None:
        """A call that was begun and has no result."""
        tool = self._origin.bundle.tools.get(call.name) if call.kind == "tool" else None
        if tool is not None and tool.durable:
            place = frame.place.child(tool, call.seq)
            self._open(DurableFrame(self, place, call.args, intent.started_at, frame, call, is_resumed=True))
        elif effect_of(self._origin, call) == "once":
            names = frame.place.names
            doubt = pauses.interrupted_call(self._claim, names, at, call, intent, time.time())
            self._found.questions.append(doubt)
        else:
            self._found.calls.append(_next(frame, call, at))

    def _ask(self, frame: DurableFrame, call: HandlerCall, at: SlotPath) -> None:
        try:
            asked = pauses.question(self._claim, frame.place.names, at, call, time.time())
        except QuestionError as problem:
            _deliver(frame, call, (False, error_text(problem.code, str(problem), name="TypeError")))
            return
        known = self._script.asked.get(at)
        if known is None:
            self._found.questions.append(asked)
        elif fingerprint(known.kind, known.spec) != asked.fingerprint:
            self.on_diverged(frame, Divergence(call.seq, RecordedCall(call.seq, call.kind, call.name, ""), call))
        elif self._moment is not None and is_over(known, self._moment):
            left = expiry(expired(known, self._moment))
            assert left.value is not None
            _deliver(frame, call, (left.state == "ok", left.value))

    def _sleep(self, frame: DurableFrame, call: HandlerCall, at: SlotPath, intent: Entry | None) -> None:
        try:
            due = due_of(intent) if intent is not None else due_time(call.kind, call.args, time.time())
        except ValueError as problem:
            _deliver(frame, call, (False, error_text("invalid-params", str(problem), name="TypeError")))
            return
        if self._moment is not None and due <= self._moment:
            _deliver(frame, call, (True, "null"))
            return
        self._found.due[at] = due
        if intent is None:
            self._found.calls.append(_next(frame, call, at, due))

    def on_given_up(self, frame: DurableFrame, seq: int) -> None:
        at = slot(frame.path, seq)
        for path in [path for path in self._frames if path == at or is_below(path, at)]:
            self._frames.pop(path).drop()
        self._found.give_up(at)

    def on_noted(self, frame: DurableFrame, kind: NoteKind, value: Any) -> None:
        if kind == "params-changed":
            call = describe(value["kind"], value["name"])
            self._found.changed.append(f'Call number {value["seq"] + 1} of tool "{frame.place.tool.name}", {call}')

    def on_replayed(self, frame: DurableFrame) -> None:
        frame.go()

    def on_settled(self) -> None:
        if not self._starting and all(frame.is_settled for frame in self._frames.values()):
            self._end(self._ending_of("waits"))

    def on_returned(self, frame: DurableFrame, value: JsonText) -> None:
        if frame.caller is None:
            self._end(self._ending_of("returned", value))
        else:
            self._leave(frame, (True, value))

    def on_failed(self, frame: DurableFrame, failure: HandlerFailure) -> None:
        if failure.lost or failure.code in _NOT_ITS_OWN:
            self._end(unknown(failure.code or "host-lost", failure.message))
        elif frame.caller is None:
            _, error = end_of_run(failure)
            self._end(self._ending_of("failed", error))
        else:
            self._leave(frame, (False, tool_failed(frame.place.tool.name, failure).error))

    def on_diverged(self, frame: DurableFrame, divergence: Divergence) -> None:
        self._end(Ending("diverged", met=Met(frame.place.names, frame.path, divergence)))

    # Ends --------------------------------------------------------------------------------------------------------

    @property
    def _claim(self) -> Claim:
        """The leg that would ask."""
        run = self._script.run
        return Claim(run, run.epoch + 1, "")

    def _ending_of(self, kind: Literal["returned", "failed", "waits"], value: JsonText | None = None) -> Ending:
        found = self._found
        return Ending(
            kind,
            value,
            calls=sorted(found.calls, key=lambda call: _place(call.at)),
            questions=sorted(found.questions, key=lambda pause: _place(pause.slot)),
            changed=found.changed,
            wake_at=min(found.due.values(), default=None),
            given_up=found.given_up,
        )

    def _end(self, ending: Ending) -> None:
        if not self._ending.done():
            self._ending.set_result(ending)


def _next(frame: DurableFrame, call: HandlerCall, at: SlotPath, due: float | None = None) -> NextCall:
    return NextCall(at, call.kind, call.name, call.args, frame.place.names, due)


def _deliver(frame: DurableFrame, call: HandlerCall, outcome: Outcome) -> None:
    """Hand out what follows from the journal without anything being executed."""
    ok, value = outcome
    now = time.time()
    state = "ok" if ok else "error"
    frame.deliver(Entry(frame.path, call.seq, call.kind, call.name, call.digest, state, value, now, now))


def unknown(code: str, message: str) -> Ending:
    return Ending("unknown", dumps({"code": code, "message": message}))


def _place(at: SlotPath) -> list[int]:
    return [int(part) for part in at.split("/")]
