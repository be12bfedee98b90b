"""A table that shows one column of rows: fixed heights, selection that stays, no jump when rows come above."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPalette
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ROW_GROUP, ROW_NORMAL
from inbox_app.widgets.row_delegate import LOOK_ROLE, HeadLook, RowDelegate


class RowView(QTableView):
    """``opened``: Enter, or a click on the row that is current. ``current_moved``: another row is current.

    The head of the first group is not drawn among the rows: `top_head` tells what stands above them, and changes with
    ``rows_changed`` and when it is scrolled.
    """

    opened = Signal()
    current_moved = Signal()
    rows_changed = Signal()

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._anchor: tuple[int, int] | None = None
        self._rows_drawn = RowDelegate(theme, self)
        self.setItemDelegate(self._rows_drawn)
        self.setAccessibleName(name)
        self.setShowGrid(False)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.hide()
            header.setMinimumSectionSize(0)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(theme.px(ROW_NORMAL))
        self._dress()
        theme.changed.connect(self._dress)

    def setModel(self, model: QAbstractItemModel | None) -> None:
        super().setModel(model)
        table = self.model()
        table.rowsAboutToBeInserted.connect(self._on_rows_about_to_change)
        table.rowsAboutToBeRemoved.connect(self._on_rows_about_to_change)
        table.rowsInserted.connect(self._on_rows_inserted)
        table.rowsRemoved.connect(self._on_rows_removed)
        table.modelReset.connect(self._on_model_reset)
        table.dataChanged.connect(self.rows_changed)
        self._size_heads(0, table.rowCount() - 1)

    @property
    def current_row(self) -> int | None:
        index = self.currentIndex()
        return index.row() if index.isValid() else None

    def top_head(self) -> HeadLook | None:
        """The head of the group whose rows are at the top."""
        for row in range(max(0, self.rowAt(0)), -1, -1):
            look = self.model().index(row, 0).data(LOOK_ROLE) if self._is_head(row) else None
            if isinstance(look, HeadLook) and (row == 0 or self.rowViewportPosition(row) < 0):
                return look
        return None

    def select_row(self, row: int) -> None:
        index = self.model().index(row, 0)
        self.selectionModel().setCurrentIndex(
            index, QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        )
        self.scrollTo(index)

    def select_none(self) -> None:
        """No row is current. Where the current row is about to go, Qt would make the next one current."""
        self.clearSelection()
        self.setCurrentIndex(self.rootIndex())

    def move_current(self, step: int) -> None:
        """To the next row that is not a head; stays at either end."""
        self._move_from(self.current_row, step)

    def _move_from(self, at: int | None, step: int) -> None:
        """None: from beyond the end."""
        count = self.model().rowCount()
        row = (-1 if step > 0 else count) if at is None else at
        while 0 <= (row := row + step) < count:
            if not self._is_head(row):
                self._rows_drawn.ring = True
                self.select_row(row)
                if row > 0 and self._is_head(row - 1):
                    self.scrollTo(self.model().index(row - 1, 0))
                    self.scrollTo(self.model().index(row, 0))
                return

    def currentChanged(
        self, current: QModelIndex | QPersistentModelIndex, previous: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().currentChanged(current, previous)
        self.current_moved.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._rows_drawn.ring = True
        self.viewport().update()
        key = event.key()
        if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            if self.current_row is not None:
                self.opened.emit()
            return
        if key in {Qt.Key.Key_Down, Qt.Key.Key_Up}:
            self.move_current(1 if key == Qt.Key.Key_Down else -1)
            return
        if key in {Qt.Key.Key_Home, Qt.Key.Key_End}:
            self._move_from(None, 1 if key == Qt.Key.Key_Home else -1)
            return
        if key == Qt.Key.Key_Space or (event.text().isprintable() and event.text()):
            event.ignore()  # no type-ahead search, no toggling of the selection
            return
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._rows_drawn.ring = False
        before = self.currentIndex()
        super().mousePressEvent(event)
        hit = self.indexAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and hit.isValid() and hit == before:
            self.opened.emit()
        self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        # No selecting by dragging: a row is chosen where the button went down.
        self._hover(self.indexAt(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover(QModelIndex())

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._rows_drawn.ring = event.reason() != Qt.FocusReason.MouseFocusReason
        super().focusInEvent(event)
        self.viewport().update()

    def _hover(self, index: QModelIndex) -> None:
        self._rows_drawn.set_hovered(index)
        self.viewport().update()

    def _is_head(self, row: int) -> bool:
        """Heads are flags-less rows, and asking for the flags is cheaper than asking for the look."""
        model = self.model()
        return model.flags(model.index(row, 0)) == Qt.ItemFlag.NoItemFlags

    def _size_heads(self, first: int, last: int) -> None:
        height, count = self._theme.px(ROW_GROUP), self.model().rowCount()
        for row in {0, *range(first, min(last + 2, count))}:
            if row < count and self._is_head(row):
                self.setRowHeight(row, height if row else 0)  # a hidden row would let the focus choose the next

    @Slot()
    def _on_rows_about_to_change(self) -> None:
        """Remember what must stay where it is: the current row if it is in sight, else the topmost one."""
        current = self.current_row
        if current is not None and self.viewport().rect().contains(self.visualRect(self.currentIndex()).center()):
            self._anchor = (current, self.rowViewportPosition(current))
            return
        at = self.rowAt(0)
        scrolled = self.verticalScrollBar().value() > 0
        self._anchor = (at, self.rowViewportPosition(at)) if scrolled and at >= 0 else None

    @Slot(QModelIndex, int, int)
    def _on_rows_inserted(self, parent: QModelIndex, first: int, last: int) -> None:
        self._size_heads(first, last)
        if self._anchor is not None:
            at, y = self._anchor
            self._keep(at + (last - first + 1 if first <= at else 0), y)
        self.rows_changed.emit()

    @Slot(QModelIndex, int, int)
    def _on_rows_removed(self, parent: QModelIndex, first: int, last: int) -> None:
        self._size_heads(0, 0)
        if self._anchor is not None:
            at, y = self._anchor
            self._keep(at - (last - first + 1) if last < at else min(at, first), y)
        self.rows_changed.emit()

    def _keep(self, row: int, y: int) -> None:
        """Scroll so that ``row`` is where it was, ``y`` pixels below the top of the view."""
        self._anchor = None
        if row < self.model().rowCount():
            self.updateGeometries()
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + self.rowViewportPosition(row) - y)

    @Slot()
    def _on_model_reset(self) -> None:
        self._size_heads(0, self.model().rowCount() - 1)
        self.rows_changed.emit()

    @Slot()
    def _dress(self) -> None:
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Base, self._theme.color("list"))
        self.setPalette(palette)
