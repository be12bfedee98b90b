"""The list of automations."""

from __future__ import annotations

from PySide6.QtCore import QLocale, Signal
from PySide6.QtWidgets import QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.section_pane import SectionPane


class AutomationsPane(SectionPane):
    """``add_wanted``: an automation is to be made."""

    add_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.name_all(self.tr("Automations"), self.tr("Automations, what is due next first"))
        self._new = ActionButton(theme, self.tr("New"), "flat", parent=self, icon_name="plus", height=BUTTON_ROW)
        self._new.setAccessibleName(self.tr("New automation"))
        self._new.clicked.connect(self.add_wanted)
        self.add_to_head(self._new)
        self.top.hide()  # these rows have no heads
        self.name_states("clock", self.tr("Reading the automations"), self.tr("The automations could not be read"))

    def show_automations(self, count: int, on: int) -> None:
        self.show_count(self.tr("{0} on").format(QLocale().toString(on)) if count else "")
        if not count:
            self.empty.show_text(
                "clock",
                self.tr("No automation yet"),
                self.tr("Let an agent or a durable tool start by itself, at times that you choose."),
                self.tr("Make an automation"),
            )
        self.show_footer(self.tr("They start while this window is open"))
        self.show_table(count > 0)
