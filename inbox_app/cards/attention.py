"""A call that was cut off: only a person knows whether it ran, and what its result is."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QGridLayout, QWidget

from inbox_app.cards.base import Card, Picked
from inbox_app.cards.json_field import JsonField
from inbox_app.gateway import values
from inbox_app.gateway.base import CutOff, Pause
from inbox_app.models.call_words import kind_word
from inbox_app.models.wording import moment
from inbox_app.state.drafts import Draft
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_1, SPACE_2, SPACE_3
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.option_list import OptionList
from inbox_app.widgets.option_row import OptionRow
from inbox_app.widgets.plain_label import PlainLabel

USE_RESULT: Final = "use_result"


class AttentionCard(Card):
    """The runtime's own options and one more: a result to be taken in place of the call's."""

    def __init__(self, theme: Theme, pause: Pause, parent: QWidget | None = None) -> None:
        super().__init__(theme, pause, parent)
        self._options = pause.options or ()
        call = pause.cut_off
        assert call is not None
        self._add_label(self.tr("The call that was cut off"))
        self._add_inset(self._facts(call))
        self._body.addSpacing(theme.px(SPACE_3))
        self._add_label(self.tr("Answer"))
        self._list = OptionList(theme, self.tr("Answer"), self)
        labels = [(option.label, option.sub) for option in self._options]
        labels.append((self.tr("Use this result"), self.tr("Not called again: the handler gets what you write here")))
        self._list.set_rows(
            [
                OptionRow(theme, label, sub=sub, key_hint=str(at + 1), parent=self._list)
                for at, (label, sub) in enumerate(labels)
            ]
        )
        self._body.addWidget(self._list)
        self._field = JsonField(theme, self.tr("Result of the call, as JSON"), lines=3, parent=self)
        self._gives_text = call.gives_text
        self._field.area.setPlaceholderText(
            self.tr('The text of its answer, in quotes: "done"')
            if self._gives_text
            else self.tr('The result as JSON, for example {"id": 7} or "done"')
        )
        self._field.hide()
        self._add_inset(self._field)
        self._list.picked.connect(self._on_picked)
        self._field.changed.connect(self.changed)

    def picked(self) -> Picked | None:
        at = self._list.picked_row
        if at is None:
            return None
        if not self._takes_result:
            return Picked(self._options[at].value, self._options[at].label)
        if self._field.problem() or self._is_no_text:
            return None
        value = self._field.value()
        label = self.tr("Use this result: {0}").format(values.compact(value, 60))
        return Picked({USE_RESULT: value}, label)

    def problem(self) -> str:
        if self._list.picked_row is None:
            count = len(self._options) + 1
            if count == 2:
                return self.tr("Pick 1 or 2 to send")
            return self.tr("Pick 1 to {count} to send").format(count=count)
        if not self._takes_result:
            return ""
        if self._field.is_blank:
            return self.tr("Write the result to send")
        if self._field.problem():
            return self.tr("Correct the JSON to send")
        return self.tr("Write a text in quotes to send") if self._is_no_text else ""

    @property
    def is_typed(self) -> bool:
        return self._takes_result

    def pick(self, number: int) -> bool:
        return not self._closed and self._list.pick(number - 1)

    def restore(self, draft: Draft) -> None:
        self._field.set_text(draft.text)
        if draft.pick is not None and draft.pick <= len(self._options):
            self._list.set_picked(draft.pick)
        self._field.setVisible(self._takes_result)

    def draft(self, draft: Draft) -> Draft:
        return replace(draft, pick=self._list.picked_row, text=self._field.text())

    def focus_stop(self) -> QWidget | None:
        return self._list.focus_stop()

    def picked_part(self) -> QWidget | None:
        return self._field if self._takes_result else self.focus_stop()

    @property
    def _is_no_text(self) -> bool:
        return self._gives_text and not isinstance(self._field.value(), str)

    @property
    def _takes_result(self) -> bool:
        return self._list.picked_row == len(self._options)

    def _on_state_changed(self) -> None:
        self._list.set_awake(self.is_open)
        self._field.set_locked(self._closed)

    def _facts(self, call: CutOff) -> QWidget:
        theme = self._theme
        frame = QWidget(self)
        grid = QGridLayout(frame)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(theme.px(SPACE_3))
        grid.setVerticalSpacing(theme.px(SPACE_1))
        grid.setColumnStretch(1, 1)
        began = moment(call.began_at) if call.began_at is not None else self.tr("unknown")
        name = MarkedLabel(call.name or self.tr("No name"), theme, "mono", parent=frame)
        lines: list[tuple[str, QWidget]] = [
            (kind_word(call.kind), name),
            (self.tr("Began"), PlainLabel(began, theme, "meta", parent=frame)),
        ]
        for row, (label, value) in enumerate(lines):
            grid.addWidget(PlainLabel(label, theme, "meta", "muted", frame), row, 0)
            grid.addWidget(value, row, 1)
        why = MarkedLabel(self._why(), theme, "body", parent=frame)
        why.setContentsMargins(0, theme.px(SPACE_2), 0, 0)
        grid.addWidget(why, len(lines), 0, 1, 2)
        return frame

    def _why(self) -> str:
        return self.tr(
            "It may have run: the process ended before its result was stored. Calls with an effect of their own are "
            "never repeated unasked. Look where the effect would show, then choose."
        )

    @Slot(int)
    def _on_picked(self, number: int) -> None:
        self._field.setVisible(self._takes_result)
        if self._takes_result:  # it is of no use without a result
            self._field.focus_field()
        self.changed.emit()
