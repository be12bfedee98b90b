"""The five ways a question ends, the same icon, colour and word wherever one is shown."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from inbox_app.theme.tokens import Role

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class Outcome:
    icon: str
    role: Role
    word: str


def outcome(name: str) -> Outcome | None:
    """``name`` is a word of `Decision`; None for one this program does not know."""
    known = {
        "answered": Outcome("circle-check", "answered", translate("Outcome", "Answered")),
        "refused": Outcome("ban", "refused", translate("Outcome", "Refused")),
        "expired": Outcome("timer-off", "expired", translate("Outcome", "Expired")),
        "cancelled": Outcome("circle-x", "expired", translate("Outcome", "Cancelled")),
        "superseded": Outcome("copy-minus", "expired", translate("Outcome", "Superseded")),
    }
    return known.get(name)
