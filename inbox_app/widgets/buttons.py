"""Buttons: one filled act per screen, outlines for what stays here, flat for the rest. None is ever a default."""

from __future__ import annotations

from typing import Literal, TypeAlias

from PySide6.QtCore import QEvent, QRect, QSize, Qt, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFocusFrame, QPushButton, QSizePolicy, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON, BUTTON_SEND, ICON_SMALL, RADIUS_FIELD, SPACE_2, SPACE_3, SPACE_4, Role
from inbox_app.widgets.plain_label import literal

ButtonKind: TypeAlias = Literal["filled", "outline", "flat", "link", "on_ink"]

_PADDING: dict[ButtonKind, int] = {"filled": SPACE_4, "outline": SPACE_3, "flat": SPACE_2, "link": 0, "on_ink": SPACE_3}
_SHOWN = frozenset(
    {
        Qt.FocusReason.TabFocusReason,
        Qt.FocusReason.BacktabFocusReason,
        Qt.FocusReason.ShortcutFocusReason,
        Qt.FocusReason.ActiveWindowFocusReason,  # a dialog that opens, a window one comes back to
    }
)


class ActionButton(QPushButton):
    """A button that paints itself. ``key_hint`` is shown, never bound; kind ``on_ink`` is an outline on a toast.

    ``height`` is of the design; ``icon_name`` a Lucide name; ``strong`` weight 600, which filled and outline have.
    Enter presses nothing: only a click, Space on the focused button, or a command's shortcut does. One that is disabled
    while it has the focus leaves it to the widget around it until it is enabled: the next control, where Qt would move
    it, would take the next key.
    """

    def __init__(
        self,
        theme: Theme,
        text: str,
        kind: ButtonKind = "outline",
        key_hint: str = "",
        parent: QWidget | None = None,
        *,
        icon_name: str = "",
        height: int | None = None,
        role: Role | None = None,
        strong: bool | None = None,
    ) -> None:
        super().__init__(text, parent)
        self._theme = theme
        self._kind: ButtonKind = kind
        self._key_hint = key_hint
        self._icon_name = icon_name
        self._role: Role | None = role
        self._is_strong = kind in {"filled", "outline", "on_ink"} if strong is None else strong
        self._height = height or (BUTTON_SEND if kind == "filled" else BUTTON)
        self._production = False
        self._gave_focus = False
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self._ring: QFocusFrame | None = None
        self.setAutoDefault(False)
        self.setDefault(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(text)
        self.setCursor(Qt.CursorShape.PointingHandCursor if kind == "link" else Qt.CursorShape.ArrowCursor)
        theme.changed.connect(self._on_theme_changed)

    def set_production(self, production: bool) -> None:
        """Production colour for a filled button: what it sends reaches production."""
        self._production = production
        self.update()

    def set_text(self, text: str, key_hint: str | None = None) -> None:
        self.setText(text)
        self.setAccessibleName(text)
        if key_hint is not None:
            self._key_hint = key_hint
        self.updateGeometry()
        self.update()

    def set_icon(self, icon_name: str, name: str) -> None:
        """Another icon for a button without words; ``name`` says what it does now."""
        self._icon_name = icon_name
        self.setAccessibleName(name)
        self.setToolTip(literal(name))
        self.update()

    def sizeHint(self) -> QSize:
        theme = self._theme
        width = theme.metrics("body", strong=self._is_strong).horizontalAdvance(self.text())
        if self._icon_name:
            width += theme.px(ICON_SMALL) + (theme.px(6) if self.text() else 0)
        if self._key_hint:
            width += theme.px(SPACE_2) + theme.metrics("meta").horizontalAdvance(self._key_hint)
        return QSize(width + 2 * theme.px(_PADDING[self._kind]), theme.px(self._height))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_ground(painter)
        self._paint_content(painter)
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            event.ignore()
            return
        super().keyPressEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:
        parent = self.parentWidget()
        if self.isEnabled() or parent is None:
            return super().focusNextPrevChild(next)
        self._gave_focus = True
        parent.setFocus()
        return True

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.EnabledChange and self.isEnabled() and self._gave_focus:
            self._gave_focus = False
            parent = self.parentWidget()
            if parent is not None and parent.hasFocus():
                self.setFocus()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() in _SHOWN:
            if self._ring is None:
                self._ring = QFocusFrame(self)
            self._ring.setWidget(self)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if self._ring is not None:
            self._ring.setWidget(None)  # pyright: ignore[reportArgumentType]  (None ends the tracking)

    def _text_role(self) -> Role:
        if not self.isEnabled():
            return "muted"
        if self._role is not None:
            return self._role
        if self._kind == "filled":
            return "on_prod" if self._production else "on_ink"
        if self._kind == "on_ink":
            return "on_ink"
        return "accent" if self._kind == "link" else "text"

    def _paint_ground(self, painter: QPainter) -> None:
        color = self._theme.color
        path = rounded(self.rect(), RADIUS_FIELD, 0.5)
        if not self.isEnabled() and self._kind in {"filled", "outline"}:
            painter.fillPath(path, color("sunken"))
            painter.setPen(QPen(color("line"), 1))
            painter.drawPath(path)
        elif self._kind == "filled":
            painter.fillPath(path, color("production" if self._production else "ink"))
        elif self._kind == "outline":
            painter.fillPath(path, color("hover" if self.underMouse() or self.isDown() else "card"))
            painter.setPen(QPen(color("line_strong"), 1))
            painter.drawPath(path)
        elif self._kind == "on_ink":
            painter.setPen(QPen(color("on_ink"), 2 if self.underMouse() or self.isDown() else 1))
            painter.drawPath(path)
        elif self._kind == "flat" and self.isEnabled() and (self.underMouse() or self.isDown()):
            painter.fillPath(path, color("hover"))

    def _paint_content(self, painter: QPainter) -> None:
        theme, role = self._theme, self._text_role()
        x = theme.px(_PADDING[self._kind])
        if self._icon_name:
            size = theme.px(ICON_SMALL)
            pixmap = theme.pixmap(self._icon_name, role, ICON_SMALL, scale=self.devicePixelRatioF())
            painter.drawPixmap(x, (self.height() - size) // 2, pixmap)
            x += size + theme.px(6)
        painter.setPen(theme.color(role))
        font = theme.font("body", strong=self._is_strong)
        if self._kind == "link" and self.underMouse():
            font.setUnderline(True)
        painter.setFont(font)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(QRect(x, 0, self.width() - x, self.height()), flags, self.text())
        font.setUnderline(False)
        if self._key_hint:
            painter.setFont(theme.font("meta"))
            right = QRect(0, 0, self.width() - theme.px(_PADDING[self._kind]), self.height())
            painter.drawText(right, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, self._key_hint)

    @Slot()
    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()
