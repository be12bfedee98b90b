"""Built-in tools on and off: here, for one repository, and on the platform, for one agent.

What the code of a repository defines cannot be switched: it is changed there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from runtime_core.connections.secrets import Secrets
from runtime_core.deploys.address import AGENT, address, agent_id
from runtime_core.deploys.platform import Platform
from runtime_core.engine.shelf import Shelf
from runtime_core.journal.base import Journal
from runtime_core.repo.builtins import BUILT_IN, LACKS, MAIL_TOOLS, rest_connections
from runtime_core.repo.bundle import Bundle
from runtime_core.tools.base import Toolbox
from runtime_core.wire.builds import Switch
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.settings import Platform as Settings


@dataclass(frozen=True, slots=True)
class Switchable:
    """A built-in tool of a repository. ``lacks``: what it needs and the repository does not have, "" if nothing.

    ``who`` and ``at`` (Unix seconds) of the one who switched it last.
    """

    name: str
    description: str
    is_on: bool = True
    lacks: str = ""
    who: str = ""
    at: float | None = None

    def to_wire(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "enabled": self.is_on,
            "lacks": self.lacks,
            "switched_by": self.who or None,
            "switched_at": self.at,
        }


class LocalSwitches:
    """The switches of this data folder."""

    def __init__(self, journal: Journal, shelf: Shelf, toolbox: Toolbox) -> None:
        self._journal = journal
        self._shelf = shelf
        self._toolbox = toolbox

    async def of(self, bundle: Bundle) -> Sequence[Switchable]:
        """All built-in tools of a repository."""
        return switchables(bundle, self._toolbox, await self._journal.switches(str(bundle.root)))

    async def switch(self, root: Path, tool: str, *, is_on: bool, who: str) -> Switchable:
        """Raises `BundleError`, and `RuntimeFault` VALIDATION_ERROR for a tool of the repository, NOT_FOUND."""
        bundle = await self._shelf.bundle(root)
        names = [one.name for one in switchables(bundle, self._toolbox, ())]
        if tool not in names:
            raise _no_such(bundle, tool, names)
        await self._journal.switch(str(bundle.root), tool, who, is_on=is_on)
        await self._toolbox.look(bundle)
        return next(one for one in await self.of(bundle) if one.name == tool)


def switchables(bundle: Bundle, toolbox: Toolbox, switches: Sequence[Switch]) -> Sequence[Switchable]:
    """Every tool that comes with the runtime, in the order of the contract, then those of stores. What other systems
    offer is no tool of the runtime: policies are for that."""
    theirs = tuple(f"{name}__" for name in (*bundle.connections, *bundle.servers))
    names = dict.fromkeys((*BUILT_IN, *MAIL_TOOLS, *toolbox.names(bundle)))
    set_by = {one.tool: one for one in switches}
    return [
        _switchable(name, bundle, toolbox, set_by.get(name))
        for name in names
        if name not in bundle.tools and not name.startswith(theirs)
    ]


def _switchable(name: str, bundle: Bundle, toolbox: Toolbox, switch: Switch | None) -> Switchable:
    tool = toolbox.find(bundle, name)
    lacks = LACKS.get(name, "") if tool is None or not _has_what_it_needs(name, bundle) else ""
    description = tool.description if tool is not None else ""
    if switch is None:
        return Switchable(name, description, lacks=lacks)
    return Switchable(name, description, switch.is_on, lacks, switch.who, switch.at)


def _has_what_it_needs(name: str, bundle: Bundle) -> bool:
    """Of tools that are found in any case and say themselves what is missing."""
    if name == "request":
        return bool(rest_connections(bundle))
    if name == "load_knowledge":
        return bool(bundle.knowledge)
    return name != "call_subagent" or any(agent.subagents for agent in bundle.agents.values())


def _no_such(bundle: Bundle, tool: str, names: Sequence[str]) -> RuntimeFault:
    if tool in bundle.tools:
        return RuntimeFault(
            "VALIDATION_ERROR",
            f'"{tool}" is a tool of the repository {bundle.name}, and only built-in tools can be switched. Change it '
            f'in {bundle.tools[tool].entry}: "enabled": false in a tool.ts leaves it out.',
        )
    close = get_close_matches(tool, names, 1)
    hint = f'Did you mean "{close[0]}"?' if close else f"They are: {', '.join(names)}."
    return RuntimeFault("NOT_FOUND", f'There is no built-in tool "{tool}" for the repository {bundle.name}. {hint}')


class PlatformSwitches:
    """The switches of the platform, under the route that the settings name."""

    def __init__(self, secrets: Secrets, settings: Settings) -> None:
        self._secrets = secrets
        self._settings = settings

    async def of(self, agent: str | None) -> Mapping[str, bool]:
        """The built-in tools of an agent (None: the one that environment or settings name), and which are on.

        Raises `RuntimeFault`.
        """
        async with self._opened() as platform:
            return await platform.tools(self._settings.tools_route, await self._agent(agent))

    async def switch(self, agent: str | None, tool: str, *, is_on: bool) -> None:
        """Raises `RuntimeFault`."""
        async with self._opened() as platform:
            await platform.switch(self._settings.tools_route, await self._agent(agent), tool, is_on=is_on)

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[Platform]:
        async with Platform(await asyncio.to_thread(address, self._secrets, self._settings)) as platform:
            try:
                yield platform
            except RuntimeFault as fault:
                if fault.code != "NOT_FOUND":
                    raise
                hint = "The route of this platform is tools_route under [platform] in config.toml."
                raise RuntimeFault(fault.code, f"{fault.message} {hint}", **fault.details) from None

    async def _agent(self, given: str | None) -> str:
        found = given or await asyncio.to_thread(agent_id, self._secrets, self._settings)
        if not found and "{agent}" in self._settings.tools_route:
            raise no_agent()
        return found


def no_agent() -> RuntimeFault:
    return RuntimeFault(
        "platform_not_configured",
        f"It is not known which agent of the platform is meant: give --agent-id, set the environment variable {AGENT}, "
        "or agent_id under [platform] in config.toml.",
    )
