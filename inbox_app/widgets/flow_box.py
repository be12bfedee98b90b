"""Small things side by side, in as many rows as they need."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_1, SPACE_2


class FlowBox(QWidget):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._items: list[QWidget] = []
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_items(self, items: Sequence[QWidget]) -> None:
        """Show these, in this order; what was shown before and is not among them goes."""
        for old in self._items:
            if old not in items:
                old.hide()
                old.deleteLater()
        self._items = list(items)
        for item in self._items:
            item.setParent(self)
            item.show()
        self._place(self.width())
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return max((rect.bottom() + 1 for rect in self._rects(width)), default=0)

    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(320), self.heightForWidth(max(self.width(), self._theme.px(80))))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(80), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place(event.size().width())

    def _place(self, width: int) -> None:
        mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        for item, rect in zip(self._items, self._rects(width), strict=True):
            if mirrored:
                rect.moveLeft(width - rect.x() - rect.width())
            item.setGeometry(rect)

    def _rects(self, width: int) -> list[QRect]:
        gap, row_gap = self._theme.px(SPACE_2), self._theme.px(SPACE_1)
        x = y = row = 0
        rects: list[QRect] = []
        for item in self._items:
            size = item.sizeHint()
            if x and x + size.width() > width:
                x, y, row = 0, y + row + row_gap, 0
            rects.append(QRect(x, y, min(size.width(), max(width, 1)), size.height()))
            x += size.width() + gap
            row = max(row, size.height())
        return rects
