"""Conversations as rows, the one that was used last first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from PySide6.QtCore import QCoreApplication, QObject

from inbox_app.gateway.chats import ChatSession
from inbox_app.models.agent_names import AgentNames
from inbox_app.models.row_table import RowTable
from inbox_app.models.wording import age, first_line
from inbox_app.state.edits import edits_between
from inbox_app.theme.tokens import Role
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.row_delegate import RowLook

translate = QCoreApplication.translate


class ConversationTable(RowTable[ChatSession]):
    def __init__(
        self, parent: QObject, clock: Callable[[], float] = time.time, names: AgentNames | None = None
    ) -> None:
        super().__init__(parent)
        self._clock = clock
        self._names = names or AgentNames()
        self._asking: Set[str] = frozenset()

    def get(self, session_id: str) -> ChatSession | None:
        return next((row for row in self._rows if row.id == session_id), None)

    def show(self, sessions: Sequence[ChatSession], busy: Set[str], reading: str | None) -> None:
        """``busy``: where a turn goes on here. If rows change places, they move around the one that is ``reading``."""
        known = {row.id: row for row in self._rows}
        fresh = {row.id: replace(row, busy=row.busy or row.id in busy) for row in sessions}
        after = sorted(fresh.values(), key=lambda row: (-row.updated_at, row.id))
        after = [known[row.id] if known.get(row.id) == row else row for row in after]
        before = [row.id for row in self._rows if row.id in fresh]
        order = [row.id for row in after if row.id in known]
        moved = set(order) - {reading} if before != order else set[str]()
        self.apply(edits_between(tuple(self._rows), after, _key, _same, moved))

    def show_asking(self, asking: Set[str]) -> None:
        """The conversations in which a person is asked something."""
        before, self._asking = self._asking, asking
        for at, row in enumerate(self._rows):
            if row.id in before ^ asking:
                self.dataChanged.emit(self.index(at, 0), self.index(at, 0))

    def show_names(self, names: AgentNames) -> None:
        """What the agents are called."""
        if names != self._names and self._rows:
            self._names = names
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, 0))
        self._names = names

    def row_id(self, row: ChatSession) -> str:
        return row.id

    def look(self, row: ChatSession) -> RowLook:
        icon: str = "message-square"
        role: Role = "muted"
        word = ""
        if row.id in self._asking:
            icon, role, word = "circle-pause", "waiting", translate("chat", "Asks you")
        elif row.busy:
            icon, role, word = "circle-dashed", "text", translate("chat", "At work")
        return RowLook(
            icon=icon,
            icon_role=role,
            title=title_of(row),
            strong=False,
            when=age(row.updated_at, self._clock()),
            detail=reveal(self._names.of(row.repository, row.agent)),
            word=word,
            word_role=role,
        )

    def spoken(self, row: ChatSession) -> str:
        look = self.look(row)
        return ", ".join(part for part in (look.title, look.detail, look.word, look.when) if part)


def title_of(row: ChatSession) -> str:
    return reveal(first_line(row.title)) or translate("chat", "Untitled")


def _key(row: ChatSession) -> str:
    return row.id


def _same(old: ChatSession, row: ChatSession) -> bool:
    return old == row
