"""The evals of the embedded runtime as the window reaches them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.embedded import EmbeddedGateway
from inbox_app.gateway.evals import EvalEnded, EvalRun, EvalStarted
from tests.unit.engine.workshop import Repo, play

Story = Callable[[EmbeddedGateway, Repo], Awaitable[None]]


@pytest.fixture
def tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Story], None]:
    """Tell a story on a gateway whose repository has two evals; folders of evals are made in ``tmp_path/stages``."""
    repo = Repo(tmp_path / "docks")
    repo.durable("echo", py='return await ctx.call_tool("load", {})', tools=("load",))
    repo.tool("load", py='return {"dock": 7}')
    repo.file(
        "evals/echo.md", "# Eval: It loads\n## Tool\necho {}\n## Assertions\n- contains: 7\n- tool_called: load\n"
    )
    repo.file("evals/slow.md", "## Tool\nsleep\n## Assertions\n- contains: 1\n")
    repo.durable("sleep", py="await ctx.sleep_until(4102444800000)\nreturn 1")
    (tmp_path / "stages").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "stages"))

    def run(story: Story) -> None:
        async def stage() -> None:
            gateway = EmbeddedGateway(tmp_path / "data", repositories=[repo.root])
            await gateway.open()
            try:
                await story(gateway, repo)
            finally:
                await gateway.close()

        play(stage())

    return run


def test_evals_are_listed_run_and_remembered(tell: Callable[[Story], None], tmp_path: Path) -> None:
    async def story(gateway: EmbeddedGateway, repo: Repo) -> None:
        echo, slow = await gateway.evals.evals()
        assert (echo.title, echo.tool, echo.agent, echo.last) == ("It loads", "echo", "", None)
        assert (echo.asks, slow.name) == ("echo {}", "slow")
        events = [event async for event in gateway.evals.run(EvalRun(str(repo.root), ["echo"]))]
        assert events[0] == EvalStarted("echo", "It loads")
        ended = events[1]
        assert isinstance(ended, EvalEnded)
        assert ended.result.passed
        assert [(call.name, call.depth) for call in ended.result.calls] == [("echo", 0), ("load", 1)]
        assert ended.result.calls[1].result == {"dock": 7}
        assert [verdict.passed for verdict in ended.result.verdicts] == [True, True]
        assert await gateway.evals.results(str(repo.root), "echo") == [ended.result]
        assert (await gateway.evals.evals())[0].last == ended.result
        with pytest.raises(GatewayError, match='no eval "eco"'):
            async for _ in gateway.evals.run(EvalRun(str(repo.root), ["eco"])):
                pass

    tell(story)
    assert list((tmp_path / "stages").iterdir()) == []


def test_whoever_stops_listening_stops_the_evals(tell: Callable[[Story], None], tmp_path: Path) -> None:
    async def story(gateway: EmbeddedGateway, repo: Repo) -> None:
        async with aclosing(gateway.evals.run(EvalRun(str(repo.root), ["slow"]))) as events:
            async for event in events:
                assert event == EvalStarted("slow", "slow")
                break
        while list((tmp_path / "stages").iterdir()):  # noqa: ASYNC110 - it goes when everything in it has ended
            await asyncio.sleep(0.02)
        assert await gateway.evals.results(str(repo.root), "slow") == []

    tell(story)
