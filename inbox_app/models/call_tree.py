"""The call tree for Qt: node numbers as internal ids, nothing copied, every signal typed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from inbox_app.gateway.base import Call
from inbox_app.models import call_words
from inbox_app.state.calls import NOT_PLACED, ROOT, Calls, Key, Node
from inbox_app.state.timeline import Timeline
from inbox_app.widgets.hidden_text import reveal

CALL, STATE, TIME, OUTPUT, BAR = range(5)
COLUMNS: Final = 5

Index = QModelIndex | QPersistentModelIndex


class CallTree(QAbstractItemModel):
    """`apply` brings changes; `show_only` limits the tree to some calls and what is above them."""

    def __init__(self, clock: Callable[[], float] = time.time, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._clock = clock
        self._only: Callable[[Call], bool] | None = None
        self._kept: set[int] | None = None
        self._filtered: dict[int, list[tuple[Key, int]]] = {}
        self.calls = Calls()
        self.now = clock()
        """Up to when times go that have no end yet, in the rows as on the time axis; `refresh_times` moves it."""
        self.timeline = Timeline((), self.now)

    # Changes

    def load(self, calls: Sequence[Call]) -> None:
        """Forget everything and show these calls."""
        self.beginResetModel()
        self.calls = Calls()
        self.calls.apply(calls)
        self._refilter()
        self.endResetModel()
        self.refresh_times()

    def apply(self, calls: Sequence[Call]) -> None:
        """Take calls that are new or changed."""
        if self._only is None:
            self.calls.apply(calls, self)
        else:
            self.beginResetModel()
            self.calls.apply(calls)
            self._refilter()
            self.endResetModel()

    def show_only(self, wanted: Callable[[Call], bool] | None) -> None:
        self.beginResetModel()
        self._only = wanted
        self._refilter()
        self.endResetModel()

    def refresh_times(self) -> None:
        """Lay the time axis out again, up to now."""
        self.now = self._clock()
        self.timeline = Timeline(self.calls.every(), self.now)

    def inserting(self, parent: int, row: int) -> None:
        self.beginInsertRows(self.index_of(parent), row, row)

    def inserted(self) -> None:
        self.endInsertRows()

    def removing(self, parent: int, row: int) -> None:
        self.beginRemoveRows(self.index_of(parent), row, row)

    def removed(self) -> None:
        self.endRemoveRows()

    def changed(self, number: int) -> None:
        index = self.index_of(number)
        self.dataChanged.emit(index, index.siblingAtColumn(COLUMNS - 1))

    # Reading

    def node(self, index: Index) -> Node:
        return self.calls.node(int(index.internalId()))

    def index_of(self, number: int, column: int = CALL) -> QModelIndex:
        """The index of a node; the invalid one for the root and for nodes that are filtered out."""
        if number == ROOT or (self._kept is not None and number not in self._kept):
            return QModelIndex()
        if self._kept is None:
            row = self.calls.row(number)
        else:
            siblings = self._children(self.calls.node(number).parent)
            row = next(at for at, (_, child) in enumerate(siblings) if child == number)
        return self.createIndex(row, column, number)

    def level(self, number: int) -> int:
        """How deep a call is, the run's own tool being 1; calls that are not placed begin at 1 too."""
        steps = self.calls.path(number)
        return len(steps) - (1 if steps and steps[0] == NOT_PLACED and len(steps) > 1 else 0)

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        siblings = self._children(self._number(parent))
        if not 0 <= row < len(siblings) or not 0 <= column < COLUMNS or parent.column() > 0:
            return QModelIndex()
        return self.createIndex(row, column, siblings[row][1])

    def parent(self, index: Index = QModelIndex()) -> Any:  # noqa: B008  # pyright: ignore[reportIncompatibleMethodOverride]
        if not index.isValid():
            return QModelIndex()
        return self.index_of(self.node(index).parent)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.column() > 0 else len(self._children(self._number(parent)))

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return COLUMNS

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        return self.rowCount(parent) > 0

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        node = self.node(index)
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(node, index.column())
        if role == Qt.ItemDataRole.AccessibleTextRole:
            if node.mark == "group":
                return self._text(node, CALL) if index.column() == CALL else ""
            if index.column() == CALL:
                return call_words.described(self.calls, node, self.level(node.number), self.now)
            return self._text(node, index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() in (TIME, OUTPUT):
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or role != Qt.ItemDataRole.DisplayRole:
            return None
        words = (self.tr("Call"), self.tr("State"), self.tr("Time"), self.tr("Output"), self.tr("When"))
        return words[section] if 0 <= section < COLUMNS else None

    def _text(self, node: Node, column: int) -> str:
        call = node.call
        if node.mark == "group":
            return call_words.not_placed(self.calls, node.number) if column == CALL else ""
        if column == CALL:
            return reveal(call.name)
        if column == STATE:
            return call_words.state(self.calls, node).word
        if column == TIME:
            seconds = call_words.taken(call, self.now)
            return "" if seconds is None else call_words.duration(seconds)
        if column == OUTPUT:
            if call.ended_at is None:
                return ""
            return call_words.size(call.output_size) if call.output_size else "–"
        return ""

    def _number(self, index: Index) -> int:
        return int(index.internalId()) if index.isValid() else ROOT

    def _children(self, number: int) -> Sequence[tuple[Key, int]]:
        if self._kept is None:
            return self.calls.children(number)
        if number not in self._filtered:
            kept = self._kept
            self._filtered[number] = [pair for pair in self.calls.children(number) if pair[1] in kept]
        return self._filtered[number]

    def _refilter(self) -> None:
        self._filtered = {}
        self._kept = None if self._only is None else self.calls.matching(self._only)
