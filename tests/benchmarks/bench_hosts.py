"""Handler processes. Run: ``python -m tests.benchmarks.bench_hosts [cold] [load] [replay] [pauses] [--beside FOLDER]``.

cold: start to the first result; load: 100 handlers with 10 calls of 5 ms each; replay: 10,000 recorded entries to the
first new call; pauses: 40,000 of them. ``--beside`` names a folder with another parent side (``hostlib.py`` and its
``fixture``), whose cold start is measured in the same rounds. Medians; on a shared machine read ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import importlib
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from runtime_core.hosts.base import HandlerCall, HostRepo, RecordedCall
from runtime_core.hosts.supervisor import HandlerHosts
from tests.unit.hosts.driver import RunDriver, entry, write_tools

LANGUAGES = ("ts", "py")
SOURCES = {
    "plain.ts": "export default async (p, ctx) => p.n",
    "plain.py": "async def handler(p, ctx): return p['n']",
    "calls.ts": "export default async (p, ctx) => { for (let i = 0; i < p.n; i++) await ctx.callTool('t', {i}) }",
    "calls.py": "async def handler(p, ctx):\n    for i in range(p['n']): await ctx.call_tool('t', {'i': i})",
    "ask.ts": "export default async (p, ctx) => { const a = Array(999); await ctx.requestInput(1); return a }",
    "ask.py": "async def handler(p, ctx):\n    a = [p] * 1000\n    await ctx.request_input('?')\n    return a",
}
ROUNDS = 15
RECORDED = 10_000
PAUSES = 40_000


def _driver(hosts: HandlerHosts, repo: HostRepo, name: str, n: int, **options: Any) -> RunDriver:
    return RunDriver(hosts, repo, entry(name), {"n": n}, **options)


def _recorded(number: int) -> RecordedCall:
    digest = hashlib.sha256(f'{{"i":{number}}}'.encode()).hexdigest()
    return RecordedCall(number, "tool", "t", digest, True, '{"text":"a result of a call"}', 1.7e12 + number)


async def _timed(work: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1000


def _median(values: list[float]) -> str:
    return f"{statistics.median(values):.0f} ms ({min(values):.0f}-{max(values):.0f})"


async def cold(folder: Path, repo: HostRepo, beside: Path | None) -> None:
    """With the caches warm, from nothing to the result of a handler; then a second one in the same process."""
    copy = HostRepo(repo.root, "copied", repo.root)
    times: dict[str, list[float]] = {}

    async def ours(name: str, served: HostRepo, language: str) -> None:
        hosts = HandlerHosts(folder / "cache")
        run = _driver(hosts, served, f"plain.{language}", 1, durable=False)
        times.setdefault(name, []).append(await _timed(run.leg))
        await hosts.close()

    async def theirs(language: str) -> None:
        assert beside is not None
        lib = importlib.import_module("hostlib")
        kind = {"ts": ("deno", "echo/handler.ts"), "py": ("python", "py_echo/handler.py")}[language]
        started = time.perf_counter()
        host = await lib.Host(kind[0], beside / "fixture", "ack").start()
        await host.run(lib.RunRec(f"amodal/tools/{kind[1]}", {"n": 1}, durable=False))
        times.setdefault(f"{language} beside", []).append((time.perf_counter() - started) * 1000)
        await host.stop()

    for _ in range(ROUNDS + 1):
        for language in LANGUAGES:
            await ours(language, repo, language)
            await ours(f"{language} from a copy", copy, language)
            if beside is not None:
                await theirs(language)
    for name, values in times.items():
        print(f"cold start, {name}: {_median(values[1:])}; first {values[0]:.0f} ms")
    if beside is not None:
        for language in LANGUAGES:
            ratios = [a / b for a, b in zip(times[language][1:], times[f"{language} beside"][1:], strict=True)]
            print(f"cold start, {language} to the one beside: {statistics.median(ratios):.2f}")


async def load(folder: Path, repo: HostRepo, beside: Path | None) -> None:
    async def slow(call: HandlerCall) -> None:
        await asyncio.sleep(0.005)

    for language in LANGUAGES:
        hosts = HandlerHosts(folder / "cache")
        await _driver(hosts, repo, f"plain.{language}", 1, durable=False).leg()

        async def hundred(hosts: HandlerHosts = hosts, language: str = language) -> None:
            name = f"calls.{language}"
            runs = [_driver(hosts, repo, name, 10, durable=False, execute=slow) for _ in range(100)]
            await asyncio.gather(*(run.leg() for run in runs))

        walls = [await _timed(hundred) for _ in range(ROUNDS)]
        print(f"100 handlers with 10 calls of 5 ms, {language}: {_median(walls)}; at best 50 ms")
        await hosts.close()


async def replay(folder: Path, repo: HostRepo, beside: Path | None) -> None:
    for language in LANGUAGES:
        hosts = HandlerHosts(folder / "cache")
        await _driver(hosts, repo, f"calls.{language}", 1).leg()
        times: list[float] = []
        for _ in range(ROUNDS // 3):
            run = _driver(hosts, repo, f"calls.{language}", RECORDED + 1)
            run.journal = [_recorded(number) for number in range(RECORDED)]
            times.append(await _timed(run.leg))
            assert [call.seq for call in run.calls] == [RECORDED]
        print(f"replay of {RECORDED} entries to the first new call, {language}: {_median(times)}")
        await hosts.close()


async def pauses(folder: Path, repo: HostRepo, beside: Path | None) -> None:
    for language in LANGUAGES:
        hosts = HandlerHosts(folder / "cache")
        used: list[int] = []
        pids: set[int] = set()
        started = time.perf_counter()
        for number in range(1, PAUSES + 1):
            await _driver(hosts, repo, f"ask.{language}", 1).leg()
            if number % (PAUSES // 10) == 0:
                pids |= {process.pid for process in hosts.processes}
                used.append(sum(_resident(process.pid) for process in hosts.processes))
        wall = time.perf_counter() - started
        print(
            f"{PAUSES} pauses, {language}: {wall:.0f} s, {len(pids)} processes seen; resident after every tenth: "
            f"{' '.join(f'{size // 2**20}' for size in used)} MB"
        )
        await hosts.close()


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except (OSError, ValueError):
        return 0


PARTS = {"cold": cold, "load": load, "replay": replay, "pauses": pauses}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--beside", type=Path)
    options = parser.parse_args()
    if options.beside is not None:
        sys.path.insert(0, str(options.beside))
    for name in options.parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            repo = write_tools(Path(folder) / "repo", SOURCES)
            asyncio.run(PARTS[name](Path(folder), repo, options.beside))


if __name__ == "__main__":
    main()
