"""What a pane says when it has nothing to list: an icon, a heading, a line or two, at most one link."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QVBoxLayout, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON_LARGE, SPACE_3, SPACE_8, Role
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.plain_label import PlainLabel

TOP = 96
LINES_LEAST = 60


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
        self._lines = _Lines(theme, self)
        self._lines.hide()
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
        layout.addWidget(self._lines, 1000)
        layout.addStretch(1)

    def show_text(
        self,
        icon: str,
        heading: str,
        text: str,
        link: str = "",
        role: Role = "muted",
        lines: Sequence[str] = (),
    ) -> None:
        """``lines`` are what is to be said one by one, below the link; they scroll and can be selected."""
        self._icon.set_icon(icon, role)
        self._heading.setText(heading)
        self._text.setText(text)
        if not link and self._link.hasFocus():
            self.setFocus()
        self._link.setVisible(bool(link))
        self._link.set_text(link)
        if not lines and self._lines.hasFocus():
            self.setFocus()
        self._lines.setAccessibleName(heading)
        self._lines.setPlainText("\n\n".join(lines))
        self._lines.setVisible(bool(lines))


class _Lines(QPlainTextEdit):
    """Text that is only read: it takes what room there is and scrolls."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        self.setMinimumHeight(theme.px(LINES_LEAST))
        self.document().setDocumentMargin(0)
        self._dress()
        theme.changed.connect(self._dress)

    @Slot()
    def _dress(self) -> None:
        self.setFont(self._theme.font("body"))
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Base, self._theme.color("list"))
        self.setPalette(palette)


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
