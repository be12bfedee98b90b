"""Ended runs as rows, latest first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication, QObject

from inbox_app.gateway.base import Run
from inbox_app.models.row_table import RowTable
from inbox_app.models.wording import age
from inbox_app.state.edits import edits_between
from inbox_app.theme.tokens import Role
from inbox_app.widgets.row_delegate import RowLook

_ICONS: dict[str, tuple[str, Role]] = {
    "completed": ("circle-check", "answered"),
    "failed": ("triangle-alert", "failed"),
    "cancelled": ("circle-x", "expired"),
    "expired": ("timer-off", "expired"),
}


class RunTable(RowTable[Run]):
    """History: what the runtime has ended. Runs that end while one looks are added at the top."""

    def __init__(self, parent: QObject, clock: Callable[[], float] = time.time) -> None:
        super().__init__(parent)
        self._clock = clock

    def put(self, runs: Sequence[Run]) -> None:
        """Add or renew runs; only ended ones are kept."""
        known = {run.id: run for run in self._rows}
        known.update((run.id, run) for run in runs if run.finished)
        after = sorted(known.values(), key=_latest_first)
        kept = [run.id for run in after if run.id in {old.id for old in self._rows}]
        moved = set(kept) if kept != [run.id for run in self._rows] else set[str]()
        self.apply(edits_between(self._rows, after, self.row_id, _same, moved))

    def clear(self) -> None:
        self.apply(edits_between(self._rows, (), self.row_id, _same))

    def row_id(self, row: Run) -> str:
        return row.id

    def look(self, row: Run) -> RowLook:
        icon, icon_role = _ICONS.get(row.status, ("circle-question-mark", "muted"))
        word, word_role = _word(row)
        return RowLook(
            icon=icon,
            icon_role=icon_role,
            title=row.tool,
            title_font="mono",
            strong=False,
            when=age(_ended_at(row), self._clock()),
            detail=f"{row.connection} · {row.requested_by}" if row.requested_by else row.connection,
            word=word,
            word_role=word_role,
        )

    def spoken(self, row: Run) -> str:
        look = self.look(row)
        return ", ".join((look.title, look.word, look.when, look.detail))


def _ended_at(run: Run) -> float:
    return run.finished_at if run.finished_at is not None else run.updated_at


def _latest_first(run: Run) -> tuple[float, str]:
    return (-_ended_at(run), run.id)


def _same(old: Run, run: Run) -> bool:
    return old == run


def _word(run: Run) -> tuple[str, Role]:
    translate = QCoreApplication.translate
    if run.status == "completed":
        return translate("history", "Completed"), "muted"
    if run.status == "cancelled":
        return translate("history", "Cancelled"), "muted"
    if run.status == "expired":
        return translate("history", "Expired"), "muted"
    if run.status == "failed":
        code = (run.error or {}).get("code")
        return translate("history", "Failed: {0}").format(code) if code else translate("history", "Failed"), "failed"
    return run.status, "muted"
