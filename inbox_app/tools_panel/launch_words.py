"""How a start stands, the same icon, colour and words in the list and on the page."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from inbox_app.theme.tokens import Role
from inbox_app.tools_panel.launches import Launch
from inbox_app.widgets.hidden_text import reveal

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class Standing:
    icon: str
    role: Role
    word: str


def standing(launch: Launch) -> Standing:
    if launch.refusal is not None:
        return Standing("ban", "failed", translate("Launch", "Refused"))
    if launch.outcome is None:
        return Standing("circle-dashed", "muted", translate("Launch", "Starting"))
    known = {
        "complete": Standing("circle-check", "answered", translate("Launch", "Completed")),
        "failed": Standing("triangle-alert", "failed", translate("Launch", "Failed")),
        "awaiting-input": Standing("circle-pause", "waiting", translate("Launch", "Asks")),
        "needs-attention": Standing("triangle-alert", "due", translate("Launch", "Needs attention")),
        "sleeping": Standing("moon", "muted", translate("Launch", "Sleeping")),
        "diverged": Standing("git-compare", "failed", translate("Launch", "Diverged")),
        "cancelled": Standing("circle-x", "expired", translate("Launch", "Cancelled")),
        "expired": Standing("timer-off", "expired", translate("Launch", "Expired")),
        "running": Standing("circle-dashed", "muted", translate("Launch", "Running")),
    }
    kind = launch.outcome.kind
    return known.get(kind, Standing("circle-question-mark", "muted", reveal(kind)))
