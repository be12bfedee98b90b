"""What the models of agents do in a run: the specialists that are sent, and the tool calls they select."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from runtime_core.agents.loop import Nobody, SubagentFailed, ToolDenied, run_subagent
from runtime_core.agents.turns import ModelUnusable, ToolOffer
from runtime_core.engine import gating
from runtime_core.engine.failures import CallFailed
from runtime_core.engine.frames import Place
from runtime_core.engine.hooks import Subject
from runtime_core.hosts.base import NoteKind
from runtime_core.repo.bundle import Agent
from runtime_core.tools.offers import offered
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.runs import slot

if TYPE_CHECKING:
    from runtime_core.engine.calls import Calls


async def subagent(
    calls: Calls, place: Place, number: int, by: Agent | None, name: str, task: str, input: JsonText | None
) -> str:
    """Run a specialist for the handler at ``place``, or for the model of the agent ``by`` there; its text.

    ``number``: that of the call which sends it. Raises `CallFailed`.
    """
    agent = _specialist(calls, place, by, name)
    levels = place.levels + 1
    at = replace(
        place,
        path=slot(place.path, number),
        names=(*place.names, name),
        levels=levels,
        deepest=min(place.deepest, levels + agent.max_depth) if agent.max_depth is not None else place.deepest,
    )
    try:
        return await run_subagent(agent, task, input, await calls.model(), _Selected(calls, agent, at), Nobody())
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


class CallRefused(Exception):  # noqa: N818
    """A tool call of a model that failed; the text is what the model is told."""


def _told(message: str, verdict: str | None) -> Exception:
    if verdict == gating.REFUSED:
        return ToolDenied(dumps({"error": message}))
    return ToolDenied(message) if verdict == gating.DENIED else CallRefused(message)


@dataclass(slots=True)
class _Selected:
    """Implements `AgentTools`: numbers the calls of one subagent, which stand below its own slot. ``now``: the agent
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
        number, self.made = self.made, self.made + 1
        work = partial(self._selected, number, name, args)
        ok, value = await self.calls.traced(self.at, number, "tool", name, args, work)
        if ok:
            return value
        error: Any = loads(value)
        raise _told(str(error.get("message", "")), error.get("verdict"))

    async def _selected(self, number: int, name: str, args: JsonText) -> JsonText:
        """In this order: the hooks before the call, which may forbid it; whether the arguments fit the tool; the policy
        of the connection, or a person if the tool is guarded; the call; the hooks after it, which only look."""
        ask, subject = self.calls.hooks.ask, self._subject()
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

    def _subject(self) -> Subject:
        origin, at = self.calls.origin, self.at

        def note(hook: str, kind: NoteKind, value: Any) -> None:
            origin.note(replace(at, names=(*at.names, f"hook {hook}")), kind, value)

        return Subject(origin.bundle, origin.scope, self.calls.surface.who, note)
