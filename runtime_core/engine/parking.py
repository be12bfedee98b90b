"""What a run waits for when every branch of its handler waits: questions, and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from runtime_core.approvals.deadlines import is_over
from runtime_core.wire.json import JsonText, loads
from runtime_core.wire.runs import LATEST, CallKind, Entry, PauseRow, RunStatus, SlotPath, instant, is_below


@dataclass(slots=True)
class Waits:
    """Questions by slot, the ``started`` entries that go with the new ones, and due times of sleeps (epoch seconds).

    ``known``: the questions that earlier legs left open, whether or not the run has come to them again.
    """

    known: Mapping[SlotPath, PauseRow] = field(default_factory=dict[SlotPath, PauseRow])
    pauses: dict[SlotPath, PauseRow] = field(default_factory=dict[SlotPath, PauseRow])
    entries: dict[SlotPath, Entry] = field(default_factory=dict[SlotPath, Entry])
    due: dict[SlotPath, float] = field(default_factory=dict[SlotPath, float])

    def __bool__(self) -> bool:
        return bool(self.pauses or self.due)

    def ask(self, pause: PauseRow, entry: Entry | None = None) -> None:
        self.pauses[pause.slot] = pause
        if entry is not None:
            self.entries[pause.slot] = entry

    def sleep(self, at: SlotPath, due: float) -> None:
        self.due[at] = due

    def over(self, now: float) -> list[SlotPath]:
        """What need not wait any more: sleeps that are due, and questions that missed their deadline."""
        missed = [at for at, pause in self.pauses.items() if is_over(pause, now)]
        return [*(at for at, due in self.due.items() if due <= now), *missed]

    def take(self, at: SlotPath) -> PauseRow | None:
        """Wait no more for what stands there; the question, if it is one."""
        self.due.pop(at, None)
        self.entries.pop(at, None)
        return self.pauses.pop(at, None)

    def next_time(self) -> float | None:
        """When the next of these will be over."""
        deadlines = (pause.expires_at for pause in self.pauses.values() if pause.expires_at is not None)
        return min((*self.due.values(), *deadlines), default=None)

    def forget_below(self, path: SlotPath) -> None:
        """A child ended although a branch of it still waited."""
        for known in (self.pauses, self.entries, self.due):
            for at in [at for at in known if is_below(at, path)]:
                del known[at]

    def questions_below(self, path: SlotPath) -> Sequence[PauseRow]:
        """What a handler there, and those it called, asked people and have no answer to."""
        return [one for one in self.open_pauses() if one.kind != "attention" and is_below(one.slot, path)]

    def give_up(self, path: SlotPath) -> None:
        """The handler that made the call at this place waits for it no more: nor does anything below it."""
        self.take(path)
        self.forget_below(path)
        self.known = {at: pause for at, pause in self.known.items() if at != path and not is_below(at, path)}

    @property
    def status(self) -> RunStatus:
        if any(pause.kind == "attention" for pause in self.pauses.values()):
            return "needs-attention"
        return "awaiting-input" if self.pauses else "sleeping"

    @property
    def wake_at(self) -> float | None:
        return min(self.due.values(), default=None)

    def open_pauses(self) -> Sequence[PauseRow]:
        return sorted(self.pauses.values(), key=lambda pause: (pause.asked_at, pause.id))


SHORT_WAIT_S = 1.0
"""A timer shorter than this is waited for in process."""


def due_time(kind: CallKind, args: JsonText, now: float) -> float:
    """When a ``sleepUntil`` (ISO text or milliseconds since the epoch) or a timer (milliseconds from now) is over.

    Raises `ValueError` with a sentence for the handler.
    """
    value = loads(args)
    at = instant(value) if kind == "sleep" or not isinstance(value, str) else None
    if at is None:
        raise ValueError(f"sleepUntil needs a date, an ISO time or milliseconds, not {args}")
    return min(at + (now if kind == "timer" else 0), LATEST)


def due_of(intent: Entry) -> float:
    """When the sleep of a ``started`` entry is over."""
    due = loads(intent.value or "0")
    assert isinstance(due, int | float)
    return float(due)
