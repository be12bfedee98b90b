"""The loop of a subagent (contract 10)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from runtime_core.agents.loop import (
    Bounds,
    Ending,
    Nobody,
    SubagentFailed,
    ToolDenied,
    converse,
    run_subagent,
    user_turn,
)
from runtime_core.agents.scripted import ScriptedModel, ScriptedReply
from runtime_core.agents.turns import Heard, Message, Reply, ToolCall, ToolOffer, Turn, unheard
from runtime_core.repo.bundle import Agent
from runtime_core.wire.json import JsonText

REVIEWER = Agent("reviewer", "You review.", "Reviewer", "Reviews.", tools=("read", "write"), max_tool_calls=3)


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
    model, tools = script(says("", "read", repeat=True)), Tools()
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
            return Reply("", (ToolCall("read", given),)) if given is not None else Reply("ok")

    model, tools = Careless(), Tools()
    assert asyncio.run(run_subagent(REVIEWER, "x", None, model, tools, Nobody())) == "ok"
    assert model.heard[1:] == ['The arguments of "read" are not a JSON object.'] * 2
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


class Points:
    """Hooks that say where they were asked, and block at some points."""

    def __init__(self, *blocking: str) -> None:
        self.blocking = blocking
        self.asked = list[tuple[str, dict[str, str]]]()

    async def __call__(self, point: str, payload: JsonText) -> str | None:
        self.asked.append((point, json.loads(payload)))
        return f"no {point}" if point in self.blocking else None


def chat(model: Recorder, hooks: Points, tools: Tools | None = None) -> tuple[Ending, list[Message]]:
    messages = [Message("user", "Hello?")]
    ending = asyncio.run(converse(REVIEWER, messages, model, tools or Tools(), Bounds(3), Nobody(), hooks=hooks))
    return ending, messages


def test_a_chat_asks_its_hooks_before_it_hears_before_it_speaks_and_after() -> None:
    hooks = Points()
    ending, messages = chat(script(says("Looking.", "read"), says("Hi.")), hooks)
    assert ending == Ending("answered", "Hi.")
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]
    over = {"input": "Hello?", "output": "Hi.", "end": "answered", "reason": ""}
    assert hooks.asked == [("preInput", {"text": "Hello?"}), ("preOutput", {"text": "Hi."}), ("postTurn", over)]


def test_a_hook_that_blocks_keeps_the_model_or_its_answer_from_being_heard() -> None:
    model, hooks = script(says("Hi.")), Points("preInput")
    assert chat(model, hooks)[0] == Ending("blocked", reason="no preInput")
    assert model.turns == []
    assert [point for point, _ in hooks.asked] == ["preInput", "postTurn"]
    model, hooks = script(says("Secret.")), Points("preOutput")
    assert chat(model, hooks)[0] == Ending("blocked", reason="no preOutput")
    assert hooks.asked[-1][1]["output"] == ""


def test_a_chat_that_was_stopped_says_why() -> None:
    tools = Tools(STOPPED, ("stop_execution",))
    assert chat(script(says("Wait.", "stop_execution")), Points(), tools)[0] == Ending("stopped", "Wait.", "no data")
