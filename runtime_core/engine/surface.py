"""What an agent has, turn by turn: the predicates of its definition may take entries away."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from runtime_core.engine.definitions import Definitions
from runtime_core.engine.frames import Origin, Place
from runtime_core.engine.hooks import Source
from runtime_core.repo.bundle import Agent
from runtime_core.wire.json import JsonText, dumps, loads


@dataclass(frozen=True, slots=True)
class Surface:
    """Where the agents of one run are: ``who`` started it, with which ``context`` (unverified, decision 29).

    ``human_present``: a person follows and can be asked; ``source``: what the models work for (contract 9.2).
    """

    definitions: Definitions
    origin: Origin
    who: str
    context: JsonText | None
    human_present: bool = True
    source: Source = "chat"

    async def narrowed(self, agent: Agent, place: Place) -> Agent:
        """The agent without the entries whose predicates do not hold now. ``place`` names the agent last."""
        if agent.entry is None or not agent.conditions:
            return agent
        bundle, note = self.origin.bundle, partial(self.origin.note, place)
        surface = dumps(self._facts(agent, place))
        away: set[tuple[str, str]] = set()
        for condition in agent.conditions:
            entry = (condition.key, condition.name)
            if entry not in away and not await self.definitions.holds(bundle, agent.entry, condition, surface, note):
                away.add(entry)
        return agent.without(away)

    def _facts(self, agent: Agent, place: Place) -> dict[str, object]:
        """The argument of a predicate (contract 1.3). Nobody has proved any claim to a runtime on a desktop."""
        context = loads(self.context) if self.context is not None else None
        return {
            "claims": {},
            "context": context if isinstance(context, dict) else {},
            "scopeId": self.origin.scope,
            "userId": self.who,
            "humanPresent": self.human_present,
            "isSubagent": place.levels > 0,
            "agentName": agent.name,
        }
