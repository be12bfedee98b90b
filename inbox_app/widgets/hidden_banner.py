"""Says above a form that some of its text does not show, and leads to it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from inbox_app.theme.theme import Theme
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.strip import Strip


class HiddenBanner(Strip):
    followed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "eye", parent)
        self._link = ActionButton(theme, self.tr("Go to it"), "link", parent=self, height=28)
        self._link.clicked.connect(self.followed)
        self._row.addWidget(self._link)
        self.hide()

    def show_count(self, count: int, field: str) -> None:
        """``field`` is the first one with hidden characters, ``count`` how many there are in all."""
        one, many = self.tr("1 hidden character in “{field}”"), self.tr("{count} hidden characters, first in “{field}”")
        words = (one if count == 1 else many).format(count=count, field=field)
        self.show_words(words, self.tr("It is shown as a mark and sent as it is."))
        self.setVisible(count > 0)
