"""The way to the calls of a turn that has more of them than are shown at once."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from inbox_app.chat.part import Part
from inbox_app.chat.turn_outline import MOST_ROWS
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
        """``count`` are left; so many at a time are shown that nothing stands still meanwhile."""
        if count == 1:
            words = self.tr("Show 1 more call")
        elif count <= MOST_ROWS:
            words = self.tr("Show {0} more calls").format(f"{count:,}")
        else:
            words = self.tr("Show {0} more of {1} calls").format(f"{MOST_ROWS:,}", f"{count:,}")
        self._button.set_text(words)

    def enter(self) -> None:
        self._button.setFocus(Qt.FocusReason.TabFocusReason)
