"""Stored runs in every status against the present code of their repository."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine import dry_runs
from runtime_core.engine.dry_runs import ReplayVerdict
from tests.unit.engine.workshop import Bench, Repo, bench, play

HANDLERS: dict[str, dict[str, Any]] = {
    "typescript": {
        "ts": """
const {then} = params;
const fast = await Promise.race([ctx.callTool('work', {n: 1}), ctx.callTool('lookup', {})]);
if (then === 'fail') throw new RangeError(`no ${fast}`);
if (then === 'ask') return (await ctx.requestInput('Well?')).value;
if (then === 'sleep') await ctx.sleepUntil('2100-01-01T00:00:00Z');
if (then === 'late') await ctx.requestInput({question: 'Soon?', timeoutMs: 1});
if (then === 'slow') await new Promise(() => {});
return {n: fast, b: 1, a: [2]};
"""
    },
    "python": {
        "py": """
import asyncio
then = params['then']
calls = [asyncio.ensure_future(ctx.call_tool('work', {'n': 1})), asyncio.ensure_future(ctx.call_tool('lookup', {}))]
for call in asyncio.as_completed(calls):
    fast = await call
    break
if then == 'fail': raise ValueError(f'no {fast}')
if then == 'ask': return (await ctx.request_input('Well?'))['value']
if then == 'sleep': await ctx.sleep_until('2100-01-01T00:00:00Z')
if then == 'late': await ctx.request_input({'question': 'Soon?', 'timeoutMs': 1})
if then == 'slow': await asyncio.Event().wait()
return {'n': fast, 'b': 1, 'a': [2]}
"""
    },
}


def write(repo: Repo, language: str, *changes: tuple[str, str], **settings: Any) -> None:
    (key, code), *_ = HANDLERS[language].items()
    for old, new in changes:
        assert old in code
        code = code.replace(old, new)
    repo.durable("act", tools=("work", "lookup"), **{key: code}, **settings)


async def checked(desk: Bench, limit: int | None = None) -> dict[str, ReplayVerdict]:
    return {verdict.run.id: verdict async for verdict in desk.runtime.replay_check(desk.repo.root, limit)}


@pytest.mark.parametrize("language", HANDLERS)
def test_runs_of_every_status_repeat_themselves_until_the_code_does_something_else(
    tmp_path: Path, language: str
) -> None:
    repo = Repo(tmp_path / "repo")
    write(repo, language, timeout=300)
    repo.tool("work", ts="return 7;")
    repo.tool("lookup", py="import asyncio\nawait asyncio.sleep(0.3)\nreturn 8", effect="read")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            ids: dict[str, str] = {}
            for then in ("end", "fail", "ask", "sleep", "late", "slow"):
                ids[then] = (await desk.run("act", {"then": then}))["sessionId"]
            cancelled = (await desk.run("act", {"then": "ask"}))["sessionId"]
            await desk.runtime.cancel(cancelled, who="ann")
            statuses = [(await desk.detail(run_id))["run"]["status"] for run_id in ids.values()]
            assert statuses == ["completed", "failed", "awaiting-input", "sleeping", "expired", "failed"]

            fine = await checked(desk)
            outcome = {then: fine[run_id].kind for then, run_id in ids.items()}
            assert outcome == dict.fromkeys(ids, "ok") | {"slow": "cannot-tell"}
            assert fine[cancelled].kind == "ok"
            assert list(await checked(desk, limit=2)) == [cancelled, ids["slow"]]

            more = {
                "typescript": "await ctx.callTool('work', {n: 2});",
                "python": "await ctx.call_tool('work', {'n': 2})",
            }
            end = {"typescript": "return {n: fast", "python": "return {'n': fast"}
            write(repo, language, (end[language], f"{more[language]}\n{end[language]}"))
            changed = await checked(desk)
            assert {then: changed[ids[then]].kind for then in ("end", "fail", "ask", "sleep")} == {
                "end": "diverged",
                "fail": "ok",
                "ask": "ok",
                "sleep": "ok",
            }

            write(repo, language, ("no ", "not "), ("2]", "3]"))
            changed = await checked(desk)
            assert changed[ids["end"]].reason.endswith("First difference: $.a[0]: 2 is recorded, 3 was attempted")
            assert changed[ids["fail"]].reason.startswith("act failed: not ")
            assert changed[ids["ask"]].kind == "ok"

    play(story())


def test_a_run_that_ends_where_it_waited_or_goes_on_where_it_ended_is_named(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("end", ts="return 1;")
    repo.durable("wait", ts="await ctx.requestInput('Well?');")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            ended = (await desk.run("end"))["sessionId"]
            waits = (await desk.run("wait"))["sessionId"]
            repo.durable("end", ts="return await ctx.callTool('more', {});", tools=("more",))
            repo.tool("more", ts="return 1;")
            repo.durable("wait", ts="await Promise.race([ctx.requestInput('Well?'), 0]);")
            found = await checked(desk)
            assert found[ended].reason == 'end makes the call callTool "more" in end, where it had returned a result'
            assert found[waits].reason == "wait returned a result, where it had waited"
            repo.durable("end", ts="await ctx.requestInput('And now?');")
            repo.durable("wait", ts="await Promise.all([ctx.requestInput('Well?'), ctx.requestInput('Also?')]);")
            found = await checked(desk)
            assert found[ended].reason == 'end asks "And now?", where it had returned a result'
            assert found[waits].reason == 'wait asks "Also?", which is not recorded'

    play(story())


def test_a_handler_that_hangs_now_is_named_and_the_next_one_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry_runs, "CHECK_S", 1.0)
    repo = Repo(tmp_path / "repo")
    repo.durable("calm", ts="return 1;")
    repo.durable("spin", py="return 1")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            for tool in ("calm", "spin", "calm"):
                await desk.run(tool)
            repo.durable("spin", py="while True: pass")
            found = await checked(desk)
            assert [verdict.kind for verdict in found.values()] == ["ok", "cannot-tell", "ok"]

    play(story())


def test_a_run_without_its_journal_is_skipped(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("calm", ts="return 1;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("calm"))["sessionId"]
            await desk.runtime._journal._writer.write(
                lambda db: db.execute("UPDATE durable_run SET pruned_at = ?", (time.time(),))
            )
            found = (await checked(desk))[run_id]
            assert found.kind == "skipped"
            assert "its journal was removed" in found.reason

    play(story())
