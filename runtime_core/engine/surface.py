"""What a subagent's model is offered, turn by turn: the predicates of its definition may take tools away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from runtime_core.engine.definitions import Definitions
from runtime_core.engine.frames import Origin, Place
from runtime_core.repo.bundle import Agent
from runtime_core.wire.json import JsonText, dumps, loads


@dataclass(frozen=True, slots=True)
class Surface:
    """Where the agents of one run are: ``who`` started it, with which ``context`` (unverified, decision 29)."""

    definitions: Definitions
    origin: Origin
    who: str
    context: JsonText | None

    async def tools(self, agent: Agent, place: Place) -> Sequence[str]:
        """The tools that the model of an agent may call in its next turn. ``place`` names the agent last."""
        known = self.origin.bundle.tools
        names = [name for name in agent.tools or () if name not in known or known[name].for_models]
        if agent.entry is None or not agent.conditions:
            return names
        bundle, note = self.origin.bundle, partial(self.origin.note, place)
        surface = dumps(self._facts(agent))
        away: set[str] = set()
        for condition in agent.conditions:
            asked = condition.key == "tools" and condition.name in names and condition.name not in away
            if asked and not await self.definitions.holds(bundle, agent.entry, condition, surface, note):
                away.add(condition.name)
        return [name for name in names if name not in away]

    def _facts(self, agent: Agent) -> dict[str, object]:
        """The argument of a predicate (contract 1.3). Nobody has proved any claim to a runtime on a desktop."""
        context = loads(self.context) if self.context is not None else None
        return {
            "claims": {},
            "context": context if isinstance(context, dict) else {},
            "scopeId": self.origin.scope,
            "userId": self.who,
            "humanPresent": True,
            "isSubagent": True,
            "agentName": agent.name,
        }
