"""JSON for reading: a key and its value a line, digits and characters as they are, any size.

Only what is visible is laid out. Lines come from `payload_lines` in slices, so that ten megabytes neither hold the
window nor have to be copied into a document.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from PySide6.QtCore import QPointF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QSizePolicy, QWidget

from inbox_app.gateway import values
from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import LINE_HEIGHT, RADIUS_FIELD, SPACE_2, SPACE_3, SPACE_6
from inbox_app.widgets.hidden_text import Tag, original, paint_tags, reveal, tag_formats
from inbox_app.widgets.payload_lines import Line, payload_lines

SLICE_SECONDS: Final = 0.012
MOST_INLINE_LINES: Final = 2000
DESCRIBED: Final = 2000


@dataclass(frozen=True, slots=True)
class _Place:
    """A position in the text: line, and column in what is shown of it."""

    line: int
    column: int


class PayloadView(QAbstractScrollArea):
    """Shows one value. ``inline`` grows to its content and leaves scrolling to what it stands in.

    ``filled`` is emitted when all lines are there. Copying gives the original characters, not the marks.
    """

    filled = Signal()

    def __init__(self, theme: Theme, name: str, *, inline: bool = False, parent: QWidget | None = None) -> None:
        """``name`` is what a screen reader calls it."""
        super().__init__(parent)
        self._theme = theme
        self._inline = inline
        self._value: Any = None
        self._lines: list[Line] = []
        self._source: Iterator[Line] | None = None
        self._rows: list[int] = []
        self._row_count = 0
        self._hidden = 0
        self._wide_columns = 80
        self._anchor: _Place | None = None
        self._caret: _Place | None = None
        self._more = QTimer(self)
        self._more.setSingleShot(True)
        self._more.timeout.connect(self._on_more)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.viewport().setAutoFillBackground(False)
        if inline:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._on_theme_changed)

    @property
    def hidden_count(self) -> int:
        """Hidden characters in the lines that are there."""
        return self._hidden

    @property
    def line_count(self) -> int:
        return len(self._lines)

    @property
    def is_complete(self) -> bool:
        """Whether every line is there; an inline view stops at `MOST_INLINE_LINES`."""
        return self._source is None

    def show_value(self, value: object) -> None:
        self._value = value
        self._lines = []
        self._hidden = 0
        self._anchor = self._caret = None
        self._source = payload_lines(value)
        self._take_slice()
        text = "\n".join(line.text for line in self._lines[:50])[:DESCRIBED]
        self.setAccessibleDescription(reveal(text))
        self.verticalScrollBar().setValue(0)

    def text(self) -> str:
        """What is shown, with the original characters."""
        return "\n".join(line.text for line in self._lines)

    def row_height(self) -> int:
        return self._theme.px(LINE_HEIGHT["mono"])

    def sizeHint(self) -> QSize:
        height = self._content_height() if self._inline else self._theme.px(320)
        return QSize(self._theme.px(480), height)

    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(120), self._content_height() if self._inline else self._theme.px(60))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._measure()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self._inline:
            event.ignore()
        else:
            super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        elif self._inline or event.text().strip():
            event.ignore()
        else:
            super().keyPressEvent(event)

    def select_all(self) -> None:
        if self._lines:
            self._anchor = _Place(0, 0)
            self._caret = _Place(len(self._lines) - 1, self._lines[-1].length)
            self.viewport().update()

    def copy(self) -> None:
        """The selection to the clipboard; all of it, if all is selected, is the value as JSON."""
        text = self.selected_text()
        if text:
            QGuiApplication.clipboard().setText(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    def selected_text(self) -> str:
        first, last = self._selection()
        if first is None or last is None:
            return ""
        if first == _Place(0, 0) and last.line == len(self._lines) - 1 and self.is_complete:
            end = self._lines[-1].length
            if last.column >= end:
                return values.pretty(self._value)
        picked: list[str] = []
        for number in range(first.line, last.line + 1):
            start = first.column if number == first.line else 0
            stop = last.column if number == last.line else None
            picked.append(original(self._lines[number].pieces(), start, stop))
        return "\n".join(picked)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._anchor = self._caret = self._place_at(event.position())
            self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._caret = self._place_at(event.position())
            self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = rounded(self.viewport().rect(), RADIUS_FIELD, 0.5)
        painter.fillPath(ground, theme.color("sunken"))
        if theme.is_contrast:
            painter.setPen(QPen(theme.color("line"), 1))
            painter.drawPath(ground)
        if self.hasFocus():
            painter.setPen(QPen(theme.color("focus"), 2))
            painter.drawPath(rounded(self.viewport().rect(), RADIUS_FIELD, 1))
        height = self.row_height()
        top = self._top()
        first = max(0, (event.rect().top() - top) // height)
        last = min(self._row_count - 1, (event.rect().bottom() - top) // height)
        for row in range(first, last + 1):
            self._paint_row(painter, row, top + row * height)
        painter.end()

    def _paint_row(self, painter: QPainter, row: int, y: int) -> None:
        number, start, text = self._row(row)
        layout, tags = self._layout_row(number, start, text)
        at = QPointF(self._left(start), y)
        paint_tags(painter, layout, tags, at, self._theme)
        painter.setPen(self._theme.color("text"))
        layout.draw(painter, at, self._selected_part(number, start, text))

    def _layout_row(self, number: int, start: int, text: str) -> tuple[QTextLayout, list[Tag]]:
        """The layout of one row; marks that are cut by the row's end stay plain."""
        _, all_tags, value_at = self._lines[number].shown()
        tags = [
            Tag(tag.start - start, tag.length)
            for tag in all_tags
            if start <= tag.start and tag.start + tag.length <= start + len(text)
        ]
        formats = tag_formats(tags, self._theme)
        key = value_at - start
        if key > 0:
            part = QTextLayout.FormatRange()
            look = QTextCharFormat()
            look.setForeground(self._theme.color("muted"))
            part.start, part.length, part.format = 0, key, look  # pyright: ignore[reportAttributeAccessIssue]
            formats.insert(0, part)
        layout = QTextLayout(text, self._theme.font("mono"))
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        layout.setTextOption(option)
        layout.setFormats(formats)
        layout.beginLayout()
        made = layout.createLine()
        made.setLineWidth(1 << 20)
        made.setPosition(QPointF(0, (self.row_height() - made.height()) / 2))
        layout.endLayout()
        return layout, tags

    def _row(self, row: int) -> tuple[int, int, str]:
        """Line number, first column and shown text of a row."""
        number = bisect_right(self._rows, row) - 1
        part = row - self._rows[number]
        line = self._lines[number]
        text = line.shown()[0]
        columns = self._columns(line)
        return number, part * columns, text[part * columns : (part + 1) * columns]

    def _columns(self, line: Line) -> int:
        """Characters in one row of a line."""
        return max(8, self._wide_columns // 2) if line.is_wide else self._wide_columns

    def _left(self, start: int) -> int:
        """Rows that go on with a line are set in."""
        return self._theme.px(SPACE_3) + (self._theme.px(SPACE_6) if start else 0)

    def _top(self) -> int:
        return self._theme.px(SPACE_2) - (0 if self._inline else self.verticalScrollBar().value() * self.row_height())

    def _content_height(self) -> int:
        return max(1, self._row_count) * self.row_height() + 2 * self._theme.px(SPACE_2)

    def _measure(self) -> None:
        width = self.viewport().width() - 2 * self._theme.px(SPACE_3) - self._theme.px(SPACE_6)
        self._wide_columns = max(8, int(width / QFontMetricsF(self._theme.font("mono")).horizontalAdvance("0")))
        self._rows = []
        self._row_count = 0
        self._append_rows(self._lines)
        self._fit()
        self.viewport().update()

    def _append_rows(self, lines: list[Line]) -> None:
        at = self._row_count
        for line in lines:
            self._rows.append(at)
            at += max(1, -(-line.length // self._columns(line)))
        self._row_count = at

    def _fit(self) -> None:
        """Make room for the rows, or the scroll bar."""
        if self._inline:
            self.setFixedHeight(self._content_height())
        else:
            visible = max(1, (self.viewport().height() - 2 * self._theme.px(SPACE_2)) // self.row_height())
            bar = self.verticalScrollBar()
            bar.setPageStep(visible)
            bar.setRange(0, max(0, self._row_count - visible))

    def _take_slice(self) -> None:
        assert self._source is not None
        fresh: list[Line] = []
        stop = time.perf_counter() + SLICE_SECONDS
        for line in self._source:
            fresh.append(line)
            if time.perf_counter() > stop:
                break
        else:
            self._source = None
        self._lines += fresh
        self._hidden += sum(line.hidden for line in fresh)
        if len(self._lines) == len(fresh):
            self._rows, self._row_count = [], 0
        self._append_rows(fresh)
        self._fit()
        if len(self._lines) == len(fresh) or self._inline:
            self.viewport().update()
        if self._source is None:
            self.filled.emit()
        elif not self._inline or len(self._lines) < MOST_INLINE_LINES:
            self._more.start(0)

    @Slot()
    def _on_more(self) -> None:
        if self._source is not None:
            self._take_slice()

    @Slot()
    def _on_theme_changed(self) -> None:
        self._measure()

    def _place_at(self, position: QPointF) -> _Place:
        row = int(position.y() - self._top()) // self.row_height()
        row = min(max(row, 0), max(0, self._row_count - 1))
        if not self._lines:
            return _Place(0, 0)
        number, start, text = self._row(row)
        layout, _ = self._layout_row(number, start, text)
        return _Place(number, start + layout.lineAt(0).xToCursor(position.x() - self._left(start)))

    def _selection(self) -> tuple[_Place | None, _Place | None]:
        if self._anchor is None or self._caret is None or self._anchor == self._caret:
            return None, None
        ends = sorted((self._anchor, self._caret), key=lambda place: (place.line, place.column))
        return ends[0], ends[1]

    def _selected_part(self, number: int, start: int, text: str) -> list[QTextLayout.FormatRange]:
        first, last = self._selection()
        if first is None or last is None or not first.line <= number <= last.line:
            return []
        begin = max(0, (first.column if number == first.line else 0) - start)
        end = min(len(text), (last.column - start) if number == last.line else len(text))
        if begin >= end:
            return []
        part = QTextLayout.FormatRange()
        look = QTextCharFormat()
        look.setBackground(self._theme.color("accent"))
        look.setForeground(self._theme.color("on_accent"))
        part.start, part.length, part.format = begin, end - begin, look  # pyright: ignore[reportAttributeAccessIssue]
        return [part]
