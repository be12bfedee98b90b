"""The list of ended runs, latest first."""

from __future__ import annotations

from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_2
from inbox_app.views.list_pane import ListPane


class HistoryPane(ListPane):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.name_all(self.tr("History"), self.tr("Ended runs"))
        self._fill.setContentsMargins(0, theme.px(SPACE_2), 0, 0)

    def show_loading(self) -> None:
        self.show_count("")
        self.empty.show_text("history", self.tr("Reading the history"), "")
        self.show_footer("")
        self.show_table(False)

    def show_problem(self, text: str) -> None:
        self.empty.show_text(
            "triangle-alert", self.tr("The history could not be read"), text, self.tr("Try again"), "failed"
        )
        self.show_table(False)

    def show_runs(self, total: int, listed: int) -> None:
        locale = QLocale()
        self.show_count(self.tr("{0} ended").format(locale.toString(total)))
        if not listed:
            self.empty.show_text(
                "history", self.tr("No run has ended yet"), self.tr("A run is listed here as soon as it ends.")
            )
        if total > listed:
            text = self.tr("{0} of {1} listed").format(locale.toString(listed), locale.toString(total))
            self.show_footer(text, more=True)
        else:
            self.show_footer(self.tr("Latest first"))
        self.show_table(listed > 0)
