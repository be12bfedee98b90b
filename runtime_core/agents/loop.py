"""The loop of an agent: model turns and tool calls until a turn answers in words (contract 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, Literal, Protocol, cast

from runtime_core.agents.clock import limit
from runtime_core.agents.shortening import for_model
from runtime_core.agents.turns import File, Message, Model, ModelError, Reply, ToolCall, ToolOffer, Turn, Usage
from runtime_core.repo.bundle import Agent
from runtime_core.tools.chat import ASK_CHOICE, STOP
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonError, JsonText, loads, pretty

CHAT_TURNS: Final = 50
SUBAGENT_TURNS: Final = 10
SUBAGENT_CALLS: Final = 10
"""Tool calls that a specialist may make unless its definition says otherwise; one that chats may make any number."""
SUBAGENT_S: Final = 60.0
REPLY_S: Final = 300.0
"""How long one reply of the model of an agent that chats may take, unless its definition says otherwise."""
ROUNDS_ALIKE: Final = 5
"""Turns of a model with the same calls and the same results one after the other, after which it is told so; with one
more, the conversation ends."""

_EMPTY: Final = "The model gave an empty answer."
NO_MODEL = (
    'there is no model: set models.main in amodal.json, for example {"provider": "anthropic", "model": "NAME"}, or '
    'main under [models] in your config.toml, for example "anthropic:NAME", or start with --model anthropic:NAME; '
    "scripted:FILE.json needs no network"
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
    ``reason`` says why, or what is wrong with an answer.
    """

    kind: Literal["answered", "stopped", "blocked", "max_turns", "budget_exceeded", "loop_detected"]
    text: str = ""
    reason: str = ""


def _none() -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the answer to one message may take: ``turns`` of the model, tool ``calls``, ``tokens`` in all, ``reply_s``
    seconds for one reply of the model; None: any number. ``hears``: somebody answers with the next message, so a choice
    that is asked for ends this one.

    Tokens are counted between steps: those of this model and those that ``others`` took for it, its specialists.
    """

    turns: int
    calls: int | None = None
    tokens: int | None = None
    reply_s: float | None = None
    others: Callable[[], int] = _none
    hears: bool = False

    @classmethod
    def of_chat(cls, agent: Agent, *, tokens: int | None = None, others: Callable[[], int] = _none) -> Bounds:
        """Those of an agent that talks with a person."""
        return cls(CHAT_TURNS, agent.max_tool_calls, tokens, agent.timeout_s or REPLY_S, others, hears=True)


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
    bounds = Bounds(SUBAGENT_TURNS, agent.max_tool_calls or SUBAGENT_CALLS)
    seconds = agent.timeout_s or SUBAGENT_S
    try:
        async with limit(seconds):
            ending = await converse(agent, said, model, tools, bounds, listener)
    except ModelError as error:
        raise SubagentFailed(f'The agent "{agent.name}" failed: {error.message}') from error
    except TimeoutError:
        raise SubagentFailed(f'The agent "{agent.name}" gave no answer within {seconds:g} s.') from None
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
    agent: Agent, messages: list[Message], model: Model, tools: AgentTools, bounds: Bounds, listener: Listener
) -> Ending:
    """Let an agent answer the last of ``messages``, to which everything is added that is said until then. The model
    sees them as `shortening` has it.

    Every call that is asked for has a result among them, also one that was not made because the conversation ended.
    Raises `ModelError`.
    """
    made, spent, alike = 0, 0, Rounds()
    for _ in range(bounds.turns):
        if bounds.tokens is not None and spent + bounds.others() >= bounds.tokens:
            return Ending("budget_exceeded", reason=_too_many_tokens(agent, bounds.tokens))
        offers = tuple(await tools.offered())
        turn = Turn(agent.name, agent.prompt, for_model(messages), offers)
        reply = await _reply(agent, turn, model, bounds, listener)
        spent += reply.usage.total_tokens
        listener.spent(reply.usage)
        answer = Message("assistant", reply.text, reply.tool_calls, reasoning=reply.reasoning, raw=reply.raw)
        messages.append(answer)
        await listener.said(answer)
        if not reply.tool_calls:
            return Ending("answered", reply.text, "" if made or reply.text.strip() else _EMPTY)
        made += len(reply.tool_calls)
        ending = None
        if bounds.calls is not None and made > bounds.calls:
            ending = Ending("max_turns", reply.text, _too_many_calls(agent, bounds.calls))
        names = {offer.name for offer in offers}
        results: list[str] = []
        for calls in _batches(reply.tool_calls, tools):
            over = None if ending is None else ending.reason
            some = await _together(
                [_result(agent, names, call, tools, over, is_cut_off=reply.is_cut_off) for call in calls]
            )
            results += some
            for call, result in zip(calls, some, strict=True):
                told = Message("tool", result, call=call)
                messages.append(told)
                await listener.said(told)
            if ending is None and (reason := _stopped(calls[-1], some[-1])) is not None:
                ending = Ending("stopped", reply.text, reason)
        if ending is None and bounds.hears and any(map(_asks, reply.tool_calls, results)):
            ending = Ending("answered", reply.text)
        if ending is not None:
            return ending
        count = alike.count(reply.tool_calls, results)
        if count > ROUNDS_ALIKE:
            return Ending("loop_detected", reply.text, _loops(agent, reply.tool_calls))
        if count == ROUNDS_ALIKE:
            messages[-1] = replace(messages[-1], text=f"{messages[-1].text}\n\n{_WARNED}")
    return Ending(
        "max_turns",
        reason=f'The agent "{agent.name}" did not answer within {bounds.turns} turns of its model. '
        "Let its prompt ask for several tools in one turn, or give it less to do.",
    )


async def _reply(agent: Agent, turn: Turn, model: Model, bounds: Bounds, listener: Listener) -> Reply:
    limited = None
    try:
        async with limit(bounds.reply_s) as limited:
            return await model.reply(turn, listener.heard)
    except TimeoutError:
        if limited is None or not limited.expired():
            raise
        raise ModelError(
            "unavailable",
            f'The model of the agent "{agent.name}" gave no reply within {bounds.reply_s:g} s. '
            f"Raise timeout in agents/{agent.name}/agent.json if it needs more.",
        ) from None


class Rounds:
    """Counts turns that make the same calls with the same results, one after the other."""

    def __init__(self) -> None:
        self._last: Set[tuple[str, str, str]] = frozenset()
        self._count = 0

    def count(self, calls: Sequence[ToolCall], results: Sequence[str]) -> int:
        """How many there are with this one."""
        made = frozenset((call.name, call.args, result) for call, result in zip(calls, results, strict=True))
        self._count = self._count + 1 if made == self._last else 1
        self._last = made
        return self._count


_WARNED: Final = (
    f"You have now made the same calls {ROUNDS_ALIKE} times one after the other, with the same results. Do not make "
    "them again: answer with what you know, or do something else."
)


def _loops(agent: Agent, calls: Sequence[ToolCall]) -> str:
    names = ", ".join(sorted({call.name for call in calls}))
    return (
        f'The agent "{agent.name}" made the same calls of {names} {ROUNDS_ALIKE + 1} times one after the other, '
        "although their results stayed the same. Say in its prompt when to stop."
    )


def _too_many_tokens(agent: Agent, tokens: int) -> str:
    return f'The agent "{agent.name}" has used up the {tokens:,} tokens that it may take.'


def _too_many_calls(agent: Agent, calls: int) -> str:
    return (
        f'The agent "{agent.name}" asked for more than {calls} tool calls without answering. '
        f"Raise maxToolCalls in agents/{agent.name}/agent.json if it needs more."
    )


def _batches(calls: Sequence[ToolCall], tools: AgentTools) -> Iterator[Sequence[ToolCall]]:
    """Neighbours that only read together, every other one by itself."""
    for is_read, batch in groupby(calls, key=lambda call: tools.is_read(call.name, call.args)):
        some = tuple(batch)
        yield from (some,) if is_read else ((call,) for call in some)


async def _together(work: Sequence[Awaitable[str]]) -> Sequence[str]:
    """All their results. If one raises, the others are over before it does: none goes on behind the conversation."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _result(
    agent: Agent,
    offered: Set[str],
    call: ToolCall,
    tools: AgentTools,
    over: str | None = None,
    *,
    is_cut_off: bool = False,
) -> str:
    """The result as the model reads it (`as_seen`). ``over``: why no call is made any more; each one needs a result all
    the same, or no provider would take the conversation again."""
    try:
        if over is not None:
            result = await tools.refuse(call.name, call.args, f"Not called, because the turn has ended: {over}")
        elif call.name not in offered:
            why = f'Tool "{call.name}" is not available to the agent "{agent.name}".'
            result = await tools.refuse(call.name, call.args, why)
        elif not _is_object(call.args):
            why = f'The arguments of "{call.name}" are not a JSON object' + (_CUT_OFF if is_cut_off else ".")
            result = await tools.refuse(call.name, call.args, why)
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
    return as_seen(result)


_CUT_OFF: Final = (
    ", because the reply was cut off: it reached the limit of what you may say at once. Call it with less, or in parts."
)


def as_seen(result: JsonText) -> str:
    """A result as the model reads it: what is not an object is wrapped (contract 2.7)."""
    return result if result.lstrip().startswith("{") else f'{{"result":{result or "null"}}}'


def _asks(call: ToolCall, result: str) -> bool:
    """Whether this call has asked the person for a choice, who makes it with the next message."""
    return call.name == ASK_CHOICE and _read(result).get("asked") is True


def _stopped(call: ToolCall, result: str) -> str | None:
    """Why the model ended its turn, if this call did that."""
    if call.name != STOP or (said := _read(result)).get("__stop") is not True:
        return None
    return str(said.get("reason") or "it gave no reason")


def _read(result: str) -> Mapping[str, Any]:
    """A result that is an object; one that is none tells nothing."""
    return cast("dict[str, Any]", loads(result)) if _is_object(result) else {}


def _is_object(text: JsonText) -> bool:
    try:
        return isinstance(loads(text), dict)
    except JsonError:
        return False
