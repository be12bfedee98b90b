"""The loop of a subagent (contract 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from runtime_core.agents.loop import SubagentFailed, run_subagent, user_turn
from runtime_core.agents.scripted import ScriptedModel, ScriptedReply
from runtime_core.agents.turns import Reply, Turn
from runtime_core.repo.bundle import Agent
from runtime_core.wire.json import JsonText

REVIEWER = Agent("reviewer", "You review.", "Reviewer", "Reviews.", tools=("read", "write"), max_tool_calls=3)


class Tools:
    """Child tools that answer with a fixed value or fail."""

    def __init__(self, result: JsonText | Exception = '{"ok":true}', names: Sequence[str] = ("read", "write")) -> None:
        self.result = result
        self.names = names
        self.calls: list[tuple[str, JsonText]] = []

    async def offered(self) -> Sequence[str]:
        return self.names

    def is_read(self, name: str, args: JsonText) -> bool:
        return name == "read"

    async def call(self, name: str, args: JsonText) -> JsonText:
        self.calls.append((name, args))
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class Recorder:
    """A model that says what it was asked."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.turns: list[Turn] = []

    async def reply(self, turn: Turn) -> Reply:
        self.turns.append(turn)
        return await self.model.reply(turn)


def script(*replies: ScriptedReply) -> Recorder:
    return Recorder(ScriptedModel(replies))


def says(text: str, *calls: str, **fields: object) -> ScriptedReply:
    return ScriptedReply.model_validate(
        {"text": text, "tool_calls": [{"name": name, "args": {"id": 1}} for name in calls], **fields}
    )


def run(model: Recorder | None, tools: Tools | None = None, agent: Agent = REVIEWER, input: str | None = None) -> str:
    return asyncio.run(run_subagent(agent, "Review it.", input, model, tools or Tools()))


def test_the_task_and_the_context_are_the_user_turn_and_the_prompt_is_the_agents() -> None:
    model = script(says("fine"))
    assert run(model, input='{"amount":120.00,"id":9007199254740993}') == "fine"
    (turn,) = model.turns
    assert (turn.agent, turn.prompt, turn.tools) == ("reviewer", "You review.", ("read", "write"))
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
        task = asyncio.create_task(run_subagent(REVIEWER, "x", None, script(says("late", delay_ms=60_000)), Tools()))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
