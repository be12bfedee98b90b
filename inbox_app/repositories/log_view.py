"""The log of a build: lines to read and to copy, coloured by their level, at its end as long as one looks there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Slot
from PySide6.QtGui import QPalette, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget

from inbox_app.gateway.builds import LogLine
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import LINE_HEIGHT, SPACE_1, SPACE_2, Role
from inbox_app.widgets.hidden_text import reveal

LINES_SHOWN: Final = 20_000
LEAST, MOST = 4, 18

_ROLES: Final[dict[str, Role]] = {"info": "text", "warning": "due", "error": "failed"}


class LogView(QPlainTextEdit):
    """As high as its lines, up to a limit. Letters typed here are no commands, as in every text."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines: list[LogLine] = []
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)
        self.setMaximumBlockCount(LINES_SHOWN)
        self.setAccessibleName(self.tr("Log of the build"))
        self.setFrameShape(QFrame.Shape.Box)
        self.setProperty("field", True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(theme.px(SPACE_2))
        self.setAutoFillBackground(True)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._dress()
        theme.changed.connect(self._dress)

    def show_lines(self, lines: Sequence[LogLine]) -> None:
        """All of a log; the same log that has grown keeps its place."""
        known = len(self._lines)
        if known and list(lines[:known]) == self._lines:
            self.add_lines(lines[known:])
            return
        self._lines = []
        self.clear()
        self.add_lines(lines)

    def add_lines(self, lines: Sequence[LogLine]) -> None:
        """More lines at the end, which stays in sight if it was."""
        bar = self.verticalScrollBar()
        at_end = bar.value() >= bar.maximum() - 2
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        for line in lines:
            if self._lines:
                cursor.insertBlock()
            self._lines.append(line)
            self._write(cursor, line)
        cursor.endEditBlock()
        if at_end:
            bar.setValue(bar.maximum())

    def _write(self, cursor: QTextCursor, line: LogLine) -> None:
        if line.stage:
            cursor.insertText(reveal(f"{line.stage:<12} "), self._format("muted"))
        cursor.insertText(reveal(line.text), self._format(_ROLES[line.level]))

    def _format(self, role: Role) -> QTextCharFormat:
        text = QTextCharFormat()
        text.setForeground(self._theme.color(role))
        return text

    @Slot()
    def _fit(self) -> None:
        """As many lines as the text takes; it is wrapped at the width that there is."""
        taken = int(self.document().documentLayout().documentSize().height())
        lines = min(max(taken, LEAST), MOST)
        margin = 2 * (self.frameWidth() + self._theme.px(SPACE_2)) + self._theme.px(SPACE_1)
        self.setFixedHeight(
            lines * max(self.fontMetrics().lineSpacing(), self._theme.px(LINE_HEIGHT["mono"]) - 4) + margin
        )

    @Slot()
    def _dress(self) -> None:
        self.setFont(self._theme.font("mono"))
        palette = self.palette()
        for part in (QPalette.ColorRole.Base, QPalette.ColorRole.Window):
            palette.setColor(part, self._theme.color("sunken"))
        self.setPalette(palette)
        lines, self._lines = self._lines, []
        self.clear()
        self.add_lines(lines)
