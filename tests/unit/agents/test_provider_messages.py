"""Whatever a conversation looks like, providers are told one that all of them take."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from runtime_core.agents.provider_messages import reply, request, tool_name
from runtime_core.agents.provider_stream import Ear
from runtime_core.agents.turns import File, Message, ToolCall, ToolOffer, Turn, unheard
from runtime_core.wire.json import JsonText, loads

NAMES = st.sampled_from(["find", "store__parcels__set", "mail.send", "x" * 90, "größe"])
ARGS = st.sampled_from([JsonText("{}"), JsonText('{"n":1}'), JsonText("[1]"), JsonText("no JSON")])
CALLS = st.builds(ToolCall, NAMES, ARGS, st.sampled_from(["", "", "call_1", "call_2"]))


@st.composite
def conversations(draw: st.DrawFn) -> Sequence[Message]:
    """Turns whose calls have some of their results, in any order, and results that are nobody's."""
    said: list[Message] = []
    for _ in range(draw(st.integers(1, 5))):
        said.append(Message("user", draw(st.sampled_from(["Hello", "", "  "]))))
        for _ in range(draw(st.integers(0, 3))):
            calls = tuple(draw(st.lists(CALLS, max_size=4)))
            said.append(Message("assistant", draw(st.sampled_from(["", "I see."])), calls))
            for call in draw(st.permutations(calls)):
                if draw(st.integers(0, 4)):
                    said.append(Message("tool", f"result of {call.name}", call=call))
            if not draw(st.integers(0, 9)):
                said.append(Message("tool", "stray", call=draw(CALLS)))
    return said


def sent(said: Sequence[Message]) -> list[ModelMessage]:
    return request(Turn("default", "You help.", said), "test:model", lambda _: True)[0]


def returns(message: ModelMessage) -> list[ToolReturnPart]:
    return [part for part in message.parts if isinstance(part, ToolReturnPart)]


@given(conversations())
def test_every_call_has_its_one_result_right_after_it(said: Sequence[Message]) -> None:
    told = sent(said)
    waiting: list[tuple[str, str]] = []
    for message in told:
        results = returns(message)
        assert [(part.tool_name, part.tool_call_id) for part in results] == waiting
        assert not results or message.parts[: len(results)] == results
        calls = message.tool_calls if isinstance(message, ModelResponse) else []
        waiting = [(part.tool_name, part.tool_call_id) for part in calls]
        assert len({part.tool_call_id for part in calls}) == len(calls)
    assert not waiting


@given(conversations())
def test_nothing_that_was_said_is_lost_or_empty(said: Sequence[Message]) -> None:
    told = sent(said)
    texts = [part.content for one in told for part in one.parts if isinstance(part, UserPromptPart)]
    assert len(texts) >= sum(message.role == "user" for message in said)
    assert all(texts)
    assert sum(len(returns(one)) for one in told) == sum(len(message.tool_calls) for message in said)
    kept = [part.content for one in told for part in returns(one)]
    strays = [text for text in texts if isinstance(text, str) and text.startswith("A result of ")]
    results = sum(message.role == "tool" for message in said)
    assert sum(str(text).startswith("result of") or text == "stray" for text in kept) + len(strays) == results


@given(conversations(), conversations())
def test_what_was_told_once_is_told_the_same_way_again(before: Sequence[Message], after: Sequence[Message]) -> None:
    def plain(said: Sequence[Message]) -> list[Any]:
        parts = [part for one in sent(said) for part in one.parts]
        return [(part.part_kind, getattr(part, "content", None), getattr(part, "tool_call_id", None)) for part in parts]

    first = plain(before)
    assert plain([*before, *after])[: len(first)] == first


@given(st.text(min_size=1, max_size=120), st.text(min_size=1, max_size=120))
def test_names_of_tools_fit_and_stay_apart(one: str, other: str) -> None:
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", tool_name(one))
    assert (tool_name(one) == tool_name(other)) == (one == other)


def test_only_the_last_request_carries_the_prompt() -> None:
    told = sent([Message("user", "a"), Message("assistant", "b"), Message("user", "c")])
    assert [one.instructions for one in told if isinstance(one, ModelRequest)] == [None, "You help."]


def test_arguments_of_a_call_come_as_text_whatever_form_they_had() -> None:
    from pydantic_ai.messages import ToolCallPart

    parts = [ToolCallPart("a", {"n": 1}, "1"), ToolCallPart("b", None, "2"), ToolCallPart("c", "{not", "3")]
    made = reply(ModelResponse(parts), Turn("default", "", ()), "test:model", Ear(unheard))
    assert [call.args for call in made.tool_calls] == ['{"n":1}', "{}", "{not"]


@pytest.mark.parametrize(
    ("name", "args"), [("functions.find", '{"n":1}'), ("", '{"n":1}'), ("find", '{"n":NaN}'), ("find", {"n": math.nan})]
)
def test_a_reply_that_its_model_would_refuse_goes_back_in_a_form_it_takes(name: str, args: Any) -> None:
    response = ModelResponse([ToolCallPart(name, args, "call-1")])
    made = reply(response, Turn("default", "", ()), "test:model", Ear(unheard))
    asked = Message("user", "Hello")
    own = Message("assistant", made.text, made.tool_calls, raw=made.raw)
    told = request(Turn("default", "", (asked, own)), "test:model", lambda _: True)[0]
    (call,) = [part for message in told for part in message.parts if isinstance(part, ToolCallPart)]
    assert tool_name(call.tool_name) == call.tool_name
    assert isinstance(loads(call.args_as_json_str()), dict)


def test_an_empty_file_is_told_and_not_shown() -> None:
    asked = Message("user", "Look", files=(File("a.png", "image/png", ""),))
    (told,) = request(Turn("default", "", (asked,)), "test:model", lambda _: True)[0]
    (part,) = told.parts
    assert getattr(part, "content", None) == ["Look", 'File "a.png" (image/png): it is empty.']


def test_a_tool_without_parameters_is_offered_as_providers_take_it() -> None:
    offers = [ToolOffer("look", "Looks.", {}), ToolOffer("find", "Finds.", {"properties": {"id": {}}, "title": "F"})]
    schemas = [
        tool.parameters_json_schema
        for tool in request(Turn("default", "", (), offers), "test:model", lambda _: True)[1].function_tools
    ]
    assert schemas == [
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"id": {}}, "title": "F"},
    ]
