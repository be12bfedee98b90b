"""The head of the group that is at the top of a list: it stays there while the rows scroll."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ROW_GROUP
from inbox_app.widgets.row_delegate import paint_head
from inbox_app.widgets.row_view import RowView


class TopHead(QWidget):
    """Stands above its table, which does not draw the head of its first group itself."""

    def __init__(self, theme: Theme, table: RowView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._table = table
        self.setFixedHeight(theme.px(ROW_GROUP))
        table.rows_changed.connect(self.update)
        table.verticalScrollBar().valueChanged.connect(self.update)
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._table.top_head()
        if look is not None:
            painter = QPainter(self)
            paint_head(painter, self._theme, self.rect(), look)
            painter.end()
