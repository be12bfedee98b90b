"""Folders and files that cannot be used: a fault that names the file and what to do, and nothing half-written."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime_core.journal import folder
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from tests.unit.journal.stories import claimed, parked, play, refused, run_row, step


def fault_of_opening(path: Path) -> RuntimeFault:
    async def story() -> RuntimeFault:
        return await refused(SqliteJournal.open(path, busy_ms=100))

    return asyncio.run(story())


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    for path in (tmp_path / "data" / "runtime.db", tmp_path / "data" / "deeper" / "runtime.db"):
        fault = fault_of_opening(path)
        assert fault.code == "data_folder_unusable"
        assert str(path.parent) in fault.message


def test_a_folder_where_the_file_should_be(tmp_path: Path) -> None:
    (tmp_path / "runtime.db").mkdir()
    fault = fault_of_opening(tmp_path / "runtime.db")
    assert fault.code == "data_folder_unusable"
    assert "runtime.db" in fault.message


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "runtime.db"
    path.write_bytes(b"my shopping list\n" * 1000)
    fault = fault_of_opening(path)
    assert fault.code == "data_folder_unusable"
    assert str(path) in fault.message
    assert path.read_bytes() == b"my shopping list\n" * 1000


def test_a_damaged_file(tmp_path: Path) -> None:
    play(tmp_path, parked)
    path = tmp_path / "runtime.db"
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)

    async def story() -> None:
        try:
            journal = await SqliteJournal.open(path)
        except RuntimeFault as fault:
            assert fault.code == "data_folder_unusable"  # noqa: PT017 - either the opening or the first use tells
            return
        fault = await refused(journal.create_run(run_row("dur_b")))
        assert fault.code == "data_folder_unusable"
        assert str(path) in fault.message
        await journal.close()

    asyncio.run(story())


def test_a_database_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "runtime.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE songs(title)")
    other.close()
    fault = fault_of_opening(path)
    assert fault.code == "data_folder_unusable"
    assert "another program" in fault.message
    other = sqlite3.connect(path)
    assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("songs",)]
    other.close()


def test_a_newer_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    play(tmp_path, parked)
    path = tmp_path / "runtime.db"
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version=999")
    other.close()
    fault = fault_of_opening(path)
    assert fault.code == "data_folder_unusable"
    assert "format 999" in fault.message
    assert "newer version" in fault.message


def test_a_file_locked_by_another_program(tmp_path: Path) -> None:
    path = tmp_path / "runtime.db"

    async def story(journal: SqliteJournal) -> None:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        fault = await refused(journal.create_run(run_row()))
        assert fault.code == "data_folder_busy"
        assert str(path) in fault.message
        assert (await refused(SqliteJournal.open(path, busy_ms=100))).code == "data_folder_busy"
        assert (await journal.pending(10, None)).total == 0  # reading goes on
        other.execute("ROLLBACK")
        other.close()
        await journal.create_run(run_row())

    play(tmp_path, story)


def test_a_new_file_locked_for_good(tmp_path: Path) -> None:
    path = tmp_path / "runtime.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    assert fault_of_opening(path).code == "data_folder_busy"
    other.close()


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A data folder on a mount without writing."""
    play(tmp_path, parked)
    place = tmp_path / "mounted"
    place.mkdir()
    commands = (["mount", "--bind", str(tmp_path), str(place)], ["mount", "-o", "remount,bind,ro", str(place)])
    try:
        done = [subprocess.run(command, capture_output=True, check=False).returncode for command in commands]
    except FileNotFoundError:
        done = [1, 1]
    try:
        if any(done):
            pytest.skip("mounting is not allowed here")
        yield place
    finally:
        if done[0] == 0:
            subprocess.run(["umount", str(place)], check=True)


def test_a_read_only_folder(read_only: Path) -> None:
    fault = fault_of_opening(read_only / "runtime.db")
    assert fault.code == "data_folder_unusable"
    assert str(read_only) in fault.message
    fault = fault_of_opening(read_only / "missing" / "runtime.db")
    assert fault.code == "data_folder_unusable"


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bool:
        return False

    monkeypatch.setattr(folder.os, "access", refuse)  # root may write everywhere
    fault = fault_of_opening(tmp_path / "runtime.db")
    assert fault.code == "data_folder_unusable"
    assert "read-only" in fault.message
    assert list(tmp_path.iterdir()) == []


def test_a_network_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def network(_: Path) -> str:
        return "nfs4"

    monkeypatch.setattr(folder, "file_system", network)
    fault = fault_of_opening(tmp_path / "runtime.db")
    assert fault.code == "data_folder_unusable"
    assert "network file system (nfs4)" in fault.message


def test_the_file_system_of_a_folder_is_that_of_its_deepest_mount() -> None:
    if not Path("/proc/self/mountinfo").exists():
        pytest.skip("only Linux tells")
    assert folder.file_system(Path("/proc/self")) == "proc"


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    if os.name != "posix":
        pytest.skip("there are no such permissions")

    def permissions() -> dict[str, int]:
        return {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}

    async def story(journal: SqliteJournal) -> dict[str, int]:
        await journal.create_run(run_row())
        return permissions()

    assert play(tmp_path, story) == {"runtime.db": 0o600, "runtime.db-wal": 0o600, "runtime.db-shm": 0o600}


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        journal = await SqliteJournal.open(tmp_path / "runtime.db")
        await journal.close()
        with pytest.raises(RuntimeError, match="closed"):
            await journal.create_run(run_row())
        with pytest.raises(RuntimeError):
            await journal.pending(10, None)

    asyncio.run(story())


def test_what_was_submitted_before_closing_is_stored(tmp_path: Path) -> None:
    async def story() -> None:
        journal = await SqliteJournal.open(tmp_path / "runtime.db")
        await journal.create_run(run_row())
        claim = await claimed(journal)
        appends = [asyncio.ensure_future(journal.append(claim, [step(n)])) for n in range(50)]
        await asyncio.sleep(0)
        await journal.close()
        await asyncio.gather(*appends)

    asyncio.run(story())

    async def later(journal: SqliteJournal) -> None:
        assert len(await journal.load("dur_a")) == 50

    play(tmp_path, later)


def test_a_caller_that_gave_up_does_not_disturb_the_others(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        claim = await claimed(journal)
        tasks = [asyncio.ensure_future(journal.append(claim, [step(n)])) for n in range(20)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert not any(isinstance(result, BaseException) for result in results[1::2])
        assert {entry.n for entry in await journal.load("dur_a")} == set(range(20))

    play(tmp_path, story)
