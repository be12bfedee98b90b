"""Questions whose time was over before anybody opened them here: told above the panes until it is dismissed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from inbox_app.cards.base import short_label
from inbox_app.gateway.base import Batch
from inbox_app.state.requests import Entry


class Missed(QObject):
    def __init__(
        self, entry: Callable[[str | None], Entry | None], show: Callable[[str, str], None], parent: QObject
    ) -> None:
        """``entry`` finds the row of a pause id, ``show`` tells something above the panes."""
        super().__init__(parent)
        self._entry = entry
        self._show = show
        self._questions: list[str] = []

    def take(self, batch: Batch) -> None:
        """Call it before the rows are gone."""
        fresh = [entry for pause_id in batch.closed if (entry := self._unseen(pause_id, batch)) is not None]
        if not fresh:
            return
        self._questions += [short_label(entry.pause.question) for entry in fresh]
        count = len(self._questions)
        strong = self.tr("A question expired before you opened it.")
        if count > 1:
            strong = self.tr("{0} questions expired before you opened them.").format(count)
        self._show(strong, self.tr("“{0}”. History shows what became of it.").format(self._questions[-1]))

    def forget(self) -> None:
        self._questions.clear()

    def _unseen(self, pause_id: str, batch: Batch) -> Entry | None:
        entry = self._entry(pause_id)
        is_missed = entry is not None and entry.new and entry.pause.eligible
        return entry if is_missed and batch.outcomes.get(pause_id) == "expired" else None
