"""What a journal lists, counts, keeps apart and commits together."""

from __future__ import annotations

import asyncio
from pathlib import Path

from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.runs import Span
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


def span(slot: str, state: str = "running", **more: object) -> Span:
    return Span("dur_a", slot, "tool", f"call {slot}", state, 1.0, **more)  # type: ignore[arg-type]


def test_spans_are_replaced_and_come_in_the_order_of_calls(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        claim = await claimed(journal)
        slots = ["10", "2", "", "2/0", "0"]
        await journal.append(claim, [step(0)], [span(slot, leg=1) for slot in slots])
        await journal.append(claim, [], [span("2", "ok", ended_at=2.0, output="1", leg=1)])
        spans = await journal.spans("dur_a")
        assert [item.slot for item in spans] == ["", "0", "2", "2/0", "10"]
        assert spans[2] == span("2", "ok", ended_at=2.0, output="1", leg=1)

    play(tmp_path, story)


def test_every_shown_change_of_status_is_an_event_that_survives(tmp_path: Path) -> None:
    pause = pause_row()

    async def story(journal: SqliteJournal) -> None:
        await parked(journal, pause)
        await answered(journal)
        await journal.finish(await claimed(journal), "completed", result="1")

    play(tmp_path, story)

    async def later(journal: SqliteJournal) -> None:
        events = await journal.events(0)
        assert [(event.type, event.body["status"]) for event in events] == [
            ("session_created", "running"),
            ("session_updated", "awaiting-input"),
            ("session_updated", "running"),
            ("session_updated", "completed"),
        ]
        assert all(event.body["sessionId"] == event.run_id == "dur_a" for event in events)
        assert events[1].body["pauseId"] == pause.id
        assert events[1].body["pause"] == pause.to_wire()
        assert [event.seq for event in await journal.events(events[1].seq)] == [event.seq for event in events[2:]]
        assert await journal.last_event() == events[-1].seq
        assert len(await journal.events(0, limit=2)) == 2

    play(tmp_path, later)


def test_pages_of_questions_go_on_where_the_last_one_ended(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        wanted: list[str] = []
        for number in range(7):
            pause = pause_row(f"dur_{number}", asked_at=float(number // 2))  # several at the same time
            await parked(journal, pause, run_id=f"dur_{number}")
            wanted.append(pause.id)
        found: list[str] = []
        cursor = None
        while True:
            page = await journal.pending(3, cursor)
            assert page.total == 7 - (len(found) > 3)
            found += [pause.id for pause in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
            if len(found) == 3:  # one that was shown disappears: nothing is skipped
                await journal.cancel("dur_0", "local:eve")
                assert (await journal.pending(3, None)).total == 6
                found.append((await journal.pending(1, cursor)).items[0].id)
                cursor = (await journal.pending(1, cursor)).next_cursor
        assert found == wanted
        assert (await refused(journal.pending(3, "nonsense"))).code == "VALIDATION_ERROR"

    play(tmp_path, story)


def test_finished_runs_are_listed_latest_first_and_counted_by_status(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        ended: list[str] = []
        for run_id, status in (("dur_c", "completed"), ("dur_a", "failed"), ("dur_b", "completed")):
            await journal.create_run(run_row(run_id))
            await journal.finish(await claimed(journal, run_id), status)  # type: ignore[arg-type]
            ended.insert(0, run_id)
        await journal.create_run(run_row("dur_d"))
        await parked(journal, run_id="dur_e")
        first = await journal.runs(["completed", "failed", "cancelled"], 2, None)
        rest = await journal.runs(["completed", "failed", "cancelled"], 2, first.next_cursor)
        assert [run.id for run in [*first.items, *rest.items]] == ended
        assert (first.total, rest.next_cursor) == (3, None)
        assert [run.id for run in (await journal.runs(["failed"], 10, None)).items] == ["dur_a"]
        unfinished = await journal.runs(["runnable", "running", "awaiting-input"], 1, None)
        assert (unfinished.items[0].id, unfinished.total) == ("dur_e", 2)
        more = await journal.runs(["runnable", "running", "awaiting-input"], 1, unfinished.next_cursor)
        assert [run.id for run in more.items] == ["dur_d"]
        everything = await journal.runs(["runnable", "awaiting-input", "completed", "failed"], 10, None)
        assert [run.id for run in everything.items] == ["dur_e", "dur_d", "dur_c", "dur_b", "dur_a"]

    play(tmp_path, story)


def test_large_values_come_back_whole(tmp_path: Path) -> None:
    large = '"' + "é" * 500_000 + '"'
    spec = '{"question": "Which?", "inputType": "text", "context": ' + large + "}"

    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row(params=large))
        claim = await claimed(journal)
        assert claim.run.params == large
        pause = pause_row(spec=spec, slot="2")
        await journal.append(claim, [step(0, value=large), step(1, value=large)])
        await journal.park(claim, "awaiting-input", pauses=[pause], entries=[asking(pause)])
        assert (await journal.pending(1, None)).items[0].spec == spec
        await answered(journal, large)
        assert (await journal.pauses("dur_a"))[0].answer == large
        await journal.finish(await claimed(journal), "completed", result=large)
        run = await journal.run("dur_a")
        assert run is not None
        assert run.result == large
        assert [entry.value for entry in await journal.load("dur_a")][:2] == [large, large]
        assert (await journal.events(0))[1].body["pause"] == pause.to_wire()

    play(tmp_path, story)


def test_equal_large_values_are_stored_once(tmp_path: Path) -> None:
    large = '"' + "x" * 500_000 + '"'

    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        claim = await claimed(journal)
        await journal.append(claim, [step(n, value=large) for n in range(20)])
        assert [entry.value for entry in await journal.load("dur_a")] == [large] * 20

    play(tmp_path, story)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 2 * len(large)


def test_a_neighbour_in_the_same_commit_is_not_undone_by_a_refusal(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        for number in range(20):
            await parked(journal, run_id=f"dur_{number}")
        work = [answered(journal, run_id=f"dur_{number % 20}", who=f"u{number}") for number in range(40)]
        results = await asyncio.gather(*work, return_exceptions=True)
        assert all(not isinstance(result, BaseException) for result in results[:20])
        assert all(isinstance(result, BaseException) for result in results[20:])
        assert len(await journal.runnable()) == 20

    play(tmp_path, story)


def test_what_a_refused_neighbour_had_written_is_undone(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        claim = await claimed(journal)
        await journal.append(claim, [step(0)])
        work = [journal.append(claim, [step(n), step(0)] if n % 2 else [step(n)]) for n in range(1, 41)]
        results = await asyncio.gather(*work, return_exceptions=True)
        assert [isinstance(result, ValueError) for result in results] == [True, False] * 20
        assert [entry.n for entry in await journal.load("dur_a")] == list(range(0, 41, 2))

    play(tmp_path, story)


def test_text_that_cannot_be_stored_is_refused_by_name(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal)
        assert (await refused(answered(journal, note="\ud800"))).code == "VALIDATION_ERROR"
        assert (await journal.pending(10, None)).total == 1

    play(tmp_path, story)


def test_data_version_changes_when_another_one_writes_and_not_by_itself(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        other = await SqliteJournal.open(tmp_path / "runtime.db")
        before = await journal.data_version()
        await journal.create_run(run_row())
        assert await journal.data_version() == before
        await other.create_run(run_row("dur_b"))
        after = await journal.data_version()
        assert after != before
        assert await journal.data_version() == after
        await other.close()

    play(tmp_path, story)
