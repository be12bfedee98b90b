"""Yes or no. Both look the same until one is picked."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from inbox_app.cards.base import Card, Picked
from inbox_app.gateway.base import Pause
from inbox_app.state.drafts import Draft
from inbox_app.theme.theme import Theme
from inbox_app.widgets.option_list import OptionList
from inbox_app.widgets.option_row import OptionRow

VALUES: Final = ("yes", "no")
"""What is posted (contract decision 5)."""


class YesNoCard(Card):
    def __init__(self, theme: Theme, pause: Pause, parent: QWidget | None = None) -> None:
        super().__init__(theme, pause, parent)
        self._words = (self.tr("Yes"), self.tr("No"))
        self._add_label(self.tr("Answer"))
        self._list = OptionList(theme, self.tr("Answer"), self)
        keys = ("Y", "N")
        self._list.set_rows(
            [
                OptionRow(theme, word, key_hint=key, parent=self._list)
                for word, key in zip(self._words, keys, strict=True)
            ]
        )
        self._list.picked.connect(self._on_picked)
        self._body.addWidget(self._list)

    def picked(self) -> Picked | None:
        at = self._list.picked_row
        return None if at is None else Picked(VALUES[at], self._words[at])

    def problem(self) -> str:
        return "" if self._list.picked_row is not None else self.tr("Pick Y or N to send")

    def pick(self, number: int) -> bool:
        return not self._closed and self._list.pick(number - 1)

    def pick_word(self, yes: bool) -> bool:
        return not self._closed and self._list.pick(0 if yes else 1)

    def restore(self, draft: Draft) -> None:
        if draft.pick in (0, 1):
            self._list.set_picked(draft.pick)

    def draft(self, draft: Draft) -> Draft:
        return replace(draft, pick=self._list.picked_row)

    def focus_stop(self) -> QWidget | None:
        return self._list.focus_stop()

    def _on_state_changed(self) -> None:
        self._list.set_awake(self.is_open)

    @Slot(int)
    def _on_picked(self, number: int) -> None:
        self.changed.emit()
