"""The loop of a subagent: model turns and tool calls until a turn answers in words (contract 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from runtime_core.agents.turns import Message, Model, ModelError, ToolCall, Turn
from runtime_core.repo.bundle import Agent
from runtime_core.wire.json import JsonError, JsonText, loads, pretty

CallTool = Callable[[str, JsonText], Awaitable[JsonText]]
Offer = Callable[[], Awaitable[Sequence[str]]]

NO_MODEL = (
    'there is no model: set models.main in amodal.json, for example {"provider": "scripted", "model": "FILE.json"}, '
    "or start with --model scripted:FILE.json"
)


class SubagentFailed(Exception):  # noqa: N818
    """The specialist gave no answer; the message names it and says why."""


async def run_subagent(
    agent: Agent,
    task: str,
    input: JsonText | None,
    model: Model | None,
    call_tool: CallTool,
    offer: Offer | None = None,
) -> str:
    """Run a specialist and return the text of its last turn.

    ``input`` is appended to the task as a JSON block. ``offer`` says for each turn which tools the model may call, all
    of ``agent.tools`` without it. ``call_tool`` gets one of these names and its arguments; whatever it raises goes back
    to the model as text, except cancellation and `OutcomeUnknown`.
    Raises `SubagentFailed`.
    """
    if model is None:
        raise SubagentFailed(f'The agent "{agent.name}" cannot run: {NO_MODEL}.')
    try:
        async with asyncio.timeout(agent.timeout_s):
            return await _converse(agent, user_turn(task, input), model, call_tool, offer)
    except ModelError as error:
        raise SubagentFailed(f'The agent "{agent.name}" failed: {error.message}') from error
    except TimeoutError:
        raise SubagentFailed(f'The agent "{agent.name}" gave no answer within {agent.timeout_s:g} s.') from None


class OutcomeUnknown(Exception):  # noqa: N818
    """A tool call that may or may not have run: only a person can say how it goes on, no handler and no model."""


def user_turn(task: str, input: JsonText | None) -> str:
    """The task, with the input as the JSON block that prompts call its Context."""
    if input is None or input == "null":
        return task
    return f"{task}\n\nContext:\n```json\n{pretty(loads(input))}\n```"


async def _converse(agent: Agent, asked: str, model: Model, call_tool: CallTool, offer: Offer | None) -> str:
    messages = [Message("user", asked)]
    calls_left = agent.max_tool_calls
    while True:
        tools = tuple(await offer()) if offer is not None else agent.tools or ()
        reply = await model.reply(Turn(agent.name, agent.prompt, tuple(messages), tools))
        if not reply.tool_calls:
            return reply.text
        calls_left -= len(reply.tool_calls)
        if calls_left < 0:
            raise SubagentFailed(
                f'The agent "{agent.name}" asked for more than {agent.max_tool_calls} tool calls without answering. '
                f"Raise maxToolCalls in agents/{agent.name}/agent.json if it needs more."
            )
        messages.append(Message("assistant", reply.text, reply.tool_calls))
        for call in reply.tool_calls:
            messages.append(Message("tool", await _result_text(agent, tools, call, call_tool)))


async def _result_text(agent: Agent, tools: Sequence[str], call: ToolCall, call_tool: CallTool) -> str:
    """The result as the model reads it: what is not an object is wrapped (contract 2.7)."""
    if call.name not in tools:
        return f'Tool "{call.name}" is not available to the agent "{agent.name}".'
    try:
        result = await call_tool(call.name, call.args)
    except OutcomeUnknown:
        raise
    except Exception as error:  # noqa: BLE001 - contract 10: no failure of a tool ends the turn
        return f"Tool execution failed: {error}"
    return result if _is_object(result) else f'{{"result":{result or "null"}}}'


def _is_object(result: JsonText) -> bool:
    try:
        return isinstance(loads(result), dict)
    except JsonError:
        return False
