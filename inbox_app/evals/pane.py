"""The list of the evals of all opened repositories."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from inbox_app.theme.theme import Theme
from inbox_app.widgets.section_pane import SectionPane


class EvalsPane(SectionPane):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.name_all(self.tr("Evals"), self.tr("Evals of the opened repositories"))
        self.name_states("circle-check", self.tr("Reading the evals"), self.tr("The evals could not be read"))

    def show_evals(self, total: int, passed: int, running: int) -> None:
        count = self.tr("{0} of {1} passed").format(passed, total) if total else ""
        if running:
            count = self.tr("{0} to go, {1}").format(running, count)
        self.show_count(count)
        if not total:
            self.empty.show_text(
                "circle-check",
                self.tr("No eval is there"),
                self.tr("An eval is a file evals/NAME.md of a repository: what to ask, and what has to hold then."),
                self.tr("Look again"),
            )
        self.show_footer(self.tr("J and K move, Enter opens, ? shows all keys"))
        self.show_table(total > 0)
