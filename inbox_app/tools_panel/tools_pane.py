"""The list of tools, with a box that hides those without an invoke trigger."""

from __future__ import annotations

from PySide6.QtCore import QLocale, Signal
from PySide6.QtWidgets import QWidget

from inbox_app.theme.theme import Theme
from inbox_app.widgets.check_box import CheckBox
from inbox_app.widgets.list_pane import ListPane


class ToolsPane(ListPane):
    """``filtered`` carries whether only tools with an invoke trigger are wanted."""

    filtered = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.name_all(self.tr("Tools"), self.tr("Tools of the opened repositories"))
        self._only = CheckBox(theme, self.tr("Invocable only"), "meta", self)
        self._only.setToolTip(self.tr("Only tools with an invoke trigger: those that the HTTP route starts"))
        self._only.toggled.connect(self.filtered)
        self.add_to_head(self._only)

    @property
    def invocable_only(self) -> bool:
        return self._only.isChecked()

    def set_invocable_only(self, only: bool) -> None:
        self._only.setChecked(only)

    def show_loading(self) -> None:
        self.show_count("")
        self.empty.show_text("wrench", self.tr("Reading the repositories"), "")
        self.show_footer("")
        self.show_table(False)

    def show_problem(self, text: str) -> None:
        self.empty.show_text(
            "triangle-alert", self.tr("The repositories could not be read"), text, self.tr("Try again"), "failed"
        )
        self.show_table(False)

    def show_tools(self, repositories: int, listed: int, hidden: int) -> None:
        """How many repositories are open, and how many of their tools are listed and left out."""
        locale = QLocale()
        self.show_count(locale.toString(listed) if repositories else "")
        if not repositories:
            text = self.tr("Its tools are listed here then. A repository is a folder with an amodal.json.")
            self.empty.show_text("wrench", self.tr("No repository is open"), text, self.tr("Open repository…"))
        elif not listed and hidden:
            text = self.tr("{0} others can be started directly. Take the tick out of “Invocable only” to see them.")
            heading = self.tr("No tool has an invoke trigger")
            self.empty.show_text("wrench", heading, text.format(locale.toString(hidden)), self.tr("Show all"))
        elif not listed:
            self.empty.show_text("wrench", self.tr("The opened repositories have no tools"), "")
        footer = self.tr("J and K move, Enter opens, ? shows all keys")
        self.show_footer(self.tr("{0} without an invoke trigger").format(locale.toString(hidden)) if hidden else footer)
