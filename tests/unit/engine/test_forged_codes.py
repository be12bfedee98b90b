"""The runtime's own codes on errors that handlers throw: what became of a handler is not for it to say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.engine.workshop import Repo, bench, play

THROWS = {
    "ts": "ctx.log('called'); throw Object.assign(new Error('mine'), { code: params.code });",
    "py": "ctx.log('called')\nerror = RuntimeError('mine')\nerror.code = params['code']\nraise error",
}
CALLS = {
    "ts": "return await ctx.callTool('throws', params);",
    "py": "return await ctx.call_tool('throws', params)",
}


@pytest.mark.parametrize("language", ["ts", "py"])
@pytest.mark.parametrize("code", ["host-lost", "host-hung", "out-of-memory", "deadline"])
def test_a_handler_cannot_say_that_its_process_was_lost(tmp_path: Path, language: str, code: str) -> None:
    repo, data = Repo(tmp_path / "repo"), tmp_path / "data"
    repo.tool("throws", **{language: THROWS[language]})  # pyright: ignore[reportArgumentType]
    repo.durable("throws_itself", **{language: THROWS[language]})  # pyright: ignore[reportArgumentType]
    repo.durable("calls", tools=("throws",), **{language: CALLS[language]})  # pyright: ignore[reportArgumentType]

    async def story() -> None:
        async with bench(repo, data) as desk:
            for tool in ("calls", "throws_itself"):
                outcome = (await desk.run(tool, {"code": code}))["outcome"]
                assert outcome["kind"] == "failed", tool
                assert "mine" in outcome["reason"]
            assert (await desk.runtime.pending(who="ann"))["total"] == 0

    play(story())
    assert (data / "logs" / "handlers.log").read_text().count("called") == 2
