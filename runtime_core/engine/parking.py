"""What a run waits for when every branch of its handler waits: questions, and times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from runtime_core.wire.json import JsonText, loads
from runtime_core.wire.runs import CallKind, Entry, PauseRow, RunStatus, SlotPath


@dataclass(slots=True)
class Waits:
    """Questions by slot, the ``started`` entries that go with the new ones, and due times of sleeps (epoch seconds)."""

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

    def forget_below(self, path: SlotPath) -> None:
        """A child ended although a branch of it still waited."""
        for known in (self.pauses, self.entries, self.due):
            for at in list(_below(path, known)):
                del known[at]

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


def _below(path: SlotPath, slots: Iterable[SlotPath]) -> Iterator[SlotPath]:
    prefix = f"{path}/" if path else ""
    return (at for at in slots if at.startswith(prefix))


SHORT_WAIT_S = 1.0
"""A timer shorter than this is waited for in process."""

_LATEST = 253402300799.0  # the last second of the year 9999


def due_time(kind: CallKind, args: JsonText, now: float) -> float:
    """When a ``sleepUntil`` (ISO text or milliseconds since the epoch) or a timer (milliseconds from now) is over.

    Raises `ValueError` with a sentence for the handler.
    """
    value = loads(args)
    if isinstance(value, str) and kind == "sleep":
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"sleepUntil needs a date, an ISO time or milliseconds, not {args}") from None
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LATEST * 1000:
        raise ValueError(f"sleepUntil needs a date, an ISO time or milliseconds, not {args}")
    return min(float(value) / 1000 + (now if kind == "timer" else 0), _LATEST)


def due_of(intent: Entry) -> float:
    """When the sleep of a ``started`` entry is over."""
    due = loads(intent.value or "0")
    assert isinstance(due, int | float)
    return float(due)
