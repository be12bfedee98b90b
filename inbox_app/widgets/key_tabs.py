"""Words in a row of which one is current: what a segmented control and a strip of tabs have in common."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QSizePolicy, QTabBar, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.widgets.option_row import BY_KEY


class KeyTabs(QTabBar):
    """Left and Right move; ``currentChanged`` tells. Subclasses measure and paint the words."""

    def __init__(self, theme: Theme, name: str, words: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._ring = False
        self.setAccessibleName(name)
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setUsesScrollButtons(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFont(theme.font("body"))
        for word in words:
            self.addTab(word)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._on_theme_changed)

    @property
    def has_ring(self) -> bool:
        """Whether the focus is here and came by key, or a key was pressed since."""
        return self._ring and self.hasFocus()

    def minimumTabSizeHint(self, index: int) -> QSize:
        return self.tabSizeHint(index)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() in BY_KEY
        super().focusInEvent(event)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._ring = True
        super().keyPressEvent(event)

    @Slot()
    def _on_theme_changed(self) -> None:
        self.setFont(self._theme.font("body"))
        self.update()
