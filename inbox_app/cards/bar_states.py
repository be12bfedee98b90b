"""What the decision bar shows in each state: an icon, one sentence, at most one act on either side."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from PySide6.QtCore import QCoreApplication

from inbox_app.cards.base import short_label
from inbox_app.gateway import values
from inbox_app.gateway.base import Decision, Json, Outcome, Pause, Votes
from inbox_app.models.deadline_words import then
from inbox_app.models.wording import clock
from inbox_app.state.outbox import Sending, Wish
from inbox_app.theme.tokens import Role
from inbox_app.widgets.hidden_text import reveal

Act: TypeAlias = Literal["undo", "rest", "retry", "reload", "next", "correct", "run"]


@dataclass(frozen=True, slots=True)
class Button:
    text: str
    act: Act
    key: str = ""
    tip: str = ""
    pause_id: str = ""


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


Kept: TypeAlias = Literal["", "pick", "text"]
"""What an operator prepared for a question that is closed."""

SEND_KEYS: Final = "Ctrl+Enter"
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
        picked = translate("DecisionBar", "All read, picked {label}")
        text = translate("DecisionBar", "All read, wrote {label}") if wish.typed else picked
        text = text.format(label=short_label(wish.label))
    text_role: Role = "text" if unseen > 0 else "muted"
    return BarState(icon, role, text, text_role, left=left, send=send, can_send=can_send)


def to_correct(problem: str) -> BarState:
    """Something that was edited cannot be sent; the button leads to it."""
    text = translate("DecisionBar", "The edit cannot be sent yet")
    return BarState("triangle-alert", "failed", text, right=Button(problem, "correct"))


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
    if item.state == "done":
        return _outcome(item)
    if item.accepted:
        return BarState("circle-check", "answered", translate("DecisionBar", "Answered. The run goes on"))
    return BarState("arrow-up-right", "sent", translate("DecisionBar", "Sending. You can move on"))


def changed() -> BarState:
    text = translate("DecisionBar", "This request changed since you read it")
    return BarState("git-compare", "due", text, right=Button(translate("DecisionBar", "Show it again"), "reload"))


def elsewhere(decision: Decision, kept: Kept = "pick", *, counted: bool = False) -> BarState:
    text = translate("DecisionBar", "Answered by {name}: {answer}. {kept}")
    if decision.at is not None:
        text = translate("DecisionBar", "Answered by {name} at {time}: {answer}. {kept}")
    is_refused = counted and decision.outcome == "refused"
    if is_refused:
        text = translate("DecisionBar", "Refused by {name} at {time}: {answer}. {kept}")
    text = text.format(
        name=short_label(decision.by) or translate("DecisionBar", "somebody"),
        answer=short_label(values.compact(decision.value, 60)),
        time=clock(decision.at or 0.0),
        kept=translate("DecisionBar", "Your answer was counted") if counted else _kept(kept),
    )
    return BarState("circle-x" if is_refused else "user-check", "refused" if is_refused else "answered", text.strip())


def closed(
    decision: Decision | None,
    following: Pause | None = None,
    kept: Kept = "pick",
    *,
    late: bool = False,
    counted: bool = False,
) -> BarState:
    """The question was closed by somebody else, or by nobody; ``following`` is what its run asks now.

    ``late``: this operator's answer came after the deadline; ``counted``: it is one of several.
    """
    state = _closed(decision, kept, late=late, counted=counted)
    return state if following is None else replace(state, right=_next(following))


def _closed(decision: Decision | None, kept: Kept, *, late: bool, counted: bool) -> BarState:
    if decision is None or decision.outcome == "superseded":
        text = translate("DecisionBar", "The run no longer asks this. {kept}").format(kept=_kept(kept)).strip()
        return BarState("copy-minus", "muted", text)
    if decision.outcome == "expired":
        return expired(decision.at, decision.on_expire, kept, late=late)
    if decision.outcome == "cancelled":
        return BarState("circle-x", "expired", translate("DecisionBar", "This run was cancelled. Nothing was sent"))
    return elsewhere(decision, kept, counted=counted)


def _kept(kept: Kept) -> str:
    if not kept:
        return ""
    return (
        translate("DecisionBar", "Your text is kept under History")
        if kept == "text"
        else translate("DecisionBar", "Your pick is kept")
    )


def _prepared(wish: Wish) -> Kept:
    return "text" if wish.typed else "pick"


def _next(pause: Pause) -> Button:
    return Button(translate("DecisionBar", "Next question"), "next", pause_id=pause.id)


def expired(at: float | None, on_expire: Json, kept: Kept = "", *, late: bool = False) -> BarState:
    """Nobody answered in time; ``late``: an answer was sent, and refused."""
    when = translate("DecisionBar", "Expired")
    if at is not None:
        when = translate("DecisionBar", "Expired {time}").format(time=clock(at))
    text = translate("DecisionBar", "{when}: {then}. {kept}") if kept else translate("DecisionBar", "{when}: {then}")
    if late:
        text = translate("DecisionBar", "{when}: your answer came too late and was not counted. {kept}")
    return BarState("timer-off", "expired", text.format(when=when, then=then(on_expire), kept=_kept(kept)))


def voted(votes: Votes) -> BarState:
    """This operator's answer is one of several that are needed."""
    left = votes.needed - votes.given
    text = translate("DecisionBar", "Your answer is counted, {given} of {needed}. {left} more to decide")
    return BarState("users", "waiting", text.format(given=votes.given, needed=votes.needed, left=max(left, 0)))


def barrier(pause: Pause, now: float, kept: Kept) -> BarState | None:
    """Why an open question cannot be answered by this operator now; None if it can."""
    if pause.stopped:
        return stopped()
    if pause.is_over(now):
        return expired(pause.expires_at, pause.on_expire, kept)
    if pause.votes is not None and pause.votes.mine:
        return voted(pause.votes)
    return None if pause.eligible else not_yours(reveal(pause.reason))


def stopped() -> BarState:
    """The run of the question stopped as diverged: it takes no answer until it goes on."""
    text = translate("DecisionBar", "The run stopped: its code no longer fits. It takes answers when it goes on")
    return BarState("git-compare", "failed", text, right=_differs())


def _differs() -> Button:
    return Button(translate("DecisionBar", "See what differs"), "run")


def not_yours(reason: str) -> BarState:
    return BarState("lock", "muted", reason or translate("DecisionBar", "Somebody else has to answer this"))


def _unseen(lines: int) -> str:
    if lines == 1:
        return translate("DecisionBar", "1 line not yet seen")
    return translate("DecisionBar", "%n lines not yet seen", "", lines)


def _refused(item: Sending) -> BarState:
    if item.refusal == "changed":
        return changed()
    if item.refusal == "elsewhere" and item.details.get("status") == "diverged":
        return stopped()
    if item.refusal == "elsewhere":
        by = item.details.get("answered_by")
        if by:
            text = translate("DecisionBar", "Answered by {name}. {kept}")
            text = text.format(name=short_label(str(by)), kept=_kept(_prepared(item.wish)))
            return BarState("user-check", "answered", text)
        return BarState("user-check", "muted", item.message)
    if item.refusal == "expired":
        pause = item.wish.pause
        return expired(pause.expires_at, pause.on_expire, _prepared(item.wish), late=True)
    if item.refusal == "cancelled":
        return BarState(
            "circle-x", "expired", item.message or translate("DecisionBar", "This run was cancelled. Nothing was sent")
        )
    if item.refusal == "not-yours":
        return not_yours(item.message)
    text = translate("DecisionBar", "Not taken. {reason}").format(reason=item.message)
    if item.code == "edits_invalid":
        again = translate("DecisionBar", "Correct the edit")
        return BarState("triangle-alert", "failed", text, right=Button(again, "correct"))
    return BarState("triangle-alert", "failed", text, right=Button(translate("DecisionBar", "Answer again"), "reload"))


def _outcome(item: Sending) -> BarState:
    """What came of an answer that was taken: who gave it and when, and what the run did then."""
    outcome = item.outcome
    assert outcome is not None
    if item.is_one_of_several and outcome.pause is not None and outcome.pause.votes is not None:
        return voted(outcome.pause.votes)
    afterwards, icon, role = _afterwards(outcome, item.held_at)
    text = translate("DecisionBar", "Answered. {then}")
    if item.by:
        text = translate("DecisionBar", "Answered by {name} at {time}. {then}")
    text = text.format(name=short_label(item.by), time=clock(item.done_at), then=afterwards)
    right = _next(outcome.pause) if outcome.pause is not None else None
    return BarState(icon, role, text, right=_differs() if outcome.kind == "diverged" else right)


def _afterwards(outcome: Outcome, sent_at: float) -> tuple[str, str, Role]:
    if outcome.pause is not None:
        asks = translate("DecisionBar", "The run asks again: {question}")
        if outcome.pause.asked_at < sent_at:
            asks = translate("DecisionBar", "The run still asks: {question}")
        return asks.format(question=short_label(outcome.pause.question)), "circle-pause", "waiting"
    reason = short_label(outcome.reason)
    match outcome.kind:
        case "complete":
            return translate("DecisionBar", "The run is complete"), "circle-check", "answered"
        case "diverged":
            return translate("DecisionBar", "The run stopped: its code no longer fits"), "git-compare", "failed"
        case "failed":
            failed = translate("DecisionBar", "The run failed: {reason}").format(reason=reason)
            return failed if reason else translate("DecisionBar", "The run failed"), "triangle-alert", "failed"
        case "sleeping":
            return translate("DecisionBar", "The run sleeps"), "moon", "muted"
        case "needs-attention":
            return translate("DecisionBar", "The run needs attention"), "triangle-alert", "due"
        case "cancelled":
            return translate("DecisionBar", "The run was cancelled"), "circle-x", "expired"
        case "expired":
            return translate("DecisionBar", "The run expired"), "timer-off", "expired"
        case _:
            return translate("DecisionBar", "The run goes on"), "circle-check", "answered"
