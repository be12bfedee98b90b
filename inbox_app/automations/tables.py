"""Automations and their starts as rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject

from inbox_app.automations import words
from inbox_app.gateway.automations import Automation, Firing
from inbox_app.models.agent_names import AgentNames
from inbox_app.models.row_table import RowTable
from inbox_app.models.wording import age
from inbox_app.state.edits import Changed, edits_between
from inbox_app.widgets.row_delegate import RowLook


class AutomationTable(RowTable[Automation]):
    """What is due next first, then what is off, by name."""

    def __init__(self, parent: QObject, clock: Callable[[], float] = time.time) -> None:
        super().__init__(parent)
        self._clock = clock
        self._names = AgentNames()

    def show_names(self, names: AgentNames) -> None:
        """What the agents are called."""
        if names != self._names:
            self._names = names
            self.apply([Changed(at, row) for at, row in enumerate(self._rows)])

    def put(self, automations: Sequence[Automation]) -> None:
        rows = sorted(automations, key=_order)
        self.apply(edits_between(self._rows, rows, self.row_id, _same, frozenset()))

    def tick(self) -> None:
        """Say anew how long it is until they are due."""
        self.apply([Changed(at, row) for at, row in enumerate(self._rows) if row.next_at is not None])

    def row_id(self, row: Automation) -> str:
        return row.id

    def look(self, row: Automation) -> RowLook:
        icon, icon_role = words.mark(row)
        word, word_role = words.standing(row)
        return RowLook(
            icon=icon,
            icon_role=icon_role,
            title=words.title(row),
            strong=row.enabled,
            when=words.due(row, self._clock()),
            detail=f"{words.target(row, self._names)} · {words.schedule(row)}",
            word=word,
            word_role=word_role,
        )

    def spoken(self, row: Automation) -> str:
        look = self.look(row)
        return ", ".join(part for part in (look.title, look.when, look.detail, look.word) if part)


class FiringTable(RowTable[Firing]):
    """Starts, latest first."""

    def __init__(self, parent: QObject, clock: Callable[[], float] = time.time) -> None:
        super().__init__(parent)
        self._clock = clock

    def put(self, firings: Sequence[Firing]) -> None:
        self.apply(edits_between(self._rows, firings, self.row_id, _same, frozenset()))

    def row_id(self, row: Firing) -> str:
        return str(row.id)

    def look(self, row: Firing) -> RowLook:
        icon, icon_role = words.firing_mark(row)
        word, word_role = words.firing_state(row)
        return RowLook(
            icon=icon,
            icon_role=icon_role,
            title=words.firing_title(row, self._clock()),
            strong=False,
            when=age(row.started_at, self._clock()),
            detail=words.firing_detail(row),
            word=word,
            word_role=word_role,
        )

    def spoken(self, row: Firing) -> str:
        look = self.look(row)
        return ", ".join(part for part in (look.title, look.word, look.when, look.detail) if part)


def _order(row: Automation) -> tuple[bool, float, str, str]:
    is_due = row.enabled and row.next_at is not None
    return not is_due, row.next_at or 0.0, words.title(row).casefold(), row.id


def _same(old: object, new: object) -> bool:
    return old == new
