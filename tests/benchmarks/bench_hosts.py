"""Handler processes: start-up and replay. Run: ``python -m tests.benchmarks.bench_hosts``.

Medians; on a shared machine read them beside an earlier run, not as absolutes.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from runtime_core.hosts.supervisor import HandlerHosts
from tests.unit.hosts.driver import RunDriver, entry, write_tools

ROUNDS = 11
CALLS = 1000
SOURCES = {
    "plain.ts": "export default async (p, ctx) => p.n",
    "plain.py": "async def handler(p, ctx): return p['n']",
    "calls.ts": "export default async (p, ctx) => { for (let i = 0; i < p.n; i++) await ctx.callTool('t', {i}) }",
    "calls.py": "async def handler(p, ctx):\n    for i in range(p['n']): await ctx.call_tool('t', {'i': i})",
}


async def _timed(driver: RunDriver) -> float:
    started = time.perf_counter()
    outcome = await driver.leg()
    assert outcome.failure is None, outcome.failure
    return (time.perf_counter() - started) * 1000


async def _measure(folder: Path, language: str) -> None:
    repo = write_tools(folder / "repo", SOURCES)
    cold: list[float] = []
    for _ in range(ROUNDS + 1):  # the first one fills the caches
        hosts = HandlerHosts(folder / "cache")
        cold.append(await _timed(RunDriver(hosts, repo, entry(f"plain.{language}"), {"n": 1}, durable=False)))
        await hosts.close()
    hosts = HandlerHosts(folder / "cache")
    recorded = RunDriver(hosts, repo, entry(f"calls.{language}"), {"n": CALLS})
    live = await _timed(recorded)
    asked = len(recorded.calls)
    replays = [await _timed(recorded) for _ in range(ROUNDS)]
    warm = [
        await _timed(RunDriver(hosts, repo, entry(f"plain.{language}"), {"n": 1}, durable=False)) for _ in range(200)
    ]
    await hosts.close()
    print(
        f"{language}: start to first result {statistics.median(cold[1:]):.0f} ms"
        f" (first ever {cold[0]:.0f}), warm run {statistics.median(warm):.2f} ms,"
        f" {CALLS} calls {live:.0f} ms, replay of {CALLS} calls {statistics.median(replays):.0f} ms"
        f" ({min(replays):.0f}-{max(replays):.0f}) with {len(recorded.calls) - asked} calls on the wire"
    )


def main() -> None:
    for language in ("ts", "py"):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_measure(Path(folder), language))


if __name__ == "__main__":
    main()
