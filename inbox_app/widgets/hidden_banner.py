"""Says above a form that some of its text does not show, and leads to it."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON, RADIUS_FIELD, SPACE_2, SPACE_3
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel


class HiddenBanner(QWidget):
    followed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        icon = IconBox(theme, self, ICON)
        icon.set_icon("eye", "due")
        self._what = MarkedLabel("", theme, "body", "due", self, strong=True)
        self._link = ActionButton(theme, self.tr("Go to it"), "link", parent=self, height=28)
        self._link.clicked.connect(self._on_clicked)
        more = PlainLabel(self.tr("It is shown as a mark and sent as it is."), theme, parent=self, wrap=True)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self._what)
        words.addWidget(more)
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(SPACE_3), theme.px(SPACE_2), theme.px(SPACE_3), theme.px(SPACE_2))
        row.setSpacing(theme.px(SPACE_2))
        row.addWidget(icon)
        row.addLayout(words, 1)
        row.addWidget(self._link)
        self.hide()

    def show_count(self, count: int, field: str) -> None:
        """``field`` is the first one with hidden characters, ``count`` how many there are in all."""
        one, many = self.tr("1 hidden character in “{field}”"), self.tr("{count} hidden characters, first in “{field}”")
        self._what.show_text((one if count == 1 else many).format(count=count, field=field))
        self.setAccessibleName(self._what.text())
        self.setVisible(count > 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        path = rounded(self.rect(), RADIUS_FIELD, 0.5)
        painter.fillPath(path, self._theme.color("due_wash"))
        if self._theme.is_contrast:
            painter.setPen(QPen(self._theme.color("line"), 1))
            painter.drawPath(path)
        painter.end()

    @Slot()
    def _on_clicked(self) -> None:
        self.followed.emit()
