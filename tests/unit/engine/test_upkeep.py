"""The runtime that executes takes journals away when it has nothing else to do, and says so on the run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from runtime_core.dispatch import upkeep
from runtime_core.wire.settings import Retention, Settings
from tests.unit.engine.workshop import Bench, Repo, bench, play

AT_ONCE = Settings(retention=Retention(journal_days=1e-9))


async def pruned(desk: Bench, run_id: str) -> dict[str, Any]:
    async with asyncio.timeout(20):
        while True:
            detail = await desk.detail(run_id)
            if detail["run"]["pruned_at"] is not None and not detail["spans"]:
                return detail
            await asyncio.sleep(0.05)


def test_an_ended_run_loses_its_journal_and_a_waiting_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FIRST_S", 0.0)
    monkeypatch.setattr(upkeep, "REST_S", 0.05)
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", ts="return (await ctx.requestInput('sure?')).value;")
    repo.durable("work", ts="return await ctx.step('s', () => 'made');")

    async def story() -> None:
        async with bench(repo, tmp_path / "data", settings=AT_ONCE) as desk:
            waiting = (await desk.run("ask"))["sessionId"]
            detail = await pruned(desk, (await desk.run("work"))["sessionId"])
            assert detail["run"]["result"] == "made"
            assert (detail["pauses"], detail["decisions"]) == ([], [])
            assert (await desk.answer(waiting, "yes"))["result"] == "yes"
            await pruned(desk, waiting)

    play(story())


def test_a_runtime_that_does_not_execute_takes_nothing_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "FIRST_S", 0.0)
    repo = Repo(tmp_path / "repo")
    repo.durable("work", ts="return await ctx.step('s', () => 'made');")

    async def story() -> None:
        data = tmp_path / "data"
        async with bench(repo, data) as desk:
            run_id = (await desk.run("work"))["sessionId"]
            async with bench(repo, data, execute=False, settings=AT_ONCE) as client:
                await client.runtime._executor.pulse.wait(5)
                await client.runtime._executor.pulse.wait(5)
            assert (await desk.detail(run_id))["run"]["pruned_at"] is None

    play(story())
