"""Builds of repositories, on the platform and here as the application knows them. Plain data, as `gateway.base`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

BuildState: TypeAlias = Literal["running", "succeeded", "failed", "cancelled", "unknown"]


@dataclass(frozen=True, slots=True)
class LogLine:
    """``stage``: the part of the build it belongs to. ``at``: Unix seconds, None if it is not told."""

    text: str
    level: Literal["info", "warning", "error"] = "info"
    stage: str = ""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class BuildFailure:
    """One cause of a failed build. ``kind``: typescript, python, dependency, manifest, validation, network,
    authorization, not-found, rate-limit or unknown; ``lines``: what the log says of it; ``file`` as it names it."""

    kind: str
    lines: Sequence[str]
    advice: str
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class TouchedRun:
    """A run that waits and whose code a build changed. ``verdict``: ok, diverged, cannot-tell or skipped."""

    run_id: str
    tool: str
    status: str
    verdict: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Build:
    """One build, on this computer (``local``) or ordered from the platform. Times are in Unix seconds.

    ``remote``: what the platform calls it. ``revision`` and ``previous``: digests of the code now and before.
    ``changes``: pairs of what happened (``tools added`` and so on) and the names. ``log`` is empty in lists.
    """

    id: str
    repository: str
    kind: Literal["local", "platform"]
    state: BuildState
    started_at: float
    ended_at: float | None = None
    who: str = ""
    remote: str = ""
    branch: str = ""
    environment: str = ""
    agent: str = ""
    revision: str = ""
    previous: str = ""
    changes: Sequence[tuple[str, Sequence[str]]] = ()
    touched: Sequence[TouchedRun] = ()
    failures: Sequence[BuildFailure] = ()
    log: Sequence[LogLine] = ()


BuildEvent: TypeAlias = LogLine | Build
"""A line of the log, or the build as far as it is known by then. The last event is the build as it ended."""


@dataclass(frozen=True, slots=True)
class Deploy:
    """What is ordered from the platform for the repository at this path."""

    repository: str
    agent: str
    branch: str
    environment: str


def is_production(environment: str) -> bool:
    """Whether one of the words of its name begins with prod, or is live: ``eu-production``, ``prod2``, ``Live EU``."""
    words = re.findall(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+", unicodedata.normalize("NFKC", environment))
    return any(word.casefold().startswith("prod") or word.casefold() == "live" for word in words)


class BuildGateway(Protocol):
    """Every coroutine and every iteration may raise `GatewayError`."""

    def reload(self, repository: str) -> AsyncIterator[BuildEvent]:
        """Build a repository on this computer."""
        ...

    async def target(self, repository: str) -> Deploy:
        """What a deploy would be ordered with unless something else is said; "" for what is not known."""
        ...

    def deploy(self, order: Deploy) -> AsyncIterator[BuildEvent]:
        """Order a build of the platform and follow it; whoever stops listening stops following, not the build."""
        ...

    def follow(self, build_id: str) -> AsyncIterator[BuildEvent]:
        """Follow a build of the platform again."""
        ...

    async def builds(self, repository: str, limit: int = 20) -> Sequence[Build]:
        """Latest first."""
        ...

    async def build(self, build_id: str) -> Build: ...
    async def switch(self, repository: str, tool: str, *, is_on: bool) -> None:
        """Switch a built-in tool, one of `Repository.builtins`."""
        ...
