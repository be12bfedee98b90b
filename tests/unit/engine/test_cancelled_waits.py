"""Calls that a Python handler has given up: cancelled by a timeout, by a sibling that failed, or by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime_core.journal.base import Answer
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.settings import Settings
from tests.unit.engine.workshop import Bench, Repo, bench, play

TIMEOUT = """
import asyncio
try:
    async with asyncio.timeout(1.2):
        await ctx.wait_for_approval("Delete?")
except TimeoutError:
    pass
"""
WAIT_FOR = """
import asyncio
try:
    await asyncio.wait_for(ctx.wait_for_approval("Delete?"), 1.2)
except TimeoutError:
    pass
"""
SIBLING = """
import asyncio
async def broken():
    await ctx.call_tool("quick", {})
    raise ValueError("no")
async def asking():
    await ctx.wait_for_approval("Delete?")
try:
    async with asyncio.TaskGroup() as group:
        group.create_task(asking())
        group.create_task(broken())
except* ValueError:
    pass
"""
BY_HAND = """
import asyncio
asking = asyncio.ensure_future(ctx.wait_for_approval("Delete?"))
await ctx.call_tool("quick", {})
asking.cancel()
"""
THEN = """
given = await ctx.request_input("Reason?")
again = await ctx.request_input("Sure?")
return [given["value"], again["value"]]
"""


def office(root: Path, body: str) -> Repo:
    repo = Repo(root)
    repo.durable("clean", py=body + THEN, tools=("quick", "child", "both"), agents=("both",))
    repo.agent("both")
    repo.tool("quick", py="return 1", effect="read")
    repo.tool("mark", py='ctx.log("ran mark")\nreturn 1')
    repo.tool("slow", py='import asyncio\nctx.log("ran slow")\nawait asyncio.sleep(2)\nreturn "slow"', timeout=9000)
    repo.tool("both", py='await ctx.call_tool("slow", {})\nawait ctx.call_tool("mark", {})', tools=("slow", "mark"))
    repo.durable(
        "child",
        py="""
import asyncio
async def working():
    await ctx.call_tool("slow", {})
    await ctx.call_tool("mark", {})
async def asking():
    await ctx.request_input("May the child?")
    await ctx.call_tool("mark", {})
await asyncio.gather(working(), asking())
""",
        tools=("slow", "mark"),
    )
    return repo


async def asked(desk: Bench, run_id: str, question: str) -> list[str]:
    """The open questions, once this one is among them."""
    while True:
        waiting = [pause["question"] for pause in (await desk.detail(run_id))["pauses"]]
        if question in waiting:
            return waiting
        await desk.runtime.recover()
        desk.changes.clear()
        await desk.until("run")


@pytest.mark.parametrize("body", [TIMEOUT, WAIT_FOR, SIBLING, BY_HAND])
@pytest.mark.parametrize("twice", [False, True])
def test_a_question_that_was_given_up_closes(tmp_path: Path, body: str, twice: bool) -> None:
    repo, settings = office(tmp_path / "repo", body), Settings(replay_twice=twice)

    async def story() -> None:
        async with bench(repo, tmp_path / "data", settings=settings) as desk:
            reply = await desk.run("clean")
            run_id = reply["sessionId"]
            first = (await desk.detail(run_id))["pauses"]
            assert await asked(desk, run_id, "Reason?") == ["Reason?"]
            for pause in first:
                if pause["question"] == "Delete?":
                    with pytest.raises(RuntimeFault) as refusal:
                        await desk.answer(run_id, True, pause_id=pause["pause_id"])
                    assert refusal.value.code == "pause_superseded"
            states = {span["name"]: span["state"] for span in (await desk.spans(run_id)).values()}
            assert states["waitForApproval"] == "cancelled"
            next_up = await desk.answer(run_id, "because")
            assert next_up["outcome"]["question"] == "Sure?"
        async with bench(repo, tmp_path / "data", settings=settings) as desk:
            await desk.runtime.recover()
            assert await asked(desk, run_id, "Sure?") == ["Sure?"]
            verdicts = [verdict.kind async for verdict in desk.runtime.replay_check(repo.root)]
            assert verdicts == ["ok"]
            assert (await desk.answer(run_id, "yes"))["result"] == ["because", "yes"]

    play(story())


CHILD = """
import asyncio
try:
    async with asyncio.timeout(1.2):
        await ctx.call_tool("child", {})
except TimeoutError:
    pass
"""


def ran(data: Path, tool: str) -> int:
    return (data / "logs" / "handlers.log").read_text().count(f"log ran {tool}")


def test_a_durable_child_that_was_given_up_begins_nothing_more(tmp_path: Path) -> None:
    repo, data = office(tmp_path / "repo", CHILD), tmp_path / "data"

    async def story() -> None:
        async with bench(repo, data) as desk:
            run_id = (await desk.run("clean"))["sessionId"]
            assert await asked(desk, run_id, "Reason?") == ["Reason?"]
            states = {span["name"]: span["state"] for span in (await desk.spans(run_id)).values()}
            assert (states["child"], states["slow"], states["requestInput"]) == ("cancelled", "ok", "waiting")
        async with bench(repo, data) as desk:  # nor does it go on in another process
            await desk.answer(run_id, "because")
            assert await asked(desk, run_id, "Sure?") == ["Sure?"]
            verdicts = [verdict.kind async for verdict in desk.runtime.replay_check(repo.root)]
            assert verdicts == ["ok"]
            assert (await desk.answer(run_id, "yes"))["result"] == ["because", "yes"]
        assert (ran(data, "slow"), ran(data, "mark")) == (1, 0)

    play(story())


@pytest.mark.parametrize("call", ['ctx.call_tool("both", {})', 'ctx.call_subagent("both", "Do both")'])
def test_what_makes_calls_of_its_own_is_aborted_when_it_was_given_up(tmp_path: Path, call: str) -> None:
    repo, data = office(tmp_path / "repo", CHILD.replace('ctx.call_tool("child", {})', call)), tmp_path / "data"
    repo.agent("both", tools=["slow", "mark"])
    model = repo.script(
        {"agent": "both", "tool_calls": [{"name": "slow", "args": {}}]},
        {"agent": "both", "tool_calls": [{"name": "mark", "args": {}}]},
        {"agent": "both", "text": "done"},
    )

    async def story() -> None:
        async with bench(repo, data, model=model) as desk:
            run_id = (await desk.run("clean"))["sessionId"]
            assert await asked(desk, run_id, "Reason?") == ["Reason?"]
            states = {span["name"]: span["state"] for span in (await desk.spans(run_id)).values()}
            assert states["both"] == "cancelled"
            await desk.answer(run_id, "because")
            assert (await desk.answer(run_id, "yes"))["result"] == ["because", "yes"]
        assert (ran(data, "slow"), ran(data, "mark")) == (1, 0)

    play(story())


def test_a_preview_counts_what_would_be_given_up(tmp_path: Path) -> None:
    body = """
import asyncio
deleting = asyncio.ensure_future(ctx.wait_for_approval("Delete?"))
await ctx.request_input("Stop?")
deleting.cancel()
"""
    repo = office(tmp_path / "repo", body)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            reply = await desk.run("clean")
            run_id = reply["sessionId"]
            stop = next(one for one in (await desk.detail(run_id))["pauses"] if one["question"] == "Stop?")
            answer = Answer(run_id, '"yes"', who="ann", pause_id=stop["pause_id"])
            outcome: dict[str, Any] = (await desk.runtime.preview(answer))["outcome"]
            assert outcome["pause"]["question"] == "Reason?"
            after = await desk.answer(run_id, "yes", pause_id=stop["pause_id"])
            assert after["outcome"]["question"] == "Reason?"
            assert await asked(desk, run_id, "Reason?") == ["Reason?"]

    play(story())
