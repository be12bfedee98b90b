"""What time takes away from ended runs, what it never takes, and that it does so in small pieces."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_core.approvals.questions import question
from runtime_core.journal.driver import Connection, connect, pragma
from runtime_core.journal.formats import BLOB_COLUMNS
from runtime_core.journal.retention import BLOBS, LOOKED, ROWS, Housekeeping, is_named
from runtime_core.journal.rows import INLINE_LIMIT
from runtime_core.journal.schema import make_shrinkable, migrate
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.automations import AutomationRow, AutomationStart, Firing
from runtime_core.wire.runs import RunRow, RunWarning, Span
from runtime_core.wire.stores import Partition, StoreWrite
from tests.fixtures.golden.make import tell_of_the_rest
from tests.unit.journal.stories import answered, asking, claimed, pause_row, play, run_row, step

DAY = 86_400.0
TABLES = ("durable_entry", "durable_question", "durable_leg", "durable_warning", "span")
GOLDEN = Path(__file__).parents[2] / "fixtures" / "golden"


def large(mark: object) -> str:
    return f'"{mark}{"x" * INLINE_LIMIT}"'


def rows(path: Path, run_id: str) -> dict[str, list[Any]]:
    """Everything that is kept of a run, the large values included."""
    db = sqlite3.connect(path / "runtime.db")
    found = {table: db.execute(f"SELECT * FROM {table} WHERE run_id = ?", (run_id,)).fetchall() for table in TABLES}
    found["run"] = db.execute("SELECT * FROM durable_run WHERE id = ?", (run_id,)).fetchall()
    keys = [cell for table in found.values() for row in table for cell in row if isinstance(cell, bytes)]
    found["blobs"] = [db.execute("SELECT bytes FROM durable_blob WHERE digest = ?", (key,)).fetchone() for key in keys]
    db.close()
    return found


async def tidied(journal: SqliteJournal, before: float | None) -> int:
    steps = 1
    while await journal.tidy(before):
        steps += 1
    return steps


async def ended(journal: SqliteJournal, run_id: str, value: str = '"done"', calls: int = 1, **row: Any) -> None:
    await journal.create_run(run_row(run_id, **row))
    claim = await claimed(journal, run_id)
    spans = [Span(run_id, str(n), "step", "s", "ok", 1.0, 2.0, leg=1) for n in range(calls)]
    await journal.append(claim, [step(n, value=value) for n in range(calls)], spans)
    await journal.warn(run_id, [RunWarning("entries", "many", 1.0)])
    await journal.finish(claim, "completed", result=value)


def test_an_ended_run_keeps_its_row_and_its_result(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> RunRow | None:
        await ended(journal, "dur_a", large("a"), calls=3)
        await tidied(journal, time.time() + 1)
        return await journal.run("dur_a")

    run = play(tmp_path, story)
    assert run is not None
    assert (run.status, run.result) == ("completed", large("a"))
    assert run.pruned_at is not None
    kept = rows(tmp_path, "dur_a")
    assert {table: kept[table] for table in TABLES} == {table: [] for table in TABLES}


def test_a_run_that_ended_later_keeps_everything(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await ended(journal, "dur_a", large("a"))

    play(tmp_path, story)
    before = rows(tmp_path, "dur_a")
    assert before["durable_entry"]

    async def later(journal: SqliteJournal) -> None:
        await tidied(journal, time.time() - DAY)
        await tidied(journal, None)

    play(tmp_path, later)
    assert rows(tmp_path, "dur_a") == before


SHAPES = ("runnable", "running", "awaiting-input", "answered", "sleeping", "needs-attention", "diverged", "ended")


async def in_shape(journal: SqliteJournal, run_id: str, shape: str, value: str, created_at: float) -> None:
    if shape == "ended":
        await ended(journal, run_id, value)
        return
    await journal.create_run(run_row(run_id, created_at=created_at, updated_at=created_at, params=value))
    if shape == "runnable":
        return
    claim = await claimed(journal, run_id)
    span = Span(run_id, "1", "step", "s", "ok", 1.0, 2.0, leg=1)
    await journal.append(claim, [step(1, value=value)], [span])
    await journal.warn(run_id, [RunWarning("value", "large", 1.0)])
    if shape in ("awaiting-input", "answered"):
        pause = pause_row(run_id, expires_at=None)
        await journal.park(claim, "awaiting-input", pauses=[pause], entries=[asking(pause)])
        if shape == "answered":
            await answered(journal, value, run_id)
    elif shape == "needs-attention":
        pause = pause_row(run_id, kind="attention")
        await journal.park(claim, "needs-attention", pauses=[pause], entries=[asking(pause)])
    elif shape == "sleeping":
        await journal.park(claim, "sleeping", wake_at=1.0)
    elif shape == "diverged":
        await journal.park(claim, "diverged", error='{"code": "replay-diverged", "message": "no"}')


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(SHAPES), st.sampled_from(["1", large("a"), large("b"), large("c")]), st.booleans()),
        min_size=1,
        max_size=8,
    )
)
def test_retention_never_touches_a_run_that_has_not_ended(
    tmp_path_factory: pytest.TempPathFactory, runs: Sequence[tuple[str, str, bool]]
) -> None:
    """However old it is, and whatever large values it shares with runs that are taken away."""
    folder = tmp_path_factory.mktemp("folder")

    async def begin(journal: SqliteJournal) -> None:
        for number, (shape, value, old) in enumerate(runs):
            await in_shape(journal, f"dur_{number}", shape, value, 1.0 if old else time.time())

    play(folder, begin)
    before = [rows(folder, f"dur_{number}") for number in range(len(runs))]

    async def tidy(journal: SqliteJournal) -> None:
        await tidied(journal, time.time() + DAY)

    play(folder, tidy)
    for number, (shape, _, _) in enumerate(runs):
        after = rows(folder, f"dur_{number}")
        if shape == "ended":
            assert not any(after[table] for table in TABLES)
            assert None not in after["blobs"]
        else:
            assert after == before[number]
    db = connect(folder / "runtime.db")
    digests = [row[0] for row in db.execute("SELECT digest FROM durable_blob")]
    assert all(is_named(db, digest) for digest in digests)
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    db.close()


def test_a_large_value_goes_with_the_last_row_that_names_it(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> list[int]:
        counts: list[int] = []
        await ended(journal, "dur_a", "1", created_at=1.0)
        await journal.create_run(run_row("dur_b"))
        claim = await claimed(journal, "dur_b")
        await journal.append(claim, [step(0, value=large("shared"))])
        await tidied(journal, time.time())
        counts.append(blobs(tmp_path))
        await journal.finish(claim, "completed", result="1")
        await tidied(journal, time.time() + 1)
        counts.append(blobs(tmp_path))
        return counts

    assert play(tmp_path, story) == [1, 0]


def blobs(path: Path) -> int:
    db = sqlite3.connect(path / "runtime.db")
    count: int = db.execute("SELECT count(*) FROM durable_blob").fetchone()[0]
    db.close()
    return count


@pytest.mark.parametrize(("table", "column"), BLOB_COLUMNS)
def test_every_column_that_holds_large_values_is_looked_at(table: str, column: str, tmp_path: Path) -> None:
    db = connect(tmp_path / "runtime.db")
    migrate(db, tmp_path / "runtime.db")
    db.execute("PRAGMA foreign_keys=OFF")
    key = hashlib.sha256(b"x").digest()
    db.execute("INSERT INTO durable_blob VALUES (?, x'00', 1)", (key,))
    assert not is_named(db, key)
    needed = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[3] and row[1] not in ("id", column)]
    names = ", ".join([*needed, column])
    db.execute(f"INSERT INTO {table}({names}) VALUES ({', '.join('?' * len(needed))}, ?)", (*([1] * len(needed)), key))
    assert is_named(db, key)
    plan = str(
        db.execute(
            f"EXPLAIN QUERY PLAN SELECT 1 FROM {table} WHERE {column} = ? AND typeof({column}) = 'blob'", (key,)
        ).fetchall()
    )
    assert f"{table}_{column}_blob" in plan
    db.close()


def test_no_column_that_holds_large_values_is_forgotten(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        for number, shape in enumerate(SHAPES):
            await in_shape(journal, f"dur_{number}", shape, large(number), 1.0)
        spec = question("input", f'{{"question": "a?", "allowEdits": true, "context": {large("c")}}}')
        pause = pause_row("dur_x", spec=spec)
        await journal.create_run(run_row("dur_x", context=large("x")))
        await journal.park(await claimed(journal, "dur_x"), "awaiting-input", pauses=[pause], entries=[asking(pause)])
        await answered(journal, large("v"), "dur_x", edits=large("e"))
        await journal.finish(await claimed(journal, "dur_x"), "failed", error=f'{{"message": {large("m")}}}')
        part = Partition("/repo", "", "notes")
        await journal.write_documents([StoreWrite(part, "a", f'{{"text": {large("d")}}}')])
        await tell_of_the_rest(journal, large("r"))

    play(tmp_path, story)
    db = sqlite3.connect(tmp_path / "runtime.db")
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {
        (table, column[1])
        for table in tables
        if table != "durable_blob"
        for column in db.execute(f"PRAGMA table_info({table})").fetchall()
        if db.execute(f"SELECT 1 FROM {table} WHERE typeof({column[1]}) = 'blob'").fetchone()
    }
    db.close()
    assert found == {pair for pair in BLOB_COLUMNS if pair[0] != "durable_vote"}


def test_one_step_does_little(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await ended(journal, "dur_a", calls=5 * ROWS)

    play(tmp_path, story)
    db = connect(tmp_path / "runtime.db")
    keeper = Housekeeping()
    sizes = [db.total_changes]
    while keeper.step(db, time.time() + 1):
        sizes.append(db.total_changes)
    done = [after - before for before, after in pairwise(sizes)]
    assert max(done) <= ROWS + 2
    assert sum(done) >= 10 * ROWS
    db.close()


def test_of_what_repeats_itself_the_latest_stay(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await tell_of_the_rest(journal, "1")

    play(tmp_path, story)
    db = connect(tmp_path / "runtime.db")
    _fire(db, "auto_x", 1000 + ROWS + 5)
    _fire(db, "auto_y", 1000)
    for repo, count in (("/repo", 100 + ROWS + 5), ("/other", 100)):
        db.executemany(
            "INSERT INTO build(id, repo, kind, state, started_at, ended_at, body) "
            "VALUES (?, ?, 'local', 'failed', ?, 2.0, '{}')",
            [(f"{repo} {n}", repo, 10.0 + n) for n in range(count)],
        )
    keeper = Housekeeping()
    sizes = [db.total_changes]
    while keeper.step(db, None):
        sizes.append(db.total_changes)
    assert max(after - before for before, after in pairwise(sizes)) <= ROWS
    history = "SELECT automation_id, count(*), max(due_at) FROM automation_run GROUP BY 1 HAVING count(*) > 9"
    assert db.execute(history).fetchall() == [("auto_x", 1000, 1000.0 + ROWS + 4), ("auto_y", 1000, 999.0)]
    builds = "SELECT repo, count(*), max(started_at) FROM build GROUP BY 1 HAVING count(*) > 9 ORDER BY 1"
    assert db.execute(builds).fetchall() == [("/other", 100, 109.0), ("/repo", 100, 114.0 + ROWS)]
    db.close()


def test_what_goes_on_is_not_pushed_out(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> Firing | None:
        await journal.add_automation(
            AutomationRow("auto_a", "/repo", "auto_a", "person", "{}", True, "ann", 1.0, 1.0, None)
        )
        first = await journal.start_automation(AutomationStart("auto_a", "manual", 1.0, 1.0))
        db = connect(tmp_path / "runtime.db")
        _fire(db, "auto_a", 1000 + ROWS)
        db.close()
        await tidied(journal, None)
        assert await journal.open_firings() == [first]
        assert len(await journal.firings("auto_a", 9999)) == 1001
        return await journal.start_automation(AutomationStart("auto_a", "manual", 2.0, 2.0))

    again = play(tmp_path, story)
    assert again is not None
    assert again.state == "skipped"


def test_a_step_looks_at_few_of_many_automations(tmp_path: Path) -> None:
    play(tmp_path, lambda journal: journal.firings("", 1))
    db = connect(tmp_path / "runtime.db")
    for number in range(4 * LOOKED):
        _fire(db, f"auto_{number:03}", 1)
    keeper = Housekeeping()
    looked: list[str] = []
    db.set_trace_callback(looked.append)
    counts: list[int] = []
    while keeper.step(db, None):
        counts.append(sum("automation_run" in statement and "DELETE" in statement for statement in looked))
        looked.clear()
    assert max(counts) == LOOKED
    assert sum(counts) == 4 * LOOKED
    db.close()


def _fire(db: Connection, automation_id: str, count: int) -> None:
    """Let an automation have been started so many times, each of which ended."""
    db.execute(
        "INSERT OR IGNORE INTO automation(id, repo, name, origin, body, enabled, created_by, created_at, updated_at) "
        "VALUES (?1, '/repo', ?1, 'person', '{}', 0, 'ann', 1.0, 1.0)",
        (automation_id,),
    )
    db.executemany(
        "INSERT INTO automation_run(automation_id, source, due_at, started_at, ended_at, late, state) "
        "VALUES (?, 'schedule', ?, 1.0, 2.0, 0, 'completed')",
        [(automation_id, float(n)) for n in range(count)],
    )


def test_what_was_begun_is_finished_after_a_restart(tmp_path: Path) -> None:
    async def begin(journal: SqliteJournal) -> None:
        await ended(journal, "dur_a", calls=3 * ROWS)
        for _ in range(3):
            assert await journal.tidy(time.time() + 1)
        run = await journal.run("dur_a")
        assert run is not None
        assert run.pruned_at is not None

    play(tmp_path, begin)
    assert rows(tmp_path, "dur_a")["durable_entry"]

    async def go_on(journal: SqliteJournal) -> None:
        await tidied(journal, None)

    play(tmp_path, go_on)
    assert not any(rows(tmp_path, "dur_a")[table] for table in TABLES)


def test_a_value_stored_while_the_others_are_looked_at_stays(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        claim = await claimed(journal)
        for n in range(BLOBS + 5):
            await journal.append(claim, [step(n, value=large(n))])
        n = BLOBS + 5
        while await journal.tidy(None):
            await journal.append(claim, [step(n, value=large(n))])
            n += 1
        assert [entry.value for entry in await journal.load("dur_a")] == [large(index) for index in range(n)]

    play(tmp_path, story)


def test_the_file_gives_back_what_nobody_needs(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        for number in range(12):
            await ended(journal, f"dur_{number}", large(number) + " " * 1_000_000)

    play(tmp_path, story)
    full = (tmp_path / "runtime.db").stat().st_size

    async def tidy(journal: SqliteJournal) -> None:
        db = sqlite3.connect(tmp_path / "runtime.db")
        db.execute("UPDATE durable_run SET result = '1'")
        db.commit()
        db.close()
        await tidied(journal, time.time() + 1)

    play(tmp_path, tidy)
    assert (tmp_path / "runtime.db").stat().st_size < full * 0.6


def test_an_old_file_learns_to_shrink_when_it_is_brought_to_the_new_format(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "v1.db", tmp_path / "runtime.db")

    async def story(journal: SqliteJournal) -> None:
        assert (await journal.pending(10, None)).total == 3

    play(tmp_path, story)
    db = connect(tmp_path / "runtime.db")
    assert pragma(db, "auto_vacuum") == 2
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.execute("PRAGMA auto_vacuum=NONE")
    db.execute("VACUUM")
    assert pragma(db, "auto_vacuum") == 0
    make_shrinkable(db)
    assert pragma(db, "auto_vacuum") == 2
    db.close()


def test_trust_that_was_given_long_ago_to_code_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row("dur_open", repo="/b", revision="old"))

    play(tmp_path, story)
    db = connect(tmp_path / "runtime.db")
    for repo, revision, at in (("/a", "old", 1.0), ("/a", "new", 2.0), ("/b", "old", 1.0), ("/b", "new", 2.0)):
        db.execute("INSERT INTO durable_trust VALUES (?, ?, '[]', 'ann', ?)", (repo, revision, at))
    db.close()

    async def tidy(journal: SqliteJournal) -> None:
        await tidied(journal, time.time())

    play(tmp_path, tidy)
    db = connect(tmp_path / "runtime.db")
    left = db.execute("SELECT repo, revision FROM durable_trust ORDER BY 1, 2").fetchall()
    assert left == [("/a", "new"), ("/b", "new"), ("/b", "old")]
    db.close()


def test_runs_of_a_format_of_the_future_are_shown_and_left_alone(tmp_path: Path) -> None:
    async def begin(journal: SqliteJournal) -> None:
        for run_id, shape in (("dur_ready", "runnable"), ("dur_asks", "awaiting-input"), ("dur_sleeps", "sleeping")):
            await in_shape(journal, run_id, shape, "1", 1.0)
        await ended(journal, "dur_ended")
        await in_shape(journal, "dur_moves", "running", "1", 1.0)

    play(tmp_path, begin)
    db = connect(tmp_path / "runtime.db")
    db.execute("UPDATE durable_run SET journal_format = 99")
    db.close()
    runs = ("dur_ready", "dur_asks", "dur_sleeps", "dur_ended", "dur_moves")
    before = [rows(tmp_path, run_id) for run_id in runs]

    async def story(journal: SqliteJournal) -> None:
        assert await journal.runnable() == []
        assert await journal.claim("dur_ready", "me") is None
        assert await journal.next_wake() is None
        assert await journal.wake_due(time.time()) == []
        assert await journal.abandon_claims() == []
        await tidied(journal, time.time() + 1)
        for refused in (answered(journal, "1", "dur_asks"), journal.cancel("dur_sleeps", "ann")):
            with pytest.raises(Exception, match=r"Session dur_\w+ was recorded by a newer version of this program"):
                await refused
        assert (await journal.pending(10, None)).total == 1

    play(tmp_path, story)
    assert [rows(tmp_path, run_id) for run_id in runs] == before
