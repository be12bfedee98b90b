"""Builds: of repositories on this computer, and those that the platform makes; each kept with its log."""

from __future__ import annotations

import asyncio
import os
import secrets as random
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from runtime_core.connections.masking import masked
from runtime_core.connections.secrets import Secrets
from runtime_core.deploys.address import Address, address, agent_id
from runtime_core.deploys.failures import failures_of, is_cause
from runtime_core.deploys.following import Pace
from runtime_core.deploys.local import LocalBuild, Workshop
from runtime_core.deploys.platform import InDoubt, Platform
from runtime_core.deploys.switching import no_agent
from runtime_core.journal.base import Journal
from runtime_core.wire.builds import Build, BuildState, Failure, Line
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.settings import Platform as Settings

LINES: Final = 20_000
"""Lines of a log of the platform that are kept, the last ones."""
_CERTAIN: Final = ("succeeded", "failed", "cancelled")
_UNANSWERED: Final = Line(
    "The platform did not answer, so nobody knows whether it began this build. Look there before you order it again.",
    "warning",
)
LOST_S: Final = 3600.0
"""A local build that began so long ago and has not ended went down with its process."""

Tell: TypeAlias = Callable[[Line | Build], None]
"""Told of every line of a log as it comes, and of the build when more of it is known."""


@dataclass(frozen=True, slots=True)
class Order:
    """A deploy. What is "" is looked up: the agent in environment and settings, the others in the settings.

    ``repo``: the path of the repository that it is listed with; "" for none.
    """

    repo: str = ""
    agent: str = ""
    branch: str = ""
    environment: str = ""


class Builds:
    """The builds of one data folder. ``pace``: how logs of the platform are followed."""

    def __init__(
        self, journal: Journal, workshop: Workshop, secrets: Secrets, settings: Settings, pace: Pace | None = None
    ) -> None:
        self._journal = journal
        self._workshop = workshop
        self._secrets = secrets
        self._settings = settings
        self._pace = pace

    async def target(self, order: Order) -> Order:
        """The order with everything that can be looked up, first where a repository was deployed to last."""
        last = await self._last_deploy(order.repo) if order.repo else None
        known = await asyncio.to_thread(agent_id, self._secrets, self._settings)
        return Order(
            order.repo,
            order.agent.strip() or (last.agent if last is not None else "") or known,
            order.branch.strip() or (last.branch if last is not None else "") or self._settings.branch,
            order.environment.strip() or (last.environment if last is not None else "") or self._settings.environment,
        )

    async def reload(self, root: Path, *, who: str, tell: Tell) -> Build:
        """Build a repository here; a build that fails is no error of this method."""
        repo = _absolute(root)
        before = next((b for b in await self.of(repo) if b.kind == "local" and b.state == "succeeded"), None)
        build = Build(_new_id(), repo, "local", "running", time.time(), who=who)
        await self._journal.save_build(build)
        tell(build)
        try:
            build = await LocalBuild(self._workshop, build, before, tell).run()
        except BaseException as error:
            state = "cancelled" if isinstance(error, asyncio.CancelledError) else "failed"
            await self._journal.save_build(replace(build, state=state, ended_at=time.time()))
            raise
        await self._journal.save_build(build)
        return build

    async def deploy(self, order: Order, *, who: str, tell: Tell, follow: bool = True) -> Build:
        """Order a build of the platform and follow its log until it ends. Raises `RuntimeFault`.

        Whoever stops waiting stops following; the build goes on.
        """
        place = await asyncio.to_thread(address, self._secrets, self._settings)
        found = await self.target(order)
        if not found.agent:
            raise no_agent()
        build = Build(
            _new_id(),
            found.repo,
            "platform",
            "running",
            time.time(),
            who=who,
            branch=found.branch,
            environment=found.environment,
            agent=found.agent,
        )
        async with Platform(place, self._pace) as platform:
            try:
                begun = await platform.redeploy(found.agent, found.branch, found.environment)
            except (InDoubt, asyncio.CancelledError):
                build = _ended(replace(build, log=(_UNANSWERED,)), "unknown")
                tell(build)
                await self._journal.save_build(build)
                raise
        build = replace(build, remote=begun.build_id)
        if not begun.build_id:
            state = begun.state if begun.state != "running" else "unknown"
            line = Line("The platform accepted the order and named no build, so its log cannot be followed.", "warning")
            build = _ended(replace(build, log=(line,)), state)
        await self._journal.save_build(build)
        tell(build)
        if not begun.build_id:
            tell(build.log[0])
            return build
        return await self._followed(build, place, tell) if follow else build

    async def follow(self, name: str, *, who: str, tell: Tell, follow: bool = True) -> Build:
        """The log of a build, by its id here or on the platform; ``follow`` until it ends. Raises `RuntimeFault`.

        That of a local build is as it is kept.
        """
        known = await self._journal.build(name)
        if known is not None and known.kind == "local":
            known = _as_shown(known)
            tell(known)
            for line in known.log:
                tell(line)
            return known
        place = await asyncio.to_thread(address, self._secrets, self._settings)
        if known is None:
            known = Build(_new_id(), "", "platform", "running", time.time(), who=who, remote=name)
        tell(replace(known, log=()))
        return await self._followed(known, place, tell, follow=follow)

    async def of(self, repo: str | None, limit: int = 20) -> Sequence[Build]:
        """The builds of a repository or (None) all, latest first."""
        return [_as_shown(build) for build in await self._journal.builds(repo, limit)]

    async def build(self, name: str) -> Build:
        """Raises `RuntimeFault` NOT_FOUND."""
        found = await self._journal.build(name)
        if found is None:
            raise RuntimeFault("NOT_FOUND", f"There is no build {name} in this data folder.")
        return _as_shown(found)

    async def _followed(self, build: Build, place: Address, tell: Tell, *, follow: bool = True) -> Build:
        log: deque[Line] = deque(maxlen=LINES)
        state: BuildState = "running"
        try:
            async with Platform(place, self._pace) as platform, aclosing(_log(platform, build, follow)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Line):
                        line = replace(piece, text=masked(piece.text, [place.key]))
                        log.append(line)
                        tell(line)
                    else:
                        state = piece
        except BaseException:
            if log:  # what came so far; it can be followed again
                await self._seen(build, log, "running")
            raise
        return await self._seen(build, log, "unknown" if follow and state == "running" else state)

    async def _seen(self, build: Build, log: Sequence[Line], state: BuildState) -> Build:
        """Keep what the platform told of a build; what is known is not replaced by less."""
        known = await self._journal.build(build.id) or build
        lines = log if len(log) >= len(known.log) else known.log
        ended_at = None if state == "running" else time.time()
        if known.state in _CERTAIN and (state not in _CERTAIN or state == known.state):
            state, ended_at = known.state, known.ended_at
        failures = tuple(await asyncio.to_thread(failures_of, lines)) if state == "failed" else ()
        seen = replace(known, state=state, ended_at=ended_at, log=_marked(lines, failures), failures=failures)
        await self._journal.save_build(seen)
        return seen

    async def _last_deploy(self, repo: str) -> Build | None:
        return next((build for build in await self.of(repo) if build.kind == "platform"), None)


def _log(platform: Platform, build: Build, follow: bool) -> AsyncGenerator[Line | BuildState]:
    return platform.log(build.remote, follow=follow)


def _marked(log: Iterable[Line], failures: Sequence[Failure]) -> tuple[Line, ...]:
    """The log with the lines that tell why it failed as errors, also where the platform gives lines no level."""
    causes = {text for failure in failures if failure.kind != "unknown" for text in failure.lines}
    return tuple(replace(line, level="error") if is_cause(line, causes) else line for line in log)


def _ended(build: Build, state: BuildState) -> Build:
    return replace(build, state=state, ended_at=time.time())


def _as_shown(build: Build) -> Build:
    is_lost = build.kind == "local" and build.state == "running" and build.started_at < time.time() - LOST_S
    return replace(build, state="unknown") if is_lost else build


def _absolute(root: Path) -> str:
    return os.path.abspath(root)


def _new_id() -> str:
    return f"build_{random.token_hex(8)}"
