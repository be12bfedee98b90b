"""What is told of the calls of a turn, whatever order they begin and end in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_core.agents.turns import Usage
from runtime_core.chat.calls import TurnCalls
from runtime_core.chat.events import event, label, redacted, result_text, tool_id
from runtime_core.repo.bundle import Bundle, Tool
from runtime_core.spans.book import SpanBook
from runtime_core.wire.chats import ChatCall
from runtime_core.wire.json import JsonText, dumps, loads
from tests.unit.chat.talking import check_calls, of_type

TOOL = Tool("look", "Looks.", {}, "x.py", "python", running_label="Looking at {{id}}", completed_label="Saw {{id}}")
Told = list[dict[str, Any]]


class Record:
    """Keeps in memory what `TurnRecord` stores."""

    turn = 3

    def __init__(self) -> None:
        self.calls: dict[str, ChatCall] = {}
        self.events: list[Any] = []

    def put(self, call: ChatCall) -> None:
        self.calls[call.slot] = call

    def add(self, role: str, body: JsonText) -> None:
        assert role == "event"
        self.events.append(loads(body))


def followed() -> tuple[TurnCalls, SpanBook, Told, Record]:
    told: Told = []
    record = Record()
    bundle: Any = Bundle.__new__(Bundle)
    object.__setattr__(bundle, "tools", {"look": TOOL})
    spent: list[Usage] = []
    calls = TurnCalls(bundle, told.append, record, spent.append)  # pyright: ignore[reportArgumentType]
    return calls, SpanBook("chat_1", 3, calls.on_span), told, record


STEPS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["begin", "end", "fail", "wait", "cancel", "doubt", "say"])),
    max_size=40,
)


@given(STEPS, st.data())
@settings(max_examples=60, deadline=None)
def test_every_call_begins_and_ends_once(steps: list[tuple[int, str]], data: st.DataObject) -> None:
    calls, spans, told, record = followed()
    made: list[str] = []
    counts: dict[str, int] = {}
    for pick, step in steps:
        at = made[pick % len(made)] if made else ""
        if step == "begin" or not made:
            above = at if made and data.draw(st.booleans()) else ""
            number = counts[above] = counts.get(above, -1) + 1
            slot = f"{above}/{number}" if above else str(number)
            made.append(slot)
            kind = data.draw(st.sampled_from(["tool", "subagent"]))
            spans.start(slot, kind, "look", JsonText('["do it",null]' if kind == "subagent" else '{"id":1}'))
        elif step == "end":
            spans.finish(at, True, JsonText('{"ok":true}'))
        elif step == "fail":
            spans.finish(at, False, JsonText('{"code":"execution-failed","message":"no"}'))
        elif step == "wait":
            spans.wait(at, "tool", "look", JsonText("{}"))
        elif step == "cancel":
            spans.cancel(at)
        elif step == "doubt":
            spans.doubt(at)
        else:
            calls.heard(at, "reviewer", "text", "hm")
    spans.close()
    check_calls([one for one in told if one.get("event_type") != "thought"])
    assert {tool_id(3, slot) for slot in made} == {one["tool_id"] for one in of_type(told, "tool_call_start")}
    assert set(record.calls) == set(made)
    assert not {call.state for call in record.calls.values()} & {"running", "waiting"}


def test_labels_hold_the_parameters() -> None:
    _, spans, told, _ = followed()
    spans.start("0", "tool", "look", JsonText('{"id":"p_77"}'))
    (start,) = told
    assert (start["running_label"], start["completed_label"]) == ("Looking at p_77", "Saw p_77")
    assert label("  {{a}} and  {{b}} {{missing}} {{list}}", {"a": True, "b": 1.5, "list": [1]}) == "true and 1.5"


def test_a_tool_may_change_its_label_and_say_what_it_thinks() -> None:
    calls, spans, told, record = followed()
    spans.start("0", "tool", "look", JsonText("{}"))
    calls.noted("0", "label", {"running": "Half way"})
    calls.noted("0", "reasoning", "It is late.")
    calls.noted("0", "log", "seen")
    calls.noted("0", "warning", "odd")
    kinds = [one["type"] for one in told]
    assert kinds == ["tool_call_start", "tool_label_update", "reasoning", "tool_log", "warning"]
    assert told[1]["running_label"] == "Half way"
    assert "completed_label" not in told[1]
    assert {one["tool_id"] for one in told} == {"call_3.0"}
    assert [one["type"] for one in record.events] == ["tool_label_update", "reasoning", "warning"]


def test_a_handler_cannot_pass_for_the_runtime() -> None:
    calls, spans, told, _ = followed()
    spans.start("0", "tool", "look", JsonText("{}"))
    for forged in ("done", "tool_call_result", "init", "confirmation_required", "error"):
        calls.noted("0", "emit", {"type": forged, "tool_id": "call_3.0", "reason": "x"})
    calls.noted("0", "emit", "nothing")
    assert [one["type"] for one in told] == ["tool_call_start"]
    calls.noted("0", "emit", {"type": "widget", "widget_type": "chart", "data": [1], "tool_id": "call_1.9"})
    assert (told[-1]["type"], told[-1]["tool_id"], told[-1]["data"]) == ("widget", "call_3.0", [1])


def test_a_result_that_holds_an_error_alone_is_a_failure() -> None:
    _, spans, told, _ = followed()
    for number, value in enumerate(['{"error":"gone"}', '{"error":"gone","id":1}', '{"error":{"code":1}}']):
        spans.start(str(number), "tool", "look", JsonText("{}"))
        spans.finish(str(number), True, JsonText(value))
    assert [one["status"] for one in of_type(told, "tool_call_result")] == ["error", "success", "success"]


def test_long_results_are_cut_and_texts_are_texts() -> None:
    long = dumps("x" * 60_000)
    text = result_text(long, len(long))
    assert len(text) == 50_000 + len("\n[... truncated]")
    assert text.endswith("x\n[... truncated]")
    assert result_text(JsonText('"late"'), 6) == "late"
    assert result_text(JsonText("[1]"), 3) == "[1]"


def test_secrets_do_not_leave_the_computer() -> None:
    told = event("tool_call_start", parameters={"apiKey": "s3", "deep": [{"author": "x", "id": 1}]}, tool_name="look")
    sent = redacted(told)
    assert sent["parameters"] == {"apiKey": "[REDACTED]", "deep": [{"author": "[REDACTED]", "id": 1}]}
    assert told["parameters"]["apiKey"] == "s3"


def test_labels_hold_no_secrets() -> None:
    calls, spans, told, _ = followed()
    tool = replace(TOOL, running_label="Using {{api_token}}", completed_label="Used {{api_token}} for {{id}}")
    object.__setattr__(calls.bundle, "tools", {"look": tool})
    spans.start("0", "tool", "look", dumps({"api_token": "s3", "id": 7}))
    (begun,) = of_type(told, "tool_call_start")
    assert (begun["running_label"], begun["completed_label"]) == ("Using [REDACTED]", "Used [REDACTED] for 7")


@pytest.mark.parametrize("state", ["running", "waiting"])
def test_what_is_open_when_the_turn_ends_was_stopped(state: str) -> None:
    _, spans, told, _ = followed()
    spans.start("0", "tool", "look", JsonText("{}"))
    if state == "waiting":
        spans.wait("0", "tool", "look", JsonText("{}"))
    spans.close()
    (ended,) = of_type(told, "tool_call_result")
    assert (ended["status"], ended["error"]) == ("error", "Stopped")
