"""A value under its name: as high as it is, or, if that is a lot, a window into all of it."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from inbox_app.cards.payload_part import Payload
from inbox_app.gateway import values
from inbox_app.gateway.base import Json
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_1
from inbox_app.widgets.payload_view import PayloadView
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.prose import Prose

SHORT: Final = 2000
"""Characters of JSON that stand in the conversation as they are."""
WINDOW: Final = 320


class ValueBox(QWidget):
    def __init__(self, theme: Theme, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._title = title
        self._short: Payload | None = None
        self._long: QWidget | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(theme.px(SPACE_1))

    def show_value(self, value: Json) -> None:
        """Take the value in place of another one."""
        for old in (self._short, self._long):
            if old is not None:
                self._column.removeWidget(old)
                old.hide()
                old.deleteLater()
        self._short = self._long = None
        if isinstance(value, str) and len(value) > SHORT:
            self._long = _Text(self._theme, self._title, value, self)
            self._column.addWidget(self._long)
        elif len(values.compact(value, SHORT)) <= SHORT:
            self._short = Payload(self._theme, self._title, "", self)
            self._short.show_value(value)
            self._column.addWidget(self._short)
        else:
            self._long = _Window(self._theme, self._title, value, self)
            self._column.addWidget(self._long)


class _Text(QWidget):
    """A long text, as it is: also JSON that was cut off and can no longer be read as such."""

    def __init__(self, theme: Theme, title: str, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        words = Prose(theme, title, "text", "mono")
        words.show_text(text)
        area = QScrollArea(self)
        area.setAccessibleName(title)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setFixedHeight(theme.px(WINDOW))
        area.setWidget(words)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(PlainLabel(title, theme, "label", "muted", self))
        column.addWidget(area)


class _Window(QWidget):
    """A large value: it scrolls in itself and tells of hidden characters as they are found."""

    def __init__(self, theme: Theme, title: str, value: Json, parent: QWidget) -> None:
        super().__init__(parent)
        self._title = title
        self._label = PlainLabel(title, theme, "label", "muted", self)
        self._view = PayloadView(theme, title, parent=self)
        self._view.setFixedHeight(theme.px(WINDOW))
        self._view.filled.connect(self._on_filled)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(self._label)
        column.addWidget(self._view)
        self._view.show_value(value)

    @Slot()
    def _on_filled(self) -> None:
        count = self._view.hidden_count
        if count:
            one, many = self.tr("1 hidden character shown"), self.tr("%n hidden characters shown", "", count)
            self._label.setText(f"{self._title} · {one if count == 1 else many}")
            self._label.set_role("due")
