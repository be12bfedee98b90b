"""One of several options."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from unicodedata import normalize

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from inbox_app.cards.base import Card, Picked
from inbox_app.gateway import values
from inbox_app.gateway.base import Option, Pause
from inbox_app.state.drafts import Draft
from inbox_app.theme.theme import Theme
from inbox_app.widgets.hidden_text import pieces
from inbox_app.widgets.option_list import OptionList
from inbox_app.widgets.option_row import OptionRow

KEYS = 9


class ChoiceCard(Card):
    """Each option sends its own value, with its type. Labels that look alike show their values beside them."""

    def __init__(self, theme: Theme, pause: Pause, parent: QWidget | None = None) -> None:
        super().__init__(theme, pause, parent)
        self._options = pause.options or ()
        self._add_label(self.tr("Answer"))
        self._list = OptionList(theme, self.tr("Answer"), self)
        alike = _alike(self._options)
        self._list.set_rows(
            [
                OptionRow(
                    theme,
                    option.label or values.compact(option.value, 200),
                    sub=option.sub,
                    remark=self.tr("recommended") if option.recommended else "",
                    detail=values.compact(option.value, 200) if at in alike else "",
                    key_hint=str(at + 1) if at < KEYS else " ",
                    parent=self._list,
                )
                for at, option in enumerate(self._options)
            ]
        )
        self._list.picked.connect(self._on_picked)
        self._body.addWidget(self._list)

    def picked(self) -> Picked | None:
        at = self._list.picked_row
        if at is None:
            return None
        option = self._options[at]
        return Picked(option.value, option.label or values.compact(option.value, 60))

    def problem(self) -> str:
        if self._list.picked_row is not None:
            return ""
        count = len(self._options)
        if count == 1:
            return self.tr("Pick 1 to send")
        if count == 2:
            return self.tr("Pick 1 or 2 to send")
        if count > KEYS:
            return self.tr("Pick one to send")
        return self.tr("Pick 1 to {count} to send").format(count=count)

    def pick(self, number: int) -> bool:
        return not self._closed and self._list.pick(number - 1)

    def restore(self, draft: Draft) -> None:
        if draft.pick is not None and draft.pick < len(self._options):
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


def _alike(options: tuple[Option, ...]) -> set[int]:
    """Options whose labels a person cannot tell apart: equal once hidden characters are gone and forms are folded."""
    looks = [_look(option.label) for option in options]
    counts = Counter(looks)
    return {at for at, look in enumerate(looks) if counts[look] > 1}


def _look(label: str) -> str:
    visible = "".join(piece.text for piece in pieces(label) if not piece.marked)
    return " ".join(normalize("NFKC", visible).casefold().split())
