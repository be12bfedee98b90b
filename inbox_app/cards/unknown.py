"""A question of a kind this program does not know, or a choice without options: shown as it is, never guessed."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from inbox_app.cards.base import Card, Picked, short_label
from inbox_app.cards.json_field import JsonField
from inbox_app.gateway import values
from inbox_app.gateway.base import Json, Pause
from inbox_app.state.drafts import Draft
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_3
from inbox_app.widgets.check_box import CheckBox
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.payload_view import PayloadView


class UnknownCard(Card):
    """Answers with a JSON value, and only after the operator asked for the field."""

    def __init__(self, theme: Theme, pause: Pause, parent: QWidget | None = None) -> None:
        super().__init__(theme, pause, parent)
        self._add_label(self.tr("Answer"))
        self._add_inset(MarkedLabel(self._what(), theme, "body", parent=self))
        self._switch = CheckBox(theme, self.tr("Answer with a JSON value"), parent=self)
        self._add_inset(self._switch)
        self._field = JsonField(theme, self.tr("JSON value"), parent=self)
        self._field.hide()
        self._add_inset(self._field)
        self._body.addSpacing(theme.px(SPACE_3))
        self._add_label(self.tr("As it was asked"))
        self._raw = PayloadView(theme, self.tr("As it was asked"), inline=True, parent=self)
        self._raw.show_value(_asked(pause))
        self._add_inset(self._raw)
        self._switch.toggled.connect(self._on_toggled)
        self._switch.clicked.connect(self._on_switch_clicked)
        self._field.changed.connect(self.changed)

    def picked(self) -> Picked | None:
        if not self._switch.isChecked() or self._field.problem():
            return None
        value = self._field.value()
        return Picked(value, short_label(values.compact(value, 60)))

    def problem(self) -> str:
        if not self._switch.isChecked():
            return self.tr("Tick “Answer with a JSON value” to send")
        if self._field.is_blank:
            return self.tr("Write a JSON value to send")
        return self.tr("Correct the JSON to send") if self._field.problem() else ""

    @property
    def is_typed(self) -> bool:
        return True

    def restore(self, draft: Draft) -> None:
        if draft.text:
            self._field.set_text(draft.text)
            self._switch.setChecked(True)

    def draft(self, draft: Draft) -> Draft:
        return replace(draft, text=self._field.text() if self._switch.isChecked() else "")

    def focus_stop(self) -> QWidget | None:
        return self._field.area if self._switch.isChecked() else self._switch

    def _on_state_changed(self) -> None:
        self._field.set_locked(self._closed)

    def _what(self) -> str:
        pause = self._pause
        if pause.kind == "attention":
            return self.tr("This run needs a decision about a call that was cut off.")
        if pause.input_type == "choice":
            return self.tr("A choice was asked for, but no options were given.")
        return self.tr("This program does not know questions of the kind “{kind}”.").format(kind=pause.input_type)

    @Slot(bool)
    def _on_switch_clicked(self, on: bool) -> None:
        """The operator asked for the field: the caret goes into it."""
        if on and not self._closed:
            self._field.focus_field()

    @Slot(bool)
    def _on_toggled(self, on: bool) -> None:
        if self._closed:
            return
        self._field.setVisible(on)
        self.changed.emit()


def _asked(pause: Pause) -> Json:
    if pause.raw:
        return dict(pause.raw)
    return {"question": pause.question, "input_type": pause.input_type}
