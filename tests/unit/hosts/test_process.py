"""Processes: started on demand, ended when they hang, replaced, retired, never left behind."""

# ruff: noqa: E501 (handlers are written on one line)

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from runtime_core.hosts import deno, process, usage
from runtime_core.hosts.base import HostRepo, HostUnavailable
from runtime_core.hosts.supervisor import HandlerHosts
from tests.unit.hosts.conftest import Bench, same
from tests.unit.hosts.driver import RunDriver, entry, until, write_tools

SPINS = same(
    "export default async () => { while (true); }",
    "async def handler(p, c):\n    while True: pass",
)
CALLS = same(
    "export default async (p, ctx) => { for (let i = 0; i < 3; i++) await ctx.callTool('t', {i}); return 'ok' }",
    "async def handler(p, ctx):\n    for i in range(3): await ctx.call_tool('t', {'i': i})\n    return 'ok'",
)


def _pids(bench: Bench, repo: HostRepo) -> list[int]:
    return [running.pid for running, served in bench.hosts.processes.items() if served == repo]


def test_a_handler_that_spins_is_found_and_the_others_go_on(
    bench: Bench, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TICK_S", 0.1)
    repo = write_tools(
        bench.root / f"spin-{language}", {f"spin.{language}": SPINS[language], f"calls.{language}": CALLS[language]}
    )

    async def slow(_: object) -> None:
        await asyncio.sleep(0.3)

    async def innocent() -> str:
        driver = RunDriver(bench.hosts, repo, entry(f"calls.{language}"), execute=slow)
        while (outcome := await driver.leg()).failure is not None:
            assert outcome.failure.code == "host-lost"
        assert len({call.seq for call in driver.calls}) == len(driver.calls)
        return outcome.result

    async def scenario() -> tuple[str | None, list[str], str | None]:
        others = [asyncio.create_task(innocent()) for _ in range(20)]
        await asyncio.sleep(0.3)
        culprit = RunDriver(bench.hosts, repo, entry(f"spin.{language}"), durable=False)
        failure = (await culprit.leg()).failure
        results = await asyncio.gather(*others)
        # The suspect is alone from now on: the next ones are not disturbed.
        again = asyncio.create_task(culprit.leg())
        await innocent()
        second = (await again).failure
        assert failure is not None
        assert second is not None
        assert entry(f"spin.{language}") in failure.message
        return failure.code, results, second.code

    code, results, again = bench.wait(scenario())
    assert code == "host-hung"
    assert results == ["ok"] * 20
    assert again == "host-hung"


def test_a_killed_process_is_replaced(bench: Bench, language: str) -> None:
    repo = write_tools(bench.root / f"kill-{language}", {f"never.{language}": same("export default () => new Promise(() => {})", "import asyncio\nasync def handler(p, c): await asyncio.Future()")[language], f"ok.{language}": CALLS[language]})  # fmt: skip

    async def scenario() -> None:
        leg = asyncio.create_task(RunDriver(bench.hosts, repo, entry(f"never.{language}"), durable=False).leg())
        await until(lambda: repo in bench.hosts.processes.values())
        await asyncio.sleep(0.05)
        os.kill(_pids(bench, repo)[0], signal.SIGKILL)
        failure = (await leg).failure
        assert failure is not None
        assert failure.code == "host-lost"
        assert "signal 9" in failure.message
        assert failure.lost
        assert (await RunDriver(bench.hosts, repo, entry(f"ok.{language}")).leg()).result == "ok"

    bench.wait(scenario())


def test_heap_exhaustion_is_named(bench: Bench) -> None:
    repo = write_tools(bench.root / "heap", {"heap.ts": "export default async () => { const a = []; for (;;) a.push(new Array(1e5).fill(Math.random())) }"})  # fmt: skip
    failure = bench.wait(RunDriver(bench.hosts, repo, entry("heap.ts"), durable=False).leg()).failure
    assert failure is not None
    assert failure.code == "out-of-memory"
    assert failure.lost


def test_each_revision_has_its_process_and_a_retired_one_finishes_first(bench: Bench, language: str) -> None:
    root = bench.root / f"edit-{language}"
    old = write_tools(root, {f"t.{language}": CALLS[language]})

    async def slow(_: object) -> None:
        await asyncio.sleep(0.1)

    async def scenario() -> None:
        running = RunDriver(bench.hosts, old, entry(f"t.{language}"), execute=slow)
        leg = asyncio.create_task(running.leg())
        await until(lambda: bool(running.calls))
        (pid,) = _pids(bench, old)
        write_tools(root, {f"t.{language}": CALLS[language].replace("ok", "new")})
        new = HostRepo(root, "r2")
        await bench.hosts.retire(old)
        assert (await RunDriver(bench.hosts, new, entry(f"t.{language}")).leg()).result == "new"
        assert (await leg).result == "ok"
        await until(lambda: old not in bench.hosts.processes.values())
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    bench.wait(scenario())


def test_an_idle_process_ends(bench: Bench, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "IDLE_S", 0.05)
    repo = write_tools(bench.root / f"idle-{language}", {f"t.{language}": CALLS[language]})

    async def scenario() -> None:
        for _ in range(2):
            assert (await RunDriver(bench.hosts, repo, entry(f"t.{language}")).leg()).result == "ok"
            await until(lambda: repo not in bench.hosts.processes.values())

    bench.wait(scenario())


def test_frozen_runs_are_recycled(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MAX_RUNS", 3)
    repo = write_tools(bench.root / "tired", {"t.py": CALLS["py"]})

    async def scenario() -> set[int]:
        seen: set[int] = set()
        for _ in range(7):
            assert (await RunDriver(bench.hosts, repo, entry("t.py")).leg()).result == "ok"
            seen |= set(_pids(bench, repo))
        return seen

    assert len(bench.wait(scenario())) == 3


def test_without_deno_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deno", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostUnavailable, match=r"pip install 'deno>=2\.9,<3'"):
        deno.find_deno()


def test_a_closed_supervisor_starts_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    repo = write_tools(tmp_path / "repo", {"t.py": CALLS["py"], "t.ts": CALLS["ts"]})

    async def scenario() -> list[int]:
        hosts = HandlerHosts(tmp_path / "cache")
        await asyncio.gather(*(RunDriver(hosts, repo, entry(name)).leg() for name in ("t.py", "t.ts")))
        pids = [running.pid for running in hosts.processes]
        await hosts.close()
        with pytest.raises(HostUnavailable):
            await RunDriver(hosts, repo, entry("t.py")).leg()
        return pids

    pids = asyncio.run(scenario())
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


ORPHAN = """
    import asyncio, sys
    from pathlib import Path
    from tests.unit.hosts.driver import RunDriver, entry
    from runtime_core.hosts.base import HostRepo
    from runtime_core.hosts.supervisor import HandlerHosts

    async def main():
        hosts = HandlerHosts(Path(sys.argv[2]))
        repo = HostRepo(Path(sys.argv[1]), "r1")
        await RunDriver(hosts, repo, entry("ok." + sys.argv[3]), durable=False).leg()
        print(next(iter(hosts.processes)).pid, flush=True)
        await RunDriver(hosts, repo, entry("spin." + sys.argv[3]), durable=False).leg()

    asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a spinning Deno outlives its parent")
def test_a_spinning_process_dies_with_its_parent(tmp_path: Path, language: str) -> None:
    write_tools(
        tmp_path / "repo", {f"spin.{language}": SPINS[language], f"ok.{language}": CALLS[language].replace("3", "0")}
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ORPHAN), str(tmp_path / "repo"), str(tmp_path / "cache"), language],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert parent.stdout is not None
    with parent.stdout:
        child = int(parent.stdout.readline())
        before = _cpu_ticks(child)
        while _cpu_ticks(child) < before + 20:  # it spins
            time.sleep(0.01)
        parent.kill()
        parent.wait()
    ended = time.monotonic() + 10
    while _exists(child) and time.monotonic() < ended:
        time.sleep(0.01)
    assert not _exists(child)


def _exists(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _cpu_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("is_cancelled", [False, True])
def test_closing_waits_for_the_processes_that_are_being_started(
    tmp_path: Path, is_cancelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = write_tools(tmp_path / "repo", {"t.py": CALLS["py"]})
    polled: list[int] = []

    def poll(self: subprocess.Popen[bytes]) -> None:
        """It waits for the child beside the watcher of the loop."""
        polled.append(self.pid)

    monkeypatch.setattr(subprocess.Popen, "poll", poll)

    def children() -> set[str]:
        return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())

    async def scenario() -> None:
        before = children()
        hosts = HandlerHosts(tmp_path / "cache")
        leg = asyncio.create_task(RunDriver(hosts, repo, entry("t.py")).leg())
        while children() == before:  # noqa: ASYNC110 (as early as possible)
            await asyncio.sleep(0)
        if is_cancelled:
            leg.cancel()
        await hosts.close()
        with pytest.raises(asyncio.CancelledError if is_cancelled else HostUnavailable):
            await leg
        assert children() == before

    asyncio.run(scenario())
    assert polled == []
