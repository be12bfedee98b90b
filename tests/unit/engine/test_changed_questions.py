"""What is stored of a question is not what its handler asked: no answer counts, and none reaches the handler."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.json import dumps, loads
from tests.unit.engine.workshop import Bench, Repo, bench, play

HANDLERS = {
    "ts": """
        const said = await ctx.{member}({args});
        ctx.log('reached');
        return said;
    """,
    "py": """
        said = await ctx.{member}({args})
        ctx.log('reached')
        return said
    """,
}
MEMBERS = {
    "input": {"ts": "requestInput", "py": "request_input"},
    "approval": {"ts": "waitForApproval", "py": "wait_for_approval"},
}
ARGS: dict[str, Any] = {"question": "Delete the backup?", "eligibleAnswerers": ["ann", "bob"], "timeoutMs": 6e6}
OTHER: dict[str, Any] = {"question": "Water the plants?", "inputType": "text"}


def asking(root: Path, language: str, kind: str, *, nested: bool = False, **more: Any) -> Repo:
    repo = Repo(root)
    body = HANDLERS[language].format(member=MEMBERS[kind][language], args=dumps(ARGS | more))
    if nested:
        call = {"ts": "return await ctx.callTool('kid', {});", "py": "return await ctx.call_tool('kid', {})"}
        repo.durable("top", tools=("kid",), **{language: call[language]})
        repo.durable("kid", **{language: body})
    else:
        repo.durable("top", **{language: body})
    return repo


def rewrite(data: Path, spec: dict[str, Any], print_of: str | None = None) -> None:
    """Put another question into the row, and its fingerprint too if ``print_of`` names its kind."""
    db = sqlite3.connect(data / "runtime.db", isolation_level=None)
    db.execute("UPDATE durable_question SET spec = ?", (dumps(spec),))
    if print_of is not None:
        db.execute("UPDATE durable_question SET fingerprint = ?", (fingerprint(print_of, dumps(spec)),))
    db.close()


async def asked(desk: Bench) -> str:
    return (await desk.run("top"))["sessionId"]


@pytest.mark.parametrize("spec", [OTHER, {}, {"question": "Delete the backup?", "inputType": "yesno"}])
@pytest.mark.parametrize("kind", ["input", "approval"])
def test_an_answer_to_a_question_that_does_not_fit_its_fingerprint_is_refused(
    tmp_path: Path, kind: str, spec: dict[str, Any]
) -> None:
    repo = asking(tmp_path / "repo", "ts", kind)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = await asked(desk)
            rewrite(tmp_path / "data", spec)
            with pytest.raises(RuntimeFault, match=r"is not the one that was asked.*cancel session") as caught:
                await desk.answer(run_id, "yes")
            assert caught.value.code == "content_changed"
            await desk.runtime.cancel(run_id, who="ann")
            assert (await desk.detail(run_id))["run"]["status"] == "cancelled"

    play(story())


@pytest.mark.parametrize("nested", [False, True], ids=["top", "nested"])
@pytest.mark.parametrize("kind", ["input", "approval"])
@pytest.mark.parametrize("language", ["ts", "py"])
def test_an_answer_to_another_question_never_reaches_the_handler(
    tmp_path: Path, language: str, kind: str, nested: bool
) -> None:
    """Even if its row and its fingerprint fit each other."""
    repo = asking(tmp_path / "repo", language, kind, nested=nested)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = await asked(desk)
            rewrite(tmp_path / "data", OTHER, kind)
            reply = await desk.answer(run_id, "yes")
            assert reply["outcome"]["kind"] == "diverged"
            error = (await desk.detail(run_id))["run"]["error"]
            assert error["code"] == "content_changed"
            assert "the question is not the one that was shown" in error["message"]
            assert error["difference"]["recorded"] == '"Water the plants?"'
            assert error["tool"] == ("top > kid" if nested else "top")
            again = await desk.runtime.resume(run_id, who="ann")
            assert again["outcome"]["kind"] == "diverged"
        log = tmp_path / "data" / "logs" / "handlers.log"
        assert not log.exists() or "reached" not in log.read_text()

    play(story())


@pytest.mark.parametrize("language", ["ts", "py"])
def test_votes_for_another_question_never_reach_the_handler(tmp_path: Path, language: str) -> None:
    repo = asking(tmp_path / "repo", language, "input", quorum=2)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = await asked(desk)
            assert (await desk.answer(run_id, "a"))["outcome"]["kind"] == "awaiting-input"
            rewrite(tmp_path / "data", OTHER | {"quorum": 2})
            with pytest.raises(RuntimeFault, match="is not the one that was asked"):
                await desk.answer(run_id, "a", who="bob")
            rewrite(tmp_path / "data", OTHER | {"quorum": 2}, "input")
            assert (await desk.answer(run_id, "a", who="bob"))["outcome"]["kind"] == "diverged"

    play(story())


@pytest.mark.parametrize("language", ["ts", "py"])
def test_a_value_for_the_expiry_of_another_question_never_reaches_the_handler(tmp_path: Path, language: str) -> None:
    repo = asking(tmp_path / "repo", language, "approval")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = await asked(desk)
        rewrite(tmp_path / "data", ARGS | {"inputType": "yesno", "onExpire": {"value": True}}, "approval")
        db = sqlite3.connect(tmp_path / "data" / "runtime.db", isolation_level=None)
        db.execute("UPDATE durable_question SET expires_at = asked_at")
        db.close()
        async with bench(repo, tmp_path / "data") as desk:
            await desk.runtime.recover(20)
            assert (await desk.detail(run_id))["run"]["error"]["code"] == "content_changed"

    play(story())


@pytest.mark.parametrize("language", ["ts", "py"])
def test_one_of_two_open_questions_that_changed_stops_the_run_when_the_other_is_answered(
    tmp_path: Path, language: str
) -> None:
    repo = Repo(tmp_path / "repo")
    bodies = {
        "ts": "return await Promise.all(['a', 'b'].map((one) => ctx.requestInput(one + '?')));",
        "py": "import asyncio\nreturn await asyncio.gather(*[ctx.request_input(one + '?') for one in 'ab'])",
    }
    repo.durable("top", **{language: bodies[language]})

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = await asked(desk)
            first, second = (await desk.detail(run_id))["pauses"]
            db = sqlite3.connect(tmp_path / "data" / "runtime.db", isolation_level=None)
            db.execute("UPDATE durable_question SET spec = ? WHERE id = ?", (dumps(OTHER), second["pause_id"]))
            db.close()
            reply = await desk.answer(run_id, 1, pause_id=first["pause_id"])
            assert reply["outcome"]["kind"] == "diverged"
            error: Any = (await desk.detail(run_id))["run"]["error"]
            assert (error["code"], error["call"]) == ("content_changed", "1")
            assert loads(error["difference"]["recorded"]) == OTHER["question"]

    play(story())
