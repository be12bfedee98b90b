"""What a turn is made of: pieces one below the other, each of which knows its height and takes the arrow keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from inbox_app.theme.theme import Theme

INDENT: Final = 16
DEEPEST: Final = 12
"""Below this many levels nothing is set in further: what is there must stay readable."""

_STEPS: Final = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}


class Part(QWidget):
    """``fitted``: the height it wants is another. ``moved`` (1 or -1): the keyboard goes on to the next or previous.

    ``takes_focus``: the arrow keys stop here. ``gap`` is the room above it, ``level`` how far it is set in.
    """

    fitted = Signal()
    moved = Signal(int)
    takes_focus = False
    gap = 12

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.level = 0

    def height_for(self, width: int) -> int:
        """Its height at this width; the layout decides unless a part knows better."""
        layout = self.layout()
        if layout is None:
            return self.sizeHint().height()
        if self.width() != width:
            self.resize(width, self.height())
        layout.activate()
        return layout.totalHeightForWidth(width) if layout.hasHeightForWidth() else layout.totalSizeHint().height()

    def enter(self) -> None:
        """Take the keyboard."""
        self.setFocus(Qt.FocusReason.TabFocusReason)

    def tab_stops(self) -> Sequence[QWidget]:
        """What the Tab key may reach in it, in order."""
        return [self, *self.findChildren(QWidget)]

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.fitted.emit()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _STEPS.get(Qt.Key(event.key()), 0)
        if step and self.hasFocus():
            self.moved.emit(step)
        else:
            super().keyPressEvent(event)
