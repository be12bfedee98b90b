"""The questions that wait: which are listed, in which order, and how the list changes.

Plain Python. A change of the runtime becomes the smallest edits of the listed rows, so that nobody loses the row they
are reading: known questions stay where they are, new ones are held back until the operator asks for them or they are
due soon.
"""

from __future__ import annotations

import time
from bisect import bisect_left, insort
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from inbox_app.gateway.base import Batch, Pause, PausePage
from inbox_app.state.edits import Changed, Edit, Replaced, edits_between

Group: TypeAlias = Literal["due", "waiting", "others"]
GROUPS: tuple[Group, ...] = ("due", "waiting", "others")

Mark: TypeAlias = Literal["", "draft", "held", "sending", "answered", "failed"]
"""What the operator has done about a question and the runtime does not know yet."""

DUE_SOON_S = 3600.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One listed question.

    ``new``: never opened here. ``again``: its run was answered before while this window was open. ``mark_until``: when
    a held answer leaves, seconds since the epoch. ``gone``: no longer open at the runtime, kept because it is being
    read; it does not count as waiting. ``outcome``: how it ended, a word of `Decision`, empty if unknown.
    """

    pause: Pause
    group: Group
    new: bool = True
    again: bool = False
    mark: Mark = ""
    mark_until: float | None = None
    gone: bool = False
    outcome: str = ""

    @property
    def id(self) -> str:
        return self.pause.id


@dataclass(frozen=True, slots=True)
class Header:
    """The head of a group; shown only while the group has entries."""

    group: Group


Row: TypeAlias = Entry | Header
_HEADS = {group: Header(group) for group in GROUPS}


_SortKey: TypeAlias = tuple[float, str]


class Requests:
    """Open questions of one connection. Every method that changes the list returns its edits, in order to apply."""

    def __init__(self, clock: Callable[[], float] = time.time, is_read: Callable[[str], bool] | None = None) -> None:
        """``is_read`` says whether a question was opened here before the window was."""
        self._clock = clock
        self._is_read = is_read
        self._rows: list[Row] = []
        self._entries: dict[str, Entry] = {}
        self._keys: dict[str, _SortKey] = {}
        self._order: dict[Group, list[_SortKey]] = {group: [] for group in GROUPS}
        self._held: dict[str, Entry] = {}
        self._gone: set[str] = set()
        self._answered_runs: set[str] = set()
        self._touched = False  # whether a listed entry was placed, taken out or exchanged since the last edits
        self._total: int | None = None
        self._cursor: str | None = None
        self._loaded = False

    @property
    def loaded(self) -> bool:
        """Whether the runtime has said what waits."""
        return self._loaded

    @property
    def total(self) -> int | None:
        """How many questions wait at the runtime; None while unknown."""
        return self._total

    @property
    def listed(self) -> int:
        """How many of them are in the list."""
        return len(self._entries) - len(self._gone)

    @property
    def new_count(self) -> int:
        """How many are held back behind the bar."""
        return len(self._held)

    @property
    def held_ids(self) -> Sequence[str]:
        return tuple(self._held)

    @property
    def asking_runs(self) -> Set[str]:
        """The runs whose question is here."""
        waiting = (*self._entries.values(), *self._held.values())
        return {entry.pause.run_id for entry in waiting if not entry.gone}

    def next_deadline(self, now: float) -> float | None:
        """The first deadline of a listed question after ``now``."""
        deadlines = (entry.pause.expires_at for entry in self._entries.values() if not entry.gone)
        return min((at for at in deadlines if at is not None and at > now), default=None)

    @property
    def next_cursor(self) -> str | None:
        return self._cursor

    @property
    def rows(self) -> Sequence[Row]:
        """What is listed, heads of groups included."""
        return self._rows

    def get(self, pause_id: str) -> Entry | None:
        return self._entries.get(pause_id) or self._held.get(pause_id)

    def of_run(self, run_id: str) -> list[Entry]:
        """The open questions of a run, the oldest first, listed or held back."""
        known = (*self._entries.values(), *self._held.values())
        found = (entry for entry in known if entry.pause.run_id == run_id and not entry.gone)
        return sorted(found, key=lambda entry: (entry.pause.asked_at, entry.id))

    def number_of(self, pause_id: str) -> int | None:
        """Which one of the listed questions it is, counting from 1; None if it is not listed."""
        entry = self._entries.get(pause_id)
        if entry is None:
            return None
        before = GROUPS[: GROUPS.index(entry.group)]
        here = bisect_left(self._order[entry.group], self._keys[pause_id])
        return sum(len(self._order[group]) for group in before) + here + 1

    def apply(self, batch: Batch, *, reading: str | None = None) -> list[Edit[Row]]:
        """Take in what the runtime says. The question being read stays listed when it closes, as ``gone``."""
        if batch.reset:
            return self._reset(batch)
        for pause_id in batch.closed:
            self._close(pause_id, batch.outcomes.get(pause_id, ""), keep=pause_id == reading)
        for pause in batch.opened:
            self._open(pause, hold=True)
        if batch.total is not None:
            self._total = batch.total
        return self._edits()

    def append(self, page: PausePage) -> list[Edit[Row]]:
        """List one more page of what waits already."""
        self._cursor = page.next_cursor
        self._total = page.total
        for pause in page.items:
            self._open(pause, hold=False)
        return self._edits()

    def show_new(self) -> list[Edit[Row]]:
        """List what was held back, and put every question into the group it belongs to by now."""
        moved: set[str] = set()
        for entry in list(self._entries.values()):
            group = self._group_of(entry.pause)
            if group != entry.group and not entry.gone:
                self._take_out(entry.id)
                self._place(replace(entry, group=group))
                moved.add(entry.id)
        self._list_held()
        return self._edits(moved)

    def list_due(self) -> list[Edit[Row]]:
        """List what was held back and is due soon by now."""
        for entry in list(self._held.values()):
            self._open(entry.pause, hold=True)
        return self._edits()

    def show_one(self, pause_id: str) -> list[Edit[Row]]:
        """List one held-back question, because the operator asked for this one."""
        entry = self._held.pop(pause_id, None)
        if entry is not None:
            self._place(replace(entry, group=self._group_of(entry.pause)))
        return self._edits()

    def set_new(self, pause_id: str, new: bool) -> list[Edit[Row]]:
        return self._update(pause_id, new=new)

    def mark(self, pause_id: str, mark: Mark, until: float | None = None) -> list[Edit[Row]]:
        return self._update(pause_id, mark=mark, mark_until=until)

    def leave(self, pause_id: str) -> list[Edit[Row]]:
        """The operator reads something else: a question that is gone leaves the list."""
        entry = self._entries.get(pause_id)
        if entry is not None and entry.gone:
            self._take_out(pause_id)
        return self._edits()

    def _reset(self, batch: Batch) -> list[Edit[Row]]:
        before = {**self._entries, **self._held}
        self._entries.clear()
        self._gone.clear()
        self._keys.clear()
        self._held.clear()
        for order in self._order.values():
            order.clear()
        for pause in batch.opened:
            entry = self._entry(pause)
            known = before.get(pause.id)
            self._place(replace(known, pause=pause, group=entry.group, gone=False, outcome="") if known else entry)
        self._cursor = batch.next_cursor
        self._total = batch.total if batch.total is not None else len(self._entries)
        self._loaded = True
        self._touched = False
        self._rows = self._arranged()
        return [Replaced(tuple(self._rows))]

    def _open(self, pause: Pause, *, hold: bool) -> None:
        if pause.id in self._entries:
            self._exchange(replace(self._entries[pause.id], pause=pause, gone=False, outcome=""))
            return
        held = self._held.pop(pause.id, None)
        entry = replace(held, pause=pause, group=self._group_of(pause)) if held else self._entry(pause)
        if hold and entry.group != "due":
            self._held[pause.id] = entry
        else:
            self._place(entry)

    def _close(self, pause_id: str, outcome: str, *, keep: bool) -> None:
        held = self._held.pop(pause_id, None)
        entry = held or self._entries.get(pause_id)
        if entry is None:
            return
        self._answered_runs.add(entry.pause.run_id)
        if held is not None:
            return
        if keep:
            mark: Mark = entry.mark if entry.mark in {"sending", "answered"} else ""
            self._exchange(replace(entry, gone=True, outcome=outcome, mark=mark, mark_until=None))
        else:
            self._take_out(pause_id)

    def _entry(self, pause: Pause) -> Entry:
        new = self._is_read is None or not self._is_read(pause.id)
        return Entry(pause, self._group_of(pause), new=new, again=pause.run_id in self._answered_runs)

    def _group_of(self, pause: Pause) -> Group:
        if not pause.eligible:
            return "others"
        if pause.expires_at is not None and pause.expires_at - self._clock() <= DUE_SOON_S:
            return "due"
        return "waiting"

    def _place(self, entry: Entry) -> None:
        """Due soon by deadline, the other groups newest first."""
        when = (entry.pause.expires_at or 0.0) if entry.group == "due" else -entry.pause.asked_at
        self._touched = True
        self._entries[entry.id] = entry
        self._keys[entry.id] = key = (when, entry.id)
        insort(self._order[entry.group], key)

    def _list_held(self) -> None:
        for entry in self._held.values():
            self._place(replace(entry, group=self._group_of(entry.pause)))
        self._held.clear()

    def _exchange(self, entry: Entry) -> None:
        self._touched = True
        self._entries[entry.id] = entry
        if entry.gone:
            self._gone.add(entry.id)
        else:
            self._gone.discard(entry.id)

    def _take_out(self, pause_id: str) -> None:
        self._touched = True
        self._gone.discard(pause_id)
        entry = self._entries.pop(pause_id)
        order = self._order[entry.group]
        del order[bisect_left(order, self._keys.pop(pause_id))]

    def _update(self, pause_id: str, **fields: Any) -> list[Edit[Row]]:
        """Change what is known of one question; it stays where it is, so its row is all that is looked at."""
        if pause_id in self._held:
            self._held[pause_id] = replace(self._held[pause_id], **fields)
            return []
        old = self._entries.get(pause_id)
        if old is None:
            return []
        new = replace(old, **fields)
        if new == old:
            return []
        self._entries[pause_id] = new
        at = next(at for at, row in enumerate(self._rows) if row is old)
        self._rows[at] = new
        return [Changed(at, new)]

    def _arranged(self) -> list[Row]:
        found: list[Row] = []
        for group in GROUPS:
            if self._order[group]:
                found.append(_HEADS[group])
                found.extend(self._entries[pause_id] for _, pause_id in self._order[group])
        return found

    def _edits(self, moved: Set[str] = frozenset()) -> list[Edit[Row]]:
        """What turns the rows of before into those of now, in blocks; rows that stay keep their order."""
        if not self._entries:  # no row can move under anybody, and what waits must be seen
            self._list_held()
        if not self._touched:
            return []
        self._touched = False
        before, self._rows = self._rows, self._arranged()
        return edits_between(before, self._rows, _key, _same, moved)


def _key(row: Row) -> str:
    return f"\0{row.group}" if isinstance(row, Header) else row.id


def _same(old: Row, row: Row) -> bool:
    """Whether a row looks as before; unknown fields of a question count, though they do not compare."""
    if isinstance(old, Entry) and isinstance(row, Entry) and old.pause.raw != row.pause.raw:
        return False
    return old == row
