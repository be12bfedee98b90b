"""The loop of an agent: model turns and tool calls until a turn answers in words (contract 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, Protocol

from runtime_core.agents.clock import limit
from runtime_core.agents.turns import File, Message, Model, ModelError, ToolCall, ToolOffer, Turn, Usage
from runtime_core.repo.bundle import Agent, HookPoint
from runtime_core.tools.chat import STOP
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonError, JsonText, dumps, loads, pretty

SUBAGENT_TURNS: Final = 10
SNIPPED_ABOVE: Final = 20_000
"""Characters of a result up to which a model sees all of it."""
SNIPPED_TO: Final = 2_000
"""Characters that it sees of both ends of a longer one."""

AskHooks = Callable[[HookPoint, JsonText], Awaitable[str | None]]
"""Asks the hooks of a point about a payload; the reason of the one that blocks."""

NO_MODEL = (
    'there is no model: set models.main in amodal.json, for example {"provider": "scripted", "model": "FILE.json"}, '
    "or start with --model scripted:FILE.json"
)


class SubagentFailed(Exception):  # noqa: N818
    """The specialist gave no answer; the message names it and says why."""


class ToolDenied(Exception):  # noqa: N818
    """A tool call that was not allowed; the model is told the text as it stands."""


class OutcomeUnknown(Exception):  # noqa: N818
    """A tool call that may or may not have run: only a person can say how it goes on, no handler and no model."""


class AgentTools(Protocol):
    """What the model of an agent may call."""

    async def offered(self) -> Sequence[ToolOffer]:
        """The tools for its next turn."""
        ...

    def is_read(self, name: str, args: JsonText) -> bool:
        """Whether a call may be made beside others that only read."""
        ...

    async def refuse(self, name: str, args: JsonText, why: str) -> JsonText:
        """Take note of a call that is not made, so that each call the model asks for is one here, in their order.
        Raises `ToolDenied`."""
        ...

    async def call(self, name: str, args: JsonText) -> JsonText:
        """Whatever it raises goes back to the model as text, except cancellation, `OutcomeUnknown` and the fault of a
        data folder that does not do its work."""
        ...


@dataclass(frozen=True, slots=True)
class Ending:
    """How a conversation ended. ``text`` is that of the last turn of the model only.

    ``stopped``: the model ended it with ``stop_execution``, which is no answer, whatever it said beside it;
    ``blocked``: a hook did; ``max_turns``, ``budget_exceeded`` and ``loop_detected``: one of its `Bounds` did.
    ``reason`` says why.
    """

    kind: Literal["answered", "stopped", "blocked", "max_turns", "budget_exceeded", "loop_detected"]
    text: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one conversation may take: ``turns`` of its model, tool ``calls``, ``tokens`` in all; None: any number."""

    turns: int
    calls: int | None = None
    tokens: int | None = None


class Listener(Protocol):
    """Who follows a conversation while it goes on."""

    def heard(self, kind: Literal["text", "reasoning"], piece: str) -> None:
        """A piece of what the model says, as soon as it says it."""
        ...

    async def said(self, message: Message) -> None:
        """A whole message was added to the conversation."""
        ...

    def spent(self, usage: Usage) -> None:
        """What one turn of a model took, of this agent or of a specialist that it sent."""
        ...


class Nobody:
    """Implements `Listener`."""

    def heard(self, kind: Literal["text", "reasoning"], piece: str) -> None: ...
    async def said(self, message: Message) -> None: ...
    def spent(self, usage: Usage) -> None: ...


async def run_subagent(
    agent: Agent,
    task: str,
    input: JsonText | None,
    model: Model | None,
    tools: AgentTools,
    listener: Listener,
    files: Sequence[File] = (),
) -> str:
    """Run a specialist and return the text of its last turn; one that stops itself has not answered.

    ``input`` is appended to the task as a JSON block, ``files`` are parts of the same message. Raises `SubagentFailed`.
    """
    if model is None:
        raise SubagentFailed(f'The agent "{agent.name}" cannot run: {NO_MODEL}.')
    said = [Message("user", user_turn(task, input), files=files)]
    bounds = Bounds(SUBAGENT_TURNS, agent.max_tool_calls)
    try:
        async with limit(agent.timeout_s):
            ending = await converse(agent, said, model, tools, bounds, listener)
    except ModelError as error:
        raise SubagentFailed(f'The agent "{agent.name}" failed: {error.message}') from error
    except TimeoutError:
        raise SubagentFailed(f'The agent "{agent.name}" gave no answer within {agent.timeout_s:g} s.') from None
    if ending.kind in ("stopped", "blocked"):
        raise SubagentFailed(f'The agent "{agent.name}" {ending.kind} without an answer: {ending.reason}')
    if ending.kind != "answered":
        raise SubagentFailed(ending.reason)
    return ending.text


def user_turn(task: str, input: JsonText | None) -> str:
    """The task, with the input as the JSON block that prompts call its Context."""
    if input is None or input == "null":
        return task
    return f"{task}\n\nContext:\n```json\n{pretty(loads(input))}\n```"


async def converse(
    agent: Agent,
    messages: list[Message],
    model: Model,
    tools: AgentTools,
    bounds: Bounds,
    listener: Listener,
    *,
    hooks: AskHooks | None = None,
) -> Ending:
    """Let an agent answer the last of ``messages``, to which everything is added that is said until then.

    ``hooks`` of a chat: asked before the model sees the message, before anybody sees its answer, and when the turn is
    over (``{"input", "output", "end", "reason"}``). Raises `ModelError`.
    """
    asked = messages[-1].text
    ending = await _answer(agent, messages, model, tools, bounds, listener, hooks)
    if hooks is not None:
        over = {"input": asked, "output": ending.text, "end": ending.kind, "reason": ending.reason}
        await hooks("postTurn", dumps(over))
    return ending


async def _answer(
    agent: Agent,
    messages: list[Message],
    model: Model,
    tools: AgentTools,
    bounds: Bounds,
    listener: Listener,
    hooks: AskHooks | None,
) -> Ending:
    async def blocks(point: HookPoint, text: str) -> str | None:
        return await hooks(point, dumps({"text": text})) if hooks is not None else None

    if (reason := await blocks("preInput", messages[-1].text)) is not None:
        return Ending("blocked", reason=reason)
    ending = await _talk(agent, messages, model, tools, bounds, listener)
    if ending.text and (reason := await blocks("preOutput", ending.text)) is not None:
        return Ending("blocked", reason=reason)
    return ending


async def _talk(
    agent: Agent, messages: list[Message], model: Model, tools: AgentTools, bounds: Bounds, listener: Listener
) -> Ending:
    calls_left = bounds.calls
    for _ in range(bounds.turns):
        offers = tuple(await tools.offered())
        reply = await model.reply(Turn(agent.name, agent.prompt, tuple(messages), offers), listener.heard)
        listener.spent(reply.usage)
        answer = Message("assistant", reply.text, reply.tool_calls, reasoning=reply.reasoning, raw=reply.raw)
        messages.append(answer)
        await listener.said(answer)
        if not reply.tool_calls:
            return Ending("answered", reply.text)
        if calls_left is not None:
            calls_left -= len(reply.tool_calls)
            if calls_left < 0:
                return Ending("max_turns", reply.text, _too_many_calls(agent, bounds))
        names = {offer.name for offer in offers}
        for calls in _batches(reply.tool_calls, tools):
            results = await _together([_result(agent, names, call, tools) for call in calls])
            for call, result in zip(calls, results, strict=True):
                told = Message("tool", _snipped(result), call=call)
                messages.append(told)
                await listener.said(told)
            if (reason := _stopped(calls[-1], results[-1])) is not None:
                return Ending("stopped", reply.text, reason)
    return Ending(
        "max_turns",
        reason=f'The agent "{agent.name}" did not answer within {bounds.turns} turns of its model. '
        "Let its prompt ask for several tools in one turn, or give it less to do.",
    )


def _too_many_calls(agent: Agent, bounds: Bounds) -> str:
    return (
        f'The agent "{agent.name}" asked for more than {bounds.calls} tool calls without answering. '
        f"Raise maxToolCalls in agents/{agent.name}/agent.json if it needs more."
    )


def _batches(calls: Sequence[ToolCall], tools: AgentTools) -> Iterator[Sequence[ToolCall]]:
    """Neighbours that only read together, every other one by itself."""
    for is_read, batch in groupby(calls, key=lambda call: tools.is_read(call.name, call.args)):
        some = tuple(batch)
        yield from (some,) if is_read else ((call,) for call in some)


async def _together(work: Sequence[Awaitable[str]]) -> Sequence[str]:
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _result(agent: Agent, offered: Set[str], call: ToolCall, tools: AgentTools) -> str:
    """The result as the model reads it: what is not an object is wrapped (contract 2.7)."""
    try:
        if call.name not in offered:
            why = f'Tool "{call.name}" is not available to the agent "{agent.name}".'
            result = await tools.refuse(call.name, call.args, why)
        elif not _is_object(call.args):
            result = await tools.refuse(call.name, call.args, f'The arguments of "{call.name}" are not a JSON object.')
        else:
            result = await tools.call(call.name, call.args)
    except OutcomeUnknown:
        raise
    except ToolDenied as denied:
        return str(denied)
    except Exception as error:  # contract 10: no failure of a tool ends the turn
        if isinstance(error, RuntimeFault) and error.is_storage:
            raise
        return f"Tool execution failed: {error}"
    return result if result.lstrip().startswith("{") else f'{{"result":{result or "null"}}}'


def _snipped(text: str) -> str:
    if len(text) <= SNIPPED_ABOVE:
        return text
    left_out = len(text) - 2 * SNIPPED_TO
    return f"{text[:SNIPPED_TO]}\n[... {left_out} characters are left out ...]\n{text[-SNIPPED_TO:]}"


def _stopped(call: ToolCall, result: str) -> str | None:
    """Why the model ended its turn, if this call did that."""
    if call.name != STOP or not _is_object(result):
        return None
    said = loads(result)
    assert isinstance(said, dict)
    return str(said.get("reason") or "it gave no reason") if said.get("__stop") is True else None


def _is_object(text: JsonText) -> bool:
    try:
        return isinstance(loads(text), dict)
    except JsonError:
        return False
