"""Where the error of a handler was thrown: on its run, in the reply to whoever started it, and in the log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.workshop import Repo, bench, play

THROWS = {
    "ts": (
        "const inner = () => { throw new Error('no dock') };\nawait null;\ninner();",
        "amodal/tools/t/handler.ts:2:29",
    ),
    "py": ("def inner():\n    raise ValueError('no dock')\ninner()", "amodal/tools/t/handler.py:3"),
}


@pytest.mark.parametrize("language", ["ts", "py"])
@pytest.mark.parametrize("execution", ["durable", "inline"])
def test_an_error_says_where_it_was_thrown(tmp_path: Path, language: str, execution: str) -> None:
    body, place = THROWS[language]
    repo = Repo(tmp_path / "repo")
    code: dict[str, Any] = {language: body}
    (repo.durable if execution == "durable" else repo.tool)("t", **code)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run = await desk.run("t")
            assert run["outcome"]["at"] == place
            if execution == "durable":
                assert (await desk.detail(run["session_id"]))["run"]["error"]["at"] == place

    play(story())
    log = (tmp_path / "data" / "logs" / "handlers.log").read_text()
    assert " t failed " in log
    assert place.rpartition(":")[0].partition(":")[0] in log
    assert os.path.realpath(repo.root) not in log


@pytest.mark.parametrize("language", ["ts", "py"])
def test_an_error_that_a_caller_gets_says_nothing_of_it(tmp_path: Path, language: str) -> None:
    """It is recorded, and a replay finds it the same although lines have moved."""
    repo = Repo(tmp_path / "repo")
    code: dict[str, Any] = {language: THROWS[language][0]}
    repo.tool("t", **code, execution="durable")
    repo.tool(
        "caller",
        py="try: return await ctx.call_tool('t', {})\nexcept Exception as e: return str(vars(e))",
        tools=("t",),
    )
    repo.durable("outer", py="return await ctx.call_tool('caller', {})", tools=("caller",))

    async def story() -> list[Any]:
        async with bench(repo, tmp_path / "data") as desk:
            return [(await desk.run(name))["result"] for name in ("caller", "outer")]

    for told in play(story()):
        assert "no dock" in told
        assert "handler." not in told


@pytest.mark.parametrize("language", ["ts", "py"])
def test_the_error_of_a_call_names_no_place_outside_of_the_repository(tmp_path: Path, language: str) -> None:
    bodies: dict[str, Any] = {
        "ts": "await null;\nawait ctx.callTool('t', {});",
        "py": "await ctx.call_tool('t', {})",
    }
    repo = Repo(tmp_path / "repo")
    repo.tool("t", ts="throw new Error('no dock');")
    repo.durable("outer", **{language: bodies[language]}, tools=("t",))

    async def story() -> dict[str, Any]:
        async with bench(repo, tmp_path / "data") as desk:
            return (await desk.run("outer"))["outcome"]

    outcome = play(story())
    assert "no dock" in outcome["reason"]
    assert not os.path.isabs(outcome.get("at") or "")
