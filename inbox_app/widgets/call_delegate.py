"""How one row of the call tree is drawn: guides, kind, name, state, time, size, time bar."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from inbox_app.models import call_words
from inbox_app.models.call_tree import BAR, CALL, OUTPUT, STATE, TIME, CallTree
from inbox_app.state.calls import Node, is_waiting
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON_SMALL, ROW_TREE, SPACE_2, SPACE_4, Role

INDENT = 14
DEEPEST = 12
CHEVRON = 14
GAP = 6
BAR_HEIGHT = 8
BAR_LEAST = 3
HOLLOW_LEAST = 6
FOLD_HALF = 6

Index = QModelIndex | QPersistentModelIndex


class CallDelegate(QStyledItemDelegate):
    """Draws nodes of a `CallTree`. The view asks `toggle_rect` and `link_rect` what a click means."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(self._theme.px(40), self._theme.px(ROW_TREE))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model = index.model()
        if not isinstance(model, CallTree):
            return
        node = model.node(index)
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        painter.save()
        painter.setClipRect(rect)
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, self._theme.color("selection"))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, self._theme.color("hover"))
        if node.mark == "group":
            self._paint_group(painter, rect, index)
        elif index.column() == CALL:
            self._paint_call(painter, rect, model, node, is_open=bool(state & QStyle.StateFlag.State_Open))
        elif index.column() == STATE:
            self._paint_state(painter, rect, model, node, is_open=bool(state & QStyle.StateFlag.State_Open))
        elif index.column() in (TIME, OUTPUT):
            self._paint_number(painter, rect, str(index.data() or ""))
        elif index.column() == BAR:
            self._paint_bar(painter, self.bar_rect(rect), model, node)
        painter.restore()

    def toggle_rect(self, rect: QRect, model: CallTree, node: Node) -> QRect:
        """Where a click opens or closes a node; ``rect`` is that of its first cell."""
        size = self._theme.px(CHEVRON)
        return QRect(self._left(rect, model, node), rect.y(), size + self._theme.px(4), rect.height())

    def link_rect(self, rect: QRect, model: CallTree, node: Node) -> QRect:
        """Where "Go to card" stands in the state cell; empty if it does not."""
        if not has_link(node):
            return QRect()
        theme = self._theme
        word = call_words.state(model.calls, node).word
        left = rect.x() + theme.px(ICON_SMALL) + theme.px(GAP) + theme.metrics("body").horizontalAdvance(word)
        left += theme.px(SPACE_4)
        return QRect(left, rect.y(), theme.metrics("body").horizontalAdvance(self._link_word()), rect.height())

    def bar_rect(self, cell: QRect) -> QRect:
        """The part of a bar cell that bars and ticks use."""
        pad = self._theme.px(SPACE_2)
        return cell.adjusted(pad, 0, -self._theme.px(SPACE_4), 0)

    def _paint_group(self, painter: QPainter, rect: QRect, index: Index) -> None:
        if index.column() == CALL:
            painter.setClipping(False)  # the words go on over the empty cells to the right
            painter.setFont(self._theme.font("label"))
            painter.setPen(self._theme.color("muted"))
            room = rect.adjusted(self._theme.px(SPACE_4), 0, self._theme.px(400), 0)
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, str(index.data()))

    def _paint_call(self, painter: QPainter, rect: QRect, model: CallTree, node: Node, *, is_open: bool) -> None:
        theme = self._theme
        self._paint_guides(painter, rect, model, node)
        x = self._left(rect, model, node)
        if model.hasChildren(model.index_of(node.number)):
            chevron = "chevron-down" if is_open else "chevron-right"
            self._icon(painter, chevron, "muted", QPoint(x, rect.y()), rect.height())
        x += theme.px(CHEVRON) + theme.px(GAP)
        kind = call_words.KIND_ICONS.get(node.call.kind, "wrench")
        self._icon(painter, kind, "muted", QPoint(x, rect.y()), rect.height())
        x += theme.px(ICON_SMALL) + theme.px(GAP)
        name = str(model.data(model.index_of(node.number)) or "")
        level = model.level(node.number)
        if level > DEEPEST:
            name = f"{level}› {name}"
        painter.setFont(theme.font("mono"))
        painter.setPen(theme.color("text"))
        room = QRect(x, rect.y(), max(0, rect.right() - x - theme.px(SPACE_2)), rect.height())
        text = theme.metrics("mono").elidedText(name, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)

    def _paint_guides(self, painter: QPainter, rect: QRect, model: CallTree, node: Node) -> None:
        theme = self._theme
        depth = min(model.level(node.number) - 1, DEEPEST)
        painter.setPen(QPen(theme.color("line"), 1))
        for step in range(depth):
            x = rect.x() + theme.px(SPACE_4) + step * theme.px(INDENT) + theme.px(CHEVRON) // 2
            painter.drawLine(x, rect.top(), x, rect.bottom())

    def _paint_state(self, painter: QPainter, rect: QRect, model: CallTree, node: Node, *, is_open: bool) -> None:
        theme = self._theme
        state = call_words.state(model.calls, node)
        self._icon(painter, state.icon, state.role, rect.topLeft(), rect.height())
        x = rect.x() + theme.px(ICON_SMALL) + theme.px(GAP)
        word = state.word
        below = 0 if is_open else model.calls.below(node.number)
        if below and state.icon == "check":
            word = call_words.count_below(word, below)
        painter.setFont(theme.font("body"))
        painter.setPen(theme.color("muted" if state.role == "text" else state.role))
        room = QRect(x, rect.y(), max(0, rect.right() - x), rect.height())
        left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(room, left, theme.metrics("body").elidedText(word, Qt.TextElideMode.ElideRight, room.width()))
        if has_link(node):
            painter.setPen(theme.color("accent"))
            painter.drawText(self.link_rect(rect, model, node), left, self._link_word())

    def _paint_number(self, painter: QPainter, rect: QRect, text: str) -> None:
        painter.setFont(self._theme.font("meta"))
        painter.setPen(self._theme.color("muted"))
        painter.drawText(
            rect.adjusted(0, 0, -self._theme.px(SPACE_2), 0),
            Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight,
            text,
        )

    def _paint_bar(self, painter: QPainter, rect: QRect, model: CallTree, node: Node) -> None:
        theme, line, call = self._theme, model.timeline, node.call
        painter.setPen(QPen(theme.color("line"), 1))
        for tick in line.ticks():
            x = rect.x() + round(tick.position * rect.width())
            painter.drawLine(x, rect.top(), x, rect.bottom())
        if call_words.taken(call, model.now) is None:
            return
        end = call.ended_at if call.ended_at is not None else model.now
        left = rect.x() + line.position(call.started_at) * rect.width()
        right = rect.x() + line.position(max(end, call.started_at)) * rect.width()
        height = theme.px(BAR_HEIGHT)
        hollow = call.replayed or is_waiting(call)
        width = max(right - left, theme.px(HOLLOW_LEAST if hollow else BAR_LEAST))
        left = min(left, rect.x() + rect.width() - width)
        bar = QRectF(left, rect.y() + (rect.height() - height) / 2, width, height)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_one_bar(painter, bar, node)
        if not is_waiting(call):
            self._paint_folds(painter, rect, bar, model)

    def _paint_one_bar(self, painter: QPainter, bar: QRectF, node: Node) -> None:
        theme, call = self._theme, node.call
        if is_waiting(call):
            pen = QPen(theme.color("waiting"), 1.5)
            pen.setDashPattern([2.0, 1.5])
            painter.setPen(pen)
            painter.drawRoundedRect(bar.adjusted(0.75, 0.75, -0.75, -0.75), 2, 2)
        elif call.replayed and call.state == "ok" and not call_words.asks_person(call):
            painter.setPen(QPen(theme.color("sent"), 1.5))
            painter.drawRoundedRect(bar.adjusted(0.75, 0.75, -0.75, -0.75), 1.5, 1.5)
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("failed" if call.state == "failed" else "line_strong"))
            painter.drawRoundedRect(bar, 2, 2)
            painter.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_folds(self, painter: QPainter, rect: QRect, bar: QRectF, model: CallTree) -> None:
        """A gap with two strokes where a long wait is folded."""
        theme = self._theme
        half = theme.px(FOLD_HALF)
        for first, last in model.timeline.folds:
            x = rect.x() + (first + last) / 2 * rect.width()
            if not bar.left() + half < x < bar.right() - half:
                continue
            selected = theme.color("card")
            painter.fillRect(QRectF(x - half, bar.top() - 1, 2 * half, bar.height() + 2), selected)
            painter.setPen(QPen(theme.color("muted"), 1.2))
            for shift in (-2.5, 1.5):
                painter.drawLine(
                    QPoint(round(x + shift), round(bar.bottom())), QPoint(round(x + shift + 3), round(bar.top()))
                )

    def _left(self, rect: QRect, model: CallTree, node: Node) -> int:
        depth = min(model.level(node.number) - 1, DEEPEST)
        return rect.x() + self._theme.px(SPACE_4) + depth * self._theme.px(INDENT)

    def _icon(self, painter: QPainter, name: str, role: Role, at: QPoint, height: int) -> None:
        size = self._theme.px(ICON_SMALL)
        pixmap = self._theme.pixmap(name, role, ICON_SMALL, scale=painter.device().devicePixelRatio())
        painter.drawPixmap(at.x(), at.y() + (height - size) // 2, pixmap)

    def _link_word(self) -> str:
        return self.tr("Go to card")


def has_link(node: Node) -> bool:
    """Whether a row leads to a question that waits for a person."""
    return is_waiting(node.call) and call_words.asks_person(node.call) and not node.mark
