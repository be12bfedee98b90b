"""The list of opened repositories."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from inbox_app.theme.theme import Theme
from inbox_app.widgets.section_pane import SectionPane


class RepositoriesPane(SectionPane):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.name_all(self.tr("Repositories"), self.tr("Opened repositories"))
        self.top.hide()  # there are no groups
        self.name_states(
            "git-branch", self.tr("Reading the repositories"), self.tr("The repositories could not be read")
        )

    def show_repositories(self, count: int) -> None:
        self.show_count(self.tr("1 open") if count == 1 else self.tr("{0} open").format(count))
        if not count:
            self.empty.show_text(
                "git-branch",
                self.tr("No repository is open"),
                self.tr("Open the folder of an agent repository: the one that holds amodal.json."),
                self.tr("Open a repository"),
            )
        self.show_footer(self.tr("J and K move, Enter opens, ? shows all keys"))
        self.show_table(count > 0)
