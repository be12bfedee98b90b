"""Repositories and builds without a runtime: tests say what there is, and let the events of a build come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.builds import Build, BuildEvent, BuildFailure, Deploy, LogLine, TouchedRun
from inbox_app.gateway.catalog import AgentInfo, BuiltIn, Repository, ToolInfo
from tests.support.builders import NOW


class FakeCatalog:
    """Implements `Catalog`."""

    def __init__(self, *repositories: Repository) -> None:
        self.listed = list(repositories)
        self.trusted: list[str] = []
        self.refuse: GatewayError | None = None

    async def repositories(self) -> Sequence[Repository]:
        if self.refuse is not None:
            raise self.refuse
        return tuple(self.listed)

    async def open_repository(self, path: str) -> Repository:
        if self.refuse is not None:
            raise self.refuse
        found = Repository(path, path.rpartition("/")[2])
        self.listed.append(found)
        return found

    async def remove_repository(self, path: str) -> None:
        self.listed = [one for one in self.listed if one.path != path]

    async def trust(self, shown: Repository) -> None:
        now = next((one for one in self.listed if one.path == shown.path), None)
        if now is None or (now.revision, now.needs) != (shown.revision, shown.needs):
            raise GatewayError("content_changed", "It has changed.")
        self.trusted.append(shown.path)
        self.listed = [replace(one, trusted=True) if one is now else one for one in self.listed]


class FakeBuilds:
    """Implements `BuildGateway`. `tell` sends an event to whoever follows; None or an error ends that."""

    def __init__(self, catalog: FakeCatalog, *builds: Build) -> None:
        self._catalog = catalog
        self.kept = list(builds)
        self.reloaded: list[str] = []
        self.ordered: list[Deploy] = []
        self.followed: list[str] = []
        self.switched: list[tuple[str, str, bool]] = []
        self.refuse: GatewayError | None = None
        self.left = 0
        self._events: asyncio.Queue[BuildEvent | GatewayError | None] = asyncio.Queue()

    def tell(self, *events: BuildEvent | GatewayError | None) -> None:
        for event in events:
            if isinstance(event, Build):
                self.kept = [event, *(build for build in self.kept if build.id != event.id)]
            self._events.put_nowait(event)

    def reload(self, repository: str) -> AsyncIterator[BuildEvent]:
        self.reloaded.append(repository)
        return self._told()

    def deploy(self, order: Deploy) -> AsyncIterator[BuildEvent]:
        self.ordered.append(order)
        return self._told()

    def follow(self, build_id: str) -> AsyncIterator[BuildEvent]:
        self.followed.append(build_id)
        return self._told()

    async def target(self, repository: str) -> Deploy:
        return Deploy(repository, "agent_7d1", "main", "production")

    async def builds(self, repository: str, limit: int = 20) -> Sequence[Build]:
        return [replace(build, log=()) for build in self.kept if build.repository == repository][:limit]

    async def build(self, build_id: str) -> Build:
        return next(build for build in self.kept if build.id == build_id)

    async def switch(self, repository: str, tool: str, *, is_on: bool) -> None:
        self.switched.append((repository, tool, is_on))
        if self.refuse is not None:
            raise self.refuse
        self._catalog.listed = [
            replace(one, builtins=[replace(t, is_on=is_on) if t.name == tool else t for t in one.builtins])
            if one.path == repository
            else one
            for one in self._catalog.listed
        ]

    async def _told(self) -> AsyncIterator[BuildEvent]:
        try:
            while (event := await self._events.get()) is not None:
                if isinstance(event, GatewayError):
                    raise event
                yield event
        finally:
            self.left += 1


BUILT_IN = (
    BuiltIn("ask_choice", "Ask the person to choose among options."),
    BuiltIn("load_knowledge", "Read a document of the repository."),
    BuiltIn("memory", "", lacks='memory: set "memory": {"enabled": true} in amodal.json'),
    BuiltIn("request", "Send an HTTP request through a connection. Connections: crm."),
    BuiltIn("web_search", "", is_on=False, lacks="a provider: add webTools to amodal.json"),
    BuiltIn("store__parcels__set", "Write a document of the store parcels."),
)


def repository(name: str = "release-desk", **changes: object) -> Repository:
    tools = [ToolInfo(f"tool_{number}", "", "") for number in range(15)]
    agents = [AgentInfo("release_agent", "Release agent", ""), AgentInfo("scribe", "Scribe", "")]
    usual = Repository(f"/agents/{name}", name, "1.4.0", "7c59faf21d76aa", agents, tools, BUILT_IN)
    return replace(usual, **changes)  # pyright: ignore[reportArgumentType]


def build(number: int, **changes: object) -> Build:
    usual = Build(
        f"build_{number}",
        "/agents/release-desk",
        "local",
        "succeeded",
        NOW - 3600 * number,
        NOW - 3600 * number + 4,
        who="local:ann",
        revision="7c59faf21d76aa",
        previous="7c59faf21d76aa",
        log=[LogLine("Reading /agents/release-desk", stage="load"), LogLine("Build succeeded (4.0 s)", stage="done")],
    )
    return replace(usual, **changes)  # pyright: ignore[reportArgumentType]


def deployed(number: int, **changes: object) -> Build:
    return build(
        number,
        kind="platform",
        revision="",
        previous="",
        remote=f"bld_{number}",
        branch="main",
        environment="production",
        agent="agent_7d1",
        **changes,
    )


def failed_deploy(number: int = 2) -> Build:
    """A deploy that failed for two reasons."""
    log = [
        LogLine("Cloning main at 4f1c2a9", stage="source"),
        LogLine("npm ci", stage="install"),
        LogLine("added 214 packages in 6s", stage="install"),
        LogLine("amodal/tools/ship/handler.ts(14,9): error TS2322: Type 'string' is not assignable to type 'number'.",
                "error", "compile"),
        LogLine("npm warn deprecated inflight@1.0.6", "warning", "compile"),
        LogLine("amodal/tools/book/tool.json: \"effect\" must be one of read, idempotent, once", "error", "validate"),
        LogLine("Build failed", "error"),
    ]  # fmt: skip
    failures = [
        BuildFailure(
            "typescript",
            [log[3].text],
            "Correct the TypeScript there, then push and deploy again.",
            "amodal/tools/ship/handler.ts",
            14,
        ),
        BuildFailure("validation", [log[5].text], "Change what the line names.", "amodal/tools/book/tool.json"),
    ]
    return deployed(number, state="failed", failures=failures, log=log)


def touching(number: int = 1) -> Build:
    """A reload that changed what waiting runs go on with."""
    return build(
        number,
        previous="1b0c5d7ee8f2aa",
        changes=[("tools added", ["book_dock"]), ("tools changed", ["ship", "prepare_release"])],
        touched=[
            TouchedRun("session_41", "run_release", "awaiting-input", "ok"),
            TouchedRun(
                "session_42", "ship", "sleeping", "diverged", "ship makes ctx.step(weigh) where ctx.now was recorded"
            ),
        ],
    )
