"""What the models of agents do in a run: the specialists that are sent, and the tool calls they select."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from runtime_core.agents.loop import SubagentFailed, ToolDenied, run_subagent
from runtime_core.agents.turns import File, Message, ModelUnusable, ToolOffer, Usage
from runtime_core.engine import gating
from runtime_core.engine.attachments import files_for, stripped
from runtime_core.engine.ears import Ears
from runtime_core.engine.failures import CallFailed
from runtime_core.engine.frames import Place
from runtime_core.engine.hooks import Subject
from runtime_core.engine.prompt import specialist_prompt
from runtime_core.hosts.base import NoteKind
from runtime_core.repo.bundle import Agent
from runtime_core.tools.offers import offered
from runtime_core.wire.json import JsonError, JsonText, dumps, loads
from runtime_core.wire.runs import SlotPath, slot

if TYPE_CHECKING:
    from runtime_core.engine.calls import Calls


async def subagent(
    calls: Calls,
    place: Place,
    number: int,
    by: Agent | None,
    name: str,
    task: str,
    input: JsonText | None,
    files: Sequence[File] = (),
) -> str:
    """Run a specialist for the handler at ``place``, or for the model of the agent ``by`` there; its text.

    ``number``: that of the call which sends it. ``files`` that its model does not take are left out. Raises
    `CallFailed`.
    """
    agent = _specialist(calls, place, by, name)
    levels = place.levels + 1
    at = replace(
        place,
        path=slot(place.path, number),
        names=(*place.names, name),
        levels=levels,
        deepest=min(place.deepest, levels + agent.max_depth) if agent.max_depth is not None else place.deepest,
        attachments=None,
    )
    try:
        model, tools = await calls.model(agent), SelectedTools(calls, agent, at)
        agent = replace(agent, prompt=specialist_prompt(agent))
        taken, left_out = files_for(model, files) if model is not None else (files, ())
        if left_out:
            calls.origin.note(replace(place, path=at.path), "warning", stripped(name, left_out))
        ear = _Overheard(calls.origin.ears, at.path, name)
        return await run_subagent(agent, task, input, model, tools, ear, taken)
    except (SubagentFailed, ModelUnusable) as failed:
        raise CallFailed("subagent-failed", str(failed), agent=name) from None


def _specialist(calls: Calls, place: Place, by: Agent | None, name: str) -> Agent:
    if name not in (place.tool.subagents if by is None else by.subagents):
        who, where = (
            (f'Tool "{place.tool.name}"', "uses.subagents in its tool.json")
            if by is None
            else (f'Agent "{by.name}"', f"subagents in agents/{by.name}/agent.json")
        )
        raise CallFailed(
            "subagent-undeclared",
            f'{who} calls the subagent "{name}" without declaring it: add "{name}" to {where}.',
            agent=name,
        )
    bundle = calls.origin.bundle
    agent = bundle.agents.get(name)
    if agent is None:
        raise CallFailed("subagent-unknown", f'The repository {bundle.name} has no agent "{name}".', agent=name)
    if place.levels >= place.deepest:
        raise CallFailed(
            "depth-exceeded",
            f"Subagents call each other at most {place.deepest} levels deep here; "
            f"this would be one more: {' > '.join((*place.names, name))}.",
            agent=name,
        )
    return agent


@dataclass(frozen=True, slots=True)
class _Overheard:
    """Implements `Listener`: what a specialist says reaches those who follow the conversation it works for."""

    ears: Ears
    at: SlotPath
    agent: str

    def heard(self, kind: Literal["text", "reasoning"], piece: str) -> None:
        self.ears.heard(self.at, self.agent, kind, piece)

    async def said(self, message: Message) -> None: ...

    def spent(self, usage: Usage) -> None:
        self.ears.spent(usage)


class CallRefused(Exception):  # noqa: N818
    """A tool call of a model that failed; the text is what the model is told."""


def _told(message: str, verdict: str | None) -> Exception:
    if verdict == gating.REFUSED:
        return ToolDenied(dumps({"error": message}))
    return ToolDenied(message) if verdict == gating.DENIED else CallRefused(message)


def _readable(args: JsonText) -> JsonText:
    """What a model gave, as a text if it is no JSON."""
    try:
        return dumps(loads(args))
    except JsonError:
        return dumps(args)


@dataclass(slots=True)
class SelectedTools:
    """Implements `AgentTools`: numbers the calls of one agent, which stand below its own slot. ``now``: the agent
    without what its predicates take away in this turn."""

    calls: Calls
    agent: Agent
    at: Place
    made: int = 0
    now: Agent | None = None

    async def offered(self) -> Sequence[ToolOffer]:
        self.now = await self.calls.surface.narrowed(self.agent, self.at)
        bundle, toolbox = self.calls.origin.bundle, self.calls.origin.toolbox
        listed = (name.partition("__")[0] for name in self.now.tools or ())
        await toolbox.ask(bundle, [*self.now.connections, *self.now.mcp, *listed])
        return [self._offer(name) for name in offered(self.now, bundle, toolbox)]

    def _offer(self, name: str) -> ToolOffer:
        tool = self.calls.origin.ready(name) or self.calls.origin.bundle.tools[name]
        return ToolOffer(name, tool.description, tool.parameters)

    def is_read(self, name: str, args: JsonText) -> bool:
        origin = self.calls.origin
        ready = origin.ready(name)
        if ready is not None:  # chat controls talk to a person, one after the other
            return ready.category != "chat" and ready.effect_with(args) == "read"
        tool = origin.bundle.tools.get(name)
        is_plain = tool is not None and not tool.durable and not tool.has_uses and tool.exposure == "open"
        return tool is not None and is_plain and tool.effect == "read"

    async def call(self, name: str, args: JsonText) -> JsonText:
        return await self._numbered(name, args, self._selected)

    async def refuse(self, name: str, args: JsonText, why: str) -> JsonText:
        async def refused(number: int, name: str, args: JsonText) -> JsonText:
            raise CallFailed("execution-failed", why, tool=name, verdict=gating.DENIED)

        return await self._numbered(name, _readable(args), refused)

    async def triggered(self, name: str, params: JsonText) -> JsonText:
        """The call of a tool whose trigger fits what a person said: no hooks are asked (contract 9.2)."""

        async def work(number: int, name: str, params: JsonText) -> JsonText:
            return await self.calls.for_model(self.agent, self.at, number, name, params)

        return await self._numbered(name, params, work)

    async def _numbered(
        self, name: str, args: JsonText, do: Callable[[int, str, JsonText], Awaitable[JsonText]]
    ) -> JsonText:
        number, self.made = self.made, self.made + 1
        ok, value = await self.calls.traced(self.at, number, "tool", name, args, partial(do, number, name, args))
        if ok:
            return value
        error: Any = loads(value)
        raise _told(str(error.get("message", "")), error.get("verdict"))

    async def _selected(self, number: int, name: str, args: JsonText) -> JsonText:
        """In this order: the hooks before the call, which may forbid it; whether the arguments fit the tool; the policy
        of the connection, or a person if the tool is guarded; the call; the hooks after it, which only look."""
        ask, subject = self.calls.hooks.ask, self.subject
        asked = f'{{"toolName":{dumps(name)},"args":{args}'
        blocked = await ask(subject, "preToolUse", JsonText(asked + "}"))
        if blocked is not None:
            raise CallFailed("execution-failed", blocked, tool=name, cause={"name": "Blocked", "message": blocked})
        try:
            result = await self.calls.for_model(self.now or self.agent, self.at, number, name, args)
        except CallFailed as failed:
            await ask(subject, "postToolUse", JsonText(f'{asked},"error":{dumps(failed.message)}}}'))
            raise
        await ask(subject, "postToolUse", JsonText(f'{asked},"result":{result or "null"}}}'))
        return result

    @property
    def subject(self) -> Subject:
        """Whom hooks are asked about."""
        origin, at, surface = self.calls.origin, self.at, self.calls.surface

        def note(hook: str, kind: NoteKind, value: Any) -> None:
            origin.note(replace(at, names=(*at.names, f"hook {hook}")), kind, value)

        return Subject(origin.bundle, origin.scope, surface.who, note, surface.source)
