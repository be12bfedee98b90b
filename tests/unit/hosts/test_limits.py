"""What a process may use: when it is replaced by a fresh one, and when it is ended."""

# ruff: noqa: E501 (handlers are written on one line)

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from runtime_core.hosts import process, usage
from runtime_core.hosts.base import HostRepo
from runtime_core.hosts.sandbox import CPU_LIMIT, MEMORY_LIMIT
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.hosts.usage import Usage
from tests.unit.hosts.conftest import same
from tests.unit.hosts.driver import RunDriver, entry, until, write_tools

OK = same("export default () => 'ok'", "async def handler(p, c): return 'ok'")
ASKS = same("export default (p, ctx) => ctx.requestInput('?')", "async def handler(p, ctx): return await ctx.request_input('?')")  # fmt: skip
WAITS = same("export default (p, ctx) => ctx.callTool('t', {})", "async def handler(p, ctx): return await ctx.call_tool('t', {})")  # fmt: skip
SPINS = same("export default () => { while (true); }", "async def handler(p, c):\n    while True: pass")
SOURCES = {"ok": OK, "asks": ASKS, "waits": WAITS, "spins": SPINS}


def _play(tmp_path: Path, story: Callable[[HandlerHosts, HostRepo], Awaitable[None]]) -> None:
    files = {f"{name}.{language}": text for name, both in SOURCES.items() for language, text in both.items()}
    repo = write_tools(tmp_path / "repo", files)

    async def opened() -> None:
        hosts = HandlerHosts(tmp_path / "cache")
        try:
            async with asyncio.timeout(45):
                await story(hosts, repo)
        finally:
            await hosts.close()

    asyncio.run(opened())


async def _pid(hosts: HandlerHosts, repo: HostRepo, name: str) -> int:
    """The process that serves one more leg."""
    driver = RunDriver(hosts, repo, entry(name))
    await driver.leg()
    return list(hosts.processes)[-1].pid


@pytest.mark.parametrize(
    ("used", "is_tired"),
    [
        (Usage(runs=19_999, frozen=499, memory=399 * 2**20, cpu_s=1799), False),
        (Usage(runs=20_000), True),
        (Usage(frozen=500), True),
        (Usage(memory=400 * 2**20), True),
        (Usage(cpu_s=1800), True),
    ],
)
def test_a_process_is_used_up(used: Usage, is_tired: bool) -> None:
    assert used.is_tired == is_tired
    assert not used.is_excessive
    assert Usage(memory=usage.RESIDENT_LIMIT).is_excessive


@pytest.mark.parametrize(("limit", "value"), [("MAX_MEMORY", 1), ("MAX_CPU_S", 0.001)])
def test_a_process_that_has_used_much_is_replaced_when_it_is_next_needed(
    tmp_path: Path, language: str, limit: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, limit, value)
    monkeypatch.setattr(process, "RUNS_PER_LOOK", 1)

    async def story(hosts: HandlerHosts, repo: HostRepo) -> None:
        first = await _pid(hosts, repo, f"ok.{language}")
        await until(lambda: any(running._usage.is_tired for running in hosts.processes))
        assert await _pid(hosts, repo, f"ok.{language}") != first
        await until(lambda: first not in [running.pid for running in hosts.processes])

    _play(tmp_path, story)


def test_a_python_process_with_many_paused_runs_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs one after the other, too short for the look of each second."""
    monkeypatch.setattr(usage, "MAX_FROZEN", 20)
    monkeypatch.setattr(process, "RUNS_PER_LOOK", 10)

    async def story(hosts: HandlerHosts, repo: HostRepo) -> None:
        pids = [await _pid(hosts, repo, "asks.py") for _ in range(100)]
        counts = [pids.count(pid) for pid in dict.fromkeys(pids)]
        assert len(counts) >= 3
        assert max(counts) <= 40

    _play(tmp_path, story)


def test_a_process_that_takes_too_much_memory_is_ended(
    tmp_path: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system itself does not stop it."""
    monkeypatch.setattr(process, "TICK_S", 0.02)

    async def story(hosts: HandlerHosts, repo: HostRepo) -> None:
        async def endless(_: object) -> None:
            monkeypatch.setattr(usage, "RESIDENT_LIMIT", 1)
            await asyncio.Future()

        driver = RunDriver(hosts, repo, entry(f"waits.{language}"), durable=False, execute=endless)
        failure = (await driver.leg()).failure
        for task in driver.executing.values():
            task.cancel()
        assert failure is not None
        assert (failure.code, failure.lost) == ("out-of-memory", True)
        assert entry(f"waits.{language}") in failure.message
        monkeypatch.setattr(usage, "RESIDENT_LIMIT", MEMORY_LIMIT)
        assert (await RunDriver(hosts, repo, entry(f"ok.{language}")).leg()).result == "ok"

    _play(tmp_path, story)


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit is of Linux")
def test_the_limits_of_the_system_are_set(tmp_path: Path, language: str) -> None:
    async def story(hosts: HandlerHosts, repo: HostRepo) -> None:
        pid = await _pid(hosts, repo, f"ok.{language}")
        assert resource.prlimit(pid, resource.RLIMIT_CPU)[0] == CPU_LIMIT
        assert resource.prlimit(pid, resource.RLIMIT_DATA)[0] == MEMORY_LIMIT
        assert resource.prlimit(pid, resource.RLIMIT_CORE)[0] == 0

    _play(tmp_path, story)


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit is of Linux")
def test_a_process_without_processor_time_left_is_ended(tmp_path: Path, language: str) -> None:
    """For one that spins and that nobody watches any more."""

    async def story(hosts: HandlerHosts, repo: HostRepo) -> None:
        pid = await _pid(hosts, repo, f"ok.{language}")
        resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1))
        failure = (await RunDriver(hosts, repo, entry(f"spins.{language}"), durable=False).leg()).failure
        assert failure is not None
        assert failure.code == "host-lost"
        assert "signal" in failure.message
        assert (await RunDriver(hosts, repo, entry(f"ok.{language}")).leg()).result == "ok"

    _play(tmp_path, story)


KILLS = same(
    "export default () => process.kill(process.pid, 'SIGKILL')",
    "import os, signal\nasync def handler(p, c): os.kill(os.getpid(), signal.SIGKILL)",
)


def test_a_handler_that_ends_its_own_process_harms_nobody_else(tmp_path: Path, language: str) -> None:
    async def story(hosts: HandlerHosts, repo: HostRepo) -> None:
        write_tools(repo.root, {f"kills.{language}": KILLS[language]})
        killed = await RunDriver(hosts, repo, entry(f"kills.{language}"), durable=False).leg()
        assert killed.failure is not None
        assert (await RunDriver(hosts, repo, entry(f"ok.{language}")).leg()).result == "ok"

    _play(tmp_path, story)
