"""How a turn ended, in words."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLocale

from inbox_app.gateway.chats import Note, Tokens
from inbox_app.state.chats import TOP, ItemBlock, TurnLog
from inbox_app.theme.tokens import Role

translate = QCoreApplication.translate


def end_words(log: TurnLog) -> tuple[str, Role, str]:
    """Icon ("" if it ended well, or if its last words say why not), its colour, and a line with the tokens it took."""
    end, last = log.end, log.branches[TOP][-1:]
    if end == "error" and any(isinstance(block, ItemBlock) and _is_error(block.item) for block in last):
        return "", "muted", _tokens(log.usage)
    known: dict[str, tuple[str, Role, str]] = {
        "model_stop": ("", "muted", ""),
        "max_turns": ("circle-alert", "due", translate("chat", "Ended: the agent had as many turns as it may take")),
        "user_abort": ("circle-stop", "expired", translate("chat", "Stopped by you")),
        "error": ("triangle-alert", "failed", translate("chat", "Ended by an error")),
        "budget_exceeded": ("circle-alert", "due", translate("chat", "Ended: its tokens were used up")),
        "loop_detected": ("circle-alert", "due", translate("chat", "Ended: the agent went round in circles")),
        "interrupted": ("circle-stop", "expired", translate("chat", "Cut off: the runtime ended meanwhile")),
    }
    icon, role, words = known.get(end, ("circle-alert", "due", translate("chat", "Ended: {0}").format(end)))
    return icon, role, " · ".join(part for part in (words, _tokens(log.usage)) if part)


def _is_error(item: object) -> bool:
    return isinstance(item, Note) and item.error


def _tokens(usage: Tokens) -> str:
    if not usage.total:
        return ""
    locale = QLocale()
    words = translate("chat", "{0} tokens in, {1} out")
    words = words.format(locale.toString(usage.input), locale.toString(usage.output))
    if usage.cached:
        words = translate("chat", "{0}, {1} cached").format(words, locale.toString(usage.cached))
    return words
