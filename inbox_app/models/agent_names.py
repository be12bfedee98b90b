"""What agents are called in lists: by their display names, with the repository where more than one is meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from inbox_app.gateway.catalog import Repository


@dataclass(frozen=True, slots=True)
class AgentNames:
    """``agents``: display names by path of the repository and name; ``repositories``: the names of the open ones."""

    agents: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    repositories: Mapping[str, str] = field(default_factory=dict[str, str])

    def of(self, repository: str, agent: str) -> str:
        name = self.agents.get((repository, agent)) or agent
        where = self.where(repository)
        return f"{name} · {where}" if where else name

    def where(self, repository: str) -> str:
        """The name of a repository; "" if it is the only one that is open, or none is."""
        known = self.repositories.get(repository)
        if not self.repositories or (known is not None and len(self.repositories) == 1):
            return ""
        return known or PurePath(repository).name


def names_in(repositories: Sequence[Repository]) -> AgentNames:
    return AgentNames(
        {(one.path, agent.name): agent.display_name for one in repositories for agent in one.agents},
        {one.path: one.name for one in repositories},
    )
