"""A word with an icon and a count that can be switched on."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, FOCUS_RING, ICON_SMALL, RADIUS_FIELD, SPACE_2, Role

GAP = 6


class FilterChip(QAbstractButton):
    def __init__(self, theme: Theme, word: str, icon_name: str, role: Role, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._word = word
        self._icon_name = icon_name
        self._role: Role = role
        self._count = 0
        self._compact = False
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self.set_count(0)

    def set_count(self, count: int) -> None:
        self._count = count
        self.setAccessibleName(self._text())
        self.updateGeometry()
        self.update()

    def set_compact(self, compact: bool) -> None:
        """Icon and count only; the word is in the tool tip."""
        if compact != self._compact:
            self._compact = compact
            self.setToolTip(self._word if compact else "")
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        theme = self._theme
        width = theme.metrics("body", strong=True).horizontalAdvance(self._shown_text())
        return QSize(width + theme.px(ICON_SMALL) + theme.px(GAP) + 2 * theme.px(SPACE_2), theme.px(BUTTON_ROW))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = rounded(self.rect(), RADIUS_FIELD, 0.5)
        if self.isChecked():
            painter.fillPath(ground, theme.color("selection"))
            painter.setPen(QPen(theme.color("line_strong"), 1))
            painter.drawPath(ground)
        elif self.underMouse():
            painter.fillPath(ground, theme.color("hover"))
        if self.hasFocus():
            painter.setPen(QPen(theme.color("focus"), FOCUS_RING))
            painter.drawPath(rounded(self.rect(), RADIUS_FIELD, 1))
        size = theme.px(ICON_SMALL)
        x = theme.px(SPACE_2)
        pixmap = theme.pixmap(self._icon_name, self._role, ICON_SMALL, scale=self.devicePixelRatioF())
        painter.drawPixmap(x, (self.height() - size) // 2, pixmap)
        painter.setFont(theme.font("body", strong=self.isChecked()))
        painter.setPen(theme.color("text" if self._count else "muted"))
        rect = self.rect().adjusted(x + size + theme.px(GAP), 0, 0, 0)
        painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self._shown_text())
        painter.end()

    def _shown_text(self) -> str:
        return f"{self._count:,}" if self._compact else self._text()

    def _text(self) -> str:
        return f"{self._word} {self._count:,}"
