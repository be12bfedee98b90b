"""What a model sees of a long conversation (contract 10). What is kept of it stays whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from runtime_core.agents.turns import Message

SNIPPED_ABOVE: Final = 20_000
"""Characters of a result up to which a model sees all of it."""
SNIPPED_TO: Final = 2_000
"""Characters that it sees of both ends of a longer one."""
RESULTS: Final = 15
"""Results of tools up to which a model sees them all."""
RESULTS_KEPT: Final = 5
"""Of more than these, the last ones that it sees."""
CLEARED: Final = "[This older result was left out to save space. Call the tool again if it is needed.]"


def for_model(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages with long results snipped, and of many results only the latest."""
    results = [at for at, message in enumerate(messages) if message.role == "tool"]
    old = frozenset(results[:-RESULTS_KEPT] if len(results) > RESULTS else ())
    return tuple(_shown(message, is_old=at in old) for at, message in enumerate(messages))


def _shown(message: Message, *, is_old: bool) -> Message:
    if message.role != "tool":
        return message
    text = CLEARED if is_old and len(message.text) > len(CLEARED) else _snipped(message.text)
    return message if text == message.text else replace(message, text=text)


def _snipped(text: str) -> str:
    if len(text) <= SNIPPED_ABOVE:
        return text
    left_out = len(text) - 2 * SNIPPED_TO
    return f"{text[:SNIPPED_TO]}\n[... {left_out} characters are left out ...]\n{text[-SNIPPED_TO:]}"
