"""Whether an answer counts, checked in the order of contract decision 4, and what it leaves in the journal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

from runtime_core.approvals.eligibility import eligible
from runtime_core.approvals.questions import handler_value, outcome, read
from runtime_core.journal.base import Answer, Recorded
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonError, JsonText, JsonValue, dumps, loads
from runtime_core.wire.runs import PauseRow, RunRow, iso

_ANSWERABLE: Final = frozenset({"awaiting-input", "needs-attention", "runnable"})
"""A ``runnable`` run with an open question has just been woken and no leg runs yet."""


def judge(run: RunRow, pauses: Sequence[PauseRow], answer: Answer) -> PauseRow:
    """The pause that ``answer`` closes, completed. ``pauses`` are all of the run's, oldest first.

    Raises `RuntimeFault`: VALIDATION_ERROR, not_awaiting_input, run_cancelled, pause_expired, pause_superseded,
    answerer_not_allowed, content_changed, edits_not_allowed.
    """
    value = _parse(answer.value, "value")
    if answer.edits is not None:
        _parse(answer.edits, "edits")
    waiting = [pause for pause in pauses if pause.outcome is None]
    if not waiting or run.status not in _ANSWERABLE:
        raise _not_waiting(run, pauses, answer)
    pause = _chosen(run, pauses, waiting, answer)
    if answer.fingerprint is not None and answer.fingerprint != pause.fingerprint:
        raise RuntimeFault(
            "content_changed",
            f"The question {pause.id} has changed since it was shown. Look at it again; it is still open.",
            status=run.shown_status,
            pause_id=pause.id,
            fingerprint=pause.fingerprint,
        )
    if answer.edits is not None and read(pause.spec).get("allowEdits") is not True:
        raise RuntimeFault(
            "edits_not_allowed",
            f"The question {pause.id} does not allow edits. Answer without edits.",
            status=run.shown_status,
            pause_id=pause.id,
        )
    if pause.kind == "attention":
        _check_choice(pause, value)
    return replace(
        pause,
        outcome=outcome(pause.kind, pause.spec, answer.value),
        answer=answer.value,
        edits=answer.edits,
        note=answer.note,
        answered_by=answer.who,
        answered_at=time.time(),
    )


def recorded(pause: PauseRow) -> Recorded:
    """What becomes of the call an answered pause stands for (decision 13 for calls that need attention)."""
    if pause.kind != "attention":
        return Recorded("ok", handler_value(pause))
    assert pause.answer is not None
    choice = loads(pause.answer)
    if isinstance(choice, dict):
        return Recorded("ok", dumps(choice["use_result"]))
    if choice == "run-again":
        return Recorded("again")
    name = pause.names[-1] if pause.names else pause.tool
    error: dict[str, JsonValue] = {
        "name": "CompositeCallError",
        "message": f"{name} was interrupted, and {pause.answered_by} chose to let the call fail.",
        "code": "execution-failed",
    }
    return Recorded("error", dumps(error))


def _parse(text: JsonText, key: str) -> JsonValue:
    try:
        return loads(text)
    except JsonError as error:
        raise RuntimeFault(
            "VALIDATION_ERROR", f"{key}: {error}", key=key, line=error.line, column=error.column
        ) from error


def _chosen(run: RunRow, pauses: Sequence[PauseRow], waiting: Sequence[PauseRow], answer: Answer) -> PauseRow:
    """The open pause the answer names, or the oldest one its sender may answer (decision 2)."""
    if answer.pause_id is not None:
        pause = next((pause for pause in waiting if pause.id == answer.pause_id), None)
        if pause is None:
            raise _not_open(run, pauses, answer.pause_id)
        candidates = [pause]
    else:
        candidates = waiting
    reason = ""
    for pause in candidates:
        allowed, why = eligible(pause.spec, answer.who, pause.requested_by)
        if allowed:
            return pause
        reason = reason or why
    raise RuntimeFault(
        "answerer_not_allowed", reason, status=run.shown_status, pause_id=candidates[0].id, reason=reason
    )


def _not_waiting(run: RunRow, pauses: Sequence[PauseRow], answer: Answer) -> RuntimeFault:
    if run.status == "cancelled":
        by = next((f" by {pause.answered_by}" for pause in pauses if pause.outcome == "cancelled"), "")
        details: dict[str, Any] = {"status": "cancelled", "cancelled_at": iso(run.finished_at)}
        return RuntimeFault(
            "run_cancelled", f"Session {run.id} was cancelled{by} at {iso(run.finished_at)}.", **details
        )
    if run.status == "expired":
        return RuntimeFault("pause_expired", f"The question of session {run.id} expired.", status="expired")
    closed = [pause for pause in pauses if pause.outcome in ("answered", "refused")]
    named = [pause for pause in closed if pause.id == answer.pause_id]
    last = max(named or closed, key=lambda pause: pause.answered_at or 0.0, default=None)
    return RuntimeFault(
        "not_awaiting_input",
        f"Session {run.id} does not wait for an answer: it is {run.shown_status}.{_by_whom(last)}",
        status=run.shown_status,
        **_who(last),
    )


def _not_open(run: RunRow, pauses: Sequence[PauseRow], pause_id: str) -> RuntimeFault:
    pause = next((pause for pause in pauses if pause.id == pause_id), None)
    if pause is not None and pause.outcome == "expired":
        return RuntimeFault(
            "pause_expired", f"The question {pause_id} expired.", status=run.shown_status, pause_id=pause_id
        )
    answered = pause if pause is not None and pause.outcome in ("answered", "refused") else None
    return RuntimeFault(
        "pause_superseded",
        f"The question {pause_id} is not open in session {run.id}. Look at what the session asks now."
        + _by_whom(answered),
        status=run.shown_status,
        pause_id=pause_id,
        **_who(answered),
    )


def _who(pause: PauseRow | None) -> dict[str, Any]:
    if pause is None:
        return {}
    return {"answered_by": pause.answered_by, "answered_at": iso(pause.answered_at)}


def _by_whom(pause: PauseRow | None) -> str:
    return f" {pause.answered_by} answered at {iso(pause.answered_at)}." if pause is not None else ""


def _check_choice(pause: PauseRow, value: JsonValue) -> None:
    """An attention takes one of its own options, and a result in their place if it is about a call."""
    spec = read(pause.spec)
    options = [option["value"] for option in cast("list[dict[str, JsonValue]]", spec["options"])]
    if isinstance(value, str) and value in options:
        return
    choices = [dumps(option) for option in options]
    if "call" in spec:
        if isinstance(value, dict) and value.keys() == {"use_result"}:
            return
        choices.append('{"use_result": …}')
    raise RuntimeFault("VALIDATION_ERROR", f"value: must be {' or '.join(choices)} for {pause.id}.")
