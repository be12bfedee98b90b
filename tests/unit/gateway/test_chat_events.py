"""Events of conversations in the words of the window, also those of a runtime that says less or more than ours."""

from __future__ import annotations

from typing import Any

import pytest

from inbox_app.cli_chat_text import turn_lines
from inbox_app.gateway.chat_events import ChatReader, session_of, tokens, turn_of
from inbox_app.gateway.chats import (
    Began,
    ChatCall,
    ChatEvent,
    ChatTurn,
    Choice,
    Ended,
    Note,
    Reasoning,
    Shown,
    Text,
    Tokens,
)

AT = "2026-09-01T08:15:00.000Z"


def read(*told: dict[str, Any]) -> list[ChatEvent | None]:
    reader = ChatReader()
    return [reader.read({"timestamp": AT, **one}) for one in told]


def start(id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_call_start", "tool_id": id, "tool_name": "look", "parameters": {"id": 1}, **more}


def call(*told: dict[str, Any]) -> ChatCall:
    """What is known of a call after all that was told."""
    last = read(*told)[-1]
    assert isinstance(last, ChatCall)
    return last


def test_plain_events() -> None:
    assert read(
        {"type": "init", "session_id": "s1"},
        {"type": "text_delta", "content": "Two"},
        {"type": "reasoning", "text": "hm"},
        {"type": "widget", "widget_type": "chart", "data": [1]},
        {"type": "warning", "message": "odd"},
        {"type": "error", "message": "broken", "code": "unavailable"},
        {"type": "done", "reason": "error", "usage": {"input_tokens": 3, "output_tokens": 1}},
    ) == [
        Began("s1"),
        Text("Two"),
        Reasoning("hm"),
        Shown("chart", [1]),
        Note("odd"),
        Note("broken", error=True),
        Ended("error", Tokens(3, 1)),
    ]


def test_a_call_is_known_by_all_that_was_told_of_it() -> None:
    labels = {"running_label": "Looking", "completed_label": "Looked"}
    began = call(start(parent_tool_id="c0", **labels))
    assert (began.state, began.label, began.parent, began.parameters) == ("running", "Looking", "c0", {"id": 1})
    ended = call(start(**labels), {"type": "tool_call_result", "tool_id": "c1", "status": "success", "result": "[1]"})
    assert (ended.state, ended.label, ended.result, ended.ended_at) == ("ok", "Looked", [1], began.started_at)


PARKED = '{"durable":true,"status":"running","session_id":"dur_1"}'


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ({"status": "error", "error": "no"}, "failed"),
        ({"status": "error", "error": "Stopped", "state": "cancelled"}, "stopped"),
        ({"status": "success", "result": PARKED, "durable_session_id": "dur_1"}, "waiting"),
        ({"status": "success", "result": PARKED, "durable_session_id": "dur_2"}, "ok"),
        ({"status": "success", "result": PARKED}, "ok"),  # its handler says what only a run can
        ({"status": "success", "result": '{"durable":true,"status":"complete","session_id":"dur_1"}'}, "ok"),
        ({"status": "success", "result": "no json {"}, "ok"),
        ({"status": "success"}, "ok"),
    ],
)
def test_how_a_call_ended(told: dict[str, Any], state: str) -> None:
    assert call(start(), {"type": "tool_call_result", "tool_id": "c1", **told}).state == state


def test_a_call_waits_for_a_person_and_goes_on() -> None:
    asked = {"type": "confirmation_required", "tool_id": "c1", "correlation_id": "dur_1"}
    waiting = call(start(), asked)
    assert (waiting.state, waiting.run_id) == ("waiting", "dur_1")
    assert call(start(), asked, {"type": "approved", "preview_id": "c1"}).state == "running"
    update = {"type": "tool_call_update", "tool_id": "c1", "durable_session_id": "dur_2", "state": "running"}
    assert call(start(), update).run_id == "dur_2"


def test_a_specialist_is_heard_and_a_label_changes() -> None:
    thought = {"type": "subagent_event", "parent_tool_id": "c1", "event_type": "thought"}
    assert call(start(), {**thought, "text": "All "}, {**thought, "text": "fine"}).said == "All fine"
    renamed = call(
        start(running_label="Looking"), {"type": "tool_label_update", "tool_id": "c1", "running_label": "1/2"}
    )
    assert renamed.label == "1/2"


def test_what_is_not_known_says_nothing() -> None:
    assert (
        read(
            {"type": "explore_start", "query": "x"},
            {"type": "tool_call_result", "tool_id": "never began", "status": "success"},
            {"type": "tool_call_start"},
            {},
        )
        == [None] * 4
    )


def test_a_choice_with_odd_options() -> None:
    (choice,) = read({"type": "ask_choice", "ask_id": "a", "question": "Which?", "options": [{"value": 3}, "x", None]})
    assert isinstance(choice, Choice)
    assert [(option.value, option.label) for option in choice.options] == [(3, "")]


def test_a_turn_that_is_read_later_joins_what_belongs_together() -> None:
    told: list[dict[str, Any]] = [
        {"type": "text_delta", "content": "I "},
        {"type": "text_delta", "content": "look."},
        start("c1"),
        {"type": "reasoning", "text": "one", "tool_id": "c1"},
        {"type": "reasoning", "text": "two", "tool_id": "c1"},
        {"type": "tool_call_result", "tool_id": "c1", "status": "success", "result": "1"},
        {"type": "text_delta", "content": "Done."},
    ]
    wire = {
        "turn": 2,
        "text": "Late?",
        "at": AT,
        "files": ["a.txt"],
        "events": [{"timestamp": AT, **one} for one in told],
    }
    turn = turn_of({**wire, "end": {"reason": "model_stop", "usage": {"input_tokens": 1}}})
    assert [type(item).__name__ for item in turn.items] == ["Text", "ChatCall", "Reasoning", "Text"]
    assert turn.items[0] == Text("I look.")
    assert turn.items[2] == Reasoning("one\ntwo", "c1")
    assert (turn.number, turn.asked, turn.files, turn.end, turn.usage.input) == (
        2,
        "Late?",
        ("a.txt",),
        "model_stop",
        1,
    )
    assert turn_of({**wire, "end": None}).end == ""


def test_what_a_foreign_runtime_leaves_out_has_a_value() -> None:
    session = session_of({"id": "s1", "created_at": AT, "updated_at": "yesterday"})
    assert (session.agent, session.title, session.updated_at, session.usage) == ("default", "", 0.0, Tokens())
    assert tokens("many") == Tokens()


def test_a_specialist_is_named_on_the_terminal_whoever_sent_it() -> None:
    for kind in ("subagent", "tool"):
        sent = call(start(tool_name="call_subagent", kind=kind, parameters={"agent": "tone-reviewer", "task": "look"}))
        turn = ChatTurn(number=1, asked="go", at=0.0, files=(), items=(sent,), end="model_stop")
        assert list(turn_lines(turn))[1].split() == ["·", "tone-reviewer"]


def test_what_a_specialist_says_after_it_acted_stands_apart() -> None:
    def thought(text: str) -> dict[str, Any]:
        return {"type": "subagent_event", "event_type": "thought", "parent_tool_id": "c1", "text": text}

    inner = start("c2", parent_tool_id="c1")
    assert call(start(), inner, thought("do"), thought("wn 3")).said == "down 3"
    assert call(start(), thought("down 3"), inner, thought("back "), thought("from 3")).said == "down 3\n\nback from 3"
