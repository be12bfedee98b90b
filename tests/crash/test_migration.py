"""An old file is brought to the new format, whatever happens meanwhile: it has the old format or the new one, never
half of it, and a copy of the old one is whole or not there.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime_core.config import Config
from runtime_core.doctor.examine import examine
from runtime_core.journal.driver import connect
from runtime_core.journal.formats import FORMAT, MIGRATIONS
from runtime_core.journal.look import look
from runtime_core.journal.schema import migrate
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.settings import Settings
from tests.crash.small_disk import mounted
from tests.unit.journal.stories import play, refused

RUNS = 12_000
KILLS = 6

OPEN = """
import sys
from pathlib import Path
from runtime_core.journal.sqlite import open_file
print("begin", flush=True)
open_file(Path(sys.argv[1])).close()
print("done", flush=True)
"""


@pytest.fixture(scope="module")
def old_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal of the first format with many runs, each with calls and spans."""
    path = tmp_path_factory.mktemp("old") / "runtime.db"
    db = connect(path)
    migrate(db, path, MIGRATIONS[:1])
    numbers = f"WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n < {RUNS - 1})"
    db.execute("BEGIN")
    db.execute(
        f"{numbers} INSERT INTO durable_run(id, tool, repo, revision, status, epoch, params, created_by, created_at, "
        "updated_at) SELECT 'dur_' || n, 'release', '/repo', 'r', 'runnable', 1, '1', 'ann', n, n FROM number"
    )
    db.execute(
        f"{numbers} INSERT INTO durable_entry(run_id, path, n, kind, name, digest, state, value, started_at, ended_at, "
        "epoch) SELECT 'dur_' || n, '', 0, 'step', 's', 'd', 'ok', json_quote(hex(randomblob(150))), 1, 2, 1 "
        "FROM number"
    )
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()
    return path


def held(path: Path) -> tuple[int, int, int]:
    """The format, and how many runs and calls there are."""
    with look(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return (
            db.execute("PRAGMA user_version").fetchone()[0],
            db.execute("SELECT count(*) FROM durable_run").fetchone()[0],
            db.execute("SELECT count(*) FROM durable_entry").fetchone()[0],
        )


def opening(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", OPEN, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begin\n"
    return process


@pytest.mark.timeout(120)
def test_the_process_is_killed_while_a_large_file_is_brought_to_the_new_format(old_file: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole" / "runtime.db"
    whole.parent.mkdir()
    shutil.copy(old_file, whole)
    began = time.monotonic()
    assert opening(whole).communicate()[0] == "done\n"
    took = time.monotonic() - began
    assert held(whole) == (FORMAT, RUNS, RUNS)

    chance = random.Random()
    seen: set[int] = set()
    for kill in range(KILLS):
        path = tmp_path / str(kill) / "runtime.db"
        path.parent.mkdir()
        shutil.copy(old_file, path)
        victim = opening(path)
        time.sleep(chance.random() * took)
        victim.kill()
        victim.communicate()
        found, runs, calls = held(path)
        seen.add(found)
        assert (runs, calls) == (RUNS, RUNS)
        copy = path.with_name("runtime.db.format-1.copy")
        if found == FORMAT or copy.exists():
            assert held(copy) == (1, RUNS, RUNS)
        assert opening(path).communicate()[0] == "done\n"
        assert held(path) == (FORMAT, RUNS, RUNS)
        assert held(copy) == (1, RUNS, RUNS)
        assert sorted(file.name for file in path.parent.iterdir()) == ["runtime.db", copy.name]
        shutil.rmtree(path.parent)
    assert seen <= {1, FORMAT}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    yield from mounted(tmp_path / "small", "16m")


def test_a_disk_without_room_for_the_copy_leaves_everything_as_it_is(old_file: Path, small_disk: Path) -> None:
    path = small_disk / "runtime.db"
    shutil.copy(old_file, path)
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (16 * 2**20 - path.stat().st_size - 2**20))

    fault = asyncio.run(refused(SqliteJournal.open(path)))
    assert fault.code == "data_folder_unusable"
    assert f"{path}: the disk is full." in fault.message
    assert sorted(file.name for file in small_disk.iterdir()) == ["ballast", "runtime.db"]
    assert held(path) == (1, RUNS, RUNS)

    ballast.unlink()

    async def story(journal: SqliteJournal) -> int:
        return len(await journal.runnable(2 * RUNS))

    assert play(path, story) == RUNS
    assert held(path) == (FORMAT, RUNS, RUNS)


def test_a_folder_that_became_read_only_is_refused_and_still_examined(old_file: Path, small_disk: Path) -> None:
    path = small_disk / "runtime.db"
    shutil.copy(old_file, path)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    fault = asyncio.run(refused(SqliteJournal.open(path)))
    assert fault.code == "data_folder_unusable"
    assert "read-only" in fault.message
    found = {finding.code: finding.level for finding in examine(small_disk, Config(Settings()))}
    assert found["folder-read-only"] == "problem"
    assert found["older-format"] == "warning"
    assert held(path) == (1, RUNS, RUNS)


def test_processes_that_bring_one_file_to_the_new_format_at_once_do_not_harm_each_other(
    old_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "runtime.db"
    shutil.copy(old_file, path)
    at_once = [opening(path) for _ in range(3)]
    assert [process.communicate()[0] for process in at_once] == ["done\n"] * 3
    assert held(path) == (FORMAT, RUNS, RUNS)
    assert held(tmp_path / "runtime.db.format-1.copy") == (1, RUNS, RUNS)
    assert len(list(tmp_path.iterdir())) == 2
