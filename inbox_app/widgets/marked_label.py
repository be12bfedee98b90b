"""A label for text that came from elsewhere: literal, broken anywhere, hidden characters shown as marks."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPointF, QSize, Qt, Signal
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
        super().__init__("", theme, font, role, parent, strong=strong, wrap=True)
        policy = self.sizePolicy()
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.show_text(text)

    def show_text(self, text: str) -> None:
        if len(text) > MOST_CHARACTERS:
            text = text[:MOST_CHARACTERS] + "…"
        self._shown, self._tags = shown(text.replace("\r\n", "\n"))
        self._shown = self._shown.replace("\n", "\u2028")
        super().setText(reveal(text))
        self.updateGeometry()
        self.update()

    def set_lines(self, lines: int | None) -> None:
        """Take at most so many lines; None for as many as there are."""
        if lines != self._lines:
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
        count = max(1, self._layout(width, self._lines).lineCount())
        return count * self._line_height

    def sizeHint(self) -> QSize:
        width = min(self.natural_width(), self._theme.px(640))
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(40), self._line_height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fitted.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        layout = self._layout(self.width(), self._lines)
        painter = QPainter(self)
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        paint_tags(painter, layout, self._tags, QPointF(0, 0), self._theme)
        last = layout.lineCount() - 1
        for at in range(layout.lineCount()):
            line = layout.lineAt(at)
            if at == last and line.textStart() + line.textLength() < len(self._shown):
                rest = self._shown[line.textStart() :].replace("\u2028", " ")
                cut = self.fontMetrics().elidedText(rest, Qt.TextElideMode.ElideRight, self.width())
                painter.setFont(self.font())
                painter.drawText(QPointF(0, line.y() + line.ascent()), cut)
            else:
                line.draw(painter, QPointF(0, 0))
        painter.end()

    @property
    def _line_height(self) -> int:
        return self._theme.px(LINE_HEIGHT[self._line_kind])

    def _layout(self, width: int, lines: int | None) -> QTextLayout:
        layout = QTextLayout(self._shown, QFont(self.font()))
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(option)
        layout.setFormats(tag_formats(self._tags, self._theme))
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
