"""The bar below the form: how ready the start is, and the one button that starts."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import DECISION_BAR, ICON, SPACE_3, SPACE_6, Role
from inbox_app.widgets.announce import announce
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.surface import Hairline

KEYS = "Ctrl+Enter"


@dataclass(frozen=True, slots=True)
class Readiness:
    icon: str
    role: Role
    text: str
    button: str
    can_press: bool = True


class StartBar(QWidget):
    pressed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedHeight(theme.px(DECISION_BAR))
        self._icon = IconBox(theme, self, ICON)
        self._text = MarkedLabel("", theme, "body", parent=self, lines=2)
        keys = QKeySequence(KEYS).toString(QKeySequence.SequenceFormat.NativeText)
        self._button = ActionButton(theme, "", "filled", keys, self)
        self._button.clicked.connect(self.pressed)
        row = QHBoxLayout()
        row.setContentsMargins(theme.px(SPACE_6), 0, theme.px(SPACE_6), 0)
        row.setSpacing(theme.px(SPACE_3))
        row.addWidget(self._icon)
        words = QVBoxLayout()  # the text in the middle, however many lines it has
        words.addStretch(1)
        words.addWidget(self._text)
        words.addStretch(1)
        row.addLayout(words, 1)
        row.addWidget(self._button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(Hairline(theme, self))
        column.addLayout(row, 1)

    def show_readiness(self, now: Readiness, *, speak: bool = False) -> None:
        self._icon.set_icon(now.icon, now.role)
        self._text.show_text(now.text)
        self._button.set_text(now.button)
        self._button.setEnabled(now.can_press)
        self.setAccessibleName(now.text)
        if speak:
            announce(self, now.text)
