"""A call of a conversation in words and icons."""

from __future__ import annotations

from typing import Final, cast

from PySide6.QtCore import QCoreApplication

from inbox_app.gateway.chats import ChatCall
from inbox_app.models.call_words import KIND_ICONS, State, duration
from inbox_app.widgets.hidden_text import reveal

MOST_LABEL: Final = 300
CALL_SUBAGENT: Final = "call_subagent"
"""What a call of a specialist is named (contract 7.3); who it is stands in its parameters."""

translate = QCoreApplication.translate


def state_of(call: ChatCall) -> State:
    match call.state:
        case "running":
            return State("circle-dashed", "text", translate("chat", "running"))
        case "waiting":
            return State("circle-pause", "waiting", translate("chat", "waiting"))
        case "failed":
            return State("triangle-alert", "failed", translate("chat", "failed"))
        case "denied":
            return State("ban", "refused", translate("chat", "denied"))
        case "stopped":
            return State("circle-stop", "expired", translate("chat", "stopped"))
        case "ok":
            return State("check", "muted", "")


def title(call: ChatCall) -> str:
    """Its label, or else its name, for a specialist the specialist's; one line."""
    return " ".join(reveal((call.label or _name(call))[:MOST_LABEL]).split())


def _name(call: ChatCall) -> str:
    if call.name != CALL_SUBAGENT or not isinstance(call.parameters, dict):
        return call.name
    agent = cast("dict[str, object]", call.parameters).get("agent")
    return agent if isinstance(agent, str) and agent else call.name


def kind_icon(call: ChatCall) -> str:
    return KIND_ICONS.get(call.kind, "wrench")


def seconds_of(call: ChatCall, now: float) -> float | None:
    """How long it took, or has been running; None if nobody knows."""
    if not call.started_at:
        return None
    if call.ended_at is not None:
        return call.ended_at - call.started_at
    return max(0.0, now - call.started_at) if call.state in ("running", "waiting") else None


def at_right(call: ChatCall, now: float) -> str:
    """State and time, as they stand at the end of its row. While it runs, only whole seconds are told."""
    seconds = seconds_of(call, now)
    took = ""
    if seconds is not None and call.ended_at is not None:
        took = duration(seconds)
    elif seconds is not None and seconds >= 1:
        took = duration(float(int(seconds))).replace(".0", "")
    return " ".join(word for word in (state_of(call).word, took) if word)


def spoken(call: ChatCall, now: float, *, opened: bool) -> str:
    """What a screen reader says."""
    state = state_of(call).word or translate("chat", "done")
    seconds = seconds_of(call, now)
    took = duration(seconds) if seconds is not None and call.ended_at is not None else ""
    seen = translate("chat", "opened") if opened else translate("chat", "closed")
    return ", ".join(part for part in (title(call), state, took, seen) if part)
