"""The list of conversations: what it says, and the field in which one is renamed in place."""

from __future__ import annotations

from PySide6.QtCore import QLocale, Qt, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, SPACE_3, SPACE_8
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.line_field import LineField
from inbox_app.widgets.list_pane import ListPane


class ConversationPane(ListPane):
    """``new_wanted``: a conversation is to be begun. ``renamed`` carries an id and its new title."""

    new_wanted = Signal()
    renamed = Signal(str, str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.name_all(self.tr("Chat"), self.tr("Conversations, latest first"))
        self._new = ActionButton(theme, self.tr("New"), "flat", parent=self, icon_name="plus", height=BUTTON_ROW)
        self._new.setAccessibleName(self.tr("New conversation"))
        self._new.clicked.connect(self.new_wanted)
        self.add_to_head(self._new)
        self._editor: _TitleField | None = None
        self.top.hide()  # these rows have no heads
        self.table.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    def show_loading(self) -> None:
        self.show_count("")
        self.empty.show_text("message-square", self.tr("Reading the conversations"), "")
        self.show_footer("")
        self.show_table(False)

    def show_problem(self, text: str) -> None:
        heading, again = self.tr("The conversations could not be read"), self.tr("Try again")
        self.empty.show_text("triangle-alert", heading, text, again, "failed")
        self.show_table(False)

    def show_sessions(self, listed: int, total: int) -> None:
        locale = QLocale()
        self.show_count(locale.toString(total) if total else "")
        if not listed:
            self.empty.show_text(
                "message-square",
                self.tr("No conversation yet"),
                self.tr("Write to an agent; what is said is kept and listed here."),
            )
        if total > listed:
            text = self.tr("{0} of {1} listed").format(locale.toString(listed), locale.toString(total))
            self.show_footer(text, more=True)
        else:
            self.show_footer(self.tr("Ctrl+N new, F2 renames, Enter opens"))
        self.show_table(listed > 0)

    def rename(self, session_id: str, title: str) -> None:
        """Let the title of the current row be written anew, in its place."""
        rect = self.table.visualRect(self.table.currentIndex())
        if not rect.isValid():
            return
        self.stop_renaming()
        self._editor = field = _TitleField(self._theme, session_id, self.table.viewport())
        left = self._theme.px(SPACE_8)
        field.setGeometry(rect.adjusted(left, self._theme.px(4), -self._theme.px(SPACE_3), -self._theme.px(4)))
        field.setText(title)
        field.selectAll()
        field.done.connect(self._on_renamed)
        field.left.connect(self._on_left)
        field.show()
        field.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot()
    def stop_renaming(self) -> None:
        if self._editor is not None:
            field, self._editor = self._editor, None
            had_focus = field.hasFocus()
            field.hide()
            field.deleteLater()
            if had_focus:
                self.table.setFocus()

    @Slot(str, str)
    def _on_renamed(self, session_id: str, title: str) -> None:
        self.stop_renaming()
        if title.strip():
            self.renamed.emit(session_id, " ".join(title.split()))

    @Slot()
    def _on_left(self) -> None:
        self.stop_renaming()

    @Slot()
    def _on_scrolled(self) -> None:
        self.stop_renaming()


class _TitleField(LineField):
    """Enter and going elsewhere take the title, Escape does not."""

    done = Signal(str, str)
    left = Signal()

    def __init__(self, theme: Theme, session_id: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._session_id = session_id
        self._is_over = False
        self.setFont(theme.font("body"))
        self.setAccessibleName(self.tr("Title of the conversation"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self._end(take=True)
        elif event.key() == Qt.Key.Key_Escape:
            self._end(take=False)
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self._end(take=self.isModified())

    def _end(self, *, take: bool) -> None:
        """Only once: the field loses the focus when it goes."""
        if self._is_over:
            return
        self._is_over = True
        if take:
            self.done.emit(self._session_id, self.text())
        else:
            self.left.emit()
