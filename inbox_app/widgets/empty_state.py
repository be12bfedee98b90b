"""What a pane says when it has nothing to list: an icon, a heading, a line or two, at most one link."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON_LARGE, SPACE_3, SPACE_8, Role
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.plain_label import PlainLabel

TOP = 96


class EmptyState(QWidget):
    followed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = IconBox(theme, self)
        self._heading = PlainLabel("", theme, "heading", parent=self, wrap=True)
        self._text = PlainLabel("", theme, "body", "muted", self, wrap=True)
        self._link = ActionButton(theme, "", "link", parent=self)
        self._link.clicked.connect(self.followed)
        layout = QVBoxLayout(self)
        edge = theme.px(SPACE_8)
        layout.setContentsMargins(edge, theme.px(TOP), edge, edge)
        layout.setSpacing(theme.px(4))
        layout.addWidget(self._icon)
        layout.addSpacing(theme.px(SPACE_3))
        layout.addWidget(self._heading)
        layout.addWidget(self._text)
        layout.addSpacing(theme.px(SPACE_3))
        layout.addWidget(self._link)
        layout.addStretch(1)

    def show_text(self, icon: str, heading: str, text: str, link: str = "", role: Role = "muted") -> None:
        self._icon.set_icon(icon, role)
        self._heading.setText(heading)
        self._text.setText(text)
        if not link and self._link.hasFocus():
            self.setFocus()
        self._link.setVisible(bool(link))
        self._link.set_text(link)


class IconBox(QWidget):
    """One icon of the theme as a widget."""

    def __init__(self, theme: Theme, parent: QWidget, size: int = ICON_LARGE) -> None:
        super().__init__(parent)
        self._theme = theme
        self._name = ""
        self._role: Role = "muted"
        self._size = size
        self.setFixedSize(theme.icon_size(size))
        theme.changed.connect(self._on_theme_changed)

    def set_icon(self, name: str, role: Role = "muted") -> None:
        self._name, self._role = name, role
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._name:
            return
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._theme.pixmap(self._name, self._role, self._size, scale=self.devicePixelRatioF()))
        painter.end()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.update()

    @Slot()
    def _on_theme_changed(self) -> None:
        self.update()
