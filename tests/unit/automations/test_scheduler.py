"""The scheduler beside a model of it: jumps of the clock, sleeps, crashes, switches and edits in any order."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_core.automations.book import Automations
from runtime_core.automations.definition import Definition
from runtime_core.automations.schedule import Schedule
from runtime_core.automations.scheduler import LATE_S, Scheduler
from runtime_core.automations.starting import Began, Prompt, Ready, Starter
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.repo.bundle import Bundle
from runtime_core.wire.automations import AutomationRow, Firing
from runtime_core.wire.settings import Settings
from tests.unit.journal.stories import play

BEGIN = 1_790_000_100.0
ROOT = Path("/repo")


class Shelf:
    """Has one repository, with one agent."""

    bundles = ()

    async def bundle(self, root: Path) -> Bundle:
        return Bundle(root, "bench", "1", "r1", {}, cast("Any", {"default": None}), {})


def definition(step: int, kind: str) -> Definition:
    schedule = Schedule(every=f"{step}m") if kind == "every" else Schedule(cron=f"*/{step} * * * *", timezone="UTC")
    return Definition(schedule=schedule, agent="default", prompt="Look.")


@dataclass
class Model:
    """What has to have happened. ``since``: times after it count; ``open``: the start that has not ended."""

    step: int
    kind: str
    anchor: float
    since: float
    is_on: bool = True
    fired: list[tuple[float, bool, str]] = field(default_factory=list[tuple[float, bool, str]])
    open: int | None = None

    def latest(self, now: float) -> float | None:
        step = self.step * 60
        zero = self.anchor if self.kind == "every" else 0.0
        found = zero + (now - zero) // step * step
        return found if found > self.since and (self.kind == "cron" or found > self.anchor) else None

    def beat(self, now: float) -> None:
        due = self.latest(now) if self.is_on else None
        if due is None:
            return
        self.since = now
        if due in [at for at, _, _ in self.fired]:
            return
        is_late = now - due > LATE_S
        self.fired.append((due, is_late, "running" if self.open is None else "skipped"))
        if self.open is None:
            self.open = len(self.fired) - 1

    def end(self, state: str) -> None:
        if self.open is not None:
            due, is_late, _ = self.fired[self.open]
            self.fired[self.open] = (due, is_late, state)
            self.open = None


class Stage:
    """A process that may die, on a journal that stays."""

    def __init__(self, journal: SqliteJournal) -> None:
        self.journal = journal
        self.now = BEGIN
        self.lives: list[Starter] = []
        self.start()

    def start(self) -> None:
        """A new process: what the old one was about is never heard of again."""
        self.finish = asyncio.Event()
        shelf = cast("Any", Shelf())
        starter = Starter(self.journal, shelf, self._talk, lambda: None)
        self.lives.append(starter)
        self.book = Automations(
            self.journal, shelf, starter, Settings(), lambda: True, lambda run_id: asyncio.sleep(0), lambda: self.now
        )
        self.scheduler = Scheduler(self.journal, starter, self.book.reread, lambda: self.now)
        self.turns = 0

    async def _talk(self, prompt: Prompt, began: Began) -> str:
        finish = self.finish
        self.turns += 1
        await began(f"chat_{self.turns}")
        await finish.wait()
        return ""

    async def let_finish(self) -> None:
        self.finish.set()
        for firing in await self.journal.open_firings():
            await self.lives[-1].wait(firing.id)
        self.finish = asyncio.Event()

    async def close(self) -> None:
        for starter in self.lives:
            await starter.stop()


STEPS = st.sampled_from([5, 10, 15, 30])
KINDS = st.sampled_from(["every", "cron"])
ACTIONS = st.one_of(
    st.tuples(st.just("beat"), st.sampled_from([0.0, 0.3, 20.0, 60.0, 299.0, 300.0, 4000.0])),
    st.tuples(st.just("sleep"), st.sampled_from([30.0, 600.0, 90_000.0])),
    st.tuples(st.just("back"), st.sampled_from([1.0, 200.0, 5000.0])),
    st.tuples(st.just("end"), st.just(0.0)),
    st.tuples(st.just("crash"), st.just(0.0)),
    st.tuples(st.just("switch"), st.just(0.0)),
    st.tuples(st.just("edit"), STEPS.map(float)),
    st.tuples(st.just("same"), st.just(0.0)),
)


@settings(max_examples=60, deadline=None)
@given(STEPS, KINDS, st.lists(ACTIONS, max_size=25))
def test_any_order_of_events_agrees_with_the_model(
    tmp_path_factory: pytest.TempPathFactory, step: int, kind: str, actions: Sequence[tuple[str, float]]
) -> None:
    async def story(journal: SqliteJournal) -> None:
        stage = Stage(journal)
        made = await stage.book.add(ROOT, definition(step, kind), who="ann")
        model = Model(step, kind, BEGIN, BEGIN)
        await stage.scheduler.beat(True)
        for action, value in actions:
            await act(stage, model, made.row.id, action, value)
            assert await seen(journal, made.row.id) == model.fired, (action, value)
        await stage.close()

    play(tmp_path_factory.mktemp("folder"), story)


async def act(stage: Stage, model: Model, automation_id: str, action: str, value: float) -> None:
    match action:
        case "sleep":
            stage.now += value
        case "beat":
            stage.now += value
            await stage.scheduler.beat(False)
            model.beat(stage.now)
        case "back":
            stage.now -= value
            await stage.scheduler.beat(False)
            model.since = min(model.since, stage.now)
            model.beat(stage.now)
        case "end":
            await stage.let_finish()
            model.end("completed")
        case "crash":
            stage.start()
            model.end("unknown")
            await stage.scheduler.beat(True)
            model.since = min(model.since, stage.now)
            model.beat(stage.now)
        case "switch":
            model.is_on = not model.is_on
            await stage.book.switch(automation_id, is_on=model.is_on, who="ann")
            model.anchor = model.since = stage.now
        case "edit":
            is_other = value != model.step
            model.step = int(value)
            await stage.book.edit(automation_id, definition(model.step, model.kind), who="ann")
            if is_other:
                model.anchor = model.since = stage.now
        case _:
            await stage.book.edit(automation_id, definition(model.step, model.kind), who="ann")


async def seen(journal: SqliteJournal, automation_id: str) -> list[tuple[float, bool, str]]:
    found = await journal.firings(automation_id, 1000)
    return [(one.due_at, one.late, one.state) for one in reversed(found)]


def told(firings: Sequence[Firing]) -> list[tuple[str, bool]]:
    return [(one.state, one.late) for one in reversed(firings)]


def test_after_a_week_it_starts_once_and_says_that_it_is_late(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        stage = Stage(journal)
        made = await stage.book.add(ROOT, definition(15, "cron"), who="ann")
        stage.now += 7 * 86_400 + 120
        await stage.scheduler.beat(True)
        assert told(await journal.firings(made.row.id, 10)) == [("running", True)]
        await stage.close()

    play(tmp_path, story)


def test_a_moment_starts_once_and_is_off_then(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        stage = Stage(journal)
        once = Definition(schedule=Schedule(at="2026-12-24T18:00", timezone="UTC"), agent="default", prompt="Look.")
        made = await stage.book.add(ROOT, once, who="ann")
        assert made.row.next_at is not None
        stage.now = made.row.next_at + 5
        for _ in range(3):
            await stage.scheduler.beat(True)
            stage.now += 90_000
        assert told(await journal.firings(made.row.id, 10)) == [("running", False)]
        row = await journal.automation(made.row.id)
        assert row is not None
        assert (row.enabled, row.next_at) == (False, None)
        await stage.close()

    play(tmp_path, story)


def test_a_clock_that_was_a_year_ahead_does_not_stop_it_for_a_year(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        stage = Stage(journal)
        made = await stage.book.add(ROOT, definition(30, "cron"), who="ann")
        stage.now += 365 * 86_400
        await stage.scheduler.beat(True)
        await stage.let_finish()
        stage.now -= 365 * 86_400
        for _ in itertools.repeat(None, 20):
            await stage.scheduler.beat(False)
            stage.now += 60
        assert told(await journal.firings(made.row.id, 10)) == [("completed", True), ("running", False)]
        await stage.close()

    play(tmp_path, story)


def test_two_processes_that_both_believe_to_execute_start_it_once(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        stage = Stage(journal)
        made = await stage.book.add(ROOT, definition(5, "cron"), who="ann")
        await stage.scheduler.beat(True)
        first = stage.scheduler
        stage.start()
        await stage.scheduler.beat(True)
        stage.now += 301
        await asyncio.gather(first.beat(True), stage.scheduler.beat(True))
        assert len(await journal.firings(made.row.id, 10)) == 1
        await stage.close()

    play(tmp_path, story)


def test_all_that_is_due_is_started_in_one_look(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        stage = Stage(journal)
        made = [await stage.book.add(ROOT, definition(5, "cron"), who="ann") for _ in range(3)]
        await stage.scheduler.beat(True)
        stage.now += 301
        await stage.scheduler.beat(False)
        states = [told(await journal.firings(one.row.id, 10)) for one in made]
        assert states == [[("running", False)]] * 3
        await stage.close()

    play(tmp_path, story)


def test_one_that_cannot_be_started_holds_no_other_up_and_is_tried_again(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        stage = Stage(journal)
        first, second = [await stage.book.add(ROOT, definition(5, "cron"), who="ann") for _ in range(2)]
        await stage.scheduler.beat(True)
        ready = stage.lives[0].ready

        async def broken(row: AutomationRow) -> Ready:
            if row.id == first.row.id:
                raise OSError("no such luck")
            return await ready(row)

        stage.lives[0].ready = broken
        stage.now += 301
        with pytest.raises(ExceptionGroup, match="1 of 2 that are due were not started"):
            await stage.scheduler.beat(False)
        assert await journal.firings(first.row.id, 10) == []
        assert told(await journal.firings(second.row.id, 10)) == [("running", False)]
        stage.lives[0].ready = ready
        stage.now += 1
        await stage.scheduler.beat(False)
        assert told(await journal.firings(first.row.id, 10)) == [("running", False)]
        await stage.close()

    play(tmp_path, story)


def test_a_time_that_comes_again_because_the_clock_was_put_back_starts_nothing(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        stage = Stage(journal)
        made = await stage.book.add(ROOT, definition(5, "cron"), who="ann")
        await stage.scheduler.beat(True)
        stage.now += 301
        await stage.scheduler.beat(False)
        await stage.let_finish()
        (first,) = await journal.firings(made.row.id, 10)
        stage.now = first.due_at - 1
        await stage.scheduler.beat(False)
        row = await journal.automation(made.row.id)
        assert row is not None
        assert row.next_at == first.due_at
        stage.now = first.due_at + 1
        await stage.scheduler.beat(False)
        assert [one.due_at for one in await journal.firings(made.row.id, 10)] == [first.due_at]
        stage.now = first.due_at + 301
        await stage.scheduler.beat(False)
        assert [one.due_at for one in await journal.firings(made.row.id, 10)] == [first.due_at + 300, first.due_at]
        await stage.close()

    play(tmp_path, story)
