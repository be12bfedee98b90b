"""Text to read, of any author: literal, hidden characters shown as marks, fenced code in mono.

Lines are laid out one by one and kept, so that text which grows at its end costs what was added.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from PySide6.QtCore import QPointF, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import LINE_HEIGHT, RADIUS_FIELD, SPACE_2, SPACE_3, FontKind, Role
from inbox_app.widgets.hidden_text import Tag, original, paint_tags, pieces, reveal, shown, tag_formats

MOST_IN_LINE: Final = 2000
"""Layout is quadratic in the length of a line; a longer one is broken, between words if it has any."""
MOST_AT_ONCE: Final = 64 * 1024
DESCRIBED: Final = 1000
FENCE: Final = "```"
BLANK_HEIGHT: Final = 10


_Kind: TypeAlias = Literal["text", "code", "open", "close"]
"""Fences open and close a block of code and are shown as its edges only."""


@dataclass(slots=True)
class _Line:
    """``goes_on``: it was broken here, the next one belongs to it. ``layout`` None: not laid out for this width."""

    text: str
    kind: _Kind = "text"
    goes_on: bool = False
    layout: QTextLayout | None = None
    tags: list[Tag] = field(default_factory=list[Tag])
    height: int = 0

    @property
    def is_code(self) -> bool:
        return self.kind != "text"

    @property
    def is_fence(self) -> bool:
        return self.kind in ("open", "close")


class Prose(QWidget):
    """``resized``: its height for the width it has is another. Select with the mouse; copying gives what was written.

    Of a very long text the beginning is shown, and `show_more` adds to it.
    """

    resized = Signal()

    def __init__(
        self, theme: Theme, name: str, role: Role = "text", font: FontKind = "body", parent: QWidget | None = None
    ) -> None:
        """``name`` is whose text it is, for a screen reader."""
        super().__init__(parent)
        self._theme = theme
        self._name = name
        self._role: Role = role
        self._kind: FontKind = font
        self._text = ""
        self._most = MOST_AT_ONCE
        self._lines: list[_Line] = []
        self._width = 0
        self._anchor: tuple[int, int] | None = None
        self._caret: tuple[int, int] | None = None
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setCursor(Qt.CursorShape.IBeamCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        theme.changed.connect(self._on_theme_changed)

    @property
    def text(self) -> str:
        return self._text

    @property
    def missing(self) -> int:
        """How many characters at the end are not shown."""
        return max(0, len(self._text) - self._most)

    def show_text(self, text: str) -> None:
        """Show ``text``; if it only grew, what was there before stays as it is laid out."""
        if text == self._text:
            return
        grown = text.startswith(self._text) and self._text != ""
        before, self._text = self._text, text
        if grown:
            self._append(text[len(before) : self._most])
        else:
            self._anchor = self._caret = None
            self._lines = []
            self._append(text[: self._most])
        if len(before) <= DESCRIBED:
            self.setAccessibleName(self._name)
            self.setAccessibleDescription(reveal(text[:DESCRIBED]))

    def show_more(self) -> None:
        start, self._most = self._most, self._most + MOST_AT_ONCE
        self._append(self._text[start : self._most])

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        if width != self._width:
            self._width = width
            for line in self._lines:
                line.layout = None
        return sum(self._height_of(line) for line in self._lines)

    def sizeHint(self) -> QSize:
        width = self._width or self._theme.px(480)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(80), 0)

    def selected_text(self) -> str:
        first, last = self._selection()
        if first is None or last is None:
            return ""
        picked: list[str] = []
        for at in range(first[0], last[0] + 1):
            start = first[1] if at == first[0] else 0
            stop = last[1] if at == last[0] else None
            line = self._lines[at]
            picked.append(original(pieces(line.text), start, stop))
            if at < last[0] and not line.goes_on:
                picked.append("\n")
        return "".join(picked)

    @Slot()
    def copy(self) -> None:
        """The selection to the clipboard, or all of the text if nothing is selected."""
        text = self.selected_text() or self._text
        QGuiApplication.clipboard().setText(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll) and self._lines:
            self._anchor, self._caret = (0, 0), (len(self._lines) - 1, len(shown(self._lines[-1].text)[0]))
            self.update()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._anchor = self._caret = self._place_at(event.position())
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._caret = self._place_at(event.position())
            self.update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        action = menu.addAction(self.tr("Copy") if self.selected_text() else self.tr("Copy all"))
        action.triggered.connect(self.copy)
        menu.popup(event.globalPos())

    def paintEvent(self, event: QPaintEvent) -> None:
        self.heightForWidth(self.width())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_code(painter)
        y = 0
        for at, line in enumerate(self._lines):
            height = self._height_of(line)
            if y + height > event.rect().top() and line.layout is not None and not line.is_fence:
                spot = QPointF(self._left(line), y)
                paint_tags(painter, line.layout, line.tags, spot, self._theme)
                painter.setPen(self._theme.color(self._role))
                line.layout.draw(painter, spot, self._selected_part(at))
            y += height
            if y > event.rect().bottom():
                break
        painter.end()

    def _paint_code(self, painter: QPainter) -> None:
        theme, y, start = self._theme, 0, 0
        for at, line in enumerate(self._lines):
            if line.kind == "open":
                start = y
            y += self._height_of(line)
            if line.kind == "close" or (line.is_code and at == len(self._lines) - 1):
                ground = rounded(QRect(0, start, self.width(), y - start), RADIUS_FIELD, 0.5)
                painter.fillPath(ground, theme.color("sunken"))
                if theme.is_contrast:
                    painter.setPen(QPen(theme.color("line"), 1))
                    painter.drawPath(ground)

    def _append(self, text: str) -> None:
        """Add to the last line and begin new ones at line breaks."""
        if not text:
            return
        parts = text.replace("\r\n", "\n").split("\n")
        if self._lines:
            parts[0] = self._take_last() + parts[0]
        for part in parts:
            start = 0
            while len(part) - start > MOST_IN_LINE:
                blank = part.rfind(" ", start, start + MOST_IN_LINE)
                end = blank + 1 if blank > start else start + MOST_IN_LINE
                self._lines.append(_Line(part[start:end], self._kind_of(part[start:end]), True))
                start = end
            self._lines.append(_Line(part[start:], self._kind_of(part[start:])))
        self.updateGeometry()
        self.update()
        self.resized.emit()

    def _take_last(self) -> str:
        return self._lines.pop().text

    def _kind_of(self, text: str) -> _Kind:
        within = bool(self._lines) and self._lines[-1].kind in ("open", "code")
        if text.lstrip().startswith(FENCE):
            return "close" if within else "open"
        return "code" if within else "text"

    def _left(self, line: _Line) -> int:
        return self._theme.px(SPACE_3) if line.is_code else 0

    def _height_of(self, line: _Line) -> int:
        if line.layout is None:
            self._lay_out(line)
        return line.height

    def _lay_out(self, line: _Line) -> None:
        theme = self._theme
        kind: FontKind = "mono" if line.is_code else self._kind
        text, tags = shown(line.text)
        layout = QTextLayout(text, theme.font(kind))
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(option)
        layout.setFormats(tag_formats(tags, theme))
        line.layout, line.tags = layout, tags
        step = theme.px(LINE_HEIGHT[kind])
        width = max(theme.px(40), self._width - 2 * self._left(line))
        count = 0
        layout.beginLayout()
        while (made := layout.createLine()).isValid():
            made.setLineWidth(width)
            made.setPosition(QPointF(0, count * step + (step - made.height()) / 2))
            count += 1
        layout.endLayout()
        line.height = max(1, count) * step
        if line.is_fence:
            line.height = theme.px(SPACE_2)
        elif not line.is_code and not text.strip():
            line.height = theme.px(BLANK_HEIGHT)

    def _place_at(self, position: QPointF) -> tuple[int, int]:
        y = 0.0
        for at, line in enumerate(self._lines):
            height = self._height_of(line)
            if position.y() < y + height or at == len(self._lines) - 1:
                return at, self._column_at(line, position.x() - self._left(line), position.y() - y)
            y += height
        return 0, 0

    def _column_at(self, line: _Line, x: float, y: float) -> int:
        layout = line.layout
        if layout is None or layout.lineCount() == 0:
            return 0
        step = self._theme.px(LINE_HEIGHT["mono" if line.is_code else self._kind])
        row = min(max(0, int(y // step)), layout.lineCount() - 1)
        return int(layout.lineAt(row).xToCursor(x))

    def _selection(self) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
        if self._anchor is None or self._caret is None or self._anchor == self._caret:
            return None, None
        return min(self._anchor, self._caret), max(self._anchor, self._caret)

    def _selected_part(self, at: int) -> list[QTextLayout.FormatRange]:
        first, last = self._selection()
        if first is None or last is None or not first[0] <= at <= last[0]:
            return []
        begin = first[1] if at == first[0] else 0
        end = last[1] if at == last[0] else len(shown(self._lines[at].text)[0])
        if begin >= end:
            return []
        look = QTextCharFormat()
        look.setBackground(self._theme.color("accent"))
        look.setForeground(self._theme.color("on_accent"))
        part = QTextLayout.FormatRange()
        part.start, part.length, part.format = begin, end - begin, look  # pyright: ignore[reportAttributeAccessIssue]
        return [part]

    @Slot()
    def _on_theme_changed(self) -> None:
        self._width = 0
        self.updateGeometry()
        self.update()
