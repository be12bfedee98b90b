"""A strip on a page: something to know before deciding, as an icon, a few strong words and a sentence."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON, RADIUS_FIELD, SPACE_2, SPACE_3
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.marked_label import MarkedLabel


class Strip(QWidget):
    def __init__(self, theme: Theme, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = IconBox(theme, self, ICON)
        self._icon.set_icon(icon, "due")
        self._what = MarkedLabel("", theme, "body", "due", self, strong=True)
        self._more = MarkedLabel("", theme, "body", parent=self)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self._what)
        words.addWidget(self._more)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(theme.px(SPACE_3), theme.px(SPACE_2), theme.px(SPACE_3), theme.px(SPACE_2))
        self._row.setSpacing(theme.px(SPACE_2))
        self._row.addWidget(self._icon)
        self._row.addLayout(words, 1)

    def show_words(self, what: str, more: str) -> None:
        self._what.show_text(what)
        self._more.show_text(more)
        self._more.setVisible(bool(more))
        self.setAccessibleName(f"{self._what.text()} {self._more.text()}".strip())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        path = rounded(self.rect(), RADIUS_FIELD, 0.5)
        painter.fillPath(path, self._theme.color("due_wash"))
        if self._theme.is_contrast:
            painter.setPen(QPen(self._theme.color("line"), 1))
            painter.drawPath(path)
        painter.end()
