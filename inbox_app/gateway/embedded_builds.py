"""`BuildGateway` to the runtime in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from inbox_app.gateway.builds import Build, BuildEvent, BuildFailure, Deploy, LogLine, TouchedRun

if TYPE_CHECKING:
    from runtime_core.runtime import Runtime
    from runtime_core.wire import builds as wire

T = TypeVar("T")


class Call(Protocol):
    """Runs a coroutine on the runtime's loop; what goes wrong there is a `GatewayError`."""

    async def __call__(self, work: Coroutine[Any, Any, T]) -> T: ...


Tell: TypeAlias = Callable[["wire.Line | wire.Build"], None]


class EmbeddedBuilds:
    """``runtime`` gives the open runtime, on its loop; ``identity`` is who orders."""

    def __init__(self, call: Call, runtime: Callable[[], Runtime], identity: str) -> None:
        self._call = call
        self._runtime = runtime
        self._identity = identity

    def reload(self, repository: str) -> AsyncIterator[BuildEvent]:
        return self._told(lambda tell: self._runtime().builds.reload(Path(repository), who=self._identity, tell=tell))

    def deploy(self, order: Deploy) -> AsyncIterator[BuildEvent]:
        return self._told(lambda tell: self._deploy(order, tell))

    def follow(self, build_id: str) -> AsyncIterator[BuildEvent]:
        return self._told(lambda tell: self._runtime().builds.follow(build_id, who=self._identity, tell=tell))

    async def target(self, repository: str) -> Deploy:
        return await self._call(self._target(repository))

    async def builds(self, repository: str, limit: int = 20) -> Sequence[Build]:
        return await self._call(self._builds(repository, limit))

    async def build(self, build_id: str) -> Build:
        return await self._call(self._build(build_id))

    async def switch(self, repository: str, tool: str, *, is_on: bool) -> None:
        await self._call(self._switch(repository, tool, is_on))

    async def _told(self, work: Callable[[Tell], Coroutine[Any, Any, wire.Build]]) -> AsyncIterator[BuildEvent]:
        """Everything that the work tells, and what it returns; the work is cancelled when nobody listens any more."""
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[BuildEvent | None] = asyncio.Queue()

        def tell(told: wire.Line | wire.Build) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event(told))

        async def working() -> wire.Build:
            return await work(tell)

        doing = asyncio.ensure_future(self._call(working()))
        doing.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (told := await events.get()) is not None:
                yield told
            yield build(await doing)
        finally:
            doing.cancel()

    # Below here everything runs on the runtime's loop.

    async def _deploy(self, order: Deploy, tell: Tell) -> wire.Build:
        from runtime_core.deploys.builds import Order

        asked = Order(order.repository, order.agent, order.branch, order.environment)
        return await self._runtime().builds.deploy(asked, who=self._identity, tell=tell)

    async def _target(self, repository: str) -> Deploy:
        from runtime_core.deploys.builds import Order

        found = await self._runtime().builds.target(Order(repository))
        return Deploy(repository, found.agent, found.branch, found.environment)

    async def _builds(self, repository: str, limit: int) -> Sequence[Build]:
        return [build(one, with_log=False) for one in await self._runtime().builds.of(repository, limit)]

    async def _build(self, build_id: str) -> Build:
        return build(await self._runtime().builds.build(build_id))

    async def _switch(self, repository: str, tool: str, is_on: bool) -> None:
        await self._runtime().switches.switch(Path(repository), tool, is_on=is_on, who=self._identity)


def event(told: wire.Line | wire.Build) -> BuildEvent:
    from runtime_core.wire import builds as wire

    return build(told) if isinstance(told, wire.Build) else _line(told)


def build(one: wire.Build, *, with_log: bool = True) -> Build:
    from runtime_core.deploys.local import changes_in_words

    return Build(
        one.id,
        one.repo,
        one.kind,
        one.state,
        one.started_at,
        one.ended_at,
        one.who,
        one.remote,
        one.branch,
        one.environment,
        one.agent,
        one.revision,
        one.previous,
        tuple(changes_in_words(one.changes)),
        tuple(TouchedRun(run.run_id, run.tool, run.status, run.verdict, run.reason) for run in one.touched),
        tuple(BuildFailure(bad.kind, tuple(bad.lines), bad.advice, bad.file, bad.line) for bad in one.failures),
        tuple(map(_line, one.log)) if with_log else (),
    )


def _line(line: wire.Line) -> LogLine:
    return LogLine(line.text, line.level, line.stage, line.at)
