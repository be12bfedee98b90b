"""A field for text of several lines. What was typed comes out exactly as it was typed."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPalette, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QTextEdit, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import LINE_HEIGHT, SPACE_1, FontKind
from inbox_app.widgets.line_field import keep_typing, mark_wrong

RING: Final = 3
"""Room around the text for the ring that shows the focus."""
_PARAGRAPH: Final = "\u2029"


class TextArea(QPlainTextEdit):
    """Grows from ``lines`` to ``most`` lines; ``is_tight``: one line is as high as a `LineField`.

    Tab leaves it, Enter breaks the line, Ctrl+Enter is for the window.

    What is typed here never becomes a command, also while it is read only.
    """

    def __init__(
        self,
        theme: Theme,
        name: str,
        *,
        font: FontKind = "body",
        lines: int = 4,
        most: int = 14,
        is_tight: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._kind: FontKind = font
        self._least = lines
        self._most = most
        self._is_tight = is_tight
        self.setProperty("field", True)
        self.setAccessibleName(name)
        self.setTabChangesFocus(True)
        self.setFont(theme.font(font))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(theme.px(SPACE_1 / 2 if is_tight else SPACE_1))
        slack, indent = (1, 4) if is_tight else (0, 0)  # what just fits would scroll; text begins as in a line
        self.setViewportMargins(RING + indent, RING - slack, RING, RING - slack)
        self.document().documentLayout().documentSizeChanged.connect(self._on_size_changed)
        self._on_size_changed()
        theme.changed.connect(self._on_theme_changed)

    def text(self) -> str:
        """`toPlainText` would turn no-break spaces into blanks."""
        return self.document().toRawText().replace(_PARAGRAPH, "\n")

    def set_text(self, text: str) -> None:
        self.setPlainText(text)

    def set_locked(self, locked: bool) -> None:
        """Read only, and seen to be so."""
        self.setReadOnly(locked)
        self._dress()

    def set_wrong(self, wrong: bool) -> None:
        mark_wrong(self, wrong)

    def mark_place(self, line: int, column: int) -> None:
        """Underline the text from one place to the end of its line; both count from 1, line 0 marks nothing."""
        if not line:
            self.setExtraSelections([])
            return
        block = self.document().findBlockByNumber(line - 1)
        before = block.text()[: max(0, column - 1)]
        place = QTextEdit.ExtraSelection()
        place.cursor = QTextCursor(block)
        start = min(len(before.encode("utf-16-le")) // 2, max(0, block.length() - 2))
        place.cursor.setPosition(block.position() + start)
        place.cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        place.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        place.format.setUnderlineColor(self._theme.color("failed"))
        self.setExtraSelections([place])

    def event(self, event: QEvent) -> bool:
        return keep_typing(event) or super().event(event)

    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(320), self.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            if event.modifiers() & Qt.KeyboardModifier.ControlModifier or self.isReadOnly():
                event.ignore()
            else:  # with Shift, Qt would insert a line separator instead of a line break
                self.textCursor().insertBlock()
                self.ensureCursorVisible()
                event.accept()
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    @Slot()
    def _on_size_changed(self) -> None:
        rows = int(self.document().documentLayout().documentSize().height())
        shown = min(max(rows, self._least), self._most)
        line = max(self.fontMetrics().lineSpacing(), self._theme.px(LINE_HEIGHT[self._kind]) - 4)
        frame = 2 * (self.frameWidth() + RING + int(self.document().documentMargin()))
        height = shown * line + frame + (0 if self._is_tight else self._theme.px(SPACE_1))
        if height != self.height():
            self.setFixedHeight(height)

    @Slot()
    def _on_theme_changed(self) -> None:
        self.setFont(self._theme.font(self._kind))
        self._dress()

    def _dress(self) -> None:
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Base, self._theme.color("sunken" if self.isReadOnly() else "card"))
        self.setPalette(palette)
