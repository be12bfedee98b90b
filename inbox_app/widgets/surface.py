"""Plain grounds: a pane in one tone, a hairline, and a frame that can hold the focus without doing anything."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import Role


class Surface(QFrame):
    """A widget filled with one colour of the theme."""

    def __init__(self, theme: Theme, role: Role, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._role: Role = role
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAutoFillBackground(True)
        self.setBackgroundRole(QPalette.ColorRole.Window)
        self._dress()
        theme.changed.connect(self._dress)

    @Slot()
    def _dress(self) -> None:
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Window, self._theme.color(self._role))
        self.setPalette(palette)


class Hairline(Surface):
    """One pixel between a pane and its fixed bar."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "line", parent)
        self.setFixedHeight(1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(1, 1)


class NeutralFrame(Surface):
    """Where the focus goes when a control is about to vanish: no key does anything here."""

    def __init__(self, theme: Theme, role: Role, name: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, role, parent)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName(name)
