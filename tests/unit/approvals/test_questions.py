from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_core.approvals import deadlines
from runtime_core.approvals.questions import (
    QuestionError,
    approved,
    attention,
    handler_value,
    outcome,
    question,
)
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.json import dumps
from runtime_core.wire.runs import LATEST, PauseRow, instant, iso
from tests.unit.journal.stories import pause_row


def spec_of(args: Any, kind: Any = "input") -> dict[str, Any]:
    return json.loads(question(kind, json.dumps(args)))


def closed(answer: str, kind: str = "input", **more: Any) -> PauseRow:
    more = {"answered_by": "local:bob", "answered_at": 0.0, "outcome": "answered"} | more
    return pause_row(kind=kind, answer=answer, **more)


def test_a_text_alone_is_the_question() -> None:
    assert spec_of("Why?") == {"question": "Why?", "inputType": "text"}
    assert spec_of("Release?", "approval") == {"question": "Release?", "inputType": "yesno"}


def test_a_prompt_is_the_question_of_an_approval() -> None:
    assert spec_of({"prompt": "Release?", "context": {"a": 1}}, "approval") == {
        "question": "Release?",
        "inputType": "yesno",
        "context": {"a": 1},
    }


@pytest.mark.parametrize("args", ["", " \n", {}, {"prompt": ""}, {"question": "\t"}])
@pytest.mark.parametrize(("kind", "key"), [("input", "question"), ("approval", "prompt")])
def test_a_question_has_words(args: Any, kind: Any, key: str) -> None:
    with pytest.raises(QuestionError, match=f"{key} is missing"):
        spec_of(args, kind)


def test_python_spelling_means_the_same() -> None:
    snake = {
        "question": "Q",
        "input_type": "choice",
        "allow_edits": True,
        "eligible_answerers": ["a"],
        "exclude_answerers": ["b"],
        "options": [{"value": 1}],
        "timeout_ms": 5,
        "on_expire": "fail",
    }
    camel = {
        "question": "Q",
        "inputType": "choice",
        "allowEdits": True,
        "eligibleAnswerers": ["a"],
        "excludeAnswerers": ["b"],
        "options": [{"value": 1}],
        "timeoutMs": 5,
        "onExpire": "fail",
    }
    assert spec_of(snake) == spec_of(camel)
    assert spec_of(snake | {"inputType": "yesno"})["inputType"] == "yesno"


def test_null_is_as_good_as_absent() -> None:
    args = {"question": "Q", "inputType": None, "options": None, "allowEdits": None, "eligibleAnswerers": None}
    assert spec_of(args) == {"question": "Q", "inputType": "text"}


def test_nobody_is_not_anybody() -> None:
    assert spec_of({"question": "Q", "eligibleAnswerers": []})["eligibleAnswerers"] == []


def test_unknown_keys_and_types_of_question_are_kept() -> None:
    args = {"question": "Q", "inputType": "date-range", "links": [{"href": "x"}], "mood": {"deep": [1]}}
    assert spec_of(args) == args


VALUES = ["false", "0", '""', "null", '"0"', '"false"', "[]", "{}", "1.50", "1E400", "-0", "18446744073709551616"]


@pytest.mark.parametrize("value", VALUES)
def test_values_keep_their_type_and_digits(value: str) -> None:
    args = '{"question":"Q","options":[{"value":' + value + '}],"context":' + value + "}"
    spec = question("input", args)
    assert '"options":[{"value":' + value + "," in spec
    assert spec.endswith('"context":' + value + "}")


def test_a_missing_label_is_the_text_of_the_value() -> None:
    args = (
        '{"question": "Q", "options": [{"value": "a"}, {"value": 1.50}, {"value": null}, {"value": 1, "label": "L"}]}'
    )
    labels = [option["label"] for option in json.loads(question("input", args))["options"]]
    assert labels == ["a", "1.50", "null", "L"]


def test_options_keep_sub_recommended_and_what_we_do_not_know() -> None:
    option = {"value": 1, "label": "L", "sub": "S", "recommended": True, "colour": "red"}
    assert spec_of({"question": "Q", "options": [option]})["options"] == [option]


@pytest.mark.parametrize(
    ("args", "key"),
    [
        ({}, "question"),
        ({"question": None}, "question"),
        ({"question": {"a": 1}}, "question"),
        (None, "argument"),
        (5, "argument"),
        (["Q"], "argument"),
        ({"question": "Q", "inputType": 5}, "inputType"),
        ({"question": "Q", "options": "a"}, "options"),
        ({"question": "Q", "options": {"value": 1}}, "options"),
        ({"question": "Q", "options": [{"value": 1}, "b"]}, "options[1]"),
        ({"question": "Q", "options": [{"label": "L"}]}, "options[0].value"),
        ({"question": "Q", "options": [{"value": 1, "label": 5}]}, "options[0].label"),
        ({"question": "Q", "options": [{"value": 1, "sub": []}]}, "options[0].sub"),
        ({"question": "Q", "options": [{"value": 1, "recommended": "yes"}]}, "options[0].recommended"),
        ({"question": "Q", "allowEdits": "yes"}, "allowEdits"),
        ({"question": "Q", "allow_edits": 1}, "allowEdits"),
        ({"question": "Q", "eligibleAnswerers": "rosa"}, "eligibleAnswerers"),
        ({"question": "Q", "excludeAnswerers": ["a", 5]}, "excludeAnswerers[1]"),
        ({"question": "Q", "expiresAt": "tomorrow"}, "expiresAt"),
        ({"question": "Q", "expiresAt": "+012026-01-01T00:00:00Z"}, "expiresAt"),
        ({"question": "Q", "expiresAt": "NaN"}, "expiresAt"),
        ({"question": "Q", "expiresAt": True}, "expiresAt"),
        ({"question": "Q", "expiresAt": -1}, "expiresAt"),
        ({"question": "Q", "expiresAt": 1e20}, "expiresAt"),
        ({"question": "Q", "expiresAt": {}}, "expiresAt"),
        ({"question": "Q", "timeoutMs": -1}, "timeoutMs"),
        ({"question": "Q", "timeoutMs": "5"}, "timeoutMs"),
        ({"question": "Q", "timeout_ms": True}, "timeoutMs"),
        ({"question": "Q", "timeoutMs": 5, "expiresAt": 5}, "expiresAt"),
        ({"question": "Q", "onExpire": "approve"}, "onExpire"),
        ({"question": "Q", "onExpire": {"value": 1, "note": "n"}}, "onExpire"),
        ({"question": "Q", "onExpire": {}}, "onExpire"),
        ({"question": "Q", "quorum": 0}, "quorum"),
        ({"question": "Q", "quorum": 1.5}, "quorum"),
        ({"question": "Q", "quorum": True}, "quorum"),
        ({"question": "Q", "quorum": "2"}, "quorum"),
        ({"question": "Q", "quorum": 2, "eligibleAnswerers": ["a", "a"]}, "quorum"),
        ({"question": "Q", "quorum": 2, "eligibleAnswerers": ["a", "b"], "excludeAnswerers": ["b"]}, "quorum"),
        ({"question": "Q", "schema": True}, "schema"),
        ({"question": "Q", "schema": {"type": "text"}}, "schema.type"),
        ({"question": "Q", "schema": {"pattern": "("}}, "schema.pattern"),
        ({"question": "Q", "schema": {"$ref": "#/nowhere"}}, "schema.$ref"),
    ],
)
def test_wrong_arguments_are_named(args: Any, key: str) -> None:
    with pytest.raises(QuestionError) as caught:
        spec_of(args)
    assert str(caught.value).startswith("requestInput: ")
    assert f" {key} " in str(caught.value)
    assert caught.value.code == "invalid-params"


def test_an_approval_names_its_own_member_and_argument() -> None:
    with pytest.raises(QuestionError, match="waitForApproval: prompt is missing"):
        spec_of({}, "approval")


BASE: dict[str, Any] = {"question": "Q", "options": [{"value": 1}], "context": {"a": 1, "b": 2}, "title": "T"}


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Q2"},
        {"inputType": "choice"},
        {"options": [{"value": 2}]},
        {"options": [{"value": 1, "label": "one"}]},
        {"context": {"a": 1}},
        {"context": None},
        {"allowEdits": True},
        {"eligibleAnswerers": []},
        {"excludeAnswerers": ["eve"]},
        {"expiresAt": "2030-01-01T00:00:00Z"},
        {"onExpire": {"value": 1}},
        {"quorum": 2},
    ],
)
def test_the_fingerprint_covers_what_is_decided_on(change: dict[str, Any]) -> None:
    assert fingerprint("input", dumps(spec_of(BASE))) != fingerprint("input", dumps(spec_of(BASE | change)))


def test_the_fingerprint_does_not_depend_on_order_or_decoration() -> None:
    other = {"links": [], "title": "Another", "context": {"b": 2, "a": 1}, "options": [{"value": 1}], "question": "Q"}
    assert fingerprint("input", dumps(spec_of(BASE))) == fingerprint("input", dumps(spec_of(other)))
    assert fingerprint("input", dumps(spec_of(BASE))) != fingerprint("approval", dumps(spec_of(BASE)))


@pytest.mark.parametrize("value", [True, "yes", " YES ", "Approve", "approved\n", {"approved": True, "note": "ok"}])
def test_these_values_approve(value: Any) -> None:
    assert approved(value)


NOT_APPROVING = [False, "no", "", "y", "true", "ok", 1, 1.0, None, [], [True], {}, {"approved": "yes"}, {"approved": 1}]


@pytest.mark.parametrize("value", NOT_APPROVING)
def test_everything_else_does_not(value: Any) -> None:
    assert not approved(value)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_nothing_approves_by_accident(value: Any) -> None:
    if not isinstance(value, str):
        assert not approved(value)


def test_what_request_input_returns() -> None:
    assert handler_value(closed("1.50")) == (
        '{"value":1.50,"respondedBy":"local:bob","respondedAt":"1970-01-01T00:00:00.000Z"}'
    )
    full = json.loads(handler_value(closed('{"a":1}', edits="{}", note="n")))
    assert full == {
        "value": {"a": 1},
        "edits": {},
        "respondedBy": "local:bob",
        "note": "n",
        "respondedAt": "1970-01-01T00:00:00.000Z",
    }


def test_what_wait_for_approval_returns() -> None:
    yes = json.loads(handler_value(closed('"Yes"', "approval", edits='{"a":2}')))
    assert yes == {
        "approved": True,
        "edits": {"a": 2},
        "respondedBy": "local:bob",
        "respondedAt": "1970-01-01T00:00:00.000Z",
    }
    no = json.loads(handler_value(closed('{"approved": false, "note": "too big"}', "approval", note="outer")))
    assert (no["approved"], no["note"]) == (False, "too big")
    assert "value" not in no


@pytest.mark.parametrize(
    ("kind", "input_type", "value", "expected"),
    [
        ("input", "yesno", '"no"', "refused"),
        ("input", "yesno", '" No "', "refused"),
        ("input", "yesno", "false", "refused"),
        ("input", "yesno", '"yes"', "answered"),
        ("input", "yesno", "0", "answered"),
        ("input", "text", '"no"', "answered"),
        ("input", "choice", "false", "answered"),
        ("approval", "yesno", '"no"', "refused"),
        ("approval", "yesno", '"whatever"', "refused"),
        ("approval", "yesno", '"approved"', "answered"),
        ("attention", "choice", '"fail"', "answered"),
    ],
)
def test_a_refusal_is_an_answer_that_says_no(kind: str, input_type: str, value: str, expected: str) -> None:
    assert outcome(kind, dumps({"question": "Q", "inputType": input_type}), value) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({}, None),
        ({"timeoutMs": 2500}, 102.5),
        ({"timeoutMs": 0}, 100.0),
        ({"timeoutMs": 1e300}, LATEST),
        ({"expiresAt": 250_000}, 250.0),
        ({"expiresAt": "1970-01-01T00:00:10Z"}, 10.0),
        ({"expiresAt": "1970-01-01T01:00:10+01:00"}, 10.0),
        ({"expiresAt": "1970-01-01T00:00:10"}, 10.0),
        ({"expiresAt": "1970-01-02"}, 86400.0),
    ],
)
def test_the_deadline_of_a_question(rules: dict[str, Any], expected: float | None) -> None:
    assert deadlines.expires_at(dumps(spec_of({"question": "Q", **rules})), 100.0) == expected


@given(st.text() | st.floats() | st.integers())
def test_whatever_is_given_as_a_deadline_is_one_that_can_be_shown_or_is_refused(value: Any) -> None:
    at = instant(value)
    assert at is None or iso(at) is not None


def test_an_expired_call_fails_with_its_question_and_deadline() -> None:
    spec = dumps(spec_of({"question": "Q" * 5000, "timeoutMs": 1}))
    closed = deadlines.expired(pause_row(spec=spec, expires_at=1.5), 2.0)
    left = deadlines.expiry(closed)
    error = json.loads(left.value or "")
    assert (left.state, error["code"], closed.outcome) == ("error", "pause-expired", "expired")
    assert f'"{"Q" * 200}…" ({closed.id})' in error["message"]
    assert "1970-01-01T00:00:01.500Z" in error["message"]


@pytest.mark.parametrize("value", ["yes", True, {"approved": True, "note": "by rule"}, *NOT_APPROVING])
def test_silence_approves_only_what_the_author_wrote(value: Any) -> None:
    spec = dumps(spec_of({"prompt": "P", "timeoutMs": 1, "onExpire": {"value": value}}, "approval"))
    left = deadlines.expiry(deadlines.expired(pause_row(kind="approval", spec=spec, expires_at=1.0), 2.0))
    returned = json.loads(left.value or "")
    assert (left.state, returned["expired"], returned["approved"]) == ("ok", True, approved(value))
    assert returned.get("note") == ("by rule" if isinstance(value, dict) and "note" in value else None)


def test_a_call_that_needs_attention_is_named_and_offers_the_choices() -> None:
    spec = json.loads(attention("tool", "charge_card", 0.0))
    assert "charge_card" in spec["question"]
    assert [option["value"] for option in spec["options"]] == ["run-again", "fail"]
    assert spec["call"] == {"kind": "tool", "name": "charge_card", "startedAt": "1970-01-01T00:00:00.000Z"}
