"""A label for text that came from elsewhere: literal, broken anywhere, hidden characters shown as marks."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QPointF, QSize, Signal
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QPalette, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import LINE_HEIGHT, FontKind, Role
from inbox_app.widgets.hidden_text import Tag, paint_tags, reveal, shown, tag_formats
from inbox_app.widgets.plain_label import PlainLabel

MOST_CHARACTERS: Final = 5000


class MarkedLabel(PlainLabel):
    """Wraps at words, or anywhere within a long one. ``lines`` limits the height; `is_cut` says that it did.

    ``fitted`` follows a change of the size it has.
    """

    fitted = Signal()

    def __init__(
        self,
        text: str,
        theme: Theme,
        font: FontKind = "body",
        role: Role = "text",
        parent: QWidget | None = None,
        *,
        strong: bool = False,
        lines: int | None = None,
    ) -> None:
        self._shown = ""
        self._tags: list[Tag] = []
        self._lines = lines
        self._line_kind: FontKind = font
        self._counts: dict[int, int] = {}
        super().__init__("", theme, font, role, parent, strong=strong, wrap=True)
        policy = self.sizePolicy()
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.show_text(text)

    def show_text(self, text: str) -> None:
        if len(text) > MOST_CHARACTERS:
            text = text[:MOST_CHARACTERS] + "…"
        self._counts.clear()
        self._shown, self._tags = shown(text.replace("\r\n", "\n"))
        self._shown = self._shown.replace("\n", "\u2028")
        super().setText(reveal(text))
        self.updateGeometry()
        self.update()

    def set_lines(self, lines: int | None) -> None:
        """Take at most so many lines; None for as many as there are."""
        if lines != self._lines:
            self._counts.clear()
            self._lines = lines
            self.updateGeometry()
            self.update()
            self.fitted.emit()

    def is_cut(self, width: int | None = None) -> bool:
        """Whether there is more text than the lines it may take."""
        if self._lines is None:
            return False
        layout = self._layout(width or self.width(), self._lines + 1)
        return layout.lineCount() > self._lines

    def natural_width(self) -> int:
        """The width of the text on one line."""
        layout = self._layout(1 << 20, None)
        widest = max((layout.lineAt(at).naturalTextWidth() for at in range(layout.lineCount())), default=0.0)
        return int(widest) + 1

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        count = self._counts.get(width)
        if count is None:  # layouts ask for the same widths again and again
            count = self._counts[width] = max(1, self._layout(width, self._lines).lineCount())
        return count * self._line_height

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.FontChange:
            self._counts.clear()
        super().changeEvent(event)

    def sizeHint(self) -> QSize:
        width = min(self.natural_width(), self._theme.px(640))
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(40), self._line_height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fitted.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        layout, tags = self._fitted(self.width())
        painter = QPainter(self)
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        paint_tags(painter, layout, tags, QPointF(0, 0), self._theme)
        for at in range(layout.lineCount()):
            layout.lineAt(at).draw(painter, QPointF(0, 0))
        painter.end()

    @property
    def _line_height(self) -> int:
        return self._theme.px(LINE_HEIGHT[self._line_kind])

    def _fitted(self, width: int) -> tuple[QTextLayout, list[Tag]]:
        """What is drawn: the whole text, or as much as fits and an ellipsis. A mark is never cut through."""
        layout, tags = self._layout(width, self._lines), self._tags
        if not self.is_cut(width):
            return layout, tags
        assert self._lines is not None
        last = layout.lineAt(layout.lineCount() - 1)
        end = last.textStart() + last.textLength()
        while end > 0:
            end = next((tag.start for tag in tags if tag.start < end < tag.start + tag.length), end)
            tags = [tag for tag in tags if tag.start < end]
            text = self._shown[:end].rstrip() + "…"
            if self._layout(width, self._lines + 1, text, tags).lineCount() <= self._lines:
                return self._layout(width, self._lines, text, tags), tags
            end -= 1
        return layout, tags

    def _layout(
        self, width: int, lines: int | None, text: str | None = None, tags: list[Tag] | None = None
    ) -> QTextLayout:
        layout = QTextLayout(self._shown if text is None else text, QFont(self.font()))
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(option)
        layout.setFormats(tag_formats(self._tags if tags is None else tags, self._theme))
        layout.beginLayout()
        height = self._line_height
        count = 0
        while lines is None or count < lines:
            line = layout.createLine()
            if not line.isValid():
                break
            line.setLineWidth(max(width, 1))
            line.setPosition(QPointF(0, count * height + (height - line.height()) / 2))
            count += 1
        layout.endLayout()
        return layout
