"""The list of runs that go on without a question, and of those that have ended."""

from __future__ import annotations

from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QWidget

from inbox_app.theme.theme import Theme
from inbox_app.widgets.list_pane import ListPane


class HistoryPane(ListPane):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.name_all(self.tr("History"), self.tr("Runs that go on or have ended"))

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

    def show_runs(self, going: int, total: int, listed: int) -> None:
        """How many go on, have ended, and are listed of those."""
        locale = QLocale()
        count = self.tr("{0} ended").format(locale.toString(total))
        if going:
            count = self.tr("{0} going on, {1}").format(locale.toString(going), count)
        self.show_count(count)
        if not going and not listed:
            self.empty.show_text(
                "history",
                self.tr("No run goes on or has ended"),
                self.tr("A run is listed here while it works without a question, and when it has ended."),
            )
        if total > listed:
            text = self.tr("{0} of {1} listed").format(locale.toString(listed), locale.toString(total))
            self.show_footer(text, more=True)
        else:
            self.show_footer(self.tr("J and K move, Enter opens, ? shows all keys"))
        self.show_table(going + listed > 0)
