"""A box to tick, with its words; drawn in the theme's own lines so that it is seen in every palette."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFocusEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QSizePolicy, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import (
    BUTTON_ROW,
    FOCUS_RING,
    ICON,
    ICON_TINY,
    RADIUS_FIELD,
    RADIUS_TAG,
    SPACE_1,
    SPACE_2,
    FontKind,
)
from inbox_app.widgets.option_row import BY_KEY


class CheckBox(QCheckBox):
    """``text`` is ours, never somebody else's: an ampersand in it would make a shortcut."""

    def __init__(self, theme: Theme, text: str, font: FontKind = "body", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self._theme = theme
        self._kind: FontKind = font
        self._ring = False
        self.setAccessibleName(text)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        width = self._theme.metrics(self._kind).horizontalAdvance(self.text())
        return QSize(self._text_left() + width + self._theme.px(SPACE_1), self._theme.px(BUTTON_ROW))

    def hitButton(self, pos: QPoint) -> bool:
        return self.rect().contains(pos)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() in BY_KEY
        super().focusInEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        size = theme.px(ICON)
        box = QRect(theme.px(SPACE_1), (self.height() - size) // 2, size, size)
        if self.isChecked():
            painter.fillPath(rounded(box, RADIUS_TAG), theme.color("ink"))
            inner = (size - theme.px(ICON_TINY)) // 2
            mark = theme.pixmap("check", "on_ink", ICON_TINY, scale=self.devicePixelRatioF())
            painter.drawPixmap(box.x() + inner, box.y() + inner, mark)
        else:
            painter.fillPath(rounded(box, RADIUS_TAG), theme.color("card"))
            painter.setPen(QPen(theme.color("line_strong"), 1))
            painter.drawPath(rounded(box, RADIUS_TAG, 0.5))
        painter.setFont(theme.font(self._kind))
        painter.setPen(theme.color("text"))
        room = self.rect().adjusted(self._text_left(), 0, 0, 0)
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.text())
        if self._ring and self.hasFocus():
            painter.setPen(QPen(theme.color("focus"), FOCUS_RING))
            painter.drawPath(rounded(self.rect(), RADIUS_FIELD, 1))
        painter.end()

    def _text_left(self) -> int:
        return self._theme.px(SPACE_1) + self._theme.px(ICON) + self._theme.px(SPACE_2)
