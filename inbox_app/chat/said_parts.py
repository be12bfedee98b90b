"""What is said in a turn: by the person, by the agent, by the agent to itself, by the runtime."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.chat.part import Part
from inbox_app.gateway.chats import Note
from inbox_app.models.wording import moment
from inbox_app.state.chats import TurnLog, Words
from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import (
    FOCUS_RING,
    ICON_SMALL,
    ICON_TINY,
    LINE_HEIGHT,
    RADIUS_FIELD,
    RADIUS_OPTION,
    SPACE_1,
    SPACE_2,
    SPACE_3,
    SPACE_4,
    SPACE_5,
    Role,
)
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.file_chip import FileChip
from inbox_app.widgets.flow_box import FlowBox
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.option_row import BY_KEY
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.prose import Prose

HEAD: Final = 24


class LongProse(QWidget):
    """A text with a way to see more of a very long one."""

    def __init__(self, theme: Theme, name: str, role: Role, parent: QWidget) -> None:
        super().__init__(parent)
        self.prose = Prose(theme, name, role, parent=self)
        self._more = ActionButton(theme, "", "link", parent=self, height=LINE_HEIGHT["body"])
        self._more.hide()
        self._more.clicked.connect(self._on_more)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(self.prose)
        column.addWidget(self._more)

    def show_text(self, text: str) -> None:
        self.prose.show_text(text)
        self._offer()

    def _offer(self) -> None:
        left = self.prose.missing
        self._more.set_text(self.tr("Show more, {0} characters are left").format(f"{left:,}") if left else "")
        self._more.setVisible(left > 0)

    @Slot()
    def _on_more(self) -> None:
        self.prose.show_more()
        self._offer()


class AskedPart(Part):
    """What the person said, with the names of the files that went with it.

    ``label``: what the option is called that was chosen by this message, "" if none was.
    """

    def __init__(self, theme: Theme, log: TurnLog, now: float, label: str = "", parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        has_label = label not in ("", log.asked)
        said = LongProse(theme, self.tr("You said"), "muted" if has_label else "text", self)
        said.show_text(log.asked)
        said.setVisible(bool(log.asked))
        head = QHBoxLayout()
        head.setSpacing(theme.px(SPACE_2))
        head.addWidget(PlainLabel(self.tr("You"), theme, "label", "muted", self))
        head.addStretch(1)
        if log.at:
            head.addWidget(PlainLabel(moment(log.at, now), theme, "meta", "muted", self))
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(SPACE_4), theme.px(SPACE_2), theme.px(SPACE_4), theme.px(SPACE_3))
        column.setSpacing(theme.px(SPACE_1))
        column.addLayout(head)
        if has_label:
            column.addWidget(MarkedLabel(label, theme, "body", parent=self))
        column.addWidget(said)
        if log.files:
            files = FlowBox(theme, self)
            files.set_items([FileChip(theme, name, "", parent=files) for name in log.files])
            column.addWidget(files)
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = rounded(self.rect(), RADIUS_OPTION, 0.5)
        painter.fillPath(ground, self._theme.color("sunken"))
        if self._theme.is_contrast:
            painter.setPen(QPen(self._theme.color("line"), 1))
            painter.drawPath(ground)
        painter.end()


class SaidPart(Part):
    """What the agent says; it grows while it is said."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._text = LongProse(theme, self.tr("The agent said"), "text", self)
        self._text.prose.resized.connect(self.fitted)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._text)

    def show_words(self, words: Words) -> None:
        self._text.show_text(words.text.strip("\n") if not words.last else words.text.lstrip("\n"))


class ThoughtPart(Part):
    """What the agent says to itself: one line, and the whole when it is opened."""

    toggled = Signal(int)
    takes_focus = True
    gap = 8

    def __init__(self, theme: Theme, key: int, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._block = key
        self._head = ""
        self._opened = False
        self._ring = False
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._text = LongProse(theme, self.tr("The agent thought"), "muted", self)
        self._text.prose.resized.connect(self.fitted)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(SPACE_5 + SPACE_1), theme.px(HEAD), 0, 0)
        column.setSpacing(0)
        column.addWidget(self._text)
        self._text.hide()

    def show_words(self, words: Words, *, opened: bool, going: bool) -> None:
        """``going``: it is still being thought."""
        took = round(words.last - words.began)
        if going:
            head = self.tr("Thinking")
        elif took >= 1:
            head = self.tr("Thought for {0} s").format(took)
        else:
            head = self.tr("Thought")
        self._opened, self._head = opened, head
        if opened:
            self._text.show_text(words.text.strip("\n"))
        if opened == self._text.isHidden():
            self._text.setVisible(opened)
            self.fitted.emit()
        state = self.tr("opened") if opened else self.tr("closed")
        self.setAccessibleName(f"{head}, {state}")
        self.update()

    def height_for(self, width: int) -> int:
        return super().height_for(width) if self._opened else self._theme.px(HEAD)

    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(200), self._theme.px(HEAD))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = QRect(0, 0, self.width(), theme.px(HEAD))
        size = theme.px(ICON_SMALL)
        icon = "chevron-down" if self._opened else "chevron-right"
        spot = self._mirrored(QRect(theme.px(SPACE_1), (line.height() - size) // 2, size, size))
        painter.drawPixmap(spot.topLeft(), theme.pixmap(icon, "muted", ICON_SMALL, scale=self.devicePixelRatioF()))
        painter.setFont(theme.font("body"))
        painter.setPen(theme.color("muted"))
        words = self._mirrored(line.adjusted(theme.px(SPACE_5 + SPACE_1), 0, 0, 0))
        painter.drawText(words, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), self._head)
        if self._ring and self.hasFocus():
            painter.setPen(QPen(theme.color("focus"), FOCUS_RING))
            painter.drawPath(rounded(line, RADIUS_FIELD, FOCUS_RING / 2))
        painter.end()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and event.position().y() < self._theme.px(HEAD):
            self.toggled.emit(self._block)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        opens = key == Qt.Key.Key_Right and not self._opened
        closes = key == Qt.Key.Key_Left and self._opened
        if self.hasFocus() and (opens or closes or key in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}):
            self.toggled.emit(self._block)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() in BY_KEY
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def _mirrored(self, rect: QRect) -> QRect:
        if self.layoutDirection() == Qt.LayoutDirection.LeftToRight:
            return rect
        return QRect(self.width() - rect.x() - rect.width(), rect.y(), rect.width(), rect.height())


class NotePart(Part):
    """A sentence of the runtime; an error says why the turn ended."""

    def __init__(self, theme: Theme, note: Note, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        role: Role = "failed" if note.error else "muted"
        icon = IconBox(theme, self, ICON_SMALL)
        icon.set_icon("triangle-alert" if note.error else "info", role)
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(SPACE_1), 0, 0, 0)
        row.setSpacing(theme.px(SPACE_2))
        beside = QVBoxLayout()
        beside.setContentsMargins(0, theme.px(3), 0, 0)
        beside.addWidget(icon)
        beside.addStretch(1)
        row.addLayout(beside)
        words = Prose(theme, self.tr("The runtime said"), "text" if note.error else "muted", parent=self)
        words.show_text(note.text)
        row.addWidget(words, 1)


class EndPart(Part):
    """How the turn ended, if not well, and how many tokens it took. ``again``: to say the same once more."""

    again = Signal()
    gap = 8

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._icon = IconBox(theme, self, ICON_TINY)
        self._text = MarkedLabel("", theme, "meta", "muted", self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.px(SPACE_2))
        self._again = ActionButton(theme, self.tr("Try again"), "link", parent=self, height=LINE_HEIGHT["body"])
        self._again.clicked.connect(self.again)
        self._again.hide()
        row.addWidget(self._again)
        row.addWidget(self._icon)
        row.addWidget(self._text, 1)

    def show_end(self, icon: str, role: Role, text: str, *, has_again: bool = False) -> None:
        if has_again == self._again.isHidden():
            self._again.setVisible(has_again)
            self.fitted.emit()
        self._icon.setVisible(bool(icon))
        self._icon.set_icon(icon, role)
        self._text.set_role(role if icon else "muted")
        if text != self._text.text():
            self._text.show_text(text)
