"""A call in words and icons, the same for the tree, the screen reader and the tool tip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QCoreApplication

from inbox_app.gateway.base import Call
from inbox_app.models.outcome_words import outcome
from inbox_app.state.calls import Calls, Node, is_waiting
from inbox_app.theme.tokens import Role
from inbox_app.widgets.hidden_text import reveal

KIND_ICONS: Final[dict[str, str]] = {
    "tool": "wrench",
    "subagent": "bot",
    "step": "corner-down-right",
    "input": "circle-pause",
    "approval": "circle-pause",
    "sleep": "moon",
    "timer": "timer",
    "request": "link",
    "store": "file-text",
    "exec": "keyboard",
}
NEVER_RAN: Final = frozenset(
    {
        "undeclared",
        "unknown-tool",
        "confirmation-unsupported",
        "invalid-params",
        "subagent-undeclared",
        "subagent-unknown",
    }
)

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class State:
    icon: str
    role: Role
    word: str


def state(calls: Calls, node: Node) -> State:
    """What became of a call. A mark of the tree (orphan, cycle, duplicate) comes first."""
    call = node.call
    if node.mark == "orphan":
        if call.parent is None:
            return State("unlink", "due", translate("calls", "names no parent"))
        return State("unlink", "due", translate("calls", "parent {id} missing").format(id=_short(call.parent)))
    if node.mark == "cycle":
        return State("unlink", "due", translate("calls", "its parent is below it"))
    if node.mark == "duplicate":
        return State("copy", "due", translate("calls", "second call with id {id}").format(id=_short(call.id)))
    ended = outcome(calls.outcomes.get(call.id, "")) if asks_person(call) and call.ended_at is not None else None
    if ended is not None:
        return State(ended.icon, ended.role, ended.word.lower())
    if is_waiting(call):
        if call.kind in ("sleep", "timer"):
            return State("moon", "waiting", translate("calls", "sleeping"))
        return State("circle-pause", "waiting", translate("calls", "waiting"))
    if calls.above_waiting(node.number):
        return State("circle-pause", "waiting", translate("calls", "waiting below"))
    if call.state == "failed":
        return _failed(call)
    if call.state == "stopped":
        return State("git-compare", "failed", translate("calls", "stopped"))
    if call.state == "waiting":
        return State("circle-pause", "waiting", translate("calls", "waiting"))
    if call.state == "running":
        return State("circle-dashed", "text", translate("calls", "running"))
    if call.code == "pause_superseded":
        return State("copy-minus", "expired", translate("calls", "superseded"))
    if call.state == "cancelled":
        return State("circle-x", "expired", translate("calls", "cancelled"))
    if call.state == "unknown":
        return State("circle-question-mark", "due", translate("calls", "cut off, may have run"))
    if asks_person(call):
        return State("circle-check", "answered", translate("calls", "answered"))
    if call.replayed:
        return State("rotate-ccw", "sent", translate("calls", "replayed"))
    return State("check", "muted", translate("calls", "ran now"))


def _failed(call: Call) -> State:
    code = reveal(call.code or "")
    if call.code == "depth-exceeded":
        return State("circle-minus", "due", translate("calls", "limit: {code}").format(code=code))
    if call.code in NEVER_RAN:
        return State("ban", "refused", translate("calls", "never ran: {code}").format(code=code))
    if call.code == "pause-expired":
        return State("timer-off", "expired", translate("calls", "expired"))
    return State("triangle-alert", "failed", translate("calls", "failed {code}").format(code=code).rstrip())


def count_below(word: str, count: int) -> str:
    """The state of a closed row that stands for the calls below it too."""
    if count == 1:
        return translate("calls", "{0}, 1 call").format(word)
    return translate("calls", "{0}, {1} calls").format(word, f"{count:,}")


def asks_person(call: Call) -> bool:
    return call.kind in ("input", "approval")


def kind_word(kind: str) -> str:
    """What sort of call it is, as a label before its name."""
    words = {
        "tool": translate("calls", "Tool"),
        "subagent": translate("calls", "Subagent"),
        "step": translate("calls", "Step"),
        "request": translate("calls", "Request"),
        "store": translate("calls", "Store"),
        "exec": translate("calls", "Command"),
    }
    return words.get(kind, translate("calls", "Call"))


def duration(seconds: float) -> str:
    """A length of time in two units at most: 3 ms, 1.5s, 42s, 18m 06s, 2h 05m."""
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 0.9995:
        return translate("calls", "{0} ms").format(round(seconds * 1000))
    if seconds < 10:
        return translate("calls", "{0}s").format(f"{seconds:.1f}")
    if seconds < 60:
        return translate("calls", "{0}s").format(int(seconds))
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return translate("calls", "{0}m {1}s").format(minutes, f"{rest:02}")
    hours, minutes = divmod(minutes, 60)
    return translate("calls", "{0}h {1}m").format(hours, f"{minutes:02}")


def size(characters: int) -> str:
    """The length of a value."""
    if characters < 1000:
        return f"{characters} B"
    if characters < 1_000_000:
        return f"{round(characters / 1000)} KB"
    return f"{characters / 1_000_000:.1f} MB"


def taken(call: Call, now: float) -> float | None:
    """Seconds a call took or has taken so far; None if it never ran."""
    if call.started_at <= 0 or (call.state == "failed" and (call.code in NEVER_RAN or call.code == "depth-exceeded")):
        return None
    if call.ended_at is not None:
        return call.ended_at - call.started_at
    return max(0.0, now - call.started_at) if call.state in ("running", "waiting") else None


def described(calls: Calls, node: Node, level: int, now: float) -> str:
    """One call for a screen reader: name, kind, state, level, time."""
    call = node.call
    parts = [reveal(call.name), call.kind, state(calls, node).word, translate("calls", "level {0}").format(level)]
    seconds = taken(call, now)
    if seconds is not None:
        parts.append(duration(seconds))
    if call.replayed and call.state == "ok":
        parts.append(translate("calls", "not run again"))
    return ", ".join(parts)


def not_placed(calls: Calls, number: int) -> str:
    count = len(calls.children(number))
    if count == 1:
        return translate("calls", "Not placed: 1 call without its place in the tree")
    return translate("calls", "Not placed: {0} calls without their place in the tree").format(count)


def _short(text: str) -> str:
    text = reveal(text)
    return text if len(text) <= 24 else f"{text[:23]}…"
