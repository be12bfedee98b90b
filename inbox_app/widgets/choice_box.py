"""A field that holds one of several words, chosen from a list that opens below it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, QSize, Qt, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QComboBox, QSizePolicy, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, FOCUS_RING, ICON_SMALL, RADIUS_FIELD, SPACE_2, FontKind
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.line_field import WRONG, keep_typing, mark_wrong

WORDS_LEAST = 12
LISTED = 16


class ChoiceBox(QComboBox):
    """Letters jump to a word and never become a command; the wheel scrolls the page, it chooses nothing."""

    def __init__(
        self, theme: Theme, name: str, words: Sequence[str], font: FontKind = "body", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._kind: FontKind = font
        self._muted = False
        self.setAccessibleName(name)
        self.setFont(theme.font(font))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMaxVisibleItems(LISTED)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(WORDS_LEAST)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.addItems([reveal(word) for word in words])
        theme.changed.connect(self._on_theme_changed)

    def set_muted(self, muted: bool) -> None:
        """Whether what it shows stands for nothing chosen."""
        if muted != self._muted:
            self._muted = muted
            self.update()

    def set_wrong(self, wrong: bool) -> None:
        mark_wrong(self, wrong)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._theme.px(BUTTON_ROW))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(120), self._theme.px(BUTTON_ROW))

    def event(self, event: QEvent) -> bool:
        return keep_typing(event) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            event.ignore()
            return
        super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, focused = self._theme, self.hasFocus()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width = FOCUS_RING if focused else 1
        outline = rounded(self.rect(), RADIUS_FIELD, width / 2)
        painter.fillPath(outline, theme.color("card" if self.isEnabled() else "sunken"))
        border = "failed" if self.property(WRONG) else "focus" if focused else "line_strong"
        painter.setPen(QPen(theme.color(border), width))
        painter.drawPath(outline)
        size, edge = theme.px(ICON_SMALL), theme.px(SPACE_2)
        x = self.width() - edge - size
        pixmap = theme.pixmap("chevron-down", "muted", ICON_SMALL, scale=self.devicePixelRatioF())
        painter.drawPixmap(x, (self.height() - size) // 2, pixmap)
        painter.setFont(self.font())
        painter.setPen(theme.color("muted" if self._muted or not self.isEnabled() else "text"))
        room = QRect(edge, 0, x - 2 * edge, self.height())
        text = self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        painter.end()

    @Slot()
    def _on_theme_changed(self) -> None:
        self.setFont(self._theme.font(self._kind))
        self.update()
