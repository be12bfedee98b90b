"""Sleeping runs, timers and the clock of a durable run."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Final

import pytest

from runtime_core.engine.parking import due_time
from runtime_core.journal.base import Answer
from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import Repo, bench, play


def test_a_sleep_parks_the_run_and_its_time_wakes_it(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "nap",
        ts="""
const before = ctx.now();
await ctx.sleepUntil(new Date(before + 2500));
return [before, ctx.now()];
""",
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            asleep = await desk.run("nap")
            assert asleep["outcome"]["kind"] == "sleeping"
            assert asleep["outcome"]["wake_at"] is not None
            run_id = asleep["sessionId"]
            await desk.until("run", status="completed")
            before, after = (await desk.detail(run_id))["run"]["result"]
            assert after - before >= 2500

    play(story())


def test_a_time_in_the_past_returns_at_once_and_a_short_one_is_waited_for(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "nap",
        ts="""
await ctx.sleepUntil('2020-01-01T00:00:00Z');
await ctx.sleepUntil(ctx.now() + 60);
await new Promise(r => setTimeout(r, 30));
return 'awake';
""",
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            reply = await desk.run("nap")
            assert reply["result"] == "awake"
            kinds = [span["kind"] for span in (await desk.spans(reply["sessionId"])).values()]
            assert kinds == ["tool", "sleep", "sleep", "timer"]

    play(story())


def test_a_timer_around_a_question_falls_back_when_nobody_answers(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "ask",
        ts="""
const late = new Promise(r => setTimeout(() => r('nobody'), 1200));
return await Promise.race([ctx.requestInput('?').then(a => a.value), late]);
""",
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            asked = await desk.run("ask")
            assert asked["outcome"]["kind"] == "awaiting-input"
            await desk.until("run", status="completed")
            detail = await desk.detail(asked["sessionId"])
            assert detail["run"]["result"] == "nobody"
            assert [decision["outcome"] for decision in detail["decisions"]] == ["superseded"]

    play(story())


def test_a_sleeping_run_is_woken_by_the_next_runtime(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("nap", ts="await ctx.sleepUntil(ctx.now() + 2500); return 'awake';")

    async def fall_asleep() -> str:
        async with bench(repo, tmp_path / "data") as desk:
            return (await desk.run("nap"))["sessionId"]

    async def wake(run_id: str) -> None:
        async with bench(repo, tmp_path / "data") as desk:
            await desk.runtime.recover()
            await desk.until("run", status="completed")
            assert (await desk.detail(run_id))["run"]["result"] == "awake"

    play(wake(play(fall_asleep())))


@pytest.mark.parametrize(
    ("kind", "args", "due"),
    [
        ("sleep", '"1970-01-01T00:00:10Z"', 10.0),
        ("sleep", '"1970-01-01T01:00:10+01:00"', 10.0),
        ("sleep", '"1970-01-01T00:00:10"', 10.0),
        ("sleep", "2500", 2.5),
        ("timer", "2500", 102.5),
    ],
)
def test_times_are_read_as_the_contract_says(kind: str, args: str, due: float) -> None:
    assert due_time("sleep" if kind == "sleep" else "timer", args, 100.0) == due


@pytest.mark.parametrize("args", ["null", "true", '"soon"', "[]", "1e300"])
def test_what_is_no_time_is_refused_with_a_sentence(args: str) -> None:
    with pytest.raises(ValueError, match="sleepUntil needs"):
        due_time("sleep", args, time.time())


RACE: Final[dict[str, dict[str, str]]] = {
    "typescript": {
        "ts": """
const late = new Promise(r => setTimeout(() => r('nobody'), params.ms));
const first = await Promise.race([ctx.requestInput('?').then(a => a.value), late]);
return [first, (await ctx.requestInput('And now?')).value];
"""
    },
    "python": {
        "py": """
import asyncio
try:
    async with asyncio.timeout(params["ms"] / 1000):
        first = (await ctx.request_input("?"))["value"]
except TimeoutError:
    first = "nobody"
return [first, (await ctx.request_input("And now?"))["value"]]
"""
    },
}


async def _overdue(repo: Repo, data: Path) -> tuple[str, str]:
    """A run that waits for an answer and a time, which came when nobody executed; and its question."""
    async with bench(repo, data) as desk:
        asked = await desk.run("ask", {"ms": 1500})
    await asyncio.sleep(1.6)
    return asked["sessionId"], asked["outcome"]["pause_id"]


@pytest.mark.parametrize("language", RACE)
def test_a_time_that_has_come_goes_before_an_answer(tmp_path: Path, language: str) -> None:
    repo, data = Repo(tmp_path / "repo"), tmp_path / "data"
    repo.durable("ask", **RACE[language])

    async def story() -> None:
        run_id, first = await _overdue(repo, data)
        async with bench(repo, data) as desk:
            with pytest.raises(RuntimeFault) as refusal:
                await desk.runtime.preview(Answer(run_id, '"me"', "ann", pause_id=first))
            assert refusal.value.code == "not_awaiting_input"
            if language == "python":
                with pytest.raises(RuntimeFault) as refusal:
                    await desk.answer(run_id, "me", pause_id=first)
                assert refusal.value.code == "pause_superseded"
            else:  # no promise is ever given up: whoever made it may still come back to it
                await desk.answer(run_id, "me", pause_id=first)
            assert (await desk.answer(run_id, "you"))["result"] == ["nobody", "you"]

    play(story())


def test_who_does_not_execute_cannot_answer_before_the_time_that_has_come(tmp_path: Path) -> None:
    repo, data = Repo(tmp_path / "repo"), tmp_path / "data"
    repo.durable("ask", **RACE["python"])

    async def story() -> None:
        run_id, first = await _overdue(repo, data)
        async with bench(repo, data, execute=False) as desk:
            with pytest.raises(RuntimeFault) as refusal:
                await desk.runtime.answer(Answer(run_id, '"me"', "ann", pause_id=first), wait_s=0.5)
            assert refusal.value.code == "not_awaiting_input"
            waiting = asyncio.create_task(desk.answer(run_id, "me"))
            async with bench(repo, data) as executor:
                await executor.runtime.recover()
                assert (await waiting)["result"] == ["nobody", "me"]

    play(story())


CLEARED: Final[dict[str, dict[str, str]]] = {
    "typescript": {
        "ts": """
const timer = setTimeout(() => {}, 60000);
const first = await ctx.requestInput('?');
clearTimeout(timer);
return [first.value, (await ctx.requestInput('And now?')).value, (await ctx.requestInput('Really?')).value];
"""
    },
    "python": {
        "py": """
import asyncio
async with asyncio.timeout(60):
    first = await ctx.request_input("?")
return [first["value"], *[(await ctx.request_input(text))["value"] for text in ("And now?", "Really?")]]
"""
    },
}


@pytest.mark.parametrize("language", CLEARED)
def test_a_timer_that_was_cleared_wakes_no_run(tmp_path: Path, language: str) -> None:
    repo, data = Repo(tmp_path / "repo"), tmp_path / "data"
    repo.durable("ask", **CLEARED[language])

    async def story() -> None:
        async with bench(repo, data) as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            assert (await desk.detail(run_id))["run"]["wake_at"] is not None
            await desk.answer(run_id, 1)
            assert (await desk.detail(run_id))["run"]["wake_at"] is None
        async with bench(repo, data) as desk:
            await desk.answer(run_id, 2)
            assert (await desk.detail(run_id))["run"]["wake_at"] is None
            assert (await desk.answer(run_id, 3))["result"] == [1, 2, 3]

    play(story())
