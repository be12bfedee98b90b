"""What every journal must do, told through `Journal`'s methods only (engines.md 4.1 and 4.3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime_core.approvals.answering import judge, recorded
from runtime_core.approvals.questions import attention
from runtime_core.journal.base import Answer, Claim, Fenced
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.runs import PauseRow, RunRow, Span
from tests.unit.journal.stories import (
    answered,
    asking,
    claimed,
    parked,
    pause_row,
    play,
    refused,
    run_row,
    step,
)


def test_a_run_comes_back_as_it_was_created(tmp_path: Path) -> None:
    row = run_row(context='{"region": "north"}', scope="s1", parent_session="chat_1", seed="abc")

    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(row)
        assert await journal.run("dur_a") == row
        assert await journal.run("dur_unknown") is None

    play(tmp_path, story)

    async def later(journal: SqliteJournal) -> None:
        assert await journal.run("dur_a") == row

    play(tmp_path, later)


def test_a_claim_is_given_once_and_raises_the_epoch(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        claim = await journal.claim("dur_a", "executor")
        assert claim is not None
        assert (claim.epoch, claim.run.status, claim.run.epoch) == (1, "running", 1)
        assert await journal.claim("dur_a", "executor") is None
        assert await journal.claim("dur_unknown", "executor") is None

    play(tmp_path, story)


def test_a_run_left_by_a_dead_executor_is_taken_over_and_the_old_leg_is_fenced(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        old = await claimed(journal, owner="first")
        new = await claimed(journal, owner="second")
        assert new.epoch == old.epoch + 1
        with pytest.raises(Fenced):
            await journal.append(old, [step(0)])
        with pytest.raises(Fenced):
            await journal.park(old, "awaiting-input", pauses=[pause_row()])
        with pytest.raises(Fenced):
            await journal.finish(old, "completed", result="1")
        await journal.append(new, [step(0, value='"new"')])
        assert [entry.value for entry in await journal.load("dur_a")] == ['"new"']
        assert not await journal.pauses("dur_a")

    play(tmp_path, story)


def test_abandoned_claims_become_runnable_and_their_legs_cannot_write(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        await journal.create_run(run_row("dur_b"))
        old = await claimed(journal)
        assert await journal.runnable() == ["dur_b"]
        assert await journal.abandon_claims() == ["dur_a"]
        assert set(await journal.runnable()) == {"dur_a", "dur_b"}
        with pytest.raises(Fenced):
            await journal.append(old, [step(0)])

    play(tmp_path, story)


def test_running_runs_of_another_process_are_runnable_for_a_new_executor(tmp_path: Path) -> None:
    async def killed(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        await claimed(journal, owner="first")

    play(tmp_path, killed)

    async def story(journal: SqliteJournal) -> None:
        assert await journal.runnable() == ["dur_a"]
        await claimed(journal, owner="second")
        assert await journal.runnable() == []

    play(tmp_path, story)


def test_entries_load_in_the_order_of_completion_then_started_ones(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        claim = await claimed(journal)
        await journal.append(claim, [step(0, state="started"), step(1, state="started"), step(2, state="started")])
        await journal.append(claim, [step(2)])
        await journal.append(claim, [step(3), step(0, state="error", value='{"message": "no"}')])
        entries = await journal.load("dur_a")
        assert [(entry.n, entry.state) for entry in entries] == [
            (2, "ok"),
            (3, "ok"),
            (0, "error"),
            (1, "started"),
        ]
        orders = [entry.order for entry in entries]
        assert orders[3] is None
        assert [order for order in orders if order is not None] == sorted(order for order in orders[:3] if order)
        assert {entry.epoch for entry in entries} == {claim.epoch}

    play(tmp_path, story)


def test_a_finished_entry_never_changes(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        claim = await claimed(journal)
        await journal.append(claim, [step(0, value='"first"')])
        with pytest.raises(ValueError, match="call 0 of dur_a"):
            await journal.append(claim, [step(1), step(0, value='"second"')])
        assert [(entry.n, entry.value) for entry in await journal.load("dur_a")] == [(0, '"first"')]

    play(tmp_path, story)


def test_the_same_slot_number_in_a_child_is_another_entry(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        claim = await claimed(journal)
        await journal.append(claim, [step(0), step(0, path="0"), step(0, path="0/0")])
        assert [entry.path for entry in await journal.load("dur_a")] == ["", "0", "0/0"]

    play(tmp_path, story)


def test_a_parked_run_lists_its_question_and_releases_its_claim(tmp_path: Path) -> None:
    pause = pause_row()

    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        claim = await claimed(journal)
        await journal.park(claim, "awaiting-input", pauses=[pause], entries=[asking(pause)])
        page = await journal.pending(10, None)
        assert (list(page.items), page.total, page.next_cursor) == ([pause], 1, None)
        run = await journal.run("dur_a")
        assert run is not None
        assert run.status == "awaiting-input"
        assert await journal.claim("dur_a", "executor") is None
        with pytest.raises(Fenced):
            await journal.append(claim, [step(1)])

    play(tmp_path, story)


def test_an_answer_closes_the_question_completes_the_call_and_wakes_the_run(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal)
        pause, fresh = await answered(journal, "1.50", note="go")
        assert fresh
        assert (pause.outcome, pause.answer, pause.answered_by, pause.note) == ("answered", "1.50", "local:bob", "go")
        assert (await journal.pending(10, None)).total == 0
        assert await journal.runnable() == ["dur_a"]
        (entry,) = await journal.load("dur_a")
        assert (entry.kind, entry.digest, entry.state) == ("input", "digest of the question", "ok")
        assert entry.value is not None
        assert '"value":1.50' in entry.value
        assert list(await journal.pauses("dur_a")) == [pause]

    play(tmp_path, story)


def test_an_answer_to_a_question_whose_call_was_not_recorded_leaves_an_entry_too(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        await journal.park(await claimed(journal), "awaiting-input", pauses=[pause_row(slot="3/1")])
        await answered(journal)
        (entry,) = await journal.load("dur_a")
        assert (entry.path, entry.n, entry.kind, entry.state) == ("3", 1, "input", "ok")

    play(tmp_path, story)


def test_a_refused_answer_changes_nothing(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal)
        before = (await journal.run("dur_a"), await journal.load("dur_a"), await journal.events(0))
        fault = await refused(answered(journal, edits="{}"))
        assert fault.code == "edits_not_allowed"
        assert (await journal.run("dur_a"), await journal.load("dur_a"), await journal.events(0)) == before
        assert (await journal.pending(10, None)).total == 1

    play(tmp_path, story)


def test_unknown_sessions_are_not_found(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        for work in (answered(journal, run_id="dur_zz"), journal.cancel("dur_zz", "local:bob")):
            fault = await refused(work)
            assert fault.code == "NOT_FOUND"
            assert "dur_zz" in fault.message

    play(tmp_path, story)


def test_a_repeat_with_the_same_key_returns_the_stored_answer_even_after_the_end(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal)
        first = await answered(journal, '{"a": 1, "b": 2}', key="k1")
        assert await answered(journal, '{"b":2,"a":1}', key="k1") == (first[0], False)
        await journal.finish(await claimed(journal), "completed", result="1")
        assert await answered(journal, '{"a": 1, "b": 2}', key="k1") == (first[0], False)

    play(tmp_path, story)


@pytest.mark.parametrize(
    "other",
    [
        {"value": "2"},
        {"value": "1.0"},
        {"note": "another"},
        {"who": "local:eve"},
        {"edits": "{}"},
        {"edits": "null"},
        {"pause_id": "dur_a.0"},
    ],
)
def test_the_same_key_with_another_body_is_a_mismatch(tmp_path: Path, other: dict[str, str]) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal)
        await answered(journal, value="1", key="k1")
        fault = await refused(answered(journal, **({"value": "1", "key": "k1"} | other)))
        assert fault.code == "idempotency_mismatch"

    play(tmp_path, story)


def test_several_questions_are_answered_one_by_one(tmp_path: Path) -> None:
    first, second = pause_row(slot="0", asked_at=1.0), pause_row(slot="1", asked_at=2.0)

    async def story(journal: SqliteJournal) -> None:
        await parked(journal, first, second)
        assert [pause.id for pause in (await journal.pending(10, None)).items] == [first.id, second.id]
        await answered(journal, pause_id=second.id)
        claim = await claimed(journal)
        await journal.park(claim, "awaiting-input", pauses=[first])
        assert list((await journal.pending(10, None)).items) == [first]
        await answered(journal)
        assert [(entry.n, entry.state) for entry in await journal.load("dur_a")] == [(1, "ok"), (0, "ok")]

    play(tmp_path, story)


def test_two_questions_may_be_answered_before_the_run_goes_on(tmp_path: Path) -> None:
    first, second = pause_row(slot="0"), pause_row(slot="1")

    async def story(journal: SqliteJournal) -> None:
        await parked(journal, first, second)
        await answered(journal, pause_id=first.id)
        await answered(journal, pause_id=second.id)
        assert (await journal.pending(10, None)).total == 0

    play(tmp_path, story)


def test_a_question_that_is_not_asked_again_is_superseded(tmp_path: Path) -> None:
    first, second = pause_row(slot="0", asked_at=1.0), pause_row(slot="1", asked_at=2.0)

    async def story(journal: SqliteJournal) -> None:
        await parked(journal, first, second)
        await answered(journal, pause_id=first.id)
        await journal.park(await claimed(journal), "sleeping", wake_at=5.0)
        pauses = {pause.id: pause for pause in await journal.pauses("dur_a")}
        assert pauses[second.id].outcome == "superseded"
        assert (await journal.pending(10, None)).total == 0
        assert await journal.wake_due(6.0) == ["dur_a"]
        await journal.park(await claimed(journal), "awaiting-input", pauses=[second])
        assert list((await journal.pending(10, None)).items) == [second]

    play(tmp_path, story)


def test_a_finished_run_keeps_its_result_and_closes_open_questions(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        first, second = pause_row(slot="0"), pause_row(slot="1")
        await parked(journal, first, second)
        await answered(journal, pause_id=first.id)
        await journal.finish(await claimed(journal), "completed", result='{"n": 1.50}', entries=[step(2)])
        run = await journal.run("dur_a")
        assert run is not None
        assert (run.status, run.result, run.error) == ("completed", '{"n": 1.50}', None)
        assert run.finished_at is not None
        assert {pause.outcome for pause in await journal.pauses("dur_a")} == {"answered", "superseded"}
        fault = await refused(answered(journal))
        assert (fault.code, fault.details["status"], fault.details["answered_by"]) == (
            "not_awaiting_input",
            "completed",
            "local:bob",
        )

    play(tmp_path, story)


def test_cancel_ends_the_run_closes_its_questions_and_fences_its_leg(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal)
        run = await journal.cancel("dur_a", "local:eve")
        assert run.status == "cancelled"
        (pause,) = await journal.pauses("dur_a")
        assert (pause.outcome, pause.answered_by) == ("cancelled", "local:eve")
        fault = await refused(answered(journal))
        assert fault.code == "run_cancelled"
        assert "local:eve" in fault.message
        again = await refused(journal.cancel("dur_a", "local:eve"))
        assert (again.code, again.details["status"]) == ("run_cancelled", "cancelled")

        await journal.create_run(run_row("dur_b"))
        claim = await claimed(journal, "dur_b")
        await journal.append(claim, [], [Span("dur_b", "", "tool", "release", "running", 1.0)])
        assert (await journal.cancel("dur_b", "local:eve")).epoch == claim.epoch + 1
        with pytest.raises(Fenced):
            await journal.append(claim, [step(0)])
        assert [item.state for item in await journal.spans("dur_b")] == ["cancelled"]

    play(tmp_path, story)


def test_a_completed_run_cannot_be_cancelled_but_a_diverged_one_can(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        await journal.finish(await claimed(journal), "completed", result="1")
        assert (await refused(journal.cancel("dur_a", "local:eve"))).code == "not_awaiting_input"
        await journal.create_run(run_row("dur_b"))
        await journal.park(await claimed(journal, "dur_b"), "diverged", error='{"code": "replay-diverged"}')
        assert (await journal.cancel("dur_b", "local:eve")).status == "cancelled"

    play(tmp_path, story)


def test_sleeping_runs_wake_when_their_time_has_come(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        for run_id, wake_at in (("dur_a", 20.0), ("dur_b", 10.0), ("dur_c", 30.0)):
            await journal.create_run(run_row(run_id))
            await journal.park(await claimed(journal, run_id), "sleeping", wake_at=wake_at)
        assert await journal.next_wake() == 10.0
        assert await journal.wake_due(9.9) == []
        assert await journal.wake_due(20.0) == ["dur_b", "dur_a"]
        assert await journal.wake_due(20.0) == []
        assert await journal.next_wake() == 30.0
        assert set(await journal.runnable()) == {"dur_a", "dur_b"}
        await journal.cancel("dur_c", "local:eve")
        assert await journal.next_wake() is None

    play(tmp_path, story)


def test_a_question_beside_a_sleep_stays_open_when_the_timer_fires(tmp_path: Path) -> None:
    pause = pause_row()

    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        await journal.park(await claimed(journal), "awaiting-input", pauses=[pause], wake_at=10.0)
        assert await journal.wake_due(10.0) == ["dur_a"]
        assert list((await journal.pending(10, None)).items) == [pause]

    play(tmp_path, story)


ATTENTION_ID = "dur_a.0.a1"


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ('"run-again"', []),
        ('{"use_result": 1.50}', [("ok", "1.50")]),
        ('{"use_result": null}', [("ok", "null")]),
    ],
)
def test_an_interrupted_call_is_run_again_or_given_a_result(
    tmp_path: Path, value: str, left: list[tuple[str, str]]
) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        claim = await claimed(journal)
        await journal.append(claim, [step(0, state="started")])
        await journal.park(
            claim,
            "needs-attention",
            pauses=[pause_row(id=ATTENTION_ID, kind="attention", spec=attention("tool", "ship", 0.0))],
        )
        await answered(journal, value)
        assert [(entry.state, entry.value) for entry in await journal.load("dur_a")] == left
        assert await journal.runnable() == ["dur_a"]

    play(tmp_path, story)


def test_an_error_of_ours_inside_a_transaction_undoes_it_and_reaches_the_caller(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal)

        def broken(pause: PauseRow) -> object:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await journal.answer(Answer("dur_a", "1", "local:bob"), judge, broken)  # type: ignore[arg-type]
        assert (await journal.pending(10, None)).total == 1
        await journal.answer(Answer("dur_a", "1", "local:bob"), judge, recorded)

    play(tmp_path, story)


def test_a_claim_of_an_unknown_or_ended_run_writes_nothing(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        gone = Claim(RunRow("dur_x", "t", "/r", "r", "running", 1, "{}", "u", 1.0, 1.0), 1, "executor")
        with pytest.raises(Fenced):
            await journal.append(gone, [step(0)])
        assert await journal.load("dur_x") == []

    play(tmp_path, story)


def test_what_models_ask_is_found_by_the_run_that_asks_or_among_what_no_journal_holds(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row("dur_a"))
        parents = {"dur_b": "dur_a", "dur_c": None, "dur_d": "chat_a", "dur_e": "chat_a"}
        for run_id, parent in parents.items():
            await journal.create_run(run_row(run_id, parent_session=parent, gate="confirm"))
        await journal.create_run(run_row("dur_f", parent_session="chat_a"))
        await journal.cancel("dur_e", "ann")
        assert [run.id for run in await journal.gates("dur_a")] == ["dur_b"]
        assert [run.id for run in await journal.gates(None)] == ["dur_c", "dur_d"]

    play(tmp_path, story)


def test_the_tokens_of_a_run_add_up(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row("dur_a"))
        await journal.spend("dur_a", {"input_tokens": 3, "total_tokens": 3})
        await journal.spend("dur_a", {"input_tokens": 4, "output_tokens": 5, "total_tokens": 9})
        run = await journal.run("dur_a")
        assert run is not None
        assert run.to_wire()["usage"] == {"input_tokens": 7, "total_tokens": 12, "output_tokens": 5}

    play(tmp_path, story)
