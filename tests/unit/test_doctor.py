"""The doctor finds real damage, says what to do, changes nothing and never fails."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from runtime_core.config import Config, read
from runtime_core.dispatch.lock import ExecutorLock
from runtime_core.doctor import folder
from runtime_core.doctor.compact import compact
from runtime_core.doctor.examine import examine
from runtime_core.doctor.findings import Finding
from runtime_core.journal.driver import connect
from runtime_core.journal.formats import FORMAT
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps
from runtime_core.wire.runs import Span
from runtime_core.wire.settings import Retention, Settings
from tests.fixtures.golden.make import tell_of_the_rest
from tests.unit.journal.stories import answered, asking, claimed, pause_row, play, run_row, step
from tests.unit.journal.test_retention import GOLDEN, ended, large

NO_CONFIG = Config(Settings())


def make(data: Path) -> None:
    """A folder with a run that waits, in a nested handler as well, one that was answered, and an ended one."""
    data.mkdir(exist_ok=True)
    data.chmod(0o700)

    async def story(journal: SqliteJournal) -> None:
        for run_id in ("dur_waits", "dur_asked"):
            await journal.create_run(run_row(run_id, repo=str(data / "repo"), revision="r1"))
            claim = await claimed(journal, run_id)
            spans = [Span(run_id, str(n), "step", "s", "ok", 1.0, 2.0, leg=1) for n in range(2)]
            nested = [step(2, state="started"), step(0, path="2")]
            await journal.append(claim, [step(0), step(1, value=large(run_id)), *nested], spans)
            pause = pause_row(run_id, "3")
            await journal.park(claim, "awaiting-input", pauses=[pause], entries=[asking(pause)])
        await answered(journal, run_id="dur_asked")
        await ended(journal, "dur_done", large("done"), calls=2)

    play(data, story)
    (data / "repo").mkdir(exist_ok=True)
    (data / "repo" / "amodal.json").write_text("{}")
    (data / "versions" / "r1").mkdir(parents=True, exist_ok=True)


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("healthy") / "data"
    make(data)
    return data


@pytest.fixture
def data(healthy: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "data"
    shutil.copytree(healthy, copy)
    change(copy, "UPDATE durable_run SET repo = ?", (str(copy / "repo"),))
    return copy


def change(data: Path, statement: str, values: tuple[object, ...] = ()) -> None:
    """Change the journal as nobody but a broken program does."""
    db = sqlite3.connect(data / "runtime.db", isolation_level=None)
    db.execute(statement, values)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()


def snapshot(data: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(data)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in data.rglob("*")
        if path.is_file()
    }


def look_at(data: Path, config: Config = NO_CONFIG) -> dict[str, Finding]:
    """What is found by its code, without that all is well; nothing in the folder may change."""
    before = snapshot(data)
    found = examine(data, config)
    assert snapshot(data) == before
    assert all(finding.message and (finding.level == "ok" or finding.remedy) for finding in found)
    return {finding.code: finding for finding in found if finding.level != "ok"}


def problems(data: Path) -> dict[str, str]:
    return {code: finding.message for code, finding in look_at(data).items() if finding.level == "problem"}


def test_a_healthy_folder_is_in_order(data: Path) -> None:
    assert look_at(data) == {}
    said = {finding.code: finding.message for finding in examine(data, NO_CONFIG)}
    assert said["contents"] == "3 runs, 2 of them not ended; 1 open question."


Damage = tuple[str, str, str]


@pytest.mark.parametrize(
    ("statement", "code", "said"),
    [
        ("UPDATE durable_count SET n = 7 WHERE name = 'completed'", "totals-wrong", "completed: 7 instead of 1"),
        ("DELETE FROM durable_count", "totals-wrong", "open questions: 0 instead of 1"),
        ("DELETE FROM durable_run WHERE id = 'dur_waits'", "rows-lost", "5 of durable_entry in durable_run"),
        ("DELETE FROM durable_blob", "value-damaged", "entry of dur_asked: the large value for value is missing"),
        (
            "UPDATE durable_blob SET bytes = x'00'",
            "value-damaged",
            "the large value for value is missing or not what was stored",
        ),
        (
            "UPDATE durable_run SET params = '{' WHERE id = 'dur_waits'",
            "value-damaged",
            "run of dur_waits: params is not JSON text",
        ),
        (
            "UPDATE durable_run SET params = CAST(x'22ff22' AS TEXT) WHERE id = 'dur_waits'",
            "value-damaged",
            "run of dur_waits: params is not UTF-8 text",
        ),
        (
            "DELETE FROM durable_entry WHERE run_id = 'dur_waits' AND n = 0 AND path = ''",
            "calls-lost",
            "dur_waits call 0",
        ),
        ("DELETE FROM durable_entry WHERE run_id = 'dur_done' AND n = 1", "calls-lost", "dur_done call 1"),
        ("DELETE FROM durable_entry WHERE run_id = 'dur_waits' AND n = 2", "calls-lost", "dur_waits call 2"),
        ("UPDATE durable_entry SET epoch = 9 WHERE run_id = 'dur_done'", "calls-ahead", "legs that never were"),
        ("DELETE FROM durable_entry WHERE n = 3", "question-without-call", "dur_waits.3"),
        ("UPDATE durable_entry SET state = 'ok', value = '1' WHERE n = 3", "question-has-result", "dur_waits.3"),
        (
            "UPDATE durable_question SET run_id = 'dur_done' WHERE outcome IS NULL",
            "question-of-ended-run",
            "dur_waits.3",
        ),
        ("UPDATE durable_run SET resume_on = 'r9' WHERE id = 'dur_waits'", "code-missing", "chosen for these runs"),
        ("DELETE FROM durable_question WHERE outcome IS NULL", "nothing-to-wait-for", "dur_waits"),
        ("UPDATE durable_run SET status = 'sleeping' WHERE id = 'dur_waits'", "nothing-to-wait-for", "dur_waits"),
        ("DELETE FROM durable_entry WHERE run_id = 'dur_asked' AND n = 3", "decisions-lost", "dur_asked.3"),
        ("UPDATE durable_run SET leg_revision = 'r9'", "legs-lost", "dur_asked, dur_done, dur_waits"),
        ("UPDATE durable_run SET revision = CAST(x'ff' AS TEXT)", "value-damaged", "revision is not UTF-8 text"),
        (
            "UPDATE durable_question SET fingerprint = CAST(x'61ff' AS TEXT)",
            "value-damaged",
            "question of dur_asked: fingerprint is not UTF-8 text",
        ),
        (
            """UPDATE durable_question SET spec = '{"question": "Water?", "inputType": "text"}'""",
            "value-damaged",
            "question of dur_waits: spec does not fit its fingerprint",
        ),
        ("UPDATE durable_question SET spec = '{}'", "value-damaged", "spec must hold the question"),
        ("UPDATE durable_question SET fingerprint = ''", "value-damaged", "spec does not fit its fingerprint"),
        ("UPDATE durable_question SET outcome = 'bogus'", "value-damaged", "outcome must be one of answered, "),
        ("UPDATE durable_run SET status = 'bogus'", "value-damaged", "run of dur_asked: status must be one of"),
        ("UPDATE durable_run SET finished_at = NULL", "value-damaged", "status is completed, which does not go with"),
        ("UPDATE durable_run SET created_at = 'now'", "value-damaged", "created_at must be a time in seconds"),
        ("UPDATE durable_run SET created_at = 1e300", "value-damaged", "created_at must be a time in seconds"),
        ("UPDATE durable_run SET created_at = -1e11", "value-damaged", "created_at must be a time in seconds"),
        ("UPDATE durable_run SET epoch = -1", "value-damaged", "epoch must not be negative"),
        ("UPDATE durable_entry SET n = 1000000000000000 WHERE n = 2", "calls-lost", "dur_waits call "),
        ("DROP TRIGGER durable_run_moved", "schema-damaged", "lacks trigger durable_run_moved"),
        ("DROP INDEX durable_question_open", "schema-damaged", "lacks index durable_question_open"),
        ("ALTER TABLE durable_run DROP COLUMN seed", "schema-damaged", "lacks durable_run.seed"),
        ("ALTER TABLE durable_run RENAME COLUMN seed TO seat", "schema-damaged", "lacks durable_run.seed"),
        ("PRAGMA user_version = 1", "schema-damaged", "says that it has format 1, but holds "),
        ("PRAGMA user_version = 99", "newer-format", "format 99, made by a newer version"),
    ],
)
def test_rows_that_were_tampered_with_are_found(statement: str, code: str, said: str, data: Path) -> None:
    change(data, statement)
    assert said in problems(data)[code]


@pytest.mark.parametrize(
    ("statement", "code", "said"),
    [
        ("UPDATE durable_run SET status = 'running' WHERE id = 'dur_asked'", "executor-died", "dur_asked"),
        (
            "UPDATE durable_run SET repo = '/gone' WHERE id = 'dur_waits'",
            "repository-gone",
            "1 run that has not ended needs it",
        ),
        ("UPDATE durable_run SET revision = 'r9' WHERE id = 'dur_waits'", "code-missing", "dur_waits"),
        ("UPDATE durable_run SET journal_format = 9 WHERE id = 'dur_done'", "newer-runs", "dur_done"),
    ],
)
def test_what_still_works_is_a_warning(statement: str, code: str, said: str, data: Path) -> None:
    change(data, statement)
    change(data, "DELETE FROM durable_count")
    change(data, "INSERT INTO durable_count SELECT status, count(*) FROM durable_run GROUP BY status")
    change(data, "INSERT INTO durable_count VALUES ('open questions', 1)")
    found = look_at(data)
    assert {finding.level for finding in found.values()} == {"warning"}
    assert said in found[code].message


def test_the_doctor_survives_any_flipped_bits(healthy: Path, tmp_path: Path) -> None:
    """It always comes to an end, and what it says can be printed and written as JSON."""
    file = tmp_path / "runtime.db"
    content = (healthy / "runtime.db").read_bytes()
    chance = random.Random(7)
    for number in range(200):
        damaged = bytearray(content)
        for _ in range(1 + number % 8):  # every other time in the tables of contents
            damaged[chance.randrange(8192 if number % 2 else len(damaged))] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        for finding in examine(tmp_path, NO_CONFIG):
            dumps(finding.to_wire()).encode()


def test_a_name_in_the_schema_that_is_no_text(data: Path) -> None:
    file = data / "runtime.db"
    file.write_bytes(file.read_bytes().replace(b"durable_vote", b"durable_v\xffte"))
    assert "damaged" in problems(data) or "schema-damaged" in problems(data)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_journal_that_was_there(data: Path, is_there: bool) -> None:
    (data / "runtime.db").unlink()
    if is_there:
        (data / "runtime.db").touch(0o600)
    assert "holds code of runs: there was a journal" in problems(data)["journal-lost"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    for place, why in (
        (tmp_path / "link", f"it is a link to {tmp_path / 'nowhere'}, which is not there"),
        (tmp_path / "file" / "data", f"{tmp_path / 'file'} is a file"),
        *([(Path("/proc/foo"), "/proc may not be written")] if sys.platform == "linux" else []),
    ):
        found = look_at(place)["folder-missing"]
        assert (found.level, f"cannot be made: {why}." in found.message) == ("problem", True)


@pytest.mark.skipif(os.name != "posix", reason="modes are other ones there")
def test_what_is_to_be_typed_is_quoted(data: Path) -> None:
    other = data.rename(data.with_name("my data"))
    (other / "runtime.db").chmod(0o644)
    assert look_at(other)["readable-by-others"].remedy == f"chmod 600 '{other / 'runtime.db'}'"


def test_runs_whose_time_is_over_and_that_were_not_tidied(data: Path) -> None:
    change(data, "UPDATE durable_run SET finished_at = 1.0 WHERE id = 'dur_done'")
    assert "1 run ended more than" in look_at(data)["retention-due"].message
    assert "dur_done" in look_at(data)["retention-due"].message


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    for at in range(8192, len(content), 977):
        content[at] ^= 0x55
    file.write_bytes(content)


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def overwrite(file: Path) -> None:
    file.write_bytes(b"x" * 9000)


def cut(file: Path) -> None:
    os.truncate(file, 16)


@pytest.mark.parametrize(
    ("break_it", "code"),
    [
        (flip, "damaged"),
        (truncate, "damaged"),
        (overwrite, "damaged"),
        (cut, "damaged"),
    ],
    ids=["flipped bytes", "half of it", "no database", "only a header"],
)
def test_a_damaged_file_is_explained(break_it: Callable[[Path], object], code: str, data: Path) -> None:
    break_it(data / "runtime.db")
    found = problems(data)
    assert str(data / "runtime.db") in "".join(found.values()) or "The file is damaged" in found[code]


def test_a_journal_of_the_format_before_is_left_as_it_is(data: Path) -> None:
    shutil.copy(GOLDEN / "v1.db", data / "runtime.db")
    assert set(look_at(data)) == {"older-format", "readable-by-others"}


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("v*.db")), ids=lambda path: path.name)
def test_golden_files_are_healthy_when_they_have_the_present_format(golden: Path, tmp_path: Path) -> None:
    shutil.copy(golden, tmp_path / "runtime.db")

    async def nothing(journal: SqliteJournal) -> None:
        await journal.last_event()

    play(tmp_path, nothing)
    assert problems(tmp_path) == {}


def test_another_program_s_file_is_named(data: Path) -> None:
    (data / "runtime.db").unlink()
    change(data, "CREATE TABLE notes(text)")
    assert "is not a journal" in problems(data)["not-a-journal"]


def test_a_folder_that_is_not_there_and_a_file_in_its_place(tmp_path: Path) -> None:
    assert look_at(tmp_path / "data")["folder-missing"].level == "warning"
    assert not (tmp_path / "data").exists()
    (tmp_path / "data").write_text("x")
    assert (
        "is a file"
        in {finding.code: finding for finding in examine(tmp_path / "data", NO_CONFIG)}["folder-missing"].message
    )


def test_an_empty_folder_and_an_empty_journal(tmp_path: Path) -> None:
    assert look_at(tmp_path)["journal-missing"].level == "warning"
    (tmp_path / "runtime.db").touch(0o600)
    assert look_at(tmp_path)["journal-empty"].level == "warning"


def test_what_is_left_lying_about(data: Path) -> None:
    for name in ("runtime.db.format-1.copy", ".runs.jsonl.17.part", "runtime.db.format-2.copy.part"):
        (data / name).write_bytes(b"x")
    found = examine(data, NO_CONFIG)
    said = [finding.message for finding in found if finding.level == "warning"]
    assert [message.split()[0].rpartition("/")[2] for message in said] == [
        "runtime.db.format-1.copy",
        ".runs.jsonl.17.part",
        "runtime.db.format-2.copy.part",
    ]


def test_what_the_window_remembers_is_looked_at_too(data: Path) -> None:
    db = sqlite3.connect(data / "desk.db")
    db.execute("CREATE TABLE draft(text)")
    db.commit()
    db.close()
    (data / "desk.db").chmod(0o600)
    assert look_at(data) == {}
    (data / "desk.db").write_bytes(b"x" * 5000)
    assert "desk.db" in problems(data)["desk-damaged"]


def test_files_for_other_eyes(data: Path) -> None:
    (data / "runtime.db").chmod(0o644)
    found = look_at(data)["readable-by-others"]
    assert "(mode 644)" in found.message
    assert found.remedy.startswith("chmod 600 ")


def test_little_room_and_network_file_systems(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def file_system(_: Path) -> str:
        return "nfs4"

    def disk_usage(_: Path) -> object:
        return SimpleNamespace(free=1)

    def access(_: Path, mode: int) -> bool:
        return mode != os.W_OK

    monkeypatch.setattr(folder, "file_system", file_system)
    monkeypatch.setattr(shutil, "disk_usage", disk_usage)
    monkeypatch.setattr(os, "access", access)
    assert set(problems(data)) == {"network-file-system", "disk-full", "folder-read-only"}


def test_settings_without_effect(data: Path) -> None:
    config = read("[limits]\nentires = 3", Path("config.toml"))
    assert "config.toml, line 2: limits.entires is unknown" in look_at(data, config)["settings"].message


OWNER = """
import asyncio, sys
from pathlib import Path
from runtime_core.dispatch.lock import ExecutorLock
from runtime_core.journal.sqlite import SqliteJournal
from tests.unit.journal.stories import claimed, run_row

async def main():
    data = Path(sys.argv[1])
    lock = ExecutorLock(data / "executor.lock")
    assert lock.acquire()
    journal = await SqliteJournal.open(data / "runtime.db")
    await journal.create_run(run_row("dur_new", repo=str(data / "repo"), revision="r1"))
    await claimed(journal, "dur_new")
    print("open", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a lock")
def test_a_folder_in_use_and_one_whose_owner_was_killed(data: Path) -> None:
    """What only the log of writes holds is seen, and neither it nor its index is touched."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(data)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "open\n"
    said = {finding.code: finding for finding in examine(data, NO_CONFIG)}
    assert said["executor"].message == f"Process {owner.pid} executes the runs of this folder."
    assert said["contents"].message.startswith("4 runs")
    assert {finding.level for finding in said.values()} == {"ok"}
    with pytest.raises(RuntimeFault, match="Another process executes the runs of"):
        compact(data, Retention())
    owner.kill()
    owner.communicate()
    assert (data / "runtime.db-wal").stat().st_size
    found = look_at(data)
    assert set(found) == {"executor-died"}
    assert "dur_new" in found["executor-died"].message


def test_a_file_that_another_program_locks(data: Path) -> None:
    db = sqlite3.connect(data / "runtime.db", isolation_level=None)
    db.execute("PRAGMA locking_mode=EXCLUSIVE")
    db.execute("BEGIN EXCLUSIVE")
    db.execute("UPDATE durable_run SET scope = ''")
    examined = {finding.code for finding in examine(data, NO_CONFIG)}
    assert examined & {"locked", "contents"}
    db.close()


def test_compacting_takes_away_what_has_had_its_time_and_counts_anew(data: Path) -> None:
    change(data, "UPDATE durable_run SET finished_at = 1.0, result = '1' WHERE finished_at IS NOT NULL")
    change(data, "UPDATE durable_count SET n = 7")
    before, after = compact(data, Retention())
    assert after < before
    assert look_at(data) == {}
    db = connect(data / "runtime.db")
    assert db.execute("SELECT count(*) FROM durable_entry WHERE run_id = 'dur_done'").fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM durable_entry").fetchone() == (10,)
    db.close()
    assert ExecutorLock(data / "executor.lock").acquire()


def test_compacting_where_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(RuntimeFault, match="There is no journal at"):
        compact(tmp_path, Retention())
    assert list(tmp_path.iterdir()) == []


def test_the_format_is_the_number_of_the_last_migration(data: Path) -> None:
    said = {finding.code: finding.message for finding in examine(data, NO_CONFIG)}
    assert f"has format {FORMAT} and " in said["format"]


def test_compacting_with_a_lock_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "runtime.db").touch()
    (tmp_path / "executor.lock").mkdir()
    with pytest.raises(RuntimeFault, match=r"executor\.lock cannot be opened"):
        compact(tmp_path, Retention())


@pytest.fixture
def furnished(tmp_path: Path) -> Path:
    """A folder with a conversation, an automation that was started, a result of an eval, a build and a switch."""

    async def story(journal: SqliteJournal) -> None:
        await tell_of_the_rest(journal, '"' + "x" * 70_000 + '"')

    play(tmp_path, story)
    return tmp_path


def test_what_belongs_to_no_run_is_in_order_and_counted(furnished: Path) -> None:
    assert problems(furnished) == {}
    said = {finding.code: finding.message for finding in examine(furnished, NO_CONFIG)}
    assert said["contents"] == "0 runs, 0 of them not ended; 0 open questions; 1 conversation; 1 automation."


@pytest.mark.parametrize(
    ("statement", "code", "said"),
    [
        ("DELETE FROM chat_session", "rows-lost", "2 of chat_message in chat_session"),
        ("DELETE FROM automation", "rows-lost", "1 of automation_run in automation"),
        ("UPDATE chat_message SET body = '{'", "value-damaged", "chat_message of chat_a: body is not JSON text"),
        ("UPDATE chat_span SET started_at = -1", "value-damaged", "chat_span of chat_a: started_at must be a time"),
        ("UPDATE automation SET enabled = 7", "value-damaged", "automation of auto_a: enabled must be 0 or 1"),
        ("UPDATE automation_run SET state = 'odd'", "value-damaged", "state must be one of running, completed"),
        ("UPDATE automation SET next_at = 'soon'", "automation-never-due", "nightly"),
        ("UPDATE automation SET next_at = NULL", "automation-never-due", "nightly"),
        ("DELETE FROM durable_blob", "value-damaged", "the large value for body is missing"),
    ],
)
def test_what_belongs_to_no_run_is_examined(furnished: Path, statement: str, code: str, said: str) -> None:
    with closing(sqlite3.connect(furnished / "runtime.db")) as db, db:
        db.execute('UPDATE automation SET body = \'{"prompt": "Look.", "schedule": {"cron": "@daily"}}\'')
        db.execute(statement)
    assert said in problems(furnished)[code]
