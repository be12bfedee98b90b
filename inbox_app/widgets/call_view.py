"""The tree widget of calls: draws its own indent, keeps its place while rows arrive above."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QStyleOptionViewItem, QTreeView, QWidget

from inbox_app.models.call_tree import BAR, CALL, OUTPUT, STATE, TIME, CallTree
from inbox_app.models.call_words import duration
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import FOCUS_RING, SPACE_2, SPACE_4
from inbox_app.widgets.call_delegate import CallDelegate

WIDTHS = {STATE: 208, TIME: 72, OUTPUT: 72, BAR: 264}
NARROW_WIDTHS = {STATE: 176, TIME: 72, OUTPUT: 60, BAR: 140}
CALL_LEAST = 200
HEAD_HEIGHT = 28


class CallHeader(QHeaderView):
    """Column names; over the time bars the ticks, named."""

    def __init__(self, theme: Theme, delegate: CallDelegate, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        self._delegate = delegate
        self.setSectionsClickable(False)
        self.setStretchLastSection(False)
        self.setFixedHeight(theme.px(HEAD_HEIGHT))

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:  # noqa: N803
        theme, model = self._theme, self.model()
        painter.save()
        painter.fillRect(rect, theme.color("card"))
        painter.fillRect(rect.x(), rect.bottom(), rect.width(), 1, theme.color("line"))
        painter.setFont(theme.font("label"))
        painter.setPen(theme.color("muted"))
        if logicalIndex == BAR and isinstance(model, CallTree):
            self._paint_ticks(painter, self._delegate.bar_rect(rect), model)
        else:
            right = logicalIndex in (TIME, OUTPUT)
            side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
            room = rect.adjusted(
                theme.px(SPACE_4) if logicalIndex == CALL else 0, 0, -theme.px(SPACE_2) if right else 0, 0
            )
            word = str(model.headerData(logicalIndex, Qt.Orientation.Horizontal) or "")
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | side, word)
        painter.restore()

    def _paint_ticks(self, painter: QPainter, rect: QRect, model: CallTree) -> None:
        for x, word in self.tick_words(rect, model):
            painter.drawText(
                QRect(x, rect.y(), rect.right() - x + 1, rect.height()),
                Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft,
                word,
            )

    def tick_words(self, rect: QRect, model: CallTree) -> list[tuple[int, str]]:
        """What stands over the time bars, and where: the whole time, the fold, and what ticks there is room for."""
        line, width_of, gap = model.timeline, self._theme.metrics("label").horizontalAdvance, self._theme.px(SPACE_2)
        whole = duration(line.end - line.start)
        end = rect.right() + 1 - width_of(whole)
        words = [(end, whole)]
        if line.folds:
            folded = self.tr("wait folded")
            middle = sum(line.folds[-1]) / 2
            x = round(rect.x() + middle * rect.width() - width_of(folded) / 2)
            end = max(rect.x(), min(x, end - width_of(folded) - gap))
            words.append((end, folded))
        free = rect.x()
        for tick in line.ticks():
            word = duration(tick.seconds).replace(".0", "") if tick.seconds else "0"
            x = rect.x() + round(tick.position * rect.width())
            if x >= free and x + width_of(word) + gap <= end:
                words.append((x, word))
                free = x + width_of(word) + gap
        return words


class CallView(QTreeView):
    """``link_followed`` carries the number of the node whose "Go to card" was clicked or whose row was activated."""

    link_followed = Signal(int)
    row_chosen = Signal(int)

    def __init__(self, theme: Theme, model: CallTree, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tree = model
        self._painter = CallDelegate(theme, self)
        self._scroll_due = False
        self.setModel(model)
        self.setItemDelegate(self._painter)
        self.setHeader(CallHeader(theme, self._painter, self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformRowHeights(True)
        self.setIndentation(0)
        self.setRootIsDecorated(False)
        self.setItemsExpandable(True)
        self.setExpandsOnDoubleClick(True)
        self.setAllColumnsShowFocus(True)
        self.setMouseTracking(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Calls of this run"))
        header = self.header()
        header.setMinimumSectionSize(theme.px(40))
        for column in range(model.columnCount()):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(CALL, QHeaderView.ResizeMode.Stretch)
        self._fit_columns()

    def event(self, event: QEvent) -> bool:
        """N and F move in the tree while it has the focus, whatever they do in the window."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            plain = not event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier
            if plain and event.key() in (Qt.Key.Key_N, Qt.Key.Key_F):
                event.accept()
                return True
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit_columns()
        super().resizeEvent(event)

    def current_number(self) -> int | None:
        index = self.currentIndex()
        return int(index.internalId()) if index.isValid() else None

    def show_number(self, number: int) -> None:
        """Open the way to a node, make it current and bring it into view, as soon as there is a view."""
        index = self._tree.index_of(number)
        if not index.isValid():
            return
        self.open_path(number)
        self.setCurrentIndex(index)
        self.scrollTo(index)
        self._scroll_due = not self.isVisible()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._scroll_due:  # what was scrolled before there was a height leaves too much above
            self._scroll_due = False
            self.scrollToTop()
            self.scrollTo(self.currentIndex())

    def open_path(self, number: int) -> None:
        for step in self._tree.calls.path(number)[:-1]:
            self.expand(self._tree.index_of(step))

    def nearest_open(self, number: int) -> int:
        """The node itself, or the lowest one above it that is in an open branch."""
        for step in self._tree.calls.path(number)[:-1]:
            if not self.isExpanded(self._tree.index_of(step)):
                return step
        return number

    def top_number(self) -> tuple[int, int] | None:
        """The first node in view and how far it is above the edge."""
        index = self.indexAt(QPoint(1, 1))
        return (int(index.internalId()), self.visualRect(index).y()) if index.isValid() else None

    def hold(self, top: tuple[int, int] | None) -> None:
        """Bring a node back to where `top_number` found it."""
        if top is None:
            return
        index = self._tree.index_of(top[0])
        if index.isValid():
            rect = self.visualRect(index)
            moved = (rect.y() - top[1]) // max(1, rect.height())
            if moved:
                self.verticalScrollBar().setValue(self.verticalScrollBar().value() + moved)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Letters and digits are commands of the pane or the window, not a search by first letters."""
        if event.text().isalnum():
            event.ignore()
        else:
            super().keyPressEvent(event)

    def drawBranches(self, painter: QPainter, rect: QRect, index: QModelIndex | QPersistentModelIndex) -> None:
        return

    def drawRow(
        self, painter: QPainter, options: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().drawRow(painter, options, index)
        if self.hasFocus() and int(index.internalId()) == self.current_number():
            rect = self.visualRect(self._tree.index_of(int(index.internalId())))
            painter.save()
            painter.setPen(QPen(self._theme.color("focus"), FOCUS_RING))
            painter.drawRect(QRect(1, rect.y() + 1, self.viewport().width() - 2, rect.height() - 2))
            painter.restore()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() == Qt.MouseButton.LeftButton:
            node = self._tree.node(index)
            first = self.visualRect(index.siblingAtColumn(CALL))
            if self._painter.toggle_rect(first, self._tree, node).contains(event.position().toPoint()):
                self.setCurrentIndex(index)
                self.setExpanded(index.siblingAtColumn(CALL), not self.isExpanded(index.siblingAtColumn(CALL)))
                return
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() == Qt.MouseButton.LeftButton and self._is_link(index, event):
            self.link_followed.emit(int(index.internalId()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        index = self.indexAt(event.position().toPoint())
        link = index.isValid() and self._is_link(index, event)
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if link else Qt.CursorShape.ArrowCursor)

    def currentChanged(
        self, current: QModelIndex | QPersistentModelIndex, previous: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().currentChanged(current, previous)
        self.row_chosen.emit(int(current.internalId()) if current.isValid() else 0)

    def _is_link(self, index: QModelIndex, event: QMouseEvent) -> bool:
        cell = index.siblingAtColumn(STATE)
        rect = self._painter.link_rect(self.visualRect(cell), self._tree, self._tree.node(index))
        return rect.contains(event.position().toPoint())

    def _fit_columns(self) -> None:
        theme, width = self._theme, self.viewport().width()
        widths = WIDTHS
        if width < theme.px(sum(WIDTHS.values()) + CALL_LEAST):
            widths = NARROW_WIDTHS
        for column, size in widths.items():
            self.header().resizeSection(column, theme.px(size))
        fits = width >= theme.px(sum(NARROW_WIDTHS.values()) + CALL_LEAST)
        self.setColumnHidden(BAR, not fits)
