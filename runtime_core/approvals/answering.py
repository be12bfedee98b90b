"""Whether an answer counts, checked in the order of contract decision 4, and what it leaves in the journal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

from runtime_core.approvals.deadlines import expiry, is_over, too_late
from runtime_core.approvals.eligibility import may_answer
from runtime_core.approvals.questions import handler_value, outcome, read
from runtime_core.approvals.votes import counted, voted_already
from runtime_core.journal.base import Answer, Recorded
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.json import JsonError, JsonText, JsonValue, dumps, loads
from runtime_core.wire.runs import PauseRow, RunRow, iso

_ANSWERABLE: Final = frozenset({"awaiting-input", "needs-attention", "runnable"})
"""A ``runnable`` run with an open question has just been woken and no leg runs yet."""


def judge(run: RunRow, pauses: Sequence[PauseRow], answer: Answer) -> PauseRow:
    """The pause that ``answer`` closes, completed, or still open if it takes more people, who are in ``votes``.

    ``pauses`` are all of the run's, oldest first. Raises `RuntimeFault`: VALIDATION_ERROR, not_awaiting_input,
    run_cancelled, pause_expired, pause_superseded, answerer_not_allowed, already_voted, content_changed,
    edits_not_allowed, edits_invalid, votes_differ.
    """
    now = time.time()
    value = _parse(answer.value, "value")
    edits = _parse(answer.edits, "edits") if answer.edits is not None else None
    late = _late(pauses, answer, now)
    if late is not None and run.status != "cancelled":
        raise too_late(late, run.shown_status)
    waiting = [pause for pause in pauses if pause.outcome is None and not is_over(pause, now)]
    if not waiting or run.status not in _ANSWERABLE:
        raise _not_waiting(run, pauses, answer)
    if run.wake_at is not None and run.wake_at <= now:
        raise RuntimeFault(
            "not_awaiting_input",
            f"Session {run.id} does not wait for an answer in this moment: a time it waited for has come, and it goes "
            "on with that first. Look at it again.",
            status=run.shown_status,
            wake_at=iso(run.wake_at),
        )
    pause = _chosen(run, pauses, waiting, answer)
    if fingerprint(pause.kind, pause.spec) != pause.fingerprint:
        raise RuntimeFault(
            "content_changed",
            f"The question {pause.id} is not the one that was asked: what is stored of it was changed or damaged. "
            f"Nobody can answer it. Restore a copy of the data folder, or cancel session {run.id}.",
            status=run.shown_status,
            pause_id=pause.id,
        )
    if answer.fingerprint is not None and answer.fingerprint != pause.fingerprint:
        raise RuntimeFault(
            "content_changed",
            f"The question {pause.id} has changed since it was shown. Look at it again; it is still open.",
            status=run.shown_status,
            pause_id=pause.id,
            fingerprint=pause.fingerprint,
        )
    spec = read(pause.spec)
    if answer.edits is not None:
        _check_edits(run, pause, spec, edits)
    if pause.kind == "attention":
        _check_choice(pause, value)
    elif spec.get("inputType") == "text" and spec.get("allowEdits") is not True:
        _check_text(pause, spec, value)
    return counted(pause, decided(pause, answer, now), run.shown_status)


def decided(pause: PauseRow, answer: Answer, now: float) -> PauseRow:
    """The pause as an answer closes it that is enough on its own."""
    return replace(
        pause,
        outcome=outcome(pause.kind, pause.spec, answer.value),
        answer=answer.value,
        edits=answer.edits,
        note=answer.note,
        answered_by=answer.who,
        answered_at=now,
    )


def recorded(pause: PauseRow) -> Recorded:
    """What becomes of the call of a pause that was answered or expired (decision 13 for calls that need attention)."""
    if pause.outcome == "expired":
        return expiry(pause)
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
        allowed, why = may_answer(pause, answer.who)
        if allowed:
            return pause
        reason = reason or why
    first, status = candidates[0], run.shown_status
    raise voted_already(first, answer.who, status, reason) or RuntimeFault(
        "answerer_not_allowed", reason, status=status, pause_id=first.id, reason=reason
    )


def _late(pauses: Sequence[PauseRow], answer: Answer, now: float) -> PauseRow | None:
    """The question the answer is for, if its deadline has passed, whether or not that was acted on yet.

    Without a pause id it is the last one that expired, if nothing else is open and nobody answered after it.
    """
    over = [pause for pause in pauses if pause.outcome == "expired" or is_over(pause, now)]
    if answer.pause_id is not None:
        return next((pause for pause in over if pause.id == answer.pause_id), None)
    if any(pause.outcome is None and pause not in over for pause in pauses):
        return None
    decided = [pause for pause in pauses if pause in over or pause.outcome in ("answered", "refused")]
    last = max(decided, key=lambda pause: now if pause.answered_at is None else pause.answered_at, default=None)
    return last if last in over else None


def _not_waiting(run: RunRow, pauses: Sequence[PauseRow], answer: Answer) -> RuntimeFault:
    if run.status == "expired":
        return RuntimeFault(
            "pause_expired", f"Session {run.id} expired: a question was not answered in time.", status="expired"
        )
    closed = [pause for pause in pauses if pause.outcome in ("answered", "refused")]
    named = [pause for pause in closed if pause.id == answer.pause_id]
    last = max(named or closed, key=lambda pause: pause.answered_at or 0.0, default=None)
    if run.status == "cancelled":
        by = read(run.error or "{}").get("cancelled_by")
        return RuntimeFault(
            "run_cancelled",
            f"Session {run.id} was cancelled{f' by {by}' if by else ''} at {iso(run.finished_at)}.{_by_whom(last)}",
            status="cancelled",
            cancelled_at=iso(run.finished_at),
            **_who(last),
        )
    return RuntimeFault(
        "not_awaiting_input",
        f"Session {run.id} does not wait for an answer: it is {run.shown_status}.{_by_whom(last)}",
        status=run.shown_status,
        **_who(last),
    )


def _not_open(run: RunRow, pauses: Sequence[PauseRow], pause_id: str) -> RuntimeFault:
    pause = next((pause for pause in pauses if pause.id == pause_id), None)
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


def _check_edits(run: RunRow, pause: PauseRow, spec: dict[str, JsonValue], edits: JsonValue) -> None:
    if spec.get("allowEdits") is not True:
        raise RuntimeFault(
            "edits_not_allowed",
            f"The question {pause.id} does not allow edits. Answer without edits.",
            status=run.shown_status,
            pause_id=pause.id,
        )
    problem = _problem(spec, edits, "edits")
    if problem is not None:
        raise RuntimeFault(
            "edits_invalid",
            f"edits do not fit the schema of the question {pause.id}: {problem}",
            status=run.shown_status,
            pause_id=pause.id,
        )


def _check_text(pause: PauseRow, spec: dict[str, JsonValue], value: JsonValue) -> None:
    problem = _problem(spec, value, "value")
    if problem is not None:
        raise RuntimeFault(
            "VALIDATION_ERROR", f"value: does not fit the schema of the question {pause.id}: {problem}", key="value"
        )


def _problem(spec: dict[str, JsonValue], value: JsonValue, what: str) -> str | None:
    schema = spec.get("schema")
    if not isinstance(schema, dict):
        return None
    from runtime_core.repo.params import check_value  # with jsonschema: only for questions that have a schema

    return check_value(schema, value, what=what, whose="the schema of the question")


def _fits(result: JsonValue, *, is_text: bool) -> bool:
    return isinstance(result, str) or not is_text


def _is_answered_in_text(spec: dict[str, JsonValue]) -> bool:
    """Whether the interrupted call has a text for its result, as that of a subagent has."""
    call = spec.get("call")
    return isinstance(call, dict) and call.get("kind") == "subagent"


def _check_choice(pause: PauseRow, value: JsonValue) -> None:
    """An attention takes one of its own options, and a result in their place if it is about a call."""
    spec = read(pause.spec)
    options = [option["value"] for option in cast("list[dict[str, JsonValue]]", spec["options"])]
    if isinstance(value, str) and value in options:
        return
    choices = [dumps(option) for option in options]
    if "call" in spec:
        is_text = _is_answered_in_text(spec)
        if isinstance(value, dict) and value.keys() == {"use_result"} and _fits(value["use_result"], is_text=is_text):
            return
        choices.append('{"use_result": "the text of its answer"}' if is_text else '{"use_result": …}')
    raise RuntimeFault("VALIDATION_ERROR", f"value: must be {' or '.join(choices)} for {pause.id}.")
