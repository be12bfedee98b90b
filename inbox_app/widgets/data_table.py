"""Rows of equal objects as a table to read; every value as it is, hidden characters shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QRect, Qt, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPalette
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QSizePolicy, QTableView, QWidget

from inbox_app.gateway import values
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW
from inbox_app.widgets.hidden_text import reveal

MOST_CELL: Final = 500
MOST_SHOWN: Final = 12
COLUMN_LEAST, COLUMN_MOST = 72, 320

_Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class DataTable(QTableView):
    """As high as its rows, up to a dozen; more of them scroll."""

    def __init__(
        self, theme: Theme, name: str, rows: Sequence[Mapping[str, Any]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows = _Rows(rows, self)
        self.setModel(self._rows)
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.Box)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setCornerButtonEnabled(False)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(theme.px(BUTTON_ROW))
        self.setHorizontalHeader(_Head(theme, self))
        header = self.horizontalHeader()
        header.setSectionsClickable(False)
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setStretchLastSection(True)
        header.setFixedHeight(theme.px(BUTTON_ROW))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._dress()
        theme.changed.connect(self._dress)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Letters and digits are commands of the window, not a search by first letters."""
        if event.text().isalnum():
            event.ignore()
        else:
            super().keyPressEvent(event)

    @Slot()
    def _dress(self) -> None:
        theme = self._theme
        palette = self.palette()
        for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Mid, QPalette.ColorRole.Dark):
            palette.setColor(role, theme.color("line"))
        self.setPalette(palette)
        self.setFont(theme.font("body"))
        self.horizontalHeader().setFont(theme.font("label"))
        for column in range(self._rows.columnCount()):
            wanted = self._rows.widest(column, theme.metrics("body").horizontalAdvance) + theme.px(24)
            self.setColumnWidth(column, min(max(wanted, theme.px(COLUMN_LEAST)), theme.px(COLUMN_MOST)))
        shown = min(self._rows.rowCount(), MOST_SHOWN)
        self.setFixedHeight((shown + 1) * theme.px(BUTTON_ROW) + 2 * self.frameWidth())


class _Head(QHeaderView):
    """The names of the columns, flat."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:  # noqa: N803
        theme = self._theme
        painter.fillRect(rect, theme.color("sunken"))
        painter.setFont(theme.font("label"))
        painter.setPen(theme.color("muted"))
        name = str(self.model().headerData(logicalIndex, Qt.Orientation.Horizontal) or "")
        room = rect.adjusted(theme.px(6), 0, 0, 0)
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, name)


class _Rows(QAbstractTableModel):
    def __init__(self, rows: Sequence[Mapping[str, Any]], parent: QTableView) -> None:
        super().__init__(parent)
        self._rows = rows
        self._names = list(dict.fromkeys(name for row in rows for name in row))

    def rowCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._names)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or role not in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole}:
            return None
        return self._text(index.row(), self._names[index.column()])

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return reveal(self._names[section][:MOST_CELL])
        return None

    def widest(self, column: int, width_of: Any) -> int:
        """The width of the widest of the first cells, head included."""
        name = self._names[column]
        texts = [reveal(name[:MOST_CELL]), *(self._text(row, name) for row in range(min(50, len(self._rows))))]
        return max(width_of(text[:100]) for text in texts)

    def _text(self, row: int, name: str) -> str:
        if name not in self._rows[row]:
            return ""
        value = self._rows[row][name]
        text = value[:MOST_CELL] if isinstance(value, str) else values.compact(value, MOST_CELL)
        return " ".join(reveal(text).split())
