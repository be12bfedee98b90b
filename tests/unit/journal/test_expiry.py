"""Deadlines in the journal: one transaction closes the question, completes its call and wakes the run."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime_core.approvals.answering import recorded
from runtime_core.approvals.deadlines import expired
from runtime_core.approvals.questions import question
from runtime_core.journal.base import Fenced
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.json import loads
from runtime_core.wire.runs import Entry, PauseRow
from tests.unit.journal.stories import answered, asking, claimed, parked, pause_row, play, refused, run_row

NOW = time.time()
SOON, LATE = NOW + 100_000, NOW + 200_000  # far beyond the end of all tests


def limited(run_id: str = "dur_a", slot: str = "0", at: float = SOON, **rules: Any) -> PauseRow:
    spec = question("input", '{"question": "Which dock?", "timeoutMs": 100000}')
    return pause_row(run_id, slot, NOW, spec=spec, fingerprint=fingerprint("input", spec), expires_at=at, **rules)


async def one_entry(journal: SqliteJournal, run_id: str = "dur_a", n: int = 0) -> Entry:
    return next(entry for entry in await journal.load(run_id) if entry.n == n)


def test_a_question_that_is_due_closes_with_its_call_and_wakes_its_run(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal, limited())
        after = await journal.last_event()
        assert await journal.next_wake() == SOON
        assert await journal.expire_due(SOON - 0.001, recorded) == []
        assert await journal.expire_due(SOON, recorded) == ["dur_a"]
        (pause,) = await journal.pauses("dur_a")
        assert (pause.outcome, pause.answer, pause.answered_by, pause.answered_at) == ("expired", None, None, SOON)
        entry = await one_entry(journal)
        error: Any = loads(entry.value or "")
        assert (entry.state, entry.digest, error["code"]) == ("error", "digest of the question", "pause-expired")
        assert await journal.runnable() == ["dur_a"]
        (event,) = await journal.events(after)
        told: Any = event.body["pause"]
        assert (event.body["status"], told["outcome"]) == ("running", "expired")
        assert (await journal.pending(10, None)).total == 0
        assert await journal.next_wake() is None
        assert await journal.expire_due(LATE, recorded) == []

    play(tmp_path, story)


def test_an_answer_in_time_is_not_undone_by_its_deadline(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal, limited())
        await answered(journal, '"dock 1"')
        value = (await one_entry(journal)).value
        assert await journal.next_wake() is None
        assert await journal.expire_due(LATE, recorded) == []
        assert (await one_entry(journal)).value == value

    play(tmp_path, story)


def test_only_what_is_due_expires_and_the_rest_of_the_run_stays_open(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal, limited(), limited(slot="1", at=LATE), pause_row(slot="2"))
        await parked(journal, limited("dur_b"), run_id="dur_b")
        assert await journal.expire_due(SOON, recorded) == ["dur_a", "dur_b"]
        assert [pause.outcome for pause in await journal.pauses("dur_a")] == ["expired", None, None]
        assert await journal.next_wake() == LATE
        assert (await answered(journal, "2", pause_id="dur_a.2"))[0].outcome == "answered"

    play(tmp_path, story)


@pytest.mark.parametrize("status", ["running", "diverged"])
def test_runs_that_a_leg_or_a_person_is_concerned_with_are_left_alone(tmp_path: Path, status: str) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal, limited(), pause_row(slot="1"))
        await answered(journal, "1", pause_id="dur_a.1")
        claim = await claimed(journal)
        if status == "diverged":
            await journal.park(claim, "diverged", pauses=[limited()], error='{"code": "replay-diverged"}')
        assert await journal.next_wake() is None
        assert await journal.expire_due(LATE, recorded) == []
        run = await journal.run("dur_a")
        assert run is not None
        assert run.status == status

    play(tmp_path, story)


@pytest.mark.parametrize("opened", [True, False], ids=["open", "never-opened"])
def test_a_leg_closes_a_question_that_expired_meanwhile_with_its_call(tmp_path: Path, opened: bool) -> None:
    async def story(journal: SqliteJournal) -> None:
        pause = limited()
        await parked(journal, *([pause] if opened else []), pause_row(slot="1"))
        await answered(journal, "1", pause_id="dur_a.1")
        claim = await claimed(journal)
        after = await journal.last_event()
        closed = expired(pause, SOON)
        failed = replace(asking(pause), state="error", value=recorded(closed).value, ended_at=SOON)
        await journal.append(claim, [failed], expired=[closed])
        assert [one.outcome for one in await journal.pauses("dur_a") if one.id == pause.id] == ["expired"]
        assert (await one_entry(journal)).state == "error"
        (event,) = await journal.events(after)
        assert event.body["pauseId"] == pause.id
        assert (await journal.pending(10, None)).total == 0

    play(tmp_path, story)


def test_a_leg_that_was_replaced_expires_nothing(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        old = await claimed(journal, owner="first")
        await claimed(journal, owner="second")
        with pytest.raises(Fenced):
            await journal.append(old, [], expired=[expired(limited(), SOON)])
        assert not await journal.pauses("dur_a")

    play(tmp_path, story)


def test_whoever_comes_first_wins_and_a_late_answer_is_refused(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal, limited(at=NOW - 1))
        before = await refused(answered(journal, '"dock 1"'))
        assert await journal.expire_due(NOW, recorded) == ["dur_a"]
        after = await refused(answered(journal, '"dock 1"'))
        assert (before.code, after.code) == ("pause_expired", "pause_expired")
        assert (before.details["status"], after.details["status"]) == ("awaiting-input", "running")
        assert before.details["expires_at"] == after.details["expires_at"]

    play(tmp_path, story)


def test_many_deadlines_expire_earliest_first_and_not_all_at_once(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("runtime_core.journal.answers.WAKE_LIMIT", 2)

    async def story(journal: SqliteJournal) -> None:
        for number in (3, 1, 2):
            run_id = f"dur_{number}"
            await parked(journal, limited(run_id, at=NOW + number), run_id=run_id)
        assert await journal.expire_due(LATE, recorded) == ["dur_1", "dur_2"]
        assert await journal.next_wake() == NOW + 3
        assert await journal.expire_due(LATE, recorded) == ["dur_3"]

    play(tmp_path, story)
