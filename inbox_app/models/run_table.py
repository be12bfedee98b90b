"""Runs as rows: first those that go on without a question, then the ended ones, each latest first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias, cast

from PySide6.QtCore import QCoreApplication, QObject

from inbox_app.gateway import values
from inbox_app.gateway.base import Run
from inbox_app.models.row_table import RowTable
from inbox_app.models.wording import age, first_line
from inbox_app.state.edits import edits_between
from inbox_app.theme.tokens import Role
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.row_delegate import HeadLook, RowLook

Group: TypeAlias = Literal["going", "ended"]
GROUPS: tuple[Group, ...] = ("going", "ended")

STOPPED = frozenset({"diverged", "needs-attention"})
MOST_FIELDS, MOST_VALUE = 6, 60

_ICONS: dict[str, tuple[str, Role]] = {
    "completed": ("circle-check", "answered"),
    "failed": ("triangle-alert", "failed"),
    "cancelled": ("circle-x", "expired"),
    "expired": ("timer-off", "expired"),
    "running": ("circle-dashed", "muted"),
    "sleeping": ("moon", "muted"),
    "diverged": ("git-compare", "failed"),
    "needs-attention": ("triangle-alert", "due"),
    "awaiting-input": ("circle-pause", "waiting"),
}


@dataclass(frozen=True, slots=True)
class RunHead:
    group: Group


RunRow: TypeAlias = Run | RunHead
_Place: TypeAlias = tuple[int, float, str]
"""The group, when (latest first), the id: what rows are sorted by."""


class RunTable(RowTable[RunRow]):
    """Runs whose question is in the inbox are not listed here."""

    def __init__(self, parent: QObject, clock: Callable[[], float] = time.time) -> None:
        super().__init__(parent)
        self._clock = clock
        self._runs: dict[str, Run] = {}
        self._places: dict[str, _Place] = {}

    def get(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)

    def count(self, *, ended: bool) -> int:
        return sum(run.finished == ended for run in self._runs.values())

    @property
    def stopped(self) -> int:
        """How many wait for somebody to choose a way on, not for an answer."""
        return sum(run.status in STOPPED for run in self._runs.values())

    def put(self, runs: Sequence[Run], asked: Set[str] = frozenset(), reading: str | None = None) -> None:
        """Add or renew runs. ``asked``: ids of runs with a question in the inbox.

        The run being read stays where it is, whatever becomes of it, until it is no longer ``reading``.
        """
        known = dict(self._runs)
        for run in runs:
            if run.id not in known or known[run.id].updated_at <= run.updated_at:
                known[run.id] = run
        places = {run.id: self._place(run, asked, reading) for run in known.values()}
        self._arrange(known, {run_id: place for run_id, place in places.items() if place is not None})

    def forget(self) -> None:
        """The next `put` brings everything there is."""
        self._runs = {}

    def row_id(self, row: RunRow) -> str:
        return row.id if isinstance(row, Run) else ""

    def look(self, row: RunRow) -> RowLook | HeadLook:
        if isinstance(row, RunHead):
            return HeadLook(_group_title(row.group), QCoreApplication.translate("history", "latest first"))
        icon, icon_role = _ICONS.get(row.status, ("circle-question-mark", "muted"))
        word, word_role = _word(row)
        return RowLook(
            icon=icon,
            icon_role=icon_role,
            title=reveal(row.tool),
            title_font="mono",
            strong=False,
            when=age(_moment(row), self._clock()),
            detail=" · ".join(part for part in (reveal(row.requested_by), _in_short(row.input)) if part),
            word=word,
            word_role=word_role,
        )

    def spoken(self, row: RunRow) -> str:
        look = self.look(row)
        if isinstance(look, HeadLook):
            return f"{look.title}, {look.order}"
        return ", ".join((look.title, look.word, look.when, look.detail))

    def _place(self, run: Run, asked: Set[str], reading: str | None) -> _Place | None:
        if run.id == reading and run.id in self._places:
            return self._places[run.id]
        has_question = run.status == "awaiting-input" or run.id in asked
        if not run.finished and has_question and run.status != "diverged":
            return None
        return (GROUPS.index("ended" if run.finished else "going"), -_moment(run), run.id)

    def _arrange(self, known: dict[str, Run], places: dict[str, _Place]) -> None:
        after: list[RunRow] = []
        for number, group in enumerate(GROUPS):
            of_group = sorted(place for place in places.values() if place[0] == number)
            if of_group:
                after += (RunHead(group), *(known[run_id] for _, _, run_id in of_group))
        moved = {run_id for run_id, place in places.items() if self._places.get(run_id, place) != place}
        self._runs = {run_id: known[run_id] for run_id in places}
        self._places = places
        self.apply(edits_between(self._rows, after, _key, _same, moved))


def _key(row: RunRow) -> str:
    return row.id if isinstance(row, Run) else f"\0{row.group}"


def _same(old: RunRow, row: RunRow) -> bool:
    return old == row


def _moment(run: Run) -> float:
    """When a run ended, or began if it goes on."""
    if not run.finished:
        return run.created_at
    return run.finished_at if run.finished_at is not None else run.updated_at


def _in_short(value: Any) -> str:
    """The input of a run, as far as it helps to tell runs of one tool apart."""
    if not isinstance(value, dict):
        return "" if value is None else reveal(first_line(values.compact(value, MOST_VALUE)))
    fields = islice(cast("dict[str, Any]", value).items(), MOST_FIELDS)
    return ", ".join(reveal(first_line(f"{key}: {values.compact(field, MOST_VALUE)}")) for key, field in fields)


def _group_title(group: Group) -> str:
    translate = QCoreApplication.translate
    return translate("history", "Going on") if group == "going" else translate("history", "Ended")


def _word(row: Run) -> tuple[str, Role]:
    translate = QCoreApplication.translate
    code = (row.error or {}).get("code")
    if row.status == "failed" and code:
        return translate("history", "Failed: {0}").format(reveal(str(code))), "failed"
    words: dict[str, tuple[str, Role]] = {
        "completed": (translate("history", "Completed"), "muted"),
        "cancelled": (translate("history", "Cancelled"), "muted"),
        "expired": (translate("history", "Expired"), "muted"),
        "failed": (translate("history", "Failed"), "failed"),
        "running": (translate("history", "Running"), "muted"),
        "sleeping": (translate("history", "Sleeping"), "muted"),
        "diverged": (translate("history", "Diverged"), "failed"),
        "needs-attention": (translate("history", "Needs attention"), "due"),
        "awaiting-input": (translate("history", "Asks in the inbox"), "waiting"),
    }
    return words.get(row.status, (reveal(row.status), "muted"))
