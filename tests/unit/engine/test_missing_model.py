"""A run whose specialist needs a model that only the process which began it had: it waits for one, and is not lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.workshop import Repo, bench, play

ASKS = {
    "ts": (
        "const a = await ctx.requestInput({ question: 'Go?' });\n"
        "return [a.value, await ctx.callSubagent('critic', 'x')];"
    ),
    "py": "a = await ctx.request_input(question='Go?')\nreturn [a['value'], await ctx.call_subagent('critic', 'x')]",
}


@pytest.mark.parametrize("language", ["ts", "py"])
def test_a_run_that_goes_on_without_its_model_waits_for_one(tmp_path: Path, language: str) -> None:
    repo = Repo(tmp_path / "repo")
    code: dict[str, Any] = {language: ASKS[language]}
    repo.durable("decide", **code, agents=("critic",))
    repo.agent("critic")
    model = repo.script({"text": "fine", "repeat": True})
    data = tmp_path / "data"

    async def asked() -> str:
        async with bench(repo, data, model=model) as desk:
            return (await desk.run("decide"))["session_id"]

    async def without_a_model(run_id: str) -> dict[str, Any]:
        async with bench(repo, data) as desk:
            return (await desk.answer(run_id, "yes"))["outcome"]

    async def with_it(run_id: str) -> dict[str, Any]:
        async with bench(repo, data, model=model) as desk:
            return await desk.answer(run_id, "run-again")

    run_id = play(asked())
    waits = play(without_a_model(run_id))
    assert waits["kind"] == "needs-attention"
    assert "--model" in waits["question"]
    assert (ended := play(with_it(run_id)))["result"] == ["yes", "fine"], ended
