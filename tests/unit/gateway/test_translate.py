"""Whatever a runtime sends becomes plain data of the application, and nothing is lost on the way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbox_app.gateway import translate
from inbox_app.gateway.base import Option, Side
from runtime_core.approvals import questions
from runtime_core.engine.divergence import Difference, Found
from runtime_core.hosts.base import Divergence, HandlerCall, RecordedCall
from runtime_core.wire.json import Number, dumps
from runtime_core.wire.runs import PauseRow, RunRow, Span, Vote

ODD: list[Any] = [
    None,
    True,
    0,
    -1.5,
    10**30,
    "",
    "x",
    "2026-13-99",
    [],
    ["a", None],
    {},
    {"a": [1]},
    [[{}]],
    [{"value": []}],
]

SPEC = """{"question": "Refund?", "inputType": "choice", "allowEdits": true, "context": {"amount": 120.00},
 "options": [{"value": 0, "label": "Nothing"}, {"value": 1.50, "label": "Some", "sub": "half", "recommended": true}]}"""


def pause_row(**changes: Any) -> PauseRow:
    row: dict[str, Any] = {
        "id": "dur_a.2-1",
        "run_id": "dur_a",
        "slot": "2/1",
        "kind": "input",
        "tool": "refund",
        "names": ("refund", "ask"),
        "spec": SPEC,
        "fingerprint": "f",
        "asked_at": 1_700_000_000.25,
        "requested_by": "local:rosa",
    }
    return PauseRow(**(row | changes))


def run_row(status: Any, error: str) -> RunRow:
    return RunRow("dur_a", "refund", "/desk", "a" * 64, status, 3, "{}", "rosa", 1.0, 2.0, error=error)


def test_a_pause() -> None:
    pause = translate.pause({**pause_row().to_wire(), "eligible": False, "reason": "not on the list"}, "Built-in")
    assert (pause.id, pause.run_id, pause.connection) == ("dur_a.2-1", "dur_a", "Built-in")
    assert pause.options == (Option(0, "Nothing"), Option(1.5, "Some", "half", recommended=True))
    assert [dumps(option.value) for option in pause.options or ()] == ["0", "1.50"]
    assert isinstance(pause.context["amount"], Number)
    assert (pause.has_context, pause.allow_edits, pause.path) == (True, True, ("refund", "ask"))
    assert pause.asked_at == 1_700_000_000.25
    assert (pause.eligible, pause.reason) == (False, "not on the list")


def test_the_own_kind_of_a_pause_in_an_outcome() -> None:
    wire = {**pause_row(kind="approval").to_wire(), "kind": "awaiting-input"}
    outcome = translate.outcome({"sessionId": "dur_a", "outcome": wire, "result": None}, "Built-in")
    assert outcome.kind == "awaiting-input"
    assert outcome.pause is not None
    assert outcome.pause.kind == "approval"


def test_no_options_differ_from_an_empty_list() -> None:
    without, empty = (
        translate.pause(pause_row(spec=f'{{"question": "?", "options": {text}}}').to_wire(), "x")
        for text in ("null", "[]")
    )
    assert without.options is None
    assert empty.options == ()


def test_a_decision_keeps_null_edits_apart_from_none() -> None:
    for edits, has in ((None, False), ("null", True)):
        row = pause_row(outcome="answered", answer='"yes"', edits=edits, answered_by="u_mina", answered_at=1.0)
        decision = translate.decision(row.to_wire())
        assert (decision.value, decision.edits, decision.has_edits) == ("yes", None, has)


def test_a_run_and_a_call() -> None:
    row = RunRow(
        id="dur_a",
        tool="refund",
        repo="/r",
        revision="1",
        status="failed",
        epoch=1,
        params='{"n": 12345678901234567890}',
        created_by="local:rosa",
        created_at=5.0,
        updated_at=6.0,
        finished_at=7.5,
        error='{"code": "handler-exit", "message": "gone"}',
    )
    run = translate.run(row.to_wire(), "Built-in")
    assert run.finished
    assert (run.input, run.finished_at) == ({"n": 12345678901234567890}, 7.5)
    assert run.error == {"code": "handler-exit", "message": "gone"}

    span = Span("dur_a", "3/1", "tool", "pay", "failed", 1.0, 2.0, "undeclared", "no", "[1]", None, 3, 0, 1)
    call = translate.call({**span.to_wire(), "replayed": True})
    assert (call.id, call.parent, call.state, call.replayed) == ("3/1", "3", "failed", True)
    root = translate.call(Span("dur_a", "", "tool", "pay", "ok", 1.0).to_wire())
    assert (root.id, root.parent) == ("", None)


@given(st.dictionaries(st.sampled_from(sorted([*pause_row().to_wire(), "eligible", "reason"])), st.sampled_from(ODD)))
def test_odd_fields_of_a_pause_never_fail(changes: dict[str, Any]) -> None:
    wire = {**pause_row().to_wire(), **changes}
    pause = translate.pause(wire, "x")
    assert pause.raw == wire
    for text in (pause.id, pause.question, pause.tool, pause.input_type, pause.requested_by, pause.reason, *pause.path):
        assert isinstance(text, str)
    assert all(isinstance(option.label, str) for option in pause.options or ())
    assert isinstance(pause.asked_at, float)
    translate.decision(wire)


@given(
    st.dictionaries(
        st.sampled_from(["id", "parent_id", "kind", "name", "state", "code", "message"]), st.sampled_from(ODD)
    )
)
def test_odd_fields_of_a_call_never_fail(wire: dict[str, Any]) -> None:
    call = translate.call(wire)
    for text in (call.id, call.kind, call.name, call.parent or "", call.code or "", call.message or ""):
        assert isinstance(text, str)
    assert call.state == "unknown"


def test_a_preview() -> None:
    call = {"kind": "sleep", "name": "sleepUntil", "params": 1, "path": ["top"], "due": "2026-01-01T00:00:00Z"}
    outcome = {"kind": "sleeping", "wake_at": "2026-01-01T00:00:00Z"}
    reply = {"session_id": "dur_1", "pause_id": "dur_1.0", "outcome": outcome, "calls": [call], "result": None}
    found = translate.preview(reply, "Built-in")
    assert (found.kind, found.run_id, found.pause_id, found.wake_at) == ("sleeping", "dur_1", "dur_1.0", 1767225600.0)
    (next_call,) = found.calls
    assert (next_call.kind, next_call.path, next_call.due) == ("sleep", ("top",), 1767225600.0)
    odd = translate.preview({"outcome": {"kind": "question", "pause": {"pause_id": "p"}}}, "Built-in")
    assert (odd.kind, odd.pause and odd.pause.id, odd.calls) == ("question", "p", ())


def test_a_call_that_was_cut_off() -> None:
    spec = questions.read(questions.attention("tool", "charge_card", 1_700_000_000.5))
    context: dict[str, Any] = {"tool": "charge_card", "params": {"amount": Number("120.00")}}
    row = pause_row(kind="attention", spec=dumps({**spec, "context": context}))
    call = translate.pause(row.to_wire(), "Built-in").cut_off
    assert call is not None
    assert (call.kind, call.name, call.began_at) == ("tool", "charge_card", 1_700_000_000.5)
    assert dumps(call.params) == '{"amount":120.00}'
    assert translate.pause(pause_row().to_wire(), "Built-in").cut_off is None


def test_votes_know_whose_they_are() -> None:
    spec = '{"question": "?", "inputType": "yesno", "quorum": 3}'
    votes = (Vote("ann", '"yes"', None, None, 1.0), Vote("tom", '"yes"', None, None, 2.0))
    wire = pause_row(spec=spec, votes=votes).to_wire()
    mine, theirs = translate.pause(wire, "x", "tom").votes, translate.pause(wire, "x", "eve").votes
    assert mine is not None
    assert theirs is not None
    assert (mine.needed, mine.given, mine.by, mine.mine) == (3, 2, ("ann", "tom"), True)
    assert not theirs.mine
    assert not translate.pause(wire, "x").votes.mine  # pyright: ignore[reportOptionalMemberAccess]
    assert translate.pause(pause_row().to_wire(), "x", "tom").votes is None
    assert translate.decision({**wire, "outcome": "answered"}).voters == ("ann", "tom")


def test_a_deadline_and_what_silence_does() -> None:
    spec = '{"question": "?", "inputType": "yesno", "onExpire": {"value": "no"}}'
    row = pause_row(spec=spec, expires_at=1_700_000_600.0, outcome="expired", answered_at=1_700_000_601.0)
    assert translate.pause(row.to_wire(), "x").on_expire == {"value": "no"}
    assert translate.pause(row.to_wire(), "x").is_over(1_700_000_600.0)
    assert not translate.pause(row.to_wire(), "x").is_over(1_700_000_599.0)
    ended = translate.decision(row.to_wire())
    assert (ended.outcome, ended.on_expire, ended.at) == ("expired", {"value": "no"}, 1_700_000_601.0)


def test_a_pause_of_a_run_that_stopped() -> None:
    assert translate.pause(pause_row().to_wire(status="diverged"), "x").stopped
    assert not translate.pause(pause_row().to_wire(), "x").stopped


def test_a_run_that_diverged() -> None:
    """What the runtime's own divergence leaves as the error of a run."""
    found = Found(
        session="dur_a",
        names=("refund", "pay"),
        path="2",
        divergence=Divergence(
            1, RecordedCall(1, "tool", "charge", "d"), HandlerCall(1, "tool", "charge", "e", '{"n": 2}')
        ),
        recorded_args='{"n": 1.50}',
        difference=Difference("$.n", "1.50", "2"),
        recorded_revision="a" * 64,
        revision="b" * 64,
    )
    row = run_row("diverged", found.to_json())
    wire = {
        **row.to_wire(),
        "warnings": [{"kind": "calls", "message": "Half of the calls.", "at": None}],
        "revisions": [
            {"revision": "a" * 64, "leg": 1, "at": "2026-01-01T00:00:00Z", "stored": True, "old": True},
            {"revision": "b" * 64, "leg": 2, "at": None, "stored": True, "old": False},
        ],
    }
    run = translate.run(wire, "x")
    assert run.divergence is not None
    assert (run.divergence.code, run.divergence.tool, run.divergence.call) == ("replay-diverged", "refund > pay", "2/1")
    assert (run.divergence.path, run.divergence.was, run.divergence.now) == ("$.n", "1.50", "2")
    assert run.divergence.recorded == Side('callTool "charge"', '{"n": 1.50}')
    assert run.divergence.attempted is not None
    assert (run.divergence.old, run.divergence.new) == ("a" * 64, "b" * 64)
    assert (run.old_code, run.warnings) == ("a" * 64, ("Half of the calls.",))
    assert translate.run(run_row("failed", '{"code": "x", "message": "y"}').to_wire(), "x").divergence is None


@pytest.mark.parametrize(
    ("wire", "links"),
    [
        (["https://a.example/x", 7], [("", "https://a.example/x"), ("", "7")]),
        ([{"label": "Ticket", "url": "u"}, {"title": "T", "href": "h"}, {}], [("Ticket", "u"), ("T", "h"), ("", "")]),
        ({"Ticket": "u"}, [("Ticket", "u")]),
        (None, []),
        ("https://a.example", []),
    ],
)
def test_title_and_links_of_a_pause(wire: Any, links: list[tuple[str, str]]) -> None:
    found = translate.pause({"pause_id": "p", "title": "Refunds", "links": wire}, "c")
    assert found.title == "Refunds"
    assert [(link.label, link.url) for link in found.links] == links
