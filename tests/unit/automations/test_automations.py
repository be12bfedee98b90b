"""Automations of a real runtime: files and bindings, durable tools and agents, switches, history, events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime_core.automations.book import Listed
from runtime_core.automations.definition import Definition
from runtime_core.automations.schedule import Schedule
from runtime_core.journal.base import Answer
from runtime_core.runtime import Change, Runtime
from runtime_core.wire.automations import AutomationRow, AutomationStart, Firing
from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import Repo, play

WHO = "local:ann"
DAILY = Schedule(cron="0 9 * * *", timezone="UTC")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.agent("default")
    made.durable("count", ts="return { counted: params.n };")
    made.durable("ask", ts='return await ctx.requestInput({ question: "Which dock?" });')
    made.durable("break", ts='throw new Error("no stock");')
    made.tool("inline", ts="return 1;")
    return made


@asynccontextmanager
async def running(repo: Repo, data: Path, *, keeps: bool = True, **more: Any) -> AsyncGenerator[Runtime]:
    runtime = Runtime(data, keeps_schedules=keeps, **more)
    await runtime.open()
    try:
        await runtime.recover()
        yield runtime
    finally:
        await runtime.close()


def tool(name: str, schedule: Schedule = DAILY, input: str = "{}", **more: Any) -> Definition:
    return Definition(schedule=schedule, tool=name, input=input, **more)


def prompt(text: str, schedule: Schedule = DAILY, agent: str = "default") -> Definition:
    return Definition(schedule=schedule, agent=agent, prompt=text)


async def make_due(runtime: Runtime, made: Listed, *, ago: float = 1.0) -> None:
    """Let the next time of an automation have come, as if the clock had moved on."""

    def due(row: AutomationRow) -> AutomationRow:
        return replace(row, next_at=time.time() - ago)

    await runtime.automations._change(made.row.id, due)  # pyright: ignore[reportPrivateUsage]


async def holds(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await condition():  # noqa: ASYNC110 - what is waited for happens in the journal
            await asyncio.sleep(0.02)


async def until(runtime: Runtime, made: Listed, state: str, *, count: int = 1) -> list[Firing]:
    """The history, the latest first, when it has so many entries and the latest has this state."""

    async def is_so() -> bool:
        history = await runtime.automations.history(made.row.id)
        return len(history) >= count and history[0].state == state

    await holds(is_so)
    return list(await runtime.automations.history(made.row.id))


def test_a_durable_tool_is_started_when_it_is_due_and_its_end_is_noted(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with running(repo, tmp_path / "data") as runtime:
            heard: list[Change] = []
            runtime.subscribe(heard.append)
            made = await runtime.automations.add(repo.root, tool("count", input='{"n": 1.50}'), who=WHO)
            assert made.row.next_at is not None
            await make_due(runtime, made)
            (firing,) = await until(runtime, made, "completed")
            assert firing.session_id is not None
            run = (await runtime.run(firing.session_id, who=WHO))["run"]
            assert (run["input"], run["result"]) == ({"n": 1.5}, {"counted": 1.5})
            after = await runtime.automations.one(made.row.id)
            assert after.row.next_at is not None
            assert after.row.next_at > time.time()

            async def is_told() -> bool:
                return any(one.wire.get("type") == "automation_completed" for one in heard)

            await holds(is_told)
            events = [one.wire for one in heard if one.kind == "automation"]
            assert [one["type"].removeprefix("automation_") for one in events] == ["started", "triggered", "completed"]
            assert [one["name"] for one in events] == [made.row.name] * 3
            assert (events[1]["source"], events[2]["durationMs"] >= 0) == ("cron", True)

    play(story())


def test_a_run_that_waits_holds_the_next_one_up_until_it_was_answered(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with running(repo, tmp_path / "data") as runtime:
            made = await runtime.automations.add(repo.root, tool("ask"), who=WHO)
            await make_due(runtime, made)

            async def waits() -> bool:
                return [one.status for one in await runtime.automations.history(made.row.id)] == ["awaiting-input"]

            await holds(waits)
            await make_due(runtime, made, ago=7200.0)
            skipped, waiting = await until(runtime, made, "skipped", count=2)
            assert (skipped.session_id, skipped.error) == (None, "The last start has not ended.")
            assert waiting.session_id is not None
            await runtime.answer(Answer(waiting.session_id, '"1"', WHO))

            async def is_over() -> bool:
                history = await runtime.automations.history(made.row.id)
                return history[-1].state == "completed"

            await holds(is_over)
            again = await runtime.automations.start(made.row.id, who=WHO)
            assert (again.state, again.source) == ("running", "manual")

    play(story())


def test_how_a_run_failed_is_noted(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with running(repo, tmp_path / "data") as runtime:
            made = await runtime.automations.add(repo.root, tool("break"), who=WHO)
            await runtime.automations.start(made.row.id, who=WHO)
            (firing,) = await until(runtime, made, "failed")
            assert "no stock" in (firing.error or "")
            waits = await runtime.automations.add(repo.root, tool("ask"), who=WHO)
            started = await runtime.automations.start(waits.row.id, who=WHO)
            assert started.session_id is not None
            await runtime.cancel(started.session_id, who=WHO)
            (firing,) = await until(runtime, waits, "failed")
            assert firing.error == "The run was cancelled."

    play(story())


def test_an_agent_is_told_its_prompt_in_a_conversation_of_its_own(repo: Repo, tmp_path: Path) -> None:
    model = repo.script({"text": "Two parcels are late."})

    async def story() -> None:
        async with running(repo, tmp_path / "data", model=model) as runtime:
            made = await runtime.automations.add(repo.root, prompt("Which parcels are late?"), who=WHO)
            await make_due(runtime, made)
            (firing,) = await until(runtime, made, "completed")
            assert firing.session_id is not None
            session = await runtime.chats.session(firing.session_id)
            assert "Which parcels are late?" in str(session["messages"])
            assert "Two parcels are late." in str(session["messages"])
            listed = (await runtime.chats.history())["sessions"]
            assert [one["source"] for one in listed] == ["automation"]

    play(story())


def test_without_a_model_the_start_fails_and_says_so(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with running(repo, tmp_path / "data") as runtime:
            made = await runtime.automations.add(repo.root, prompt("Look."), who=WHO)
            await runtime.automations.start(made.row.id, who=WHO)
            (firing,) = await until(runtime, made, "failed")
            assert "model" in (firing.error or "")

    play(story())


def test_what_a_file_states_is_off_until_it_is_switched_on_and_follows_its_file(repo: Repo, tmp_path: Path) -> None:
    repo.file("automations/late.json", {"title": "Late", "prompt": "Look.", "schedule": "0 9 * * *", "trigger": "cron"})
    repo.file("automations/weekly.md", "# Automation: Weekly\n\nSchedule: @weekly\n\n## Check\n\nCount them.\n")
    repo.file("automations/bad.json", {"title": "Bad", "prompt": "Look.", "schedule": "0 99 * * *", "trigger": "cron"})

    async def story() -> None:
        async with running(repo, tmp_path / "data") as runtime:
            book = runtime.automations
            listed = {one.row.name: one for one in await book.listed(repo.root)}
            assert {name: one.row.enabled for name, one in listed.items()} == dict.fromkeys(listed, False)
            assert listed["weekly"].definition.prompt == "Count them."
            assert 'The hour "99"' in listed["bad"].problem
            with pytest.raises(RuntimeFault, match=r'cannot be switched on\. The hour "99"'):
                await book.switch(listed["bad"].row.id, is_on=True, who=WHO)
            on = await book.switch(listed["late"].row.id, is_on=True, who=WHO)
            assert (on.row.enabled, on.row.created_by) == (True, WHO)
            with pytest.raises(RuntimeFault, match="is stated by a file"):
                await book.edit(on.row.id, prompt("Else."), who=WHO)
            with pytest.raises(RuntimeFault, match="is stated by a file"):
                await book.remove(on.row.id)

            changed = {"title": "Late", "prompt": "Look again.", "schedule": "0 9 * * *", "trigger": "cron"}
            repo.file("automations/late.json", changed)
            same = {one.row.name: one for one in await book.listed(repo.root)}["late"]
            assert same.definition.prompt == "Look again."
            assert (same.row.enabled, same.row.next_at) == (True, on.row.next_at)

            repo.file("automations/late.json", {**changed, "schedule": "0 10 * * *"})
            other = {one.row.name: one for one in await book.listed(repo.root)}["late"]
            assert other.row.enabled
            assert other.row.next_at != on.row.next_at

            (repo.root / "automations/late.json").unlink()
            gone = {one.row.name: one for one in await book.listed(repo.root)}["late"]
            assert (gone.row.enabled, gone.definition.gone, gone.row.next_at) == (False, True, None)
            await book.remove(gone.row.id)
            assert "late" not in {one.row.name for one in await book.listed(repo.root)}

    play(story())


def test_a_file_that_went_just_before_its_time_starts_nothing(repo: Repo, tmp_path: Path) -> None:
    repo.file("automations/late.json", {"title": "Late", "prompt": "Look.", "schedule": "0 9 * * *"})

    async def story() -> None:
        async with running(repo, tmp_path / "data") as runtime:
            (listed,) = await runtime.automations.listed(repo.root)
            await runtime.automations.switch(listed.row.id, is_on=True, who=WHO)
            (repo.root / "automations/late.json").unlink()
            await make_due(runtime, listed)

            async def is_off() -> bool:
                return not (await runtime.automations.one(listed.row.id)).row.enabled

            await holds(is_off)
            assert await runtime.automations.history(listed.row.id) == []

    play(story())


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        (tool("inline"), 'The tool "inline" is not durable'),
        (tool("missing"), 'There is no tool "missing" in .* Its durable tools are: ask, break, count.'),
        (prompt("Look.", agent="nobody"), 'has no agent "nobody". Its agents are: default.'),
        (prompt("  "), "It has no prompt."),
        (tool("count", input="{"), "The input is not JSON"),
        (tool("count", Schedule(at="2020-01-01T00:00")), "2020-01-01T00:00 has passed."),
        (tool("count", Schedule()), "it has no schedule"),
        (tool("count", label="x" * 300), "label: at most 200 characters"),
    ],
)
def test_what_cannot_be_started_is_refused_by_name(
    repo: Repo, tmp_path: Path, definition: Definition, said: str
) -> None:
    async def story() -> None:
        async with running(repo, tmp_path / "data") as runtime:
            with pytest.raises(RuntimeFault, match=said):
                await runtime.automations.add(repo.root, definition, who=WHO)
            assert await runtime.automations.listed(repo.root) == []

    play(story())


def test_a_tool_that_is_gone_when_it_is_due_is_a_failure_in_the_history(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with running(repo, tmp_path / "data") as runtime:
            made = await runtime.automations.add(repo.root, tool("count"), who=WHO)
            (repo.root / "amodal/tools/count/tool.json").unlink()
            (repo.root / "amodal/tools/count/handler.ts").unlink()
            await make_due(runtime, made)
            (firing,) = await until(runtime, made, "failed")
            assert 'There is no tool "count"' in (firing.error or "")
            assert (await runtime.automations.one(made.row.id)).row.enabled

    play(story())


def test_a_repository_that_cannot_be_looked_at_concerns_its_own_automations_only(repo: Repo, tmp_path: Path) -> None:
    unreadable = str(tmp_path / ("x" * 300))

    async def story() -> None:
        async with running(repo, tmp_path / "data") as runtime:
            book = runtime.automations
            made, moved = [await book.add(repo.root, tool("count"), who=WHO) for _ in range(2)]

            def elsewhere(row: AutomationRow) -> AutomationRow:
                return replace(row, repo=unreadable, next_at=time.time() - 2)

            await book._change(moved.row.id, elsewhere)  # pyright: ignore[reportPrivateUsage]
            await make_due(runtime, made)
            await until(runtime, made, "completed")
            (firing,) = await until(runtime, moved, "failed")
            assert (firing.error or "").startswith(f"{unreadable} cannot be used: ")
            problems = {one.row.id: one.problem for one in await book.listed()}
            assert problems == {made.row.id: "", moved.row.id: f"{unreadable} cannot be used."}

    play(story())


def test_a_process_that_only_passes_by_starts_nothing(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with running(repo, tmp_path / "data", keeps=False) as runtime:
            made = await runtime.automations.add(repo.root, tool("count"), who=WHO)
            await make_due(runtime, made)
            await runtime.run_tool(repo.root, "count", "{}", who=WHO)
            assert await runtime.automations.history(made.row.id) == []
        async with running(repo, tmp_path / "data") as runtime:
            (firing,) = await until(runtime, made, "completed")
            assert firing.source == "schedule"

    play(story())


def test_another_process_gives_orders_and_starts_durable_tools_but_no_agents(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with running(repo, tmp_path / "data"), running(repo, tmp_path / "data", execute=False) as other:
            book = other.automations
            made = await book.add(repo.root, tool("count"), who=WHO)
            await book.start(made.row.id, who=WHO)
            await until(other, made, "completed")
            talks = await book.add(repo.root, prompt("Look."), who=WHO)
            with pytest.raises(RuntimeFault, match="only that one can have agents work"):
                await book.start(talks.row.id, who=WHO)
            assert await book.history(talks.row.id) == []

    play(story())


@pytest.fixture
def slow(repo: Repo) -> str:
    """A model that has a tool called which takes long, in every turn."""
    repo.tool("slow", ts="await new Promise((done) => setTimeout(done, 60000));", timeout=70_000)
    repo.agent("default", tools=["slow"])
    return repo.script({"tool_calls": [{"name": "slow"}], "repeat": True})


async def started(runtime: Runtime, made: Listed) -> str:
    """Start an agent; its conversation, when it works."""
    await runtime.automations.start(made.row.id, who=WHO)

    async def has_begun() -> bool:
        session_id = (await runtime.automations.history(made.row.id))[0].session_id
        calls = await runtime.chats.session(session_id) if session_id is not None else {}
        return "tool_call_start" in str(calls)

    await holds(has_begun)
    return (await runtime.automations.history(made.row.id))[0].session_id or ""


async def end_of(runtime: Runtime, session_id: str) -> str:
    (turn,) = (await runtime.chats.session(session_id))["turns"]
    return turn["end"]["reason"]


def test_a_turn_that_is_cut_off_is_told_as_unknown_and_never_started_again(
    repo: Repo, tmp_path: Path, slow: str
) -> None:
    async def story() -> None:
        async with running(repo, tmp_path / "data", model=slow) as runtime:
            made = await runtime.automations.add(repo.root, prompt("Go."), who=WHO)
            session_id = await started(runtime, made)
        async with running(repo, tmp_path / "data", model=slow) as runtime:
            (after,) = await runtime.automations.history(made.row.id)
            assert (after.session_id, after.state) == (session_id, "unknown"), after.error
            assert "The program ended meanwhile" in (after.error or "")
            assert await end_of(runtime, session_id) == "interrupted"

    play(story())


def test_what_a_dead_process_began_does_not_keep_a_command_from_starting_it(repo: Repo, tmp_path: Path) -> None:
    model = repo.script({"text": "All is well."})

    async def story() -> None:
        async with running(repo, tmp_path / "data", keeps=False, model=model) as dying:
            made = await dying.automations.add(repo.root, prompt("Go."), who=WHO)
            noted = AutomationStart(made.row.id, "manual", time.time(), time.time())
            await dying._journal.start_automation(noted)  # pyright: ignore[reportPrivateUsage]
        async with running(repo, tmp_path / "data", keeps=False, model=model) as runtime:
            started = await runtime.automations.start(made.row.id, who=WHO)
            ended = await runtime.automations.finished(started)
            assert ended.state == "completed", ended.error
            states = [one.state for one in await runtime.automations.history(made.row.id)]
            assert states == ["completed", "unknown"]

    play(story())


@pytest.mark.parametrize("elsewhere", [False, True])
def test_with_its_automation_an_agent_stops_to_work(repo: Repo, tmp_path: Path, slow: str, elsewhere: bool) -> None:
    async def story() -> None:
        data = tmp_path / "data"
        async with running(repo, data, model=slow) as runtime, running(repo, data, execute=False) as other:
            made = await runtime.automations.add(repo.root, prompt("Go."), who=WHO)
            stays = await runtime.automations.add(repo.root, prompt("Go."), who=WHO)
            session_id = await started(runtime, made)
            await started(runtime, stays)
            assert len(runtime.chats.working) == 2
            await (other if elsewhere else runtime).automations.remove(made.row.id)

            async def has_stopped() -> bool:
                return len(runtime.chats.working) == 1

            await holds(has_stopped)
            assert await end_of(runtime, session_id) == "user_abort"
            assert [one.state for one in await runtime.automations.history(stays.row.id)] == ["running"]

    play(story())


def test_unknown_ids_are_named(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with running(repo, tmp_path / "data") as runtime:
            book = runtime.automations
            for refused in (
                book.one("auto_x"),
                book.history("auto_x"),
                book.start("auto_x", who=WHO),
                book.switch("auto_x", is_on=True, who=WHO),
                book.remove("auto_x"),
                book.edit("auto_x", tool("count"), who=WHO),
            ):
                with pytest.raises(RuntimeFault, match="There is no automation auto_x"):
                    await refused

    play(story())


def test_a_run_that_was_noted_and_not_begun_before_the_program_died_goes_on(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with running(repo, tmp_path / "data", keeps=False, execute=False) as dying:
            made = await dying.automations.add(repo.root, tool("count", input='{"n": 1}'), who=WHO)
            started = await dying.automations.start(made.row.id, who=WHO)  # nobody executes
            assert (started.state, started.status) == ("running", "runnable")
        async with running(repo, tmp_path / "data") as runtime:
            (firing,) = await until(runtime, made, "completed")
            assert firing.session_id == started.session_id
            assert len((await runtime.runs(finished=None))["runs"]) == 1

    play(story())


def test_two_processes_that_read_a_file_for_the_first_time_at_once_list_it_once(repo: Repo, tmp_path: Path) -> None:
    repo.file("automations/late.json", {"title": "Late", "prompt": "Look.", "schedule": "0 9 * * *"})

    async def story() -> None:
        async with running(repo, tmp_path / "data") as one, running(repo, tmp_path / "data", execute=False) as other:
            both = await asyncio.gather(one.automations.listed(repo.root), other.automations.listed(repo.root))
            assert len({listed.row.id for found in both for listed in found}) == 1

    play(story())
