"""A conversation as the engine serves it: what one turn of a chat, an eval or an automation calls and asks.

`Engine.talk` makes a `Talk` for each turn. Who holds the conversation (`runtime_core/chat`) keeps its messages, lets
`agents.loop.converse` answer them with what the talk gives, and tells the person what its spans and ears say.

The n-th call that is made in a turn, by a trigger or by the model, in the order in which they were asked for, stands at
slot n; what it calls stands below. Nothing of it is journaled but the durable runs that it starts, whose parent is the
conversation: a turn whose process dies is cut.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from runtime_core.agents.turns import Model
from runtime_core.engine.agent_calls import SelectedTools
from runtime_core.engine.calls import Calls
from runtime_core.engine.ears import NO_EARS, Ears
from runtime_core.engine.frames import MAX_AGENT_LEVELS, Place
from runtime_core.engine.hooks import Source
from runtime_core.engine.prompt import chat_prompt
from runtime_core.repo.bundle import Agent, Bundle, HookPoint, Tool
from runtime_core.spans.book import SpanBook
from runtime_core.wire.json import JsonText
from runtime_core.wire.memory import Note
from runtime_core.wire.runs import Span

CHAT_TOOL: Final = Tool("chat", "", {}, "(chat)", "python")
"""In the place of the tool whose handler makes the calls of a run."""


@dataclass(frozen=True, slots=True)
class TalkRequest:
    """One turn of a conversation. ``turn``: its number, which no other turn of the same conversation has.

    ``context``: the client's JSON object, unverified. ``model``: ``provider:name`` instead of what settings and
    repository say. ``attachments``: the files of the message as handlers see them (`engine.attachments`).
    ``on_span``: told of each call as it begins, waits and ends. ``ears``: of everything else.
    """

    bundle: Bundle
    agent: Agent
    session_id: str
    turn: int
    who: str
    scope: str = ""
    context: JsonText | None = None
    source: Source = "chat"
    human_present: bool = True
    model: str | None = None
    attachments: JsonText | None = None
    on_span: Callable[[Span], None] = lambda _: None
    ears: Ears = NO_EARS


@dataclass(frozen=True, slots=True)
class Talk:
    """What one turn is served with. ``agent`` has the whole system prompt; ``tools`` is the `AgentTools` of its model.

    ``model`` raises `ModelUnusable` and gives None where none is named. ``spans`` are to be closed with the turn.
    """

    agent: Agent
    tools: SelectedTools
    model: Callable[[], Awaitable[Model | None]]
    spans: SpanBook
    _calls: Calls

    async def ask_hooks(self, point: HookPoint, payload: JsonText) -> str | None:
        """Ask the hooks of a point about a payload (`Hooks.ask`); the reason of the one that blocks."""
        return await self._calls.hooks.ask(self.tools.subject, point, payload)

    async def trigger(self, tool: str, params: JsonText) -> JsonText:
        """Run a tool because its trigger fits what the person said; its result as `AgentTools.call` gives it.

        A guarded tool asks first; a durable one is waited for until it ends or waits itself. Raises `CallRefused` and
        `ToolDenied`, whose text is what a model would be told, and as `AgentTools.call` otherwise.
        """
        return await self.tools.triggered(tool, params)


async def talk_of(request: TalkRequest, notes: Sequence[Note], calls: Calls) -> Talk:
    """``notes``: what agents of the repository have kept in mind."""
    tools = SelectedTools(calls, request.agent, _place(request))
    offers = [offer.name for offer in await tools.offered()]
    now = tools.now or request.agent
    agent = replace(request.agent, prompt=await chat_prompt(now, request.bundle, offers, notes))
    return Talk(agent, tools, partial(calls.model, agent), calls.spans, calls)


def _place(request: TalkRequest) -> Place:
    """The agent stands where the handler of a run would."""
    agent = request.agent
    deepest = MAX_AGENT_LEVELS if agent.max_depth is None else agent.max_depth
    files = request.attachments or JsonText("[]")
    return Place(CHAT_TOOL, deepest=deepest, names=(agent.name,), attachments=files)
