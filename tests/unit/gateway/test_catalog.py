"""The catalog of the embedded runtime: what opened repositories hold, as their files are now."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inbox_app.gateway import values
from inbox_app.gateway.base import GatewayError, Start
from inbox_app.gateway.catalog import Repository
from inbox_app.gateway.embedded import EmbeddedGateway

DESK = Path(__file__).parents[2] / "e2e" / "fixtures" / "desk"

Story = Callable[[EmbeddedGateway], Awaitable[Any]]


def told(data: Path, story: Story, **options: Any) -> Any:
    async def main() -> Any:
        gateway = EmbeddedGateway(data, **options)
        await gateway.open()
        try:
            return await story(gateway)
        finally:
            await gateway.close()

    return asyncio.run(asyncio.wait_for(main(), 50))


async def repositories(gateway: EmbeddedGateway) -> list[Repository]:
    return [*await gateway.catalog.repositories()]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """One durable tool with an invoke trigger and one inline tool, both in Python."""
    root = tmp_path / "shop"
    root.mkdir()
    (root / "amodal.json").write_text(
        json.dumps({"name": "shop", "version": "1", "models": {"main": {"provider": "scripted", "model": "m.json"}}})
    )
    write_tool(root, "refund", execution="durable", triggers=[{"kind": "invoke"}], uses={"tools": ["total"]})
    write_tool(root, "total", effect="read")
    agent = root / "agents" / "default"
    agent.mkdir(parents=True)
    (agent / "AGENT.md").write_text("Help.")
    return root


def write_tool(root: Path, name: str, **fields: Any) -> None:
    folder = root / "tools" / name
    folder.mkdir(parents=True)
    (folder / "handler.py").write_text("async def handler(params, ctx):\n    return params\n")
    tool = {"name": name, "description": f"What {name} does.", "parameters": {"type": "object"}, **fields}
    (folder / "tool.json").write_text(json.dumps(tool))


def test_what_is_told_of_a_repository(tmp_path: Path, repo: Path) -> None:
    [found] = told(tmp_path / "data", repositories, repositories=[repo])
    assert (found.name, found.path, found.broken, found.trusted) == ("shop", str(repo), False, True)
    tools = {tool.name: tool for tool in found.tools}
    refund, total = tools["refund"], tools["total"]
    assert (refund.durable, refund.invocable, refund.description) == (True, True, "What refund does.")
    assert (list(refund.uses), list(refund.reach)) == (["total"], ["total"])
    assert (total.durable, total.invocable, total.effect) == (False, False, "read")
    assert [(agent.name, agent.model) for agent in found.agents] == [("default", "scripted:m.json")]
    assert "memory" in {tool.name for tool in found.builtins}


def test_a_change_of_the_files_is_a_change_of_the_catalog(tmp_path: Path, repo: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> None:
        [before] = await repositories(gateway)
        write_tool(repo, "extra")
        [after] = await repositories(gateway)
        assert {tool.name for tool in after.tools} - {tool.name for tool in before.tools} == {"extra"}
        assert after.revision != before.revision
        (repo / "amodal.json").write_text("{")
        [broken] = await repositories(gateway)
        assert broken.broken
        assert any("amodal.json" in problem for problem in broken.problems)
        assert await repositories(gateway) == [broken]
        (repo / "amodal.json").write_text(json.dumps({"name": "shop", "version": "2"}))
        [mended] = await repositories(gateway)
        assert (mended.broken, mended.version) == (False, "2")

    told(tmp_path / "data", story, repositories=[repo])


def test_a_repository_is_opened_and_removed_while_the_runtime_runs(tmp_path: Path, repo: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> None:
        assert await repositories(gateway) == []
        opened = await gateway.catalog.open_repository(str(repo))
        again = await gateway.catalog.open_repository(str(repo))
        assert await repositories(gateway) == [opened] == [again]
        await gateway.catalog.remove_repository(str(repo))
        assert await repositories(gateway) == []
        with pytest.raises(GatewayError, match="is not open"):
            await gateway.catalog.remove_repository(str(repo))

    told(tmp_path / "data", story)


def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> None:
        with pytest.raises(GatewayError, match=r"has no amodal\.json") as refused:
            await gateway.catalog.open_repository(str(tmp_path))
        assert refused.value.code == "CONFIG_NOT_FOUND"
        assert await repositories(gateway) == []

    told(tmp_path / "data", story)


def test_a_remembered_repository_that_is_gone_is_listed_as_broken(tmp_path: Path, repo: Path) -> None:
    shutil.rmtree(repo)
    [gone] = told(tmp_path / "data", repositories, remembered=[repo])
    assert (gone.name, gone.path, gone.broken) == ("shop", str(repo), True)
    assert gone.problems


def test_a_remembered_repository_that_cannot_be_looked_at_keeps_no_other_from_opening(
    tmp_path: Path, repo: Path
) -> None:
    unreadable = tmp_path / ("x" * 300)
    found = told(tmp_path / "data", repositories, remembered=[unreadable, repo])
    assert {one.path: one.broken for one in found} == {str(unreadable): True, str(repo): False}


def test_trust_is_needed_and_given(tmp_path: Path, repo: Path) -> None:
    (repo / "amodal.json").write_text(json.dumps({"name": "shop", "version": "1", "sandbox": {"shellExec": True}}))

    async def story(gateway: EmbeddedGateway) -> None:
        [before] = await repositories(gateway)
        assert (before.trusted, len(before.needs)) == (False, 1)
        await gateway.catalog.trust(before)
        [after] = await repositories(gateway)
        assert after.trusted

    told(tmp_path / "data", story, repositories=[repo])


def test_only_what_was_shown_is_trusted(tmp_path: Path, repo: Path) -> None:
    handler = repo / "tools" / "refund" / "handler.py"
    (handler.parent / "requirements.txt").write_text("left-pad==1\n")
    whole = handler.read_text()

    async def story(gateway: EmbeddedGateway) -> None:
        [shown] = await repositories(gateway)
        handler.write_text(f"# another\n{whole}")
        [now] = await repositories(gateway)
        assert (now.needs, now.revision == shown.revision) == (shown.needs, False)
        with pytest.raises(GatewayError) as refused:
            await gateway.catalog.trust(shown)
        assert refused.value.code == "content_changed"
        assert [one.trusted for one in await repositories(gateway)] == [False]
        await gateway.catalog.trust(now)
        assert [one.trusted for one in await repositories(gateway)] == [True]

    told(tmp_path / "data", story, repositories=[repo])


def test_the_model_of_the_command_line_counts_for_every_agent(tmp_path: Path, repo: Path) -> None:
    [found] = told(tmp_path / "data", repositories, repositories=[repo], model="scripted:other.json")
    assert {agent.model for agent in found.agents} == {"scripted:other.json"}


def test_a_tool_of_the_catalog_is_started_as_the_route_does(tmp_path: Path, repo: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> None:
        found = await gateway.catalog.open_repository(str(repo))
        refund = next(tool for tool in found.tools if tool.invocable)
        start = Start(refund.name, '{"amount": 120.00}', found.path, lane="invoke")
        done = await gateway.start(start)
        assert (done.kind, values.compact(done.result)) == ("complete", '{"amount": 120.00}')
        with pytest.raises(GatewayError) as refused:
            await gateway.start(replace(start, tool="total"))
        assert refused.value.code == "tool_not_invocable"
        direct = await gateway.start(replace(start, tool="total", lane="direct"))
        assert (direct.kind, direct.run_id) == ("complete", None)

    told(tmp_path / "data", story)
