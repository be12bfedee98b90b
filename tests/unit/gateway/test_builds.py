"""Builds of the embedded runtime as the window gets them: told while they go on, left when nobody listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest

from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.builds import Build, BuildEvent, Deploy, LogLine
from inbox_app.gateway.embedded import EmbeddedGateway
from tests.support.platform import KEY, platform_server
from tests.unit.engine.workshop import Repo

Story = Callable[[EmbeddedGateway], Awaitable[Any]]


def told(data: Path, story: Story) -> Any:
    async def main() -> Any:
        gateway = EmbeddedGateway(data)
        await gateway.open()
        try:
            return await story(gateway)
        finally:
            await gateway.close()

    return asyncio.run(asyncio.wait_for(main(), 50))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.tool("weigh", py="return 1")
    return repo


def test_a_reload_is_told_line_by_line_and_kept(repo: Repo, tmp_path: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> None:
        builds, path = gateway.builds, str(repo.root)
        events = [event async for event in builds.reload(path)]
        begun, *lines, done = events
        assert isinstance(begun, Build)
        assert isinstance(done, Build)
        assert (begun.state, done.state, begun.id) == ("running", "succeeded", done.id)
        assert lines == list(done.log)
        repo.tool("weigh", py="return (")
        failed = [event async for event in builds.reload(path)][-1]
        assert isinstance(failed, Build)
        assert [(one.kind, one.file) for one in failed.failures] == [("python", "amodal/tools/weigh/handler.py")]
        assert failed.changes == (("tools changed", ("weigh",)),)
        listed = await builds.builds(path)
        assert [(one.id, one.log) for one in listed] == [(failed.id, ()), (done.id, ())]
        assert (await builds.build(done.id)).log == done.log

    told(tmp_path / "data", story)


def test_a_switch_is_seen_in_the_catalog(repo: Repo, tmp_path: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> None:
        path = str(repo.root)
        found = await gateway.catalog.open_repository(path)
        assert {one.name: one.is_on for one in found.builtins}["memory"]
        await gateway.builds.switch(path, "memory", is_on=False)
        (again,) = await gateway.catalog.repositories()
        memory = next(one for one in again.builtins if one.name == "memory")
        assert not memory.is_on
        assert memory.lacks.startswith("memory: set")
        with pytest.raises(GatewayError, match="only built-in tools can be switched"):
            await gateway.builds.switch(path, "weigh", is_on=False)

    told(tmp_path / "data", story)


def test_a_deploy_is_left_and_followed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with platform_server(coming=[f"line {number}" for number in range(50)]) as server:
        monkeypatch.setenv("AMODAL_API_BASE", server.url)
        monkeypatch.setenv("AMODAL_API_KEY", KEY)

        async def story(gateway: EmbeddedGateway) -> None:
            builds = gateway.builds
            assert await builds.target("/repo") == Deploy("/repo", "", "main", "production")
            told = cast("AsyncGenerator[BuildEvent]", builds.deploy(Deploy("/repo", "agent_1", "next", "staging")))
            async with aclosing(told):
                async for event in told:
                    if isinstance(event, LogLine):
                        break
            server.growth = 50
            (left,) = await builds.builds("/repo")
            assert (left.kind, left.branch, left.remote) == ("platform", "next", "bld_7")
            again = [event async for event in builds.follow(left.id)]
            done = again[-1]
            assert isinstance(done, Build)
            assert (done.state, len(done.log)) == ("succeeded", 50)
            assert await builds.target("/repo") == Deploy("/repo", "agent_1", "next", "staging")

        told(tmp_path / "data", story)


def test_what_keeps_a_deploy_from_being_ordered_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMODAL_API_BASE", raising=False)

    async def story(gateway: EmbeddedGateway) -> None:
        with pytest.raises(GatewayError) as caught:
            _ = [event async for event in gateway.builds.deploy(Deploy("/repo", "a", "b", "c"))]
        assert caught.value.code == "platform_not_configured"

    told(tmp_path / "data", story)
