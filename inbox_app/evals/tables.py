"""Evals and their past results as rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType
from typing import TypeAlias

from PySide6.QtCore import QCoreApplication, QObject

from inbox_app.evals import words
from inbox_app.gateway.evals import EvalInfo, EvalResult
from inbox_app.models.row_table import RowTable
from inbox_app.models.wording import age, first_line, moment
from inbox_app.state.edits import edits_between
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.row_delegate import HeadLook, RowLook


@dataclass(frozen=True, slots=True)
class EvalRow:
    info: EvalInfo
    stage: words.Stage = ""


@dataclass(frozen=True, slots=True)
class RepositoryHead:
    """``total`` of its evals; ``passed`` are those whose last result is good."""

    repository: str
    total: int
    passed: int


Row: TypeAlias = EvalRow | RepositoryHead


class EvalTable(RowTable[Row]):
    """Evals below their repositories."""

    def __init__(self, parent: QObject, clock: Callable[[], float] = time.time) -> None:
        super().__init__(parent)
        self._clock = clock

    def put(self, infos: Sequence[EvalInfo], going: Mapping[str, words.Stage] = MappingProxyType({})) -> None:
        """``going``: the ids of those that are being carried out, or wait for it."""
        after: list[Row] = []
        for repository in dict.fromkeys(info.repository for info in infos):
            some = [info for info in infos if info.repository == repository]
            passed = sum(info.last is not None and info.last.passed for info in some)
            after.append(RepositoryHead(repository, len(some), passed))
            after += (EvalRow(info, going.get(info.id, "")) for info in some)
        self.apply(edits_between(self._rows, after, _key, _same, frozenset()))

    def get(self, row_id: str) -> EvalInfo | None:
        return next((row.info for row in self._rows if isinstance(row, EvalRow) and row.info.id == row_id), None)

    def row_id(self, row: Row) -> str:
        return row.info.id if isinstance(row, EvalRow) else ""

    def look(self, row: Row) -> RowLook | HeadLook:
        if isinstance(row, RepositoryHead):
            told = QCoreApplication.translate("evals", "{0} of {1} passed").format(row.passed, row.total)
            return HeadLook(reveal(PurePath(row.repository).name), told)
        info, last = row.info, row.info.last
        icon, icon_role = words.mark(info, row.stage)
        word, word_role = words.state(info, row.stage)
        return RowLook(
            icon=icon,
            icon_role=icon_role,
            title=reveal(info.title),
            strong=False,
            when=age(last.at, self._clock()) if last is not None else "",
            detail=reveal(first_line(info.asks or info.problem)),
            word=word,
            word_role=word_role,
        )

    def spoken(self, row: Row) -> str:
        look = self.look(row)
        if isinstance(look, HeadLook):
            return f"{look.title}, {look.order}"
        return ", ".join(part for part in (look.title, look.word, look.when, look.detail) if part)


class ResultTable(RowTable[EvalResult]):
    """How one eval went, latest first."""

    def put(self, results: Sequence[EvalResult]) -> None:
        self.apply(edits_between(self._rows, results, self.row_id, _same, frozenset()))

    def row_id(self, row: EvalResult) -> str:
        return str(row.id)

    def look(self, row: EvalResult) -> RowLook:
        icon, icon_role = words.result_mark(row)
        return RowLook(
            icon=icon,
            icon_role=icon_role,
            title=words.outcome(row),
            strong=False,
            when=moment(row.at),
            detail=words.facts(row),
            word="",
        )

    def spoken(self, row: EvalResult) -> str:
        look = self.look(row)
        return ", ".join(part for part in (look.title, look.when, look.detail) if part)


def _key(row: Row) -> str:
    return row.info.id if isinstance(row, EvalRow) else f"\0{row.repository}"


def _same(old: object, new: object) -> bool:
    return old == new
