"""One call as a row: its state, what it is called, how long it took; and below, when opened, its values."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inbox_app.chat import call_words
from inbox_app.chat.part import Part
from inbox_app.chat.value_box import ValueBox
from inbox_app.gateway.chats import ChatCall
from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import FOCUS_RING, ICON_SMALL, RADIUS_FIELD, SPACE_1, SPACE_2, SPACE_3, Role
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.option_row import BY_KEY
from inbox_app.widgets.prose import Prose

ROW = 28
SLOT = 20


class CallPart(Part):
    """``toggled`` asks to open or close it; ``left`` to go to the call that this one is within."""

    toggled = Signal(str)
    left = Signal(str)
    takes_focus = True
    gap = 0

    def __init__(self, theme: Theme, call: ChatCall, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._call = call
        self._now = 0.0
        self._opened = False
        self._ring = self._hovered = False
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        theme.changed.connect(self.update)

    @property
    def call(self) -> ChatCall:
        return self._call

    def show_call(self, call: ChatCall, now: float, *, opened: bool) -> None:
        is_over = call.ended_at is not None
        if call is self._call and opened == self._opened and is_over and self.accessibleName():
            return
        self._call, self._now, self._opened = call, now, opened
        spoken = call_words.spoken(call, now, opened=opened)
        if spoken != self.accessibleName():
            self.setAccessibleName(spoken)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(200), self._theme.px(ROW))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, call = self._theme, self._call
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._hovered:
            painter.fillPath(rounded(self.rect(), RADIUS_FIELD), theme.color("hover"))
        if self.hasFocus() and self._ring:
            painter.setPen(QPen(theme.color("focus"), FOCUS_RING))
            painter.drawPath(rounded(self.rect(), RADIUS_FIELD, FOCUS_RING / 2))
        state = call_words.state_of(call)
        x = theme.px(SPACE_1)
        for icon in ("chevron-down" if self._opened else "chevron-right", call_words.kind_icon(call)):
            self._paint_icon(painter, icon, "muted", x)
            x += theme.px(SLOT)
        right = self.width() - theme.px(SPACE_2)
        words = call_words.at_right(call, self._now)
        painter.setFont(theme.font("meta"))
        painter.setPen(theme.color(state.role))
        width = theme.metrics("meta").horizontalAdvance(words)
        line = QRect(right - width, 0, width, self.height())
        painter.drawText(self._mirrored(line), int(Qt.AlignmentFlag.AlignCenter), words)
        right -= width + (theme.px(6) if words else 0)
        size = theme.px(ICON_SMALL)
        self._paint_icon(painter, state.icon, state.role, right - size)
        room = right - size - theme.px(SPACE_3) - x
        kind = "body" if call.label else "mono"
        painter.setFont(theme.font(kind))
        painter.setPen(theme.color("text"))
        text = theme.metrics(kind).elidedText(call_words.title(call), Qt.TextElideMode.ElideRight, max(0, room))
        side = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self._mirrored(QRect(x, 0, max(0, room), self.height())), int(side), text)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.toggled.emit(self._call.id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        opens = key == Qt.Key.Key_Right and not self._opened
        closes = key == Qt.Key.Key_Left and self._opened
        if opens or closes or key in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}:
            self.toggled.emit(self._call.id)
        elif key == Qt.Key.Key_Left:
            self.left.emit(self._call.id)
        elif key == Qt.Key.Key_Right:
            self.moved.emit(1)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() in BY_KEY
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def enterEvent(self, event: QEnterEvent) -> None:
        self._hovered = True
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered = False
        self.update()

    def _paint_icon(self, painter: QPainter, icon: str, role: Role, x: int) -> None:
        size = self._theme.px(ICON_SMALL)
        spot = self._mirrored(QRect(x, (self.height() - size) // 2, size, size))
        pixmap = self._theme.pixmap(icon, role, ICON_SMALL, scale=self.devicePixelRatioF())
        painter.drawPixmap(spot.topLeft(), pixmap)

    def _mirrored(self, rect: QRect) -> QRect:
        if self.layoutDirection() == Qt.LayoutDirection.LeftToRight:
            return rect
        return QRect(self.width() - rect.x() - rect.width(), rect.y(), rect.width(), rect.height())


class CallValues(Part):
    """Below an opened call: what it was given, what a specialist said, what came of it."""

    gap = 4

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._call: ChatCall | None = None
        self._name = MarkedLabel("", theme, "mono", "muted", self)
        self._parameters = ValueBox(theme, self.tr("Parameters"), self)
        self._said = Prose(theme, self.tr("What the specialist said"), "text", parent=self)
        self._result = ValueBox(theme, self.tr("Result"), self)
        self._error = Prose(theme, self.tr("Error"), "failed", parent=self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, theme.px(SPACE_2))
        column.setSpacing(theme.px(SPACE_2))
        for part in (self._name, self._parameters, self._said, self._error, self._result):
            column.addWidget(part)
            part.hide()

    def show_call(self, call: ChatCall) -> None:
        if call is self._call:
            return
        before, self._call = self._call, call
        self._name.show_text(call.name)
        self._name.setVisible(bool(call.label))
        if before is None or before.parameters is not call.parameters:
            self._parameters.show_value(call.parameters)
            self._parameters.setVisible(call.parameters not in (None, {}))
        self._said.show_text(call.said)
        self._said.setVisible(bool(call.said))
        if before is None or before.result is not call.result or before.state != call.state:
            self._result.show_value(call.result)
            ended = call.state == "ok" and not (call.said and call.result in (None, call.said))
            self._result.setVisible(ended or call.result is not None)
        self._error.show_text(call.error)
        self._error.setVisible(bool(call.error))
        self.fitted.emit()
