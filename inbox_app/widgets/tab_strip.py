"""Tabs as words with counts, the current one underlined."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import FOCUS_RING, RADIUS_FIELD, SPACE_2, SPACE_5
from inbox_app.widgets.key_tabs import KeyTabs

HEIGHT = 32
COUNT_GAP = 6


class TabStrip(KeyTabs):
    """32 high over a hairline. A count of None shows none."""

    def __init__(self, theme: Theme, name: str, words: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(theme, name, words, parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_count(self, index: int, count: int | None) -> None:
        if self.tabData(index) != count:
            self.setTabData(index, count)
            self.setTabText(index, self.tabText(index))  # measures anew
            self.updateGeometry()
            self.update()

    def set_word(self, index: int, word: str) -> None:
        self.setTabText(index, word)

    def tabSizeHint(self, index: int) -> QSize:
        theme = self._theme
        width = theme.metrics("body", strong=True).horizontalAdvance(self.tabText(index))
        count = self._count_text(index)
        if count:
            width += theme.px(COUNT_GAP) + theme.metrics("meta").horizontalAdvance(count)
        gap = theme.px(SPACE_5) + theme.px(SPACE_2) - 4
        return QSize(width + gap, theme.px(HEIGHT))

    def sizeHint(self) -> QSize:
        width = sum(self.tabSizeHint(index).width() for index in range(self.count()))
        return QSize(width, self._theme.px(HEIGHT))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self._theme.px(HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        for index in range(self.count()):
            current = index == self.currentIndex()
            rect = self.tabRect(index)
            word, count = self.tabText(index), self._count_text(index)
            metrics = theme.metrics("body", strong=current)
            width = metrics.horizontalAdvance(word)
            text_rect = rect.adjusted(0, 0, 0, -theme.px(4))
            painter.setFont(theme.font("body", strong=current))
            painter.setPen(theme.color("text" if current else "muted"))
            painter.drawText(text_rect, middle, word)
            if count:
                painter.setFont(theme.font("meta"))
                painter.setPen(theme.color("muted"))
                painter.drawText(text_rect.adjusted(width + theme.px(COUNT_GAP), 0, 0, 0), middle, count)
                width += theme.px(COUNT_GAP) + theme.metrics("meta").horizontalAdvance(count)
            if current:
                painter.fillRect(QRect(rect.x(), self.height() - 2, width, 2), theme.color("ink"))
                if self.has_ring:
                    ring = QRect(rect.x() - 2, 2, width + 6, self.height() - 8)
                    painter.setPen(theme.color("focus"))
                    painter.drawPath(rounded(ring, RADIUS_FIELD, FOCUS_RING / 2))
        painter.end()

    def _count_text(self, index: int) -> str:
        count: int | None = self.tabData(index)
        return "" if count is None else f"{count:,}"
