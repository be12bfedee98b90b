"""The two-line row of the lists, and the head of a group."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import (
    EDGE,
    FOCUS_RING,
    ICON,
    ICON_TINY,
    ROW_GROUP,
    ROW_NORMAL,
    SELECTION_MARK,
    FontKind,
    Role,
)

LOOK_ROLE = int(Qt.ItemDataRole.UserRole) + 2
"""The item data role that holds the look of a row."""

ICON_X, TEXT_X, RIGHT = 16, 40, 12
LINE_1, LINE_1_HEIGHT, LINE_2, LINE_2_HEIGHT = 2, 20, 22, 16
CELL_GAP = 12

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True)
class RowLook:
    """One row. ``when`` stands right on line 1, ``word`` right on line 2; ``tag`` leads line 2 in production colour."""

    icon: str
    icon_role: Role
    title: str
    strong: bool
    when: str
    detail: str
    word: str
    when_role: Role = "muted"
    when_strong: bool = False
    word_role: Role = "muted"
    word_icon: str = ""
    tag: str = ""
    title_font: FontKind = "question"


@dataclass(frozen=True, slots=True)
class HeadLook:
    """The head of a group: its name, and at the right the order of its rows in words."""

    title: str
    order: str


class RowDelegate(QStyledItemDelegate):
    """Draws `RowLook` and `HeadLook`; anything else is drawn as nothing."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._hovered = QPersistentModelIndex()
        self.ring = False
        """Whether the current row shows the focus ring: set when the focus came by key."""

    def set_hovered(self, index: QModelIndex) -> None:
        self._hovered = QPersistentModelIndex(index)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        height = ROW_GROUP if isinstance(index.data(LOOK_ROLE), HeadLook) else ROW_NORMAL
        return QSize(option.rect.width(), self._theme.px(height))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        look = index.data(LOOK_ROLE)
        painter.save()
        if isinstance(look, HeadLook):
            paint_head(painter, self._theme, option.rect, look)
        elif isinstance(look, RowLook):
            hovered = self._hovered.isValid() and self._hovered.row() == index.row()
            self._paint_ground(painter, option, look, hovered)
            self._paint_row(painter, option.rect, look)
        painter.restore()

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem, look: RowLook, hovered: bool) -> None:
        theme, rect = self._theme, option.rect
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected:
            painter.fillRect(rect, theme.color("selection"))
        elif hovered:
            painter.fillRect(rect, theme.color("hover"))
        if look.tag:
            inset = theme.px(4)
            painter.fillRect(
                rect.x(), rect.y() + inset, theme.px(EDGE), rect.height() - 2 * inset, theme.color("production")
            )
        if not selected:
            return
        if self.ring and option.state & QStyle.StateFlag.State_HasFocus:
            pen = painter.pen()
            pen.setColor(theme.color("focus"))
            pen.setWidth(FOCUS_RING)
            pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
            painter.setPen(pen)
            painter.drawRect(rect.adjusted(1, 1, -1, -1))
        mark = theme.px(SELECTION_MARK)
        painter.fillRect(rect.right() + 1 - mark, rect.y(), mark, rect.height(), theme.color("accent"))

    def _paint_row(self, painter: QPainter, rect: QRect, look: RowLook) -> None:
        theme = self._theme
        left, right = rect.x() + theme.px(TEXT_X), rect.right() + 1 - theme.px(RIGHT)
        scale = painter.device().devicePixelRatio()
        line = QRect(left, rect.y() + theme.px(LINE_1), right - left, theme.px(LINE_1_HEIGHT))
        icon_y = line.y() + (line.height() - theme.px(ICON)) // 2
        painter.drawPixmap(
            rect.x() + theme.px(ICON_X), icon_y, theme.pixmap(look.icon, look.icon_role, ICON, scale=scale)
        )
        used = self._draw_right(painter, line, look.when, look.when_role, "meta", strong=look.when_strong)
        self._draw_left(painter, line, look.title, "text", look.title_font, used, strong=look.strong)

        line = QRect(left, rect.y() + theme.px(LINE_2), right - left, theme.px(LINE_2_HEIGHT))
        used = self._draw_right(painter, line, look.word, look.word_role, "meta")
        if look.word and look.word_icon:
            size = theme.px(ICON_TINY)
            x = right - used - theme.px(4) - size
            y = line.y() + (line.height() - size) // 2
            painter.drawPixmap(x, y, theme.pixmap(look.word_icon, look.word_role, ICON_TINY, scale=scale))
            used = right - x
        if look.tag:
            taken = self._draw_left(painter, line, look.tag, "production", "label", used, strong=True)
            line.setLeft(line.left() + taken + theme.px(4))
        self._draw_left(painter, line, look.detail, "muted", "meta", used)

    def _draw_right(
        self, painter: QPainter, line: QRect, text: str, role: Role, font: FontKind, *, strong: bool = False
    ) -> int:
        """Draw at the right end of a line; how many pixels that took."""
        if not text:
            return 0
        painter.setPen(self._theme.color(role))
        painter.setFont(self._theme.font(font, strong=strong))
        painter.drawText(line, int(_RIGHT), text)
        return self._theme.metrics(font, strong=strong).horizontalAdvance(text)

    def _draw_left(
        self, painter: QPainter, line: QRect, text: str, role: Role, font: FontKind, used: int, *, strong: bool = False
    ) -> int:
        """Draw what fits beside the ``used`` pixels at the right; how many pixels that took."""
        room = line.width() - (used + self._theme.px(CELL_GAP) if used else 0)
        metrics = self._theme.metrics(font, strong=strong)
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(0, room))
        painter.setPen(self._theme.color(role))
        painter.setFont(self._theme.font(font, strong=strong))
        painter.drawText(QRect(line.x(), line.y(), max(0, room), line.height()), int(_LEFT), shown)
        return metrics.horizontalAdvance(shown)


def paint_head(painter: QPainter, theme: Theme, rect: QRect, look: HeadLook) -> None:
    line = rect.adjusted(theme.px(ICON_X), theme.px(4), -theme.px(RIGHT), 0)
    painter.setPen(theme.color("muted"))
    painter.setFont(theme.font("meta"))
    order_width = theme.metrics("meta").horizontalAdvance(look.order)
    painter.drawText(line, int(_RIGHT), look.order)
    painter.setFont(theme.font("label"))
    room = line.width() - order_width - theme.px(CELL_GAP)
    title = theme.metrics("label").elidedText(look.title, Qt.TextElideMode.ElideRight, room)
    painter.drawText(line, int(_LEFT), title)
