"""Where the person writes: a field that grows, files that go along, one button that sends or stops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QMimeData, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QImage, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.chat.files import FileError, picture, read_file, room_left, size_words, too_large
from inbox_app.gateway.chats import ChatFile
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_SEND, SPACE_1, SPACE_2, SPACE_3, SPACE_6
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.file_chip import FileChip
from inbox_app.widgets.flow_box import FlowBox
from inbox_app.widgets.hidden_text import count_hidden
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.surface import Hairline, Surface
from inbox_app.widgets.text_area import TextArea

LINES: Final = 6
NUDGE_MS: Final = 50
NUDGES: Final = (6, -5, 4, -3, 0)
STOP_KEYS: Final = "Ctrl+."
SEND_KEYS: Final = "Enter"
MOST_PROBLEMS: Final = 3
"""So many files that were not taken are named, each with its reason."""


class Composer(Surface):
    """``sent`` asks to say what `text` and `files` are; they stay until `clear`. ``typed``: the text is another."""

    sent = Signal()
    stopped = Signal()
    typed = Signal()
    left_above = Signal()

    def __init__(
        self,
        theme: Theme,
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, "card", parent)
        self._spawn = spawn
        self._files: list[ChatFile] = []
        self._is_busy = self._pressed_busy = False
        self._barrier = self._remark = self._problem = ""
        self._pasted = 0
        self._nudges: list[int] = []
        self.setAcceptDrops(True)
        self._field = _Field(theme, self.tr("Message"), self)
        self._field.entered.connect(self._on_send)
        self._field.left_above.connect(self.left_above)
        self._field.dropped.connect(self._take)
        self._field.textChanged.connect(self._on_text_changed)
        self._chips = FlowBox(theme, self)
        self._chips.hide()
        self._words = PlainLabel("", theme, "meta", "muted", self, wrap=True)
        self._attach = ActionButton(theme, "", "flat", parent=self, icon_name="paperclip")
        self._attach.setAccessibleName(self.tr("Attach files"))
        self._attach.setToolTip(self.tr("Attach files, {0} in all").format(size_words(room_left(()))))
        self._attach.clicked.connect(self.choose_files)
        self._button = _SendButton(theme, self.tr("Send"), "outline", SEND_KEYS, self, height=BUTTON_SEND)
        self._button.pressed.connect(self._on_press_began)
        self._button.clicked.connect(self._on_pressed)
        row = QHBoxLayout()
        row.setSpacing(theme.px(SPACE_2))
        for part, stretch in ((self._field, 1), (self._attach, 0), (self._button, 0)):
            row.addWidget(part, stretch, Qt.AlignmentFlag.AlignBottom)
        self._inner = QVBoxLayout()
        self._edge = theme.px(SPACE_6)
        self._inner.setContentsMargins(self._edge, theme.px(SPACE_3), self._edge, theme.px(SPACE_3))
        self._inner.setSpacing(theme.px(SPACE_1))
        self._inner.addWidget(self._chips)
        self._inner.addLayout(row)
        self._inner.addWidget(self._words)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(Hairline(theme, self))
        column.addLayout(self._inner)
        self._nudging = QTimer(self)
        self._nudging.setInterval(NUDGE_MS)
        self._nudging.timeout.connect(self._on_nudge)
        self._show_state()

    @property
    def text(self) -> str:
        return self._field.text()

    @property
    def files(self) -> Sequence[ChatFile]:
        return tuple(self._files)

    @property
    def has_focus(self) -> bool:
        return self._field.hasFocus()

    def set_text(self, text: str) -> None:
        self._problem = ""
        self._field.set_text(text)
        self._field.to_end()

    def set_files(self, files: list[ChatFile]) -> None:
        """Show the files of a conversation and work on this list from now on: what is still being read lands there."""
        self._files = files
        self._show_files()

    def clear(self) -> None:
        self._files.clear()
        self.set_text("")
        self._show_files()

    def show_hint(self, text: str) -> None:
        """What the empty field says."""
        self._field.setPlaceholderText(text)
        self._field.viewport().update()  # Qt repaints only where there was none before

    def show_state(self, *, busy: bool, barrier: str = "", remark: str = "") -> None:
        """``busy``: the agent is at work; ``barrier``: why nothing can be said here; ``remark``: what to know before
        something is said."""
        if (busy, barrier, remark) != (self._is_busy, self._barrier, self._remark):
            self._is_busy, self._barrier, self._remark = busy, barrier, remark
            self._show_state()

    def show_problem(self, text: str) -> None:
        """Why something was not taken; it goes with the next letter."""
        self._problem = text
        self._show_words(nudged=False)

    def take_keys(self) -> None:
        self._field.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot()
    def choose_files(self) -> None:
        dialog = QFileDialog(self, self.tr("Attach files"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(self.add_paths)
        dialog.open()

    @Slot(list)
    def add_paths(self, paths: Sequence[str]) -> None:
        self._spawn(self._read([Path(path) for path in paths], self._files), "read attachments")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if is_attachable(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self._take(event.mimeData())
        event.acceptProposedAction()

    @Slot(object)
    def _take(self, data: QMimeData) -> None:
        """Files that were dropped or pasted, or a picture."""
        paths = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
        if paths:
            self.add_paths(paths)
        elif data.hasImage():
            image: Any = data.imageData()
            self._pasted += 1
            try:
                self._files.append(picture(QImage(image), self._pasted, room_left(self._files)))
            except FileError as error:
                self.show_problem(str(error))
            self._show_files()

    async def _read(self, paths: Sequence[Path], files: list[ChatFile]) -> None:
        """Read into the list of the conversation that was shown when they were attached."""
        problems: list[str] = []
        for path in paths:
            try:
                file = await asyncio.to_thread(read_file, path, room_left(files))
                if len(file.data) > room_left(files):  # others were read meanwhile
                    raise too_large(path.name)
            except FileError as error:
                problems.append(str(error))
                continue
            files.append(file)
            if files is self._files:
                self._show_files()
        if len(problems) > MOST_PROBLEMS:
            more = self.tr("{0} more were not taken.").format(f"{len(problems) - MOST_PROBLEMS:,}")
            problems = [*problems[:MOST_PROBLEMS], more]
        if problems:
            self.show_problem("\n".join(problems))

    def _show_files(self) -> None:
        chips = [
            FileChip(self._theme, file.filename, size_words(len(file.data)), removable=True, parent=self._chips)
            for file in self._files
        ]
        for chip in chips:
            chip.removed.connect(self._on_removed)
        focused = self._chips.isAncestorOf(self.window().focusWidget() or self.window())
        self._chips.set_items(chips)
        self._chips.setVisible(bool(chips))
        if focused:
            self.take_keys()
        self._show_state()
        self.typed.emit()

    def _show_state(self) -> None:
        if self._is_busy:
            self._button.set_text(self.tr("Stop"), STOP_KEYS)
            self._button.setEnabled(True)
        else:
            something = bool(self.text.strip() or self._files)
            if self._button.hasFocus() and not something:
                self.take_keys()
            self._button.set_text(self.tr("Send"), SEND_KEYS)
            self._button.setEnabled(something and not self._barrier)
        self._show_words(nudged=False)

    def _show_words(self, *, nudged: bool) -> None:
        """``nudged``: Enter was pressed where it does nothing."""
        if self._is_busy:
            words = self.tr("The agent is at work. Send when it is done, or stop it with Ctrl+.")
        else:
            hint = self.tr("Enter sends, Shift+Enter breaks the line, files can be dropped here")
            words = self._barrier or self._remark or hint
        is_plain = self._is_busy or not (self._barrier or self._remark)
        if hidden := count_hidden(self.text):
            one = self.tr("1 hidden character, sent as typed.")
            many = self.tr("{0} hidden characters, sent as typed.").format(f"{hidden:,}")
            words, is_plain = f"{one if hidden == 1 else many} {words}", False
        if self._problem and not nudged:
            self._words.set_role("failed")
            self._words.setText(self._problem)
        else:
            self._words.set_role("muted" if is_plain and not nudged else "due")
            self._words.setText(words)

    @Slot()
    def _on_text_changed(self) -> None:
        self._problem = ""
        self._show_state()
        self.typed.emit()

    @Slot()
    def _on_send(self) -> None:
        """Enter was pressed in the field."""
        if self._is_busy:
            self._show_words(nudged=True)
            self._nudge()
        elif self._button.isEnabled():
            self.sent.emit()
        elif self._barrier:
            self._nudge()

    @Slot()
    def _on_press_began(self) -> None:
        self._pressed_busy = self._is_busy

    @Slot()
    def _on_pressed(self) -> None:
        """What the button said when the press began is meant; if it says something else now, nothing is."""
        if self._pressed_busy != self._is_busy:
            return
        if self._is_busy:
            self.stopped.emit()
        else:
            self.sent.emit()

    @Slot()
    def _on_removed(self) -> None:
        sender = self.sender()
        chips = self._chips.findChildren(FileChip, options=Qt.FindChildOption.FindDirectChildrenOnly)
        shown = [chip for chip in chips if not chip.isHidden()]
        at = next((number for number, chip in enumerate(shown) if chip is sender), None)
        if at is not None and at < len(self._files):
            del self._files[at]
            self._show_files()

    def _nudge(self) -> None:
        """The field moves a little, as a head that is shaken."""
        self._nudges = list(NUDGES)
        self._nudging.start()

    @Slot()
    def _on_nudge(self) -> None:
        by = self._theme.px(self._nudges.pop(0)) if self._nudges else 0
        margins = self._inner.contentsMargins()
        self._inner.setContentsMargins(self._edge + by, margins.top(), self._edge - by, margins.bottom())
        if not self._nudges:
            self._nudging.stop()


def is_attachable(data: QMimeData) -> bool:
    """Files, or a picture that is not just how a text looks: cells of a table are copied as both."""
    if any(url.isLocalFile() for url in data.urls()):
        return True
    return data.hasImage() and (data.hasUrls() or not data.text().strip())


class _SendButton(ActionButton):
    """The second click of two quick ones does nothing: the first has made another button of it."""

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        event.accept()


class _Field(TextArea):
    """Enter sends, Shift+Enter breaks the line; files and pictures are not text."""

    entered = Signal()
    left_above = Signal()
    dropped = Signal(object)

    def __init__(self, theme: Theme, name: str, parent: QWidget) -> None:
        super().__init__(theme, name, lines=1, most=LINES, parent=parent)

    def to_end(self) -> None:
        cursor = self.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        self.setTextCursor(cursor)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                super().keyPressEvent(event)
            elif not event.isAutoRepeat():
                self.entered.emit()
            return
        if event.key() == Qt.Key.Key_Up and self.textCursor().atStart():
            self.left_above.emit()
            return
        super().keyPressEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return is_attachable(source) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if is_attachable(source):
            self.dropped.emit(source)
        else:
            super().insertFromMimeData(source)
