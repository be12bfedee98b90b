"""The way to the calls of a turn that has more of them than are shown at once."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from inbox_app.chat.part import Part
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW
from inbox_app.widgets.buttons import ActionButton


class MorePart(Part):
    wanted = Signal()
    takes_focus = True

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._button = ActionButton(theme, "", "link", parent=self, height=BUTTON_ROW)
        self._button.clicked.connect(self.wanted)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._button)
        row.addStretch(1)

    def show_count(self, count: int) -> None:
        one, many = self.tr("Show 1 more call"), self.tr("Show %n more calls", "", count)
        self._button.set_text(one if count == 1 else many)

    def enter(self) -> None:
        self._button.setFocus(Qt.FocusReason.TabFocusReason)
