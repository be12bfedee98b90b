"""Refusals in the order of contract decision 4, with the codes and details a client needs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from runtime_core.approvals.answering import judge, recorded
from runtime_core.approvals.questions import attention
from runtime_core.journal.base import Answer
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.runs import PauseRow, RunRow
from tests.unit.journal.stories import pause_row, run_row

OPEN = pause_row(slot="1", asked_at=1.0)
ONLY_ROSA = pause_row(slot="0", asked_at=0.0, spec='{"question":"Q","inputType":"text","eligibleAnswerers":["rosa"]}')
EDITABLE = pause_row(slot="1", spec='{"question":"Q","inputType":"text","allowEdits":true}')
DONE = pause_row(slot="9", outcome="answered", answer="1", answered_by="rosa", answered_at=0.0)
GONE = pause_row(slot="8", outcome="superseded", answered_at=0.0)
EXPIRED = pause_row(slot="7", outcome="expired", answered_at=0.0)


def waiting(status: Any = "awaiting-input") -> RunRow:
    return run_row(status=status)


def answer(value: str = "1", **more: Any) -> Answer:
    return Answer("dur_a", value, more.pop("who", "bob"), **more)


def refusal(run: RunRow, pauses: list[PauseRow], posted: Answer) -> RuntimeFault:
    with pytest.raises(RuntimeFault) as caught:
        judge(run, pauses, posted)
    return caught.value


def test_an_accepted_answer_completes_the_pause() -> None:
    pause = judge(waiting(), [DONE, EDITABLE], answer('"no"', edits="{}", note="n"))
    assert (pause.id, pause.outcome, pause.answer, pause.edits) == (EDITABLE.id, "answered", '"no"', "{}")
    assert (pause.note, pause.answered_by) == ("n", "bob")
    assert pause.answered_at is not None


def test_without_a_pause_id_the_oldest_question_the_caller_may_answer_is_meant() -> None:
    assert judge(waiting(), [ONLY_ROSA, OPEN], answer()).id == OPEN.id
    assert judge(waiting(), [ONLY_ROSA, OPEN], answer(who="rosa")).id == ONLY_ROSA.id
    assert judge(waiting(), [ONLY_ROSA, OPEN], answer(who="rosa", pause_id=OPEN.id)).id == OPEN.id


@pytest.mark.parametrize(
    ("field", "text"), [("value", "{"), ("value", "NaN"), ("value", ""), ("edits", '{"a":1,"a":2}')]
)
def test_bad_json_is_refused_with_its_place(field: str, text: str) -> None:
    fault = refusal(waiting("completed"), [], answer(**{"value": "1", field: text}))
    assert (fault.code, fault.details["key"]) == ("VALIDATION_ERROR", field)
    assert fault.details["line"] == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("running", "not_awaiting_input"),
        ("runnable", "not_awaiting_input"),
        ("sleeping", "not_awaiting_input"),
        ("completed", "not_awaiting_input"),
        ("failed", "not_awaiting_input"),
        ("diverged", "not_awaiting_input"),
        ("cancelled", "run_cancelled"),
        ("expired", "pause_expired"),
    ],
)
def test_a_run_that_does_not_wait(status: Any, code: str) -> None:
    fault = refusal(waiting(status), [DONE], answer())
    assert fault.code == code
    assert fault.details["status"] == ("running" if status == "runnable" else status)
    if code == "not_awaiting_input":
        assert (fault.details["answered_by"], fault.details["answered_at"]) == ("rosa", "1970-01-01T00:00:00.000Z")


def test_a_late_answer_is_told_who_cancelled_and_who_had_answered() -> None:
    run = replace(waiting("cancelled"), error='{"code":"run_cancelled","cancelled_by":"local:eve"}')
    fault = refusal(run, [DONE], answer(pause_id=DONE.id))
    assert fault.code == "run_cancelled"
    assert "cancelled by local:eve" in fault.message
    assert "rosa answered" in fault.message
    assert fault.details["answered_by"] == "rosa"


def test_a_leg_in_progress_takes_no_answer_even_if_a_question_is_open() -> None:
    assert refusal(waiting("running"), [OPEN], answer()).code == "not_awaiting_input"


def test_a_woken_run_takes_the_answer_to_its_other_question() -> None:
    assert judge(waiting("runnable"), [DONE, OPEN], answer()).id == OPEN.id


def test_the_status_comes_before_the_pause_id() -> None:
    assert refusal(waiting("cancelled"), [], answer(pause_id="dur_a.77")).code == "run_cancelled"


@pytest.mark.parametrize(
    ("pause_id", "code", "who"),
    [
        (DONE.id, "pause_superseded", "rosa"),
        (GONE.id, "pause_superseded", None),
        (EXPIRED.id, "pause_expired", None),
        ("dur_b.0", "pause_superseded", None),
    ],
)
def test_a_question_that_is_not_open(pause_id: str, code: str, who: str | None) -> None:
    fault = refusal(waiting(), [DONE, GONE, EXPIRED, OPEN], answer(pause_id=pause_id))
    assert (fault.code, fault.details.get("answered_by")) == (code, who)
    assert fault.details["status"] == "awaiting-input"
    assert pause_id in fault.message


def test_who_may_not_answer_is_told_why_before_anything_about_the_content() -> None:
    posted = answer(pause_id=ONLY_ROSA.id, fingerprint="old", edits="{}")
    fault = refusal(waiting(), [ONLY_ROSA, OPEN], posted)
    assert fault.code == "answerer_not_allowed"
    assert "bob" in fault.message
    assert refusal(waiting(), [ONLY_ROSA], answer()).code == "answerer_not_allowed"


def test_changed_content_comes_before_edits() -> None:
    fault = refusal(waiting(), [OPEN], answer(fingerprint="old", edits="{}"))
    assert (fault.code, fault.details["fingerprint"]) == ("content_changed", OPEN.fingerprint)
    assert judge(waiting(), [OPEN], answer(fingerprint=OPEN.fingerprint)).id == OPEN.id


OVERDUE = pause_row(slot="5", asked_at=0.0, expires_at=1.0)


@pytest.mark.parametrize("status", ["awaiting-input", "needs-attention", "runnable", "running"])
@pytest.mark.parametrize("pause_id", [None, OVERDUE.id])
def test_an_answer_after_the_deadline_is_refused_before_anything_acted_on_it(status: Any, pause_id: str | None) -> None:
    fault = refusal(waiting(status), [DONE, OVERDUE], answer(pause_id=pause_id))
    assert fault.code == "pause_expired"
    assert fault.details["status"] == waiting(status).shown_status
    assert (fault.details["pause_id"], fault.details["expires_at"]) == (OVERDUE.id, "1970-01-01T00:00:01.000Z")


@pytest.mark.parametrize("status", ["running", "completed", "failed", "expired", "diverged"])
def test_an_answer_to_an_expired_question_is_late_whatever_became_of_the_run(status: Any) -> None:
    assert refusal(waiting(status), [DONE, EXPIRED], answer(pause_id=EXPIRED.id)).code == "pause_expired"
    assert refusal(waiting("cancelled"), [EXPIRED], answer(pause_id=EXPIRED.id)).code == "run_cancelled"


def test_a_late_answer_without_a_pause_id_is_for_what_was_asked_last() -> None:
    assert refusal(waiting("completed"), [EXPIRED], answer()).code == "pause_expired"
    later = replace(DONE, answered_at=5.0)
    assert refusal(waiting("completed"), [EXPIRED, later], answer()).code == "not_awaiting_input"
    assert judge(waiting(), [OVERDUE, OPEN], answer()).id == OPEN.id


def test_a_deadline_to_come_changes_nothing() -> None:
    soon = replace(OPEN, expires_at=5e9)
    assert judge(waiting(), [soon], answer()).outcome == "answered"


LIMITED = '{"question":"Q","inputType":"text","allowEdits":true,"schema":{"properties":{"a":{"maximum":2}}}}'


def test_edits_that_break_the_schema_are_refused_last() -> None:
    pause = pause_row(slot="1", spec=LIMITED)
    fault = refusal(waiting(), [pause], answer(edits='{"a": 3}'))
    assert fault.code == "edits_invalid"
    assert "a: " in fault.message
    assert "3" in fault.message
    assert refusal(waiting(), [pause], answer(edits='{"a": 3}', fingerprint="old")).code == "content_changed"
    assert judge(waiting(), [pause], answer(edits='{"a": 2.00}')).edits == '{"a": 2.00}'
    assert judge(waiting(), [pause], answer()).outcome == "answered"


@pytest.mark.parametrize("edits", ["{}", "null", '{"a": 1}'])
def test_edits_need_permission(edits: str) -> None:
    fault = refusal(waiting(), [OPEN], answer(edits=edits))
    assert fault.code == "edits_not_allowed"
    assert judge(waiting(), [EDITABLE], answer(edits=edits)).edits == edits


ATTENTION = pause_row(
    id="dur_a.0.a1", kind="attention", names=("release", "charge"), spec=attention("tool", "charge", 0.0)
)


@pytest.mark.parametrize(
    ("value", "state", "left"),
    [
        ('"run-again"', "again", None),
        ('{"use_result": 1.50}', "ok", "1.50"),
        ('{"use_result": null}', "ok", "null"),
        ('{"use_result": "fail"}', "ok", '"fail"'),
    ],
)
def test_choices_for_an_interrupted_call(value: str, state: str, left: str | None) -> None:
    entry = recorded(judge(waiting("needs-attention"), [ATTENTION], answer(value)))
    assert (entry.state, entry.value) == (state, left)


def test_letting_an_interrupted_call_fail() -> None:
    entry = recorded(judge(waiting("needs-attention"), [ATTENTION], answer('"fail"')))
    assert entry.state == "error"
    assert entry.value is not None
    error = json.loads(entry.value)
    assert (error["name"], error["code"]) == ("CompositeCallError", "execution-failed")
    assert "charge" in error["message"]


STUCK = pause_row(
    id="dur_a.-1.a1",
    kind="attention",
    spec='{"question":"Q","inputType":"choice","options":[{"value":"run-again","label":"Try again"}]}',
)


def test_a_run_that_cannot_go_on_takes_its_own_option_only() -> None:
    assert judge(waiting("needs-attention"), [STUCK], answer('"run-again"')).answer == '"run-again"'
    for value in ('"fail"', '{"use_result": 5}', '"yes"'):
        fault = refusal(waiting("needs-attention"), [STUCK], answer(value))
        assert fault.code == "VALIDATION_ERROR"
        assert fault.message == 'value: must be "run-again" for dur_a.-1.a1.'


@pytest.mark.parametrize("value", ['"yes"', "true", "null", "{}", '["run-again"]', '{"use_result": 1, "fail": 2}'])
def test_other_values_for_an_interrupted_call_are_refused(value: str) -> None:
    fault = refusal(waiting("needs-attention"), [ATTENTION], answer(value))
    assert fault.code == "VALIDATION_ERROR"
    assert 'must be "run-again" or "fail" or {"use_result": …} for' in fault.message


def test_an_interrupted_subagent_takes_a_text_for_its_result() -> None:
    names, spec = ("release", "reviewer"), attention("subagent", "reviewer", 0.0)
    sent = pause_row(id="dur_a.0.a1", kind="attention", names=names, spec=spec)
    for value in ('{"use_result": {"done": true}}', '{"use_result": 5}', '{"use_result": null}', "{}"):
        fault = refusal(waiting("needs-attention"), [sent], answer(value))
        assert fault.code == "VALIDATION_ERROR"
        assert '{"use_result": "the text of its answer"}' in fault.message
    assert recorded(judge(waiting("needs-attention"), [sent], answer('{"use_result": "fine"}'))).value == '"fine"'


def test_an_answered_question_returns_to_its_handler() -> None:
    entry = recorded(judge(waiting(), [OPEN], answer("1.50")))
    assert entry.state == "ok"
    assert entry.value is not None
    assert entry.value.startswith('{"value":1.50,')
