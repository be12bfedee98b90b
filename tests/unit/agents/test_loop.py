"""The loop of an agent (contract 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_core.agents.loop import (
    Bounds,
    Ending,
    Listener,
    OutcomeUnknown,
    SubagentFailed,
    ToolDenied,
    converse,
    run_subagent,
    user_turn,
)
from runtime_core.agents.scripted import ScriptedModel, ScriptedReply
from runtime_core.agents.shortening import CLEARED
from runtime_core.agents.turns import (
    Heard,
    Message,
    Model,
    ModelError,
    Reply,
    ToolCall,
    ToolOffer,
    Turn,
    Usage,
    unheard,
)
from runtime_core.repo.bundle import Agent
from runtime_core.wire.json import JsonText

REVIEWER = Agent("reviewer", "You review.", "Reviewer", "Reviews.", tools=("read", "write"), max_tool_calls=3)


class Nobody:
    """Does not listen."""

    def heard(self, kind: Literal["text", "reasoning"], piece: str) -> None: ...
    async def said(self, message: Message) -> None: ...
    def spent(self, usage: Usage) -> None: ...


class Tools:
    """Child tools that answer with a fixed value or fail."""

    def __init__(self, result: JsonText | Exception = '{"ok":true}', names: Sequence[str] = ("read", "write")) -> None:
        self.result = result
        self.names = names
        self.calls: list[tuple[str, JsonText]] = []

    async def offered(self) -> Sequence[ToolOffer]:
        return [ToolOffer(name, "", {}) for name in self.names]

    def is_read(self, name: str, args: JsonText) -> bool:
        return name == "read"

    async def refuse(self, name: str, args: JsonText, why: str) -> JsonText:
        raise ToolDenied(why)

    async def call(self, name: str, args: JsonText) -> JsonText:
        self.calls.append((name, args))
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class Recorder:
    """A model that says what it was asked."""

    provider = name = "recorder"

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.turns: list[Turn] = []

    def takes(self, mime_type: str) -> bool:
        return True

    async def reply(self, turn: Turn, heard: Heard = unheard) -> Reply:
        self.turns.append(turn)
        return await self.model.reply(turn, heard)


def script(*replies: ScriptedReply) -> Recorder:
    return Recorder(ScriptedModel(replies))


def says(text: str, *calls: str, **fields: object) -> ScriptedReply:
    return ScriptedReply.model_validate(
        {"text": text, "tool_calls": [{"name": name, "args": {"id": 1}} for name in calls], **fields}
    )


def run(model: Recorder | None, tools: Tools | None = None, agent: Agent = REVIEWER, input: str | None = None) -> str:
    return asyncio.run(run_subagent(agent, "Review it.", input, model, tools or Tools(), Nobody()))


def test_the_task_and_the_context_are_the_user_turn_and_the_prompt_is_the_agents() -> None:
    model = script(says("fine"))
    assert run(model, input='{"amount":120.00,"id":9007199254740993}') == "fine"
    (turn,) = model.turns
    assert (turn.agent, turn.prompt, [tool.name for tool in turn.tools]) == (
        "reviewer",
        "You review.",
        ["read", "write"],
    )
    (message,) = turn.messages
    assert message.role == "user"
    assert message.text.startswith("Review it.\n\nContext:\n```json\n{")
    assert '"amount": 120.00' in message.text
    assert "9007199254740993" in message.text


@pytest.mark.parametrize("nothing", [None, "null"])
def test_without_input_the_task_stands_alone(nothing: str | None) -> None:
    assert user_turn("Review it.", nothing) == "Review it."
    assert user_turn("Review it.", "0") != "Review it."


def test_tool_results_go_back_and_only_the_last_turn_is_the_answer() -> None:
    model, tools = script(says("Let me {look}.", "read", "write"), says("Done: {{last_tool_result}}")), Tools()
    assert run(model, tools) == 'Done: {"ok":true}'
    assert tools.calls == [("read", '{"id":1}'), ("write", '{"id":1}')]
    assert [message.role for message in model.turns[1].messages] == ["user", "assistant", "tool", "tool"]


@pytest.mark.parametrize(
    ("result", "seen"), [("null", '{"result":null}'), ("5", '{"result":5}'), ("[1]", '{"result":[1]}'), ("{}", "{}")]
)
def test_results_that_are_no_objects_are_wrapped(result: str, seen: str) -> None:
    assert run(script(says("", "read"), says("{{last_tool_result}}")), Tools(result)) == seen


def test_a_failing_tool_is_told_to_the_model() -> None:
    model = script(says("", "read"), says("{{last_tool_result}}"))
    answer = run(model, Tools(RuntimeError('Tool "read" failed: no such id')))
    assert answer == 'Tool execution failed: Tool "read" failed: no such id'


def test_a_tool_the_agent_does_not_have_is_not_called() -> None:
    model, tools = script(says("", "delete"), says("{{last_tool_result}}")), Tools()
    assert run(model, tools) == 'Tool "delete" is not available to the agent "reviewer".'
    assert tools.calls == []


def test_at_most_so_many_tool_calls() -> None:
    endless: Sequence[ScriptedReply] = [says("", "read", repeat=True)]
    tools = Tools()
    with pytest.raises(SubagentFailed, match=r'"reviewer" asked for more than 3 tool calls.*maxToolCalls'):
        run(script(*endless), tools)
    assert len(tools.calls) == 3


def test_a_model_that_fails_or_has_nothing_to_say_fails_the_subagent() -> None:
    with pytest.raises(SubagentFailed, match=r'"reviewer" failed: .*rate limited'):
        run(script(ScriptedReply.model_validate({"error": "rate_limited"})))
    with pytest.raises(SubagentFailed, match=r"Review it\."):
        run(script())


def test_without_a_model_the_message_says_what_to_set() -> None:
    with pytest.raises(SubagentFailed, match=r"models\.main.*--model"):
        run(None)


def test_an_agent_that_takes_too_long_is_stopped() -> None:
    hasty = Agent("hasty", "p", "p", "p", timeout_s=0.02)
    with pytest.raises(SubagentFailed, match=r'"hasty" gave no answer within 0\.02 s'):
        run(script(says("late", delay_ms=60_000)), agent=hasty)


def test_cancelling_passes_through() -> None:
    async def cancelled() -> None:
        task = asyncio.create_task(
            run_subagent(REVIEWER, "x", None, script(says("late", delay_ms=60_000)), Tools(), Nobody())
        )
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_an_agent_gets_so_many_turns_and_no_more() -> None:
    busy = Agent("busy", "p", "p", "p", max_tool_calls=100)
    model, tools = script(*(says("", name) for name in ["read", "write"] * 10)), Tools()
    with pytest.raises(SubagentFailed, match=r'"busy" did not answer within 10 turns'):
        run(model, tools, busy)
    assert len(model.turns) == len(tools.calls) == 10


@pytest.mark.parametrize("result", ['"{}"'.format("x" * 30_000), RuntimeError("x" * 30_000)], ids=["result", "error"])
def test_of_a_long_result_a_model_sees_both_ends(result: str | Exception) -> None:
    model = script(says("", "read"), says("Read it."))
    run(model, Tools(result))
    seen = model.turns[1].messages[-1].text
    assert len(seen) < 4_100
    assert seen.startswith(("Tool execution failed: xxx", '{"result":"xxx'))
    assert "characters are left out" in seen
    exact = '"{}"'.format("x" * (20_000 - len('{"result":""}')))
    model = script(says("", "read"), says("Read it."))
    run(model, Tools(exact))
    assert len(model.turns[1].messages[-1].text) == 20_000


def test_arguments_that_are_no_object_are_told_to_the_model() -> None:
    class Careless:
        provider = name = "careless"

        def __init__(self) -> None:
            self.heard = list[str]()

        def takes(self, mime_type: str) -> bool:
            return True

        async def reply(self, turn: Turn, heard: Heard = unheard) -> Reply:
            self.heard.append(turn.messages[-1].text)
            given = {1: "[1]", 3: "{not json"}.get(len(turn.messages))
            if given is None:
                return Reply("ok")
            return Reply("", (ToolCall("read", given),), is_cut_off=given == "{not json")

    model, tools = Careless(), Tools()
    assert asyncio.run(run_subagent(REVIEWER, "x", None, model, tools, Nobody())) == "ok"
    said = 'The arguments of "read" are not a JSON object'
    assert model.heard[1] == f"{said}."
    assert model.heard[2].startswith(f"{said}, because the reply was cut off: ")
    assert tools.calls == []


class Meeting(Tools):
    """Tools that go on only when as many calls are open as are expected to be made together."""

    def __init__(self, *expected: int) -> None:
        super().__init__()
        self.expected = list(expected)
        self.open = list[str]()
        self.met = asyncio.Event()
        self.groups = list[list[str]]()

    async def call(self, name: str, args: JsonText) -> JsonText:
        self.open.append(name)
        if len(self.open) == self.expected[0]:
            self.expected.pop(0)
            self.groups.append(self.open)
            self.open = []
            self.met.set()
            self.met = asyncio.Event()
        else:
            await self.met.wait()
        return f'"{name} {len(self.groups)}"'


def test_neighbours_that_only_read_run_together_and_others_one_by_one() -> None:
    model = script(says("", "read", "read", "write", "write", "read"), says("Done."))
    tools = Meeting(2, 1, 1, 1)
    assert run(model, tools, Agent("many", "p", "p", "p")) == "Done."
    assert tools.groups == [["read", "read"], ["write"], ["write"], ["read"]]
    results = [message.text for message in model.turns[1].messages if message.role == "tool"]
    assert [result[11:-2] for result in results] == ["read 1", "read 1", "write 2", "write 3", "read 4"]


class OneFails(Meeting):
    """Of two calls that are made together one makes the conversation fail, and the other takes its time to end."""

    def __init__(self) -> None:
        super().__init__(2)
        self.ended = 0

    async def call(self, name: str, args: JsonText) -> JsonText:
        try:
            await super().call(name, args)
            if args != "{}":
                raise OutcomeUnknown("it was cut off")
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            self.ended += 1
        return "1"


class Both(Recorder):
    """Asks for two calls that differ."""

    def __init__(self) -> None:
        super().__init__(ScriptedModel([]))

    async def reply(self, turn: Turn, heard: Heard = unheard) -> Reply:
        return Reply("", (ToolCall("read", JsonText("{}")), ToolCall("read", JsonText('{"n":1}'))))


def test_no_call_goes_on_behind_a_conversation_that_failed() -> None:
    tools = OneFails()

    async def story() -> int:
        messages = [Message("user", "Hello?")]
        with pytest.raises(OutcomeUnknown):
            await converse(REVIEWER, messages, Both(), tools, Bounds(50), Nobody())
        return tools.ended

    assert asyncio.run(story()) == 2


STOPPED = '{"__stop":true,"reason":"no data"}'


def test_stopping_ends_the_turn_at_once_and_is_no_answer() -> None:
    tools = Tools(STOPPED, ("read", "write", "stop_execution"))
    model = script(says("I stop.", "write", "stop_execution", "write"), says("Never said."))
    with pytest.raises(SubagentFailed, match=r'"reviewer" stopped without an answer: no data'):
        run(model, tools)
    assert [name for name, _ in tools.calls] == ["write", "stop_execution"]
    assert len(model.turns) == 1


def test_only_the_control_that_stops_does_so() -> None:
    assert run(script(says("", "read"), says("On I go.")), Tools(STOPPED)) == "On I go."
    failing = Tools(RuntimeError("not now"), ("stop_execution",))
    assert run(script(says("", "stop_execution"), says("On I go.")), failing) == "On I go."


def chat(
    model: Model, tools: Tools | None = None, bounds: Bounds | None = None, listener: Listener | None = None
) -> tuple[Ending, list[Message]]:
    messages = [Message("user", "Hello?")]
    went = converse(REVIEWER, messages, model, tools or Tools(), bounds or Bounds(50), listener or Nobody())
    return asyncio.run(went), messages


def results(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages if message.role == "tool"]


def test_a_choice_ends_the_turn_of_an_agent_that_chats_after_all_calls_of_that_reply() -> None:
    names = ("ask_choice", "write")

    def asks() -> Recorder:
        return script(says("Which?", "ask_choice", "write"), says("On I go."))

    tools = Tools('{"asked":true,"ask_id":"a"}', names)
    ending, messages = chat(asks(), tools, Bounds.of_chat(REVIEWER))
    assert ending == Ending("answered", "Which?")
    assert [name for name, _ in tools.calls] == ["ask_choice", "write"]
    assert len(results(messages)) == 2
    assert chat(asks(), tools)[0].text == "On I go."
    failing = Tools(RuntimeError("two options at least"), names)
    assert chat(asks(), failing, Bounds.of_chat(REVIEWER))[0].text == "On I go."


def test_a_chat_that_was_stopped_says_why_and_leaves_no_call_without_a_result() -> None:
    tools = Tools(STOPPED, ("stop_execution", "write"))
    ending, messages = chat(script(says("Wait.", "stop_execution", "write")), tools)
    assert ending == Ending("stopped", "Wait.", "no data")
    assert results(messages) == [STOPPED, "Not called, because the turn has ended: no data"]
    ending, messages = chat(script(says("", "read", "read", "read")), bounds=Bounds(50, calls=2))
    assert ending.kind == "max_turns"
    assert len(results(messages)) == 3
    assert all("not called" in result.lower() for result in results(messages))


def test_the_same_calls_with_the_same_results_are_told_once_and_then_end_the_conversation() -> None:
    model, tools = script(says("", "read", "read", repeat=True)), Tools()
    ending, messages = chat(model, tools)
    assert (ending.kind, len(model.turns)) == ("loop_detected", 6)
    assert "made the same calls of read 6 times" in ending.reason
    told = [result for result in results(messages) if "same calls 5 times" in result]
    assert told == [results(messages)[9]]


def test_calls_that_differ_or_come_to_something_else_are_no_loop() -> None:
    class Counting(Tools):
        async def call(self, name: str, args: JsonText) -> JsonText:
            self.calls.append((name, args))
            return f"{len(self.calls)}"

    assert chat(script(says("", "read", repeat=True)), Counting())[0].kind == "max_turns"
    model = script(*(says("", name) for name in ["read", "write"] * 5), says("Done."))
    assert chat(model)[0] == Ending("answered", "Done.")


def test_tokens_are_counted_between_steps_with_those_of_specialists() -> None:
    usage = {"input_tokens": 60, "output_tokens": 20}
    model = script(*(says("", name, usage=usage) for name in ("read", "write", "read")), says("Never said."))
    ending, messages = chat(model, bounds=Bounds(50, tokens=160))
    assert (ending.kind, len(model.turns), len(results(messages))) == ("budget_exceeded", 2, 2)
    assert "160 tokens" in ending.reason
    model = script(says("", "read", usage=usage), says("Never said."))
    assert chat(model, bounds=Bounds(50, tokens=160, others=lambda: 80))[0].kind == "budget_exceeded"
    assert len(model.turns) == 1
    model = script(says("Never said."))
    assert chat(model, bounds=Bounds(50, tokens=0))[0].kind == "budget_exceeded"
    assert model.turns == []


def test_a_model_that_takes_too_long_for_a_reply_is_unavailable() -> None:
    slow = script(says("Never said.", delay_ms=5000))
    with pytest.raises(ModelError, match=r'"reviewer" gave no reply within 0.01 s') as caught:
        chat(slow, bounds=Bounds(50, reply_s=0.01))
    assert caught.value.code == "unavailable"


def test_of_many_results_a_model_sees_the_last_ones_and_the_conversation_keeps_all() -> None:
    long = '"{}"'.format("x" * 200)
    model = script(*(says("", name) for name in ["read", "write"] * 8), says("Done."))
    _, messages = chat(model, Tools(long))
    shown = results(model.turns[-1].messages)
    assert len(shown) == 16
    assert [text == CLEARED for text in shown] == [True] * 11 + [False] * 5
    assert results(model.turns[-2].messages).count(CLEARED) == 0
    assert {len(text) for text in results(messages)} == {len(long) + len('{"result":}')}


def test_what_a_chat_says_is_told_as_a_whole_and_piece_by_piece() -> None:
    class Ear(Nobody):
        def __init__(self) -> None:
            self.pieces = list[str]()
            self.messages = list[Message]()
            self.usage = Usage()

        def heard(self, kind: Literal["text", "reasoning"], piece: str) -> None:
            self.pieces.append(piece)

        async def said(self, message: Message) -> None:
            self.messages.append(message)

        def spent(self, usage: Usage) -> None:
            self.usage += usage

    ear, long = Ear(), '"{}"'.format("x" * 30_000)
    model = script(says("Looking.", "read", usage={"input_tokens": 3}), says("Here it is.", usage={"output_tokens": 4}))
    _, messages = chat(model, Tools(long), listener=ear)
    assert "".join(ear.pieces) == "Looking.Here it is."
    assert ear.messages == messages[1:]
    assert len(ear.messages[1].text) > 30_000
    assert ear.usage == Usage(3, 4)


CALLS = st.lists(st.sampled_from(["read", "write", "unknown", "stop_execution"]), max_size=4)


@given(
    rounds=st.lists(st.tuples(CALLS, st.integers(0, 50)), max_size=8),
    fails=st.booleans(),
    turns=st.integers(1, 6),
    limit=st.none() | st.integers(1, 8),
    tokens=st.none() | st.integers(0, 120),
)
def test_whatever_a_model_does_each_call_has_one_result_and_the_end_has_its_reason(
    rounds: list[tuple[list[str], int]], fails: bool, turns: int, limit: int | None, tokens: int | None
) -> None:
    class Mixed(Tools):
        async def call(self, name: str, args: JsonText) -> JsonText:
            self.calls.append((name, args))
            if name == "stop_execution":
                return STOPPED
            if fails:
                raise RuntimeError("broken")
            return f'{{"call":{len(self.calls)}}}'

    replies = [says("x", *names, usage={"input_tokens": used}) for names, used in rounds]
    model, tools = script(*replies, says("Done.")), Mixed(names=("read", "write", "stop_execution"))
    ending, messages = chat(model, tools, Bounds(turns, limit, tokens))
    asked, answered = list[ToolCall](), list[ToolCall | None]()
    for message in messages[1:]:
        if message.role == "assistant":
            assert len(answered) == len(asked)
        asked += message.tool_calls
        answered += [message.call] if message.role == "tool" else []
    assert answered == asked
    assert len(model.turns) <= turns
    assert (ending.kind == "answered") is (ending.reason == "")
    assert limit is None or len(tools.calls) <= limit
    if ending.kind == "budget_exceeded":
        assert tokens is not None
        assert sum(used for _, used in rounds[: len(model.turns)]) >= tokens
    if ending.kind == "stopped":
        assert tools.calls[-1][0] == "stop_execution"
