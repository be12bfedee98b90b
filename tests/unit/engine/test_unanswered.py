"""A handler that ends without the answer to a question that it asked: most likely it forgot to wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.workshop import Repo, bench, play

FORGETS = {
    "ts": "const ok = ctx.waitForApproval('Pay?');\nif (ok) return ctx.callTool('pay', {});",
    "py": "ok = ctx.wait_for_approval('Pay?')\nif ok: return await ctx.call_tool('pay', {})",
}
FAILS = {
    "ts": "ctx.requestInput({ question: 'Pay?' }); await ctx.callTool('pay', {}); throw new Error('no');",
    "py": "ctx.request_input({'question': 'Pay?'})\nawait ctx.call_tool('pay', {})\nraise ValueError('no')",
}
WAITS = {
    "ts": "return (await ctx.waitForApproval('Pay?')).approved;",
    "py": "return (await ctx.wait_for_approval('Pay?')).approved",
}


def _warnings(tmp_path: Path, body: str, language: str, answer: Any = None, *, is_child: bool = False) -> list[str]:
    repo = Repo(tmp_path / "repo")
    repo.tool("pay", py="return 'paid'")
    code: dict[str, Any] = {language: body}
    repo.durable("ask", **code, tools=("pay",))
    repo.durable("parent", py="return await ctx.call_tool('ask', {})", tools=("ask",))

    async def story() -> list[str]:
        async with bench(repo, tmp_path / "data") as desk:
            run = await desk.run("parent" if is_child else "ask")
            if answer is not None:
                await desk.answer(run["session_id"], answer)
            detail = await desk.detail(run["session_id"])
            return [warning["message"] for warning in detail["run"]["warnings"]]

    return play(story())


@pytest.mark.parametrize("language", ["ts", "py"])
@pytest.mark.parametrize("body", [FORGETS, FAILS], ids=["returns", "fails"])
@pytest.mark.parametrize("is_child", [False, True])
def test_a_question_that_nobody_waited_for_is_named(
    tmp_path: Path, body: dict[str, str], language: str, is_child: bool
) -> None:
    (warning,) = _warnings(tmp_path, body[language], language, is_child=is_child)
    assert "'Pay?'" in warning
    assert '> ask"' in warning if is_child else '"ask"' in warning
    assert "await" in warning


@pytest.mark.parametrize("language", ["ts", "py"])
def test_a_question_that_was_answered_is_none(tmp_path: Path, language: str) -> None:
    assert _warnings(tmp_path, WAITS[language], language, {"approved": True}) == []
