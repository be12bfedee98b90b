"""What the decision bar shows in each state: an icon, one sentence, at most one act on either side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from PySide6.QtCore import QCoreApplication

from inbox_app.cards.base import short_label
from inbox_app.gateway import values
from inbox_app.gateway.base import Decision, Outcome
from inbox_app.models.wording import clock
from inbox_app.state.outbox import Sending, Wish
from inbox_app.theme.tokens import Role

Act: TypeAlias = Literal["undo", "rest", "retry", "reload", "next"]


@dataclass(frozen=True, slots=True)
class Button:
    text: str
    act: Act
    key: str = ""
    tip: str = ""


@dataclass(frozen=True, slots=True)
class BarState:
    """``send`` is the text of the filled button (None: no such button), ``can_send`` whether it may be pressed."""

    icon: str
    role: Role
    text: str
    text_role: Role = "text"
    left: Button | None = None
    right: Button | None = None
    send: str | None = None
    can_send: bool = False


SEND_KEYS: Final = "Ctrl+⏎"
NOTHING: Final = BarState("circle-check", "muted", "")


translate = QCoreApplication.translate


def arming(seconds: float, send: str) -> BarState:
    text = translate("DecisionBar", "Reading. Controls wake in {seconds}s").format(seconds=f"{max(0.1, seconds):.1f}")
    return BarState("hourglass", "muted", text, "muted", send=send)


def armed(wish: Wish | None, problem: str, unseen: int, send: str, *, can_send: bool) -> BarState:
    left = None
    if unseen > 0:
        icon, role, text = "arrow-down-to-line", "due", _unseen(unseen)
        left = Button(
            translate("DecisionBar", "Show them"),
            "rest",
            tip=translate("DecisionBar", "Space or Page Down on the card"),
        )
        send = send if wish is None or problem else translate("DecisionBar", "Read all to send")
    elif wish is None or problem:
        icon, role, text = "eye", "muted", translate("DecisionBar", "All read")
    else:
        icon, role = "circle-check", "muted"
        text = translate("DecisionBar", "All read, picked {label}").format(label=short_label(wish.label))
    text_role: Role = "text" if unseen > 0 else "muted"
    return BarState(icon, role, text, text_role, left=left, send=send, can_send=can_send)


def send_text(wish: Wish, target: str, *, production: bool) -> str:
    """The words of the filled button: what is sent, and to where."""
    label = short_label(wish.label)
    name = translate("DecisionBar", "PROD {name}").format(name=target) if production else target
    if wish.has_edits:
        return translate("DecisionBar", "Send “{label}” with edits to {target}").format(label=label, target=name)
    return translate("DecisionBar", "Send “{label}” to {target}").format(label=label, target=name)


def sending(item: Sending, now: float, undo_key: str = "Z") -> BarState:
    if item.state == "held":
        text = translate("DecisionBar", "Sending “{label}” in {seconds}s").format(
            label=short_label(item.wish.label), seconds=max(0, math.ceil(item.leaves_at - now))
        )
        return BarState("undo-2", "held", text, left=Button(translate("DecisionBar", "Undo"), "undo", undo_key))
    if item.state == "failed":
        text = translate("DecisionBar", "Not sent. {reason}").format(reason=" ".join(item.message.split()))
        return BarState(
            "triangle-alert", "failed", text, right=Button(translate("DecisionBar", "Retry"), "retry", SEND_KEYS)
        )
    if item.state == "refused":
        return _refused(item)
    if item.state == "done" and item.outcome is not None:
        return _outcome(item.outcome)
    return BarState("arrow-up-right", "sent", translate("DecisionBar", "Sending. You can move on"))


def changed() -> BarState:
    text = translate("DecisionBar", "This request changed since you read it")
    return BarState("git-compare", "due", text, right=Button(translate("DecisionBar", "Show it again"), "reload"))


def elsewhere(by: str, answer: object, at: float | None) -> BarState:
    words = {
        "name": short_label(by),
        "answer": short_label(values.compact(answer, 60)),
        "time": clock(at) if at is not None else "",
    }
    if at is None:
        text = translate("DecisionBar", "Answered by {name}: {answer}. Your pick is kept").format(**words)
    else:
        text = translate("DecisionBar", "Answered by {name} at {time}: {answer}. Your pick is kept").format(**words)
    return BarState("user-check", "answered", text)


def closed(decision: Decision | None) -> BarState:
    """The question was closed by somebody else, or by nobody."""
    if decision is None or decision.outcome == "superseded":
        return BarState(
            "copy-minus", "muted", translate("DecisionBar", "The run no longer asks this. Your pick is kept")
        )
    if decision.outcome == "expired":
        return expired(decision.at)
    if decision.outcome == "cancelled":
        return BarState("circle-x", "expired", translate("DecisionBar", "This run was cancelled. Nothing was sent"))
    return elsewhere(decision.by or translate("DecisionBar", "somebody"), decision.value, decision.at)


def expired(at: float | None) -> BarState:
    text = (
        translate("DecisionBar", "Expired {time}. Nothing ran").format(time=clock(at))
        if at
        else translate("DecisionBar", "Expired. Nothing ran")
    )
    return BarState("timer-off", "expired", text)


def not_yours(reason: str) -> BarState:
    return BarState("lock", "muted", reason or translate("DecisionBar", "Somebody else has to answer this"))


def _unseen(lines: int) -> str:
    if lines == 1:
        return translate("DecisionBar", "1 line not yet seen")
    return translate("DecisionBar", "%n lines not yet seen", "", lines)


def _refused(item: Sending) -> BarState:
    if item.refusal == "changed":
        return changed()
    if item.refusal == "elsewhere":
        by = item.details.get("answered_by")
        if by:
            return elsewhere(str(by), item.details.get("value"), None)
        return BarState("user-check", "muted", item.message)
    if item.refusal == "expired":
        return expired(None)
    if item.refusal == "cancelled":
        return BarState(
            "circle-x", "expired", item.message or translate("DecisionBar", "This run was cancelled. Nothing was sent")
        )
    if item.refusal == "not-yours":
        return not_yours(item.message)
    text = translate("DecisionBar", "Not taken. {reason}").format(reason=item.message)
    return BarState("triangle-alert", "failed", text, right=Button(translate("DecisionBar", "Answer again"), "reload"))


def _outcome(outcome: Outcome) -> BarState:
    if outcome.pause is not None:
        text = translate("DecisionBar", "Answered. The run asks again: {question}").format(
            question=short_label(outcome.pause.question)
        )
        return BarState(
            "circle-pause", "waiting", text, right=Button(translate("DecisionBar", "Next question"), "next")
        )
    reason = short_label(outcome.reason)
    match outcome.kind:
        case "complete":
            return BarState("circle-check", "answered", translate("DecisionBar", "Answered. The run is complete"))
        case "failed" | "diverged":
            text = (
                translate("DecisionBar", "Answered. The run failed: {reason}")
                if reason
                else translate("DecisionBar", "Answered. The run failed")
            )
            return BarState("triangle-alert", "failed", text.format(reason=reason))
        case "sleeping":
            return BarState("moon", "muted", translate("DecisionBar", "Answered. The run sleeps"))
        case "needs-attention":
            return BarState("triangle-alert", "due", translate("DecisionBar", "Answered. The run needs attention"))
        case "cancelled":
            return BarState("circle-x", "expired", translate("DecisionBar", "Answered. The run was cancelled"))
        case "expired":
            return BarState("timer-off", "expired", translate("DecisionBar", "Answered. The run expired"))
        case _:
            return BarState("circle-check", "answered", translate("DecisionBar", "Answered. The run goes on"))
