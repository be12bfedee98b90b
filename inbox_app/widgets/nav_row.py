"""A row of the sidebar: a place to go to, or a state to read."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import FOCUS_RING, ICON, ICON_SMALL, RADIUS_FIELD, ROW_CONNECTION, ROW_SIDEBAR, Role

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_BY_KEY = frozenset(
    {Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason}
)
UNKNOWN_COUNT = "–"


class NavRow(QAbstractButton):
    """Icon, label, count. Checked is the current place. Enter and Space go there."""

    def __init__(self, theme: Theme, icon: str, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self._count = ""
        self._mark = ""
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self._ring = False
        self.setText(text)
        self.setAccessibleName(text)
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._on_theme_changed)

    def set_count(self, count: int | None, *, shown: bool = True, mark: str = "") -> None:
        """Zero is shown as 0; None is unknown and shown as a dash. ``mark``: the icon of a count that is a problem."""
        self._mark = mark if shown else ""
        self._count = "" if not shown else UNKNOWN_COUNT if count is None else f"{count:,}"
        self.setAccessibleName(f"{self.text()} {self._count}".strip())
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(120), self._theme.px(ROW_SIDEBAR))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        current = self.isChecked()
        if current or self.underMouse():
            painter.fillPath(rounded(self.rect(), RADIUS_FIELD), theme.color("selection" if current else "hover"))
        if self._ring and self.hasFocus():
            painter.setPen(QPen(theme.color("focus"), FOCUS_RING))
            painter.drawPath(rounded(self.rect(), RADIUS_FIELD, FOCUS_RING / 2))
        x = theme.px(8)
        role: Role = "text" if current else "muted"
        y = (self.height() - theme.px(ICON)) // 2
        painter.drawPixmap(x, y, theme.pixmap(self._icon, role, ICON, scale=self.devicePixelRatioF()))
        line = QRect(theme.px(32), 0, self.width() - theme.px(32) - x, self.height())
        painter.setPen(theme.color("failed" if self._mark else role))
        painter.setFont(theme.font("meta", strong=current))
        painter.drawText(line, int(_RIGHT), self._count)
        used = theme.metrics("meta", strong=current).horizontalAdvance(self._count) + theme.px(8)
        if self._mark:
            used += theme.px(ICON_SMALL)
            mark = theme.pixmap(self._mark, "failed", ICON_SMALL, scale=self.devicePixelRatioF())
            painter.drawPixmap(line.right() + 1 - used + theme.px(4), (self.height() - theme.px(ICON_SMALL)) // 2, mark)
        painter.setPen(theme.color("text"))
        painter.setFont(theme.font("body", strong=current))
        room = line.width() - used
        shown = theme.metrics("body", strong=current).elidedText(self.text(), Qt.TextElideMode.ElideRight, room)
        painter.drawText(line, int(_LEFT), shown)
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.click()
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() in _BY_KEY
        super().focusInEvent(event)

    @Slot()
    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()


class SourceRow(QWidget):
    """Where things come from: a health mark, a name, a line on its state, and a count."""

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._name = name
        self._icon, self._icon_role = "ring", "muted"
        self._state = ""
        self._count: str = UNKNOWN_COUNT
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._speak()
        theme.changed.connect(self.update)

    def set_state(self, icon: str, role: Role, state: str, count: int | None) -> None:
        self._icon, self._icon_role, self._state = icon, role, state
        self._count = UNKNOWN_COUNT if count is None else f"{count:,}"
        self._speak()
        self.update()

    def set_name(self, name: str) -> None:
        self._name = name
        self._speak()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(120), self._theme.px(ROW_CONNECTION))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        x = theme.px(8)
        first = QRect(theme.px(32), theme.px(3), self.width() - theme.px(32) - x, theme.px(20))
        second = QRect(first.x(), theme.px(23), first.width(), theme.px(16))
        role: Role = self._icon_role  # pyright: ignore[reportAssignmentType]
        y = first.y() + (first.height() - theme.px(ICON)) // 2
        painter.drawPixmap(x, y, theme.pixmap(self._icon, role, ICON, scale=self.devicePixelRatioF()))
        painter.setPen(theme.color("muted"))
        painter.setFont(theme.font("meta"))
        painter.drawText(first, int(_RIGHT), self._count)
        state = theme.metrics("meta").elidedText(self._state, Qt.TextElideMode.ElideRight, second.width())
        painter.drawText(second, int(_LEFT), state)
        painter.setPen(theme.color("text"))
        painter.setFont(theme.font("body"))
        room = first.width() - theme.metrics("meta").horizontalAdvance(self._count) - x
        name = theme.metrics("body").elidedText(self._name, Qt.TextElideMode.ElideRight, room)
        painter.drawText(first, int(_LEFT), name)
        painter.end()

    def _speak(self) -> None:
        self.setAccessibleName(", ".join(part for part in (self._name, self._state, self._count) if part))
