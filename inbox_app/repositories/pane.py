"""The list of opened repositories."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from inbox_app.theme.theme import Theme
from inbox_app.widgets.list_pane import ListPane


class RepositoriesPane(ListPane):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.name_all(self.tr("Repositories"), self.tr("Opened repositories"))
        self.top.hide()  # there are no groups
        self.show_loading()

    def show_loading(self) -> None:
        self.show_count("")
        self.empty.show_text("git-branch", self.tr("Reading the repositories"), "")
        self.show_footer("")
        self.show_table(False)

    def show_problem(self, text: str) -> None:
        self.empty.show_text(
            "triangle-alert", self.tr("The repositories could not be read"), text, self.tr("Try again"), "failed"
        )
        self.show_table(False)

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
