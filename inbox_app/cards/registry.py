"""Which card shows which kind of question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from PySide6.QtWidgets import QWidget

from inbox_app.cards.attention import AttentionCard
from inbox_app.cards.base import Card
from inbox_app.cards.choice import ChoiceCard
from inbox_app.cards.text import TextCard
from inbox_app.cards.unknown import UnknownCard
from inbox_app.cards.yesno import YesNoCard
from inbox_app.gateway.base import Pause
from inbox_app.theme.theme import Theme

CardClass: TypeAlias = Callable[[Theme, Pause, QWidget | None], Card]

CARDS: Final[Mapping[str, CardClass]] = {
    "text": TextCard,
    "yesno": YesNoCard,
}


def card_class(pause: Pause) -> CardClass:
    """Options, where there are any, decide (contract decision 5); a choice without them falls to the unknown card."""
    if pause.cut_off is not None and pause.options:
        return AttentionCard
    if pause.input_type in ("choice", "yesno") and pause.options:
        return ChoiceCard
    if pause.kind == "attention":
        return UnknownCard
    return CARDS.get(pause.input_type, UnknownCard)


def make_card(theme: Theme, pause: Pause, parent: QWidget | None = None) -> Card:
    return card_class(pause)(theme, pause, parent)
