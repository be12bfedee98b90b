"""Whom one can talk to: the agents of the open repositories, and which of them was chosen last."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final

from PySide6.QtCore import QObject, Signal, Slot

from inbox_app.gateway.base import Gateway, GatewayError
from inbox_app.gateway.catalog import AgentInfo, Repository
from inbox_app.state.memory import Memory

CHOSEN: Final = "chat.partner"


@dataclass(frozen=True, slots=True)
class Partner:
    """An agent of a repository."""

    repository: Repository
    agent: AgentInfo

    @property
    def key(self) -> str:
        return f"{self.repository.path}\n{self.agent.name}"

    @property
    def name(self) -> str:
        return self.agent.display_name or self.agent.name

    @property
    def about(self) -> str:
        """What it is for; "" if that says no more than its name."""
        words = self.agent.description.strip()
        return "" if words.rstrip(".").casefold() in (self.name.casefold(), self.agent.name.casefold()) else words


class Partners(QObject):
    """``repositories`` is None until they were read; ``problem`` says why they could not be. ``changed``: others."""

    changed = Signal()

    def __init__(
        self,
        gateway: Callable[[], Gateway | None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        memory: Memory,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._gateway = gateway
        self._spawn = spawn
        self._memory = memory
        self._picked = 0
        self.repositories: Sequence[Repository] | None = None
        self.problem = ""
        self.all: list[Partner] = []

    @property
    def picked(self) -> int:
        """The number of whom a new conversation is with."""
        return self._picked

    @property
    def current(self) -> Partner | None:
        return self.all[self._picked] if self._picked < len(self.all) else None

    def find(self, repository: str, agent: str) -> Partner | None:
        known = (one for one in self.all if one.repository.path == repository)
        return next((one for one in known if one.agent.name == agent), None)

    def pick(self, number: int) -> None:
        self._picked = number
        self._memory.keep(CHOSEN, self.all[number].key)
        self.changed.emit()

    @Slot()
    def load(self) -> None:
        """Read them, again if they were read before."""
        self._spawn(self._read(), "agents")

    async def _read(self) -> None:
        gateway = self._gateway()
        if gateway is None or gateway.catalog is None:
            return
        try:
            self.repositories = await gateway.catalog.repositories()
            self.problem = ""
        except GatewayError as error:
            self.problem = error.message
        usable = (one for one in self.repositories or () if not one.broken)
        self.all = [one for repository in usable for one in _in_order(repository)]
        keys = [partner.key for partner in self.all]
        wanted = self._memory.recall(CHOSEN)
        self._picked = keys.index(wanted) if wanted in keys else _first_choice(self.all)
        self.changed.emit()


def _in_order(repository: Repository) -> Sequence[Partner]:
    """Its agents by their names, the default one first."""
    partners = (Partner(repository, agent) for agent in repository.agents)
    return sorted(partners, key=lambda one: (one.agent.name != "default", one.name.casefold()))


def _first_choice(partners: Sequence[Partner]) -> int:
    """The first that can answer, of these rather one that is called "default"."""
    ranks = [(bool(one.agent.model), one.agent.name == "default") for one in partners]
    return ranks.index(max(ranks)) if ranks else 0
