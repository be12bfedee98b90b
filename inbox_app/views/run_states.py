"""A run without an open question, in words: the title of its page and its decision bar."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QCoreApplication

from inbox_app.cards.bar_states import BarState
from inbox_app.gateway.base import Run
from inbox_app.models.wording import clock
from inbox_app.theme.tokens import Role
from inbox_app.widgets.hidden_text import reveal

_MARKS: Final[dict[str, tuple[str, Role]]] = {
    "completed": ("circle-check", "answered"),
    "failed": ("triangle-alert", "failed"),
    "diverged": ("git-compare", "failed"),
    "cancelled": ("circle-x", "expired"),
    "expired": ("timer-off", "expired"),
    "awaiting-input": ("circle-pause", "waiting"),
    "needs-attention": ("triangle-alert", "due"),
    "sleeping": ("moon", "muted"),
    "running": ("circle-dashed", "muted"),
}

translate = QCoreApplication.translate


def title(run: Run) -> str:
    words = {
        "completed": translate("RunStates", "Completed"),
        "failed": translate("RunStates", "Failed"),
        "cancelled": translate("RunStates", "Cancelled"),
        "expired": translate("RunStates", "Expired"),
        "diverged": translate("RunStates", "Diverged"),
        "sleeping": translate("RunStates", "Sleeping"),
        "needs-attention": translate("RunStates", "Needs attention"),
        "awaiting-input": translate("RunStates", "Waits for an answer"),
        "running": translate("RunStates", "Running"),
    }
    state = words.get(run.status, reveal(run.status))
    return translate("RunStates", "{tool}: {state}").format(tool=run.tool, state=state)


def bar(run: Run) -> BarState:
    icon, role = _MARKS.get(run.status, ("circle-question-mark", "muted"))
    if run.status == "diverged":
        text = translate("RunStates", "Stopped before its next call. It waits until somebody chooses a way on")
        return BarState(icon, role, text)
    if run.finished_at is None:
        return BarState(icon, role, translate("RunStates", "Nothing to answer here now"))
    text = translate("RunStates", "Ended {time}. Nothing to answer").format(time=clock(run.finished_at))
    return BarState(icon, role, text)
