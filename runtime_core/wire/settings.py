"""What a person may set about a runtime (engines.md 4.7). Sizes are in bytes of JSON text, times in days."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

KIB: Final = 1024
MIB: Final = 1024 * 1024
_DAY_S: Final = 86_400.0

Durability = Literal["full", "relaxed"]
"""``full``: an acknowledged commit survives power loss. ``relaxed``: only the end of the process."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may grow to; breaking one raises ``journal-limit`` in the handler, half of one is a warning.

    ``reading``: what a tool of a store returns, which is many documents; ``branches``: calls of a run that are open at
    the same time; ``question``: the words of a question, without its
    options and what it is about, which count as a value.
    """

    entries: int = 10_000
    value: int = MIB
    reading: int = 16 * MIB
    run: int = 64 * MIB
    branches: int = 10_000
    question: int = 16 * KIB


@dataclass(frozen=True, slots=True)
class Retention:
    """How long ended runs keep their journal; after that only the run itself stays. 0 keeps it for ever."""

    journal_days: float = 30

    def limit(self, now: float) -> float | None:
        """Runs that ended before this time lose their journal; seconds since the epoch, as ``now``. None: none does."""
        return now - self.journal_days * _DAY_S if self.journal_days else None


@dataclass(frozen=True, slots=True)
class Confirmations:
    """``wait_s``: how many seconds a model waits for a person to allow its call (contract decision 20)."""

    wait_s: float = 300


@dataclass(frozen=True, slots=True)
class Platform:
    """Where repositories are deployed (founding documents, "Iteration Loop").

    ``api_base`` and ``agent_id`` count where AMODAL_API_BASE and AMODAL_AGENT_ID are not set. ``tools_route``: the path
    under which the platform switches its built-in tools; ``{agent}`` stands for the id of the agent.
    """

    api_base: str = ""
    agent_id: str = ""
    branch: str = "main"
    environment: str = "production"
    tools_route: str = "/api/agents/{agent}/platform-tools"


@dataclass(frozen=True, slots=True)
class DefaultModels:
    """The models of repositories that name none, each as ``provider:model`` or ``provider:model@BASE_URL``; an empty
    text names none."""

    main: str = ""
    simple: str = ""
    advanced: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """``strict``: changed parameters of a recorded call stop the run; ``replay_twice``: every leg is replayed once more
    and compared (both for development). ``shell_exec``: ``ctx.exec`` also where the manifest does not ask for it; the
    repository has to be trusted all the same.
    """

    limits: Limits = field(default_factory=Limits)
    retention: Retention = field(default_factory=Retention)
    durability: Durability = "full"
    strict: bool = False
    replay_twice: bool = False
    shell_exec: bool = False
    confirmations: Confirmations = field(default_factory=Confirmations)
    platform: Platform = field(default_factory=Platform)
    models: DefaultModels = field(default_factory=DefaultModels)
