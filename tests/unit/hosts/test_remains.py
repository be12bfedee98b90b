"""What a killed runtime leaves behind is ended by the next one, and nothing else is."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime_core.hosts import sandbox
from runtime_core.hosts.remains import Remains, born, is_gone, this_process
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.runtime import Runtime
from tests.unit.hosts.driver import RunDriver, entry, write_tools

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is swept there")


def _spinning() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)


def _ended() -> int:
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize(
    ("is_owner_alive", "is_it", "is_swept"), [(False, True, True), (True, True, False), (False, False, False)]
)
def test_only_the_processes_that_a_dead_owner_has_started_are_ended(
    tmp_path: Path, is_owner_alive: bool, is_it: bool, is_swept: bool
) -> None:
    process = _spinning()
    try:
        owner = os.getpid() if is_owner_alive else _ended()
        record = tmp_path / f"{owner}-{process.pid}"
        record.write_text(born(process.pid) if is_it else born(os.getpid()))
        assert Remains(tmp_path).sweep() == int(is_swept)
        assert record.exists() == is_owner_alive
        if is_swept:
            assert process.wait(10) == -9
        else:
            assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_process_that_became_another_program_is_still_the_one_that_was_started(tmp_path: Path) -> None:
    wrapper = "import os, sys; os.execv(sys.executable, ['another', '-c', 'print(1, flush=True)\\nwhile True: pass'])"
    process = subprocess.Popen([sys.executable, "-c", wrapper], start_new_session=True, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        noted = born(process.pid)
        process.stdout.readline()
        (tmp_path / f"{_ended()}-{process.pid}").write_text(noted)
        assert Remains(tmp_path).sweep() == 1
        assert process.wait(10) == -9
    finally:
        process.kill()
        process.communicate()


def test_records_of_processes_that_are_gone_and_foreign_files_do_no_harm(tmp_path: Path) -> None:
    assert Remains(tmp_path / "none").sweep() == 0
    (tmp_path / f"{_ended()}-{_ended()}").write_text("some time")
    (tmp_path / f"{_ended()}-{os.getpid()}").write_text("")
    (tmp_path / "notes.txt").write_text("mine")
    assert Remains(tmp_path).sweep() == 0
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_process_is_on_record_as_long_as_it_runs(tmp_path: Path, language: str) -> None:
    repo = write_tools(
        tmp_path / "repo", {"t.ts": "export default () => 1", "t.py": "async def handler(p, c): return 1"}
    )
    folder = tmp_path / "cache" / "processes"

    async def story() -> None:
        hosts = HandlerHosts(tmp_path / "cache")
        await RunDriver(hosts, repo, entry(f"t.{language}"), durable=False).leg()
        (pid,) = [process.pid for process in hosts.processes]
        record = folder / f"{os.getpid()}-{pid}"
        assert record.read_text() == born(pid)
        assert record.stat().st_mode & 0o077 == 0
        await hosts.sweep()
        assert (await RunDriver(hosts, repo, entry(f"t.{language}"), durable=False).leg()).result == 1
        await hosts.close()

    asyncio.run(story())
    assert list(folder.iterdir()) == []


def test_a_process_is_gone_when_it_has_ended_or_another_has_its_number() -> None:
    here = this_process()
    assert not is_gone(here)
    assert is_gone(f"{here.partition(' ')[0]} at another time")
    assert is_gone(f"{_ended()} at any time")
    assert not is_gone("")


@pytest.mark.parametrize("executes", [True, False])
def test_the_next_executor_of_a_data_folder_ends_what_is_left(tmp_path: Path, executes: bool) -> None:
    process = _spinning()
    try:
        folder = tmp_path / "data" / "hosts" / "processes"
        folder.mkdir(parents=True)
        (folder / f"{_ended()}-{process.pid}").write_text(born(process.pid))

        async def story() -> None:
            runtime = Runtime(tmp_path / "data", execute=executes)
            await runtime.open()
            await runtime.close()

        asyncio.run(story())
        assert (process.wait(10) == -9) if executes else (process.poll() is None)
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is of Linux")
def test_a_system_without_landlock_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sandbox, "landlock_version", lambda: 0)
    repo = write_tools(
        tmp_path / "repo", {"t.ts": "export default () => 1", "t.py": "async def handler(p, c): return 1"}
    )

    async def story() -> None:
        hosts = HandlerHosts(tmp_path / "cache")
        for name in ("t.ts", "t.py"):
            await RunDriver(hosts, repo, entry(name), durable=False).leg()
        await hosts.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(story())
    assert len([record for record in caplog.records if "no Landlock" in record.message]) == 1
