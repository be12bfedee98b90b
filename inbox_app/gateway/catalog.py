"""What the agent repositories of a runtime hold, as the application shows it. Plain data, as `gateway.base`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """An agent that one can talk to. ``model``: what it would answer with, "" if there is none."""

    name: str
    display_name: str
    description: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool of the repository. ``schema`` is the JSON Schema of its parameters, ``file`` where its handler stands.

    ``invocable``: it has an ``invoke`` trigger and is durable, so the rules of the HTTP route let it start;
    ``guarded``: its exposure asks for a person's consent when a model calls it. ``effect`` is ``read``, ``idempotent``
    or ``once``; ``uses`` names the tools and, as ``agent:NAME``, the agents that it calls itself, ``reach`` those and
    all that these get to.
    """

    name: str
    title: str
    description: str
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    durable: bool = False
    invocable: bool = False
    guarded: bool = False
    effect: str = "once"
    uses: Sequence[str] = ()
    reach: Sequence[str] = ()
    file: str = ""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A tool that comes with the runtime. ``is_on`` False: an operator switched it off; ``lacks``: what it needs and
    does not have, "" if nothing."""

    name: str
    description: str
    is_on: bool = True
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Repository:
    """An opened repository. ``problems`` are sentences; ``broken``: it cannot be used because of them."""

    path: str
    name: str
    version: str = ""
    revision: str = ""
    agents: Sequence[AgentInfo] = ()
    tools: Sequence[ToolInfo] = ()
    builtins: Sequence[BuiltIn] = ()
    problems: Sequence[str] = ()
    broken: bool = False
    trusted: bool = True
    needs: Sequence[str] = ()
    """What its code needs trust for."""


class Catalog(Protocol):
    """Every coroutine may raise `GatewayError`."""

    async def repositories(self) -> Sequence[Repository]:
        """Those that were opened, as their files are now; also what cannot be used."""
        ...

    async def open_repository(self, path: str) -> Repository:
        """Open one more; it is listed from now on, also with problems. Raises if the folder is no repository."""
        ...

    async def remove_repository(self, path: str) -> None:
        """List it no longer. Runs of it that are going on keep their code."""
        ...

    async def trust(self, shown: Repository) -> None:
        """Trust the code of a repository as it was shown (decision 28). Raises content_changed if it is another now."""
        ...
