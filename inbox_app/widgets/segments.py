"""A segmented control: a few words of which one is current."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen

from inbox_app.theme.style import rounded
from inbox_app.theme.tokens import BUTTON_ROW, FOCUS_RING, RADIUS_FIELD, SPACE_3, SPACE_8
from inbox_app.widgets.key_tabs import KeyTabs


class Segments(KeyTabs):
    """28 high, one border, the current part in ink."""

    def set_words(self, words: Sequence[str]) -> None:
        """Other words for the same parts; a part without one is not shown."""
        for index, word in enumerate(words):
            self.setTabText(index, word)
            self.setTabVisible(index, bool(word))
        self.updateGeometry()
        self.update()

    def tabSizeHint(self, index: int) -> QSize:
        width = self._theme.metrics("body", strong=True).horizontalAdvance(self.tabText(index))
        return QSize(max(width + 2 * self._theme.px(SPACE_3), self._theme.px(SPACE_8)), self._theme.px(BUTTON_ROW))

    def sizeHint(self) -> QSize:
        shown = (index for index in range(self.count()) if self.isTabVisible(index))
        width = sum(self.tabSizeHint(index).width() for index in shown)
        return QSize(width, self._theme.px(BUTTON_ROW))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = rounded(self.rect(), RADIUS_FIELD, 0.5)
        painter.fillPath(outline, theme.color("card"))
        painter.setClipPath(outline)
        for index in range(self.count()):
            if not self.isTabVisible(index):
                continue
            rect = self.tabRect(index)
            current = index == self.currentIndex()
            if current:
                painter.fillRect(rect, theme.color("ink"))
            painter.setPen(theme.color("on_ink" if current else "text"))
            painter.setFont(theme.font("body", strong=current))
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, self.tabText(index))
            if index and not current and index - 1 != self.currentIndex():
                painter.fillRect(QRect(rect.left(), 0, 1, self.height()), theme.color("line"))
        painter.setClipping(False)
        self._paint_border(painter, outline)
        painter.end()

    def _paint_border(self, painter: QPainter, outline: QPainterPath) -> None:
        focused = self.has_ring
        painter.setPen(QPen(self._theme.color("focus" if focused else "line_strong"), FOCUS_RING if focused else 1))
        painter.drawPath(rounded(self.rect(), RADIUS_FIELD, 1) if focused else outline)
