"""The key that does something, shown in place."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import KEY_HINT, RADIUS_TAG, Role

PADDING = 5


def hint_width(theme: Theme, keys: str) -> int:
    text = theme.metrics("meta").horizontalAdvance(keys)
    return max(theme.px(KEY_HINT), text + 2 * theme.px(PADDING))


def paint_hint(painter: QPainter, theme: Theme, x: int, middle: int, keys: str, role: Role = "muted") -> None:
    """Draw a key hint with its left edge at ``x``, centred on the line ``middle``."""
    height = theme.px(KEY_HINT)
    rect = QRect(x, middle - height // 2, hint_width(theme, keys), height)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.color("line_strong" if role == "muted" else role), 1))
    painter.drawPath(rounded(rect, RADIUS_TAG, 0.5))
    painter.setPen(theme.color(role))
    font = theme.font("meta")
    painter.setFont(font)
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, keys)
    painter.restore()


class KeyHint(QWidget):
    """A key hint as a widget."""

    def __init__(self, theme: Theme, keys: str, parent: QWidget, role: Role = "muted") -> None:
        super().__init__(parent)
        self._theme = theme
        self._keys = keys
        self._role: Role = role
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(keys)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(hint_width(self._theme, self._keys), self._theme.px(KEY_HINT))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_hint(painter, self._theme, 0, self.height() // 2, self._keys, self._role)
        painter.end()
