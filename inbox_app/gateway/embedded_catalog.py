"""The catalog of the embedded runtime: its opened repositories in the words of the application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.catalog import AgentInfo, BuiltIn, Repository, ToolInfo

if TYPE_CHECKING:
    from runtime_core.engine.catalog import Listed
    from runtime_core.repo.bundle import Agent, Bundle, Tool
    from runtime_core.runtime import Runtime

T = TypeVar("T")


class Call(Protocol):
    """Runs one coroutine on the runtime's loop; whatever goes wrong becomes a `GatewayError`."""

    async def __call__(self, work: Coroutine[Any, Any, T]) -> T: ...


class EmbeddedCatalog:
    """``runtime`` gives the open runtime; ``model`` is the one that overrides those of all repositories, if any."""

    def __init__(self, call: Call, runtime: Callable[[], Runtime], who: str, model: str | None) -> None:
        self._call = call
        self._runtime = runtime
        self._who = who
        self._model = model

    async def repositories(self) -> Sequence[Repository]:
        return await self._call(self._repositories())

    async def open_repository(self, path: str) -> Repository:
        return await self._call(self._open(Path(path)))

    async def remove_repository(self, path: str) -> None:
        await self._call(self._remove(Path(path)))

    async def trust(self, shown: Repository) -> None:
        await self._call(self._trust(shown))

    # Below here everything runs on the runtime's loop.

    async def _repositories(self) -> Sequence[Repository]:
        return [await self._told(one) for one in await self._runtime().catalog.listed()]

    async def _open(self, root: Path) -> Repository:
        catalog = self._runtime().catalog
        listed = await catalog.look(root)
        if listed.bundle is None and not await asyncio.to_thread((root / "amodal.json").is_file):
            raise GatewayError(
                "CONFIG_NOT_FOUND",
                f"{root} is no agent repository: it has no amodal.json. Choose the folder that holds this file.",
            )
        catalog.add(listed.root)
        return await self._told(listed)

    async def _remove(self, root: Path) -> None:
        if not self._runtime().catalog.remove(root):
            raise GatewayError("NOT_FOUND", f"{root} is not open.")

    async def _trust(self, shown: Repository) -> None:
        from runtime_core.repo.trust import Shown

        agreed = Shown(shown.revision, shown.needs)
        await self._runtime().trust(Path(shown.path), who=self._who, shown=agreed)

    async def _told(self, listed: Listed) -> Repository:
        problems = [str(problem) for problem in listed.problems]
        bundle = listed.bundle
        if bundle is None:
            return Repository(str(listed.root), listed.root.name, problems=problems, broken=True)
        named = partial(self._runtime().models.named, bundle.manifest, bundle.root)
        return Repository(
            path=str(listed.root),
            name=bundle.name,
            version=bundle.version,
            revision=bundle.revision,
            agents=[_agent(agent, self._model or named(agent.model_tier)) for agent in bundle.agents.values()],
            tools=[_tool(tool, bundle) for tool in bundle.tools.values()],
            builtins=await self._builtins(bundle),
            problems=problems,
            trusted=listed.trusted,
            needs=tuple(listed.needs),
        )

    async def _builtins(self, bundle: Bundle) -> Sequence[BuiltIn]:
        found = await self._runtime().switches.of(bundle)
        return [BuiltIn(one.name, one.description, one.is_on, one.lacks) for one in found]


def _agent(agent: Agent, model: str) -> AgentInfo:
    return AgentInfo(agent.name, agent.display_name, agent.description, model)


def _tool(tool: Tool, bundle: Bundle) -> ToolInfo:
    from runtime_core.repo.reach import AGENT, reach

    return ToolInfo(
        name=tool.name,
        title=tool.title or "",
        description=tool.description,
        schema=tool.parameters,
        durable=tool.durable,
        invocable=tool.invocable and tool.durable,
        guarded=tool.may_write,
        effect=tool.effect,
        uses=(*tool.tools, *(f"{AGENT}{name}" for name in tool.subagents)),
        reach=reach(tool.name, bundle),
        file=tool.entry,
    )
