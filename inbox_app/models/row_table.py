"""A one-column table over rows of the state, changed by edits and filled page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from inbox_app.models.roles import ItemRole
from inbox_app.state.edits import Changed, Edit, Inserted, Removed, Replaced
from inbox_app.widgets.row_delegate import HeadLook, RowLook

R = TypeVar("R")
_Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class RowTable(QAbstractTableModel, Generic[R]):
    """Rows as `RowLook`. ``fetch`` is called when the view has come to the end and ``more`` says there is more."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._rows: list[R] = []
        self.more: Callable[[], bool] | None = None
        self.fetch: Callable[[], None] | None = None

    def look(self, row: R) -> RowLook | HeadLook:
        raise NotImplementedError

    def spoken(self, row: R) -> str:
        """What a screen reader says about a row."""
        raise NotImplementedError

    def row_id(self, row: R) -> str:
        """Empty for a head."""
        raise NotImplementedError

    def row(self, at: int) -> R | None:
        return self._rows[at] if 0 <= at < len(self._rows) else None

    @property
    def rows(self) -> Sequence[R]:
        return self._rows

    def find(self, item_id: str) -> int | None:
        """The row of an id, None if it is not listed."""
        return next((at for at, row in enumerate(self._rows) if self.row_id(row) == item_id), None)

    def is_head(self, at: int) -> bool:
        row = self.row(at)
        return row is not None and not self.row_id(row)

    def apply(self, edits: Iterable[Edit[R]]) -> None:
        for edit in edits:
            match edit:
                case Inserted(at, rows):
                    self.beginInsertRows(_ROOT, at, at + len(rows) - 1)
                    self._rows[at:at] = rows
                    self.endInsertRows()
                case Removed(at, count):
                    self.beginRemoveRows(_ROOT, at, at + count - 1)
                    del self._rows[at : at + count]
                    self.endRemoveRows()
                case Changed(at, row):
                    self._rows[at] = row
                    index = self.index(at, 0)
                    self.dataChanged.emit(index, index)
                case Replaced(rows):
                    self.beginResetModel()
                    self._rows[:] = rows
                    self.endResetModel()

    def rowCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else 1

    def flags(self, index: _Index) -> Qt.ItemFlag:
        if not index.isValid() or self.is_head(index.row()):
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.row(index.row()) if index.isValid() else None
        if row is None:
            return None
        if role == ItemRole.ID:
            return self.row_id(row)
        if role == ItemRole.LOOK:
            return self.look(row)
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return self.spoken(row)
        return None

    def canFetchMore(self, parent: _Index) -> bool:
        return not parent.isValid() and self.more is not None and self.more()

    def fetchMore(self, parent: _Index) -> None:
        if self.canFetchMore(parent) and self.fetch is not None:
            self.fetch()
