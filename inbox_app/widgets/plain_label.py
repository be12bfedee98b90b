"""The only label: it shows its text literally, whatever is in it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import FontKind, Role


class PlainLabel(QLabel):
    """Text in one font and colour of the theme.

    ``wrap`` breaks long text into lines; ``elide`` cuts one line at the right and puts the whole into the tool tip;
    ``strong`` is weight 600.
    """

    def __init__(
        self,
        text: str,
        theme: Theme,
        font: FontKind = "body",
        role: Role = "text",
        parent: QWidget | None = None,
        *,
        strong: bool = False,
        wrap: bool = False,
        elide: bool = False,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._kind: FontKind = font
        self._strong = strong
        self._role: Role = role
        self._elide = elide
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
        if elide:
            self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setText(text)
        self._dress()
        theme.changed.connect(self._dress)

    def set_role(self, role: Role) -> None:
        if role != self._role:
            self._role = role
            self._dress()

    def set_strong(self, strong: bool) -> None:
        if strong != self._strong:
            self._strong = strong
            self._dress()

    def setText(self, text: str) -> None:
        """Show ``text``. An ampersand is an ampersand: without a buddy a label has no mnemonics in plain text."""
        super().setText(text)
        self._update_tool_tip()

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(0, hint.height()) if self._elide else hint

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_tool_tip()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._elide:
            super().paintEvent(event)
            return
        painter = QPainter(self)
        painter.setFont(self.font())
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        rect = self.contentsRect()
        text = self.fontMetrics().elidedText(_one_line(self.text()), Qt.TextElideMode.ElideRight, rect.width())
        painter.drawText(rect, int(self.alignment()) | Qt.TextFlag.TextSingleLine, text)
        painter.end()

    def _update_tool_tip(self) -> None:
        if self._elide:
            whole = self.fontMetrics().horizontalAdvance(_one_line(self.text()))
            self.setToolTip(literal(self.text()) if whole > self.contentsRect().width() else "")

    @Slot()
    def _dress(self) -> None:
        self.setFont(self._theme.font(self._kind, strong=self._strong))
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.WindowText, self._theme.color(self._role))
        palette.setColor(QPalette.ColorRole.Text, self._theme.color(self._role))
        self.setPalette(palette)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def literal(text: str) -> str:
    """Tool tips guess whether they are rich text; this makes them show every character as it is."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f'<p style="white-space:pre-wrap">{escaped}</p>'
