"""A value on a card: as it was asked, or as it will be sent with what was changed."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.cards.changes import ChangeList
from inbox_app.gateway import values
from inbox_app.gateway.base import Json
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON_SMALL, SPACE_1, SPACE_2
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.payload_view import PayloadView
from inbox_app.widgets.plain_label import PlainLabel

LINE: Final = 20


class Payload(QWidget):
    """A value under a label line that counts hidden characters; an edited one with what was changed."""

    def __init__(self, theme: Theme, title: str, link: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._value: Json = None
        self._label = PlainLabel(title, theme, "label", "muted", self)
        self._eye = IconBox(theme, self, ICON_SMALL)
        self._hidden = PlainLabel("", theme, "meta", "due", self)
        self._edited = PlainLabel(self.tr("edited, shown as it will be sent"), theme, "meta", "draft", self)
        self.link = ActionButton(theme, link, "link", parent=self, height=LINE)
        self.link.setVisible(bool(link))
        self.view = PayloadView(theme, title, inline=True, parent=self)
        self.view.filled.connect(self._on_filled)
        self._changes = ChangeList(theme, self)
        line = QHBoxLayout()
        line.setSpacing(theme.px(SPACE_2))
        line.addWidget(self._label)
        line.addWidget(self._eye)
        line.addWidget(self._hidden)
        line.addWidget(self._edited)
        line.addStretch(1)
        line.addWidget(self.link)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addLayout(line)
        column.addWidget(self._changes)
        column.addWidget(self.view)
        self._eye.set_icon("eye", "due")
        self._edited.hide()

    def show_value(self, value: Json) -> None:
        self._value = value
        self.view.show_value(value)
        self._on_filled()

    def show_edited(self, original: Json, value: Json) -> None:
        """The value as it will be sent, and how it differs from what was asked."""
        self._changes.show_changes(original, value)
        self._edited.setVisible(not self._changes.isHidden())
        if values.canonical(value) != values.canonical(self._value):
            self.show_value(value)

    @Slot()
    def _on_filled(self) -> None:
        count = self.view.hidden_count
        one, many = self.tr("1 hidden character shown"), self.tr("%n hidden characters shown", "", count)
        self._hidden.setText(one if count == 1 else many)
        self._hidden.setVisible(count > 0)
        self._eye.setVisible(count > 0)
