"""Repositories and builds as rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject

from inbox_app.gateway.builds import Build, is_production
from inbox_app.gateway.catalog import Repository
from inbox_app.models.row_table import RowTable
from inbox_app.models.wording import SHORT, age
from inbox_app.repositories import words
from inbox_app.state.edits import edits_between
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.row_delegate import RowLook


class RepositoryTable(RowTable[Repository]):
    """Opened repositories, in the order in which they were opened. Their id is their path."""

    def put(self, repositories: Sequence[Repository]) -> None:
        self.apply(edits_between(self._rows, repositories, self.row_id, _same, frozenset()))

    def row_id(self, row: Repository) -> str:
        return row.path

    def look(self, row: Repository) -> RowLook:
        icon, icon_role = words.repository_mark(row)
        word, word_role = words.repository_state(row)
        return RowLook(
            icon=icon,
            icon_role=icon_role,
            title=reveal(row.name),
            strong=False,
            when=reveal(row.version),
            detail=reveal(row.path) if row.broken else f"{words.contents(row)} · {row.revision[:SHORT]}",
            word=word,
            word_role=word_role,
        )

    def spoken(self, row: Repository) -> str:
        look = self.look(row)
        return ", ".join(part for part in (look.title, look.word, look.when, look.detail) if part)


class BuildTable(RowTable[Build]):
    """Builds, latest first."""

    def __init__(self, parent: QObject, clock: Callable[[], float] = time.time) -> None:
        super().__init__(parent)
        self._clock = clock

    def put(self, builds: Sequence[Build]) -> None:
        self.apply(edits_between(self._rows, builds, self.row_id, _same, frozenset()))

    def row_id(self, row: Build) -> str:
        return row.id

    def look(self, row: Build) -> RowLook:
        icon, icon_role = words.build_mark(row)
        word, word_role = words.build_state(row)
        return RowLook(
            icon=icon,
            icon_role=icon_role,
            title=words.build_title(row),
            strong=False,
            when=age(row.started_at, self._clock()),
            detail=words.build_facts(row),
            word=word,
            word_role=word_role,
            tag="PROD" if is_production(row.environment) else "",
        )

    def spoken(self, row: Build) -> str:
        look = self.look(row)
        return ", ".join(part for part in (look.tag, look.title, look.word, look.when, look.detail) if part)


def _same(old: object, new: object) -> bool:
    return old == new
