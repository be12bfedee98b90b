"""The bar that says how many new rows wait to be shown. It covers the head of a group, so no row moves for it."""

from __future__ import annotations

from PySide6.QtCore import QEasingCurve, QPoint, QPropertyAnimation, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import FOCUS_RING, ICON, NEW_BAR, RADIUS_FIELD
from inbox_app.widgets.key_hint import hint_width, paint_hint

SLIDE, SLIDE_MS = 8, 120
GAP = 8


class NewBar(QWidget):
    """``clicked`` asks to show what is new."""

    clicked = Signal()

    def __init__(self, theme: Theme, key_hint: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFixedHeight(theme.px(NEW_BAR))
        self._button = _BarButton(theme, key_hint, self)
        self._button.hide()
        self._button.clicked.connect(self.clicked)
        self._slide = QPropertyAnimation(self._button, b"pos", self)
        self._slide.setDuration(SLIDE_MS)
        self._slide.setEasingCurve(QEasingCurve.Type.OutCubic)

    @property
    def is_shown(self) -> bool:
        return self._button.isVisibleTo(self)

    def show_count(self, text: str) -> None:
        """Say ``text``; with an empty text the bar goes. Move the focus away before that."""
        if not text:
            self._button.hide()
        else:
            self._button.setText(text)
            self._button.setAccessibleName(text)
            if not self.is_shown:
                self._button.show()
                self._slide.setStartValue(QPoint(0, -self._theme.px(SLIDE)))
                self._slide.setEndValue(QPoint(0, 0))
                self._slide.start()
        self.update()

    def has_focus(self) -> bool:
        return self._button.hasFocus()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._button.resize(self.size())

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.is_shown:
            painter = QPainter(self)
            painter.fillRect(self.rect(), self._theme.color("list"))
            painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))
            painter.end()


class _BarButton(QAbstractButton):
    def __init__(self, theme: Theme, key_hint: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._key_hint = key_hint
        self._ring = False
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        icon, hint = theme.px(ICON), hint_width(theme, self._key_hint)
        text = theme.metrics("body").horizontalAdvance(self.text())
        x = max(0, (self.width() - icon - text - hint - 2 * theme.px(GAP)) // 2)
        middle = self.height() // 2
        pixmap = theme.pixmap("arrow-up", "accent", ICON, scale=self.devicePixelRatioF())
        painter.drawPixmap(x, middle - icon // 2, pixmap)
        painter.setPen(theme.color("accent"))
        painter.setFont(theme.font("body"))
        left = x + icon + theme.px(GAP)
        painter.drawText(left, 0, text + 2, self.height(), int(Qt.AlignmentFlag.AlignVCenter), self.text())
        paint_hint(painter, theme, left + text + theme.px(GAP), middle, self._key_hint, "accent")
        if self._ring and self.hasFocus():
            painter.setPen(QPen(theme.color("focus"), FOCUS_RING))
            painter.drawPath(rounded(self.rect(), RADIUS_FIELD, FOCUS_RING / 2))
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.click()
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() != Qt.FocusReason.MouseFocusReason
        super().focusInEvent(event)
