"""Input, output and error of the call that is selected in the tree."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.gateway.base import Call
from inbox_app.models import call_words
from inbox_app.state.calls import Node
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, SPACE_2, SPACE_3, SPACE_4
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.payload_view import PayloadView
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.segments import Segments
from inbox_app.widgets.surface import Surface


class CallDetail(Surface):
    """``back`` is for where it is shown in place of the tree."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "card", parent)
        self._call: Call | None = None
        words = self.tr("Back to the tree")
        self.back = ActionButton(theme, words, "link", parent=self, icon_name="chevron-left", height=BUTTON_ROW)
        self.back.hide()
        self._name = PlainLabel("", theme, "body", "text", self, strong=True)
        self._facts = PlainLabel("", theme, "meta", "muted", self, elide=True)
        self._parts = Segments(
            theme, self.tr("What to show"), (self.tr("Input"), self.tr("Output"), self.tr("Error")), self
        )
        self._value = PayloadView(theme, self.tr("Value of the call"), parent=self)
        self._empty = PlainLabel("", theme, "body", "muted", self, wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        top = QHBoxLayout()
        top.setSpacing(theme.px(SPACE_3))
        top.addWidget(self.back)
        top.addWidget(self._name)
        top.addWidget(self._facts, 1)
        top.addWidget(self._parts)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(SPACE_4), theme.px(SPACE_2), theme.px(SPACE_4), theme.px(SPACE_3))
        column.setSpacing(theme.px(SPACE_2))
        column.addLayout(top)
        column.addWidget(self._empty)
        column.addWidget(self._value, 1)
        self.setMinimumHeight(theme.px(96))
        self._parts.currentChanged.connect(self._on_part_changed)
        self.show_node(None)

    def show_node(self, node: Node | None) -> None:
        call = node.call if node is not None and node.mark != "group" else None
        other = call is None or self._call is None or call.id != self._call.id
        if call is not None and call == self._call:
            return
        self._call = call
        self._parts.setVisible(call is not None)
        if call is None:
            self._name.setText("")
            self._facts.setText("")
            self._show_text(self.tr("Select a call to see what went in and what came out."))
            return
        self._name.setText(reveal(call.name))
        self._facts.setText(self._line(call))
        if other or (call.state == "failed" and self._parts.currentIndex() == 1):
            self._parts.blockSignals(True)
            self._parts.setCurrentIndex(2 if call.state == "failed" else 1 if call.ended_at is not None else 0)
            self._parts.blockSignals(False)
        self._on_part_changed(self._parts.currentIndex())

    def take_focus(self) -> None:
        """Give the keyboard to the choice of what is shown, or to the way back if there is no choice."""
        (self._parts if self._call is not None else self.back).setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot(int)
    def _on_part_changed(self, part: int) -> None:
        call = self._call
        if call is None:
            return
        if part == 2:
            if call.code is None and call.message is None:
                self._show_text(self.tr("No error."))
            else:
                self._show_value({"code": call.code, "message": call.message})
            return
        value, size = (call.input, call.input_size) if part == 0 else (call.output, call.output_size)
        if value is not None or size in (0, 4):
            if part == 1 and call.ended_at is None:
                self._show_text(self.tr("Nothing yet."))
            elif value is None and size == 0:
                self._show_text(self.tr("Nothing."))
            else:
                self._show_value(value)
        else:
            text = self.tr("{size}, too large to be kept with the tree.").format(size=call_words.size(size))
            self._show_text(text)

    def _show_value(self, value: object) -> None:
        self._empty.hide()
        self._value.show()
        self._value.show_value(value)

    def _show_text(self, text: str) -> None:
        if self._value.hasFocus():
            self._parts.setFocus(Qt.FocusReason.OtherFocusReason)
        self._value.hide()
        self._empty.setText(text)
        self._empty.show()

    def _line(self, call: Call) -> str:
        parts = [self.tr("input {size}").format(size=call_words.size(call.input_size))]
        if call.started_at > 0:
            parts.append(self.tr("started {time}").format(time=_time(call.started_at)))
        if call.ended_at is not None:
            parts.append(self.tr("ended {time}").format(time=_time(call.ended_at)))
        parts.append(self.tr("id {id}").format(id=reveal(call.id) or self.tr("(top)")))
        return " · ".join(parts)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%H:%M:%S.%f")[:-3]
