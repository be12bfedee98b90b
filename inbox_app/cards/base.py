"""What every card can do: show one question, say what the operator picked and what is still missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inbox_app.gateway.base import Json, Pause
from inbox_app.state.drafts import Draft
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_1
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.option_row import OUTSET
from inbox_app.widgets.plain_label import PlainLabel

LABEL_CHARACTERS: Final = 36


@dataclass(frozen=True, slots=True)
class Picked:
    """The value to send, exactly, and the words for it."""

    value: Json
    label: str


class Card(QWidget):
    """One question. It never sends: the decision bar asks it.

    A card is made for one pause and thrown away with it. Nothing is picked and nothing has the focus until the operator
    does it. While it is not awake a click picks nothing; a closed card is read only.
    """

    changed = Signal()
    takes_note = True

    def __init__(self, theme: Theme, pause: Pause, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._pause = pause
        self._awake = False
        self._closed = False
        self._body = QVBoxLayout(self)
        self._body.setContentsMargins(0, 0, 0, 0)
        self._body.setSpacing(theme.px(SPACE_1))

    def picked(self) -> Picked | None:
        """What would be sent; None while something is missing."""
        raise NotImplementedError

    @property
    def is_typed(self) -> bool:
        """Whether the answer is written instead of picked."""
        return False

    def problem(self) -> str:
        """What is missing, in the words of the send button; "" if nothing is."""
        raise NotImplementedError

    def pick(self, number: int) -> bool:
        """Pick option ``number``, counting from 1; False if this card has no such option or is closed."""
        return False

    def pick_word(self, yes: bool) -> bool:
        return False

    def restore(self, draft: Draft) -> None:
        """Take over what was prepared earlier."""

    def draft(self, draft: Draft) -> Draft:
        """The draft with what is prepared here."""
        return draft

    def focus_stop(self) -> QWidget | None:
        """Where the keyboard enters the card."""
        return None

    def picked_part(self) -> QWidget | None:
        """What has to be in view after a pick."""
        return self.focus_stop()

    def set_awake(self, awake: bool) -> None:
        self._awake = awake
        self._on_state_changed()

    def set_closed(self, closed: bool) -> None:
        self._closed = closed
        self._on_state_changed()

    @property
    def is_open(self) -> bool:
        """Whether the operator can pick with the mouse, or on the row that has the focus."""
        return self._awake and not self._closed

    def _on_state_changed(self) -> None:
        """Pass `is_open` on to the controls."""

    def _add_label(self, text: str) -> PlainLabel:
        label = PlainLabel(text, self._theme, "label", "muted", self)
        self._add_inset(label)
        return label

    def _add_inset(self, widget: QWidget) -> None:
        """Add something that stands in line with the text of option rows' outset edge."""
        frame = QVBoxLayout()
        frame.setContentsMargins(self._theme.px(OUTSET), 0, self._theme.px(OUTSET), 0)
        frame.addWidget(widget)
        self._body.addLayout(frame)


def short_label(text: str) -> str:
    """A label for the send button: one line, hidden characters shown, not too long."""
    line = " ".join(reveal(text).split())
    return line if len(line) <= LABEL_CHARACTERS else f"{line[: LABEL_CHARACTERS - 1]}…"
