"""A file by name and size, with a way to take it out where that can be done."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, ICON_SMALL, RADIUS_FIELD, SPACE_1, SPACE_2
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.hidden_text import reveal

NAME_WIDTH = 200


class FileChip(QWidget):
    removed = Signal()

    def __init__(
        self, theme: Theme, name: str, size: str, *, removable: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._name = " ".join(reveal(name).split())
        self._size = size
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setToolTip(self._name)
        self.setAccessibleName(" ".join((self._name, size)).strip())
        self._remove: ActionButton | None = None
        if removable:
            self._remove = ActionButton(theme, "", "flat", parent=self, icon_name="x", height=24)
            self._remove.setAccessibleName(self.tr("Remove {0}").format(self._name))
            self._remove.setToolTip(self._remove.accessibleName())
            self._remove.clicked.connect(self.removed)
            row = QHBoxLayout(self)
            row.setContentsMargins(0, 0, theme.px(2), 0)
            row.addStretch(1)
            row.addWidget(self._remove)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        width = self._text_left() + self._name_width() + self._theme.px(SPACE_2)
        if self._size:
            width += self._theme.px(SPACE_2) + self._theme.metrics("meta").horizontalAdvance(self._size)
        if self._remove is not None:
            width += self._remove.sizeHint().width()
        return QSize(width, self._theme.px(BUTTON_ROW))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = rounded(self.rect(), RADIUS_FIELD, 0.5)
        painter.fillPath(frame, theme.color("card"))
        painter.setPen(QPen(theme.color("line_strong"), 1))
        painter.drawPath(frame)
        icon = theme.px(ICON_SMALL)
        pixmap = theme.pixmap("file-text", "muted", ICON_SMALL, scale=self.devicePixelRatioF())
        painter.drawPixmap(theme.px(SPACE_2), (self.height() - icon) // 2, pixmap)
        side = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        left, width = self._text_left(), self._name_width()
        painter.setFont(theme.font("body"))
        painter.setPen(theme.color("text"))
        shown = theme.metrics("body").elidedText(self._name, Qt.TextElideMode.ElideMiddle, width)
        painter.drawText(QRect(left, 0, width, self.height()), int(side), shown)
        if self._size:
            painter.setFont(theme.font("meta"))
            painter.setPen(theme.color("muted"))
            painter.drawText(
                QRect(left + width + theme.px(SPACE_2), 0, self.width(), self.height()), int(side), self._size
            )
        painter.end()

    def _text_left(self) -> int:
        return self._theme.px(SPACE_2) + self._theme.px(ICON_SMALL) + self._theme.px(SPACE_1 + 2)

    def _name_width(self) -> int:
        wanted = self._theme.metrics("body").horizontalAdvance(self._name) + 1
        return min(wanted, self._theme.px(NAME_WIDTH))
