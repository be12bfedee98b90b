"""A whole runtime, with real handlers and a real disk: ``python -m tests.benchmarks.bench_runtime``.

Prints ratios; absolute figures are those of the machine and the disk. ``--dir`` must lie on a real disk.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import shutil
import statistics
import time
from pathlib import Path

from runtime_core.journal.base import Answer
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.runtime import Runtime
from tests.benchmarks.bench_journal import bare_appends, fill, resident_mb

WHO = "local:ops"
ASK = "return (await ctx.requestInput('Where should this release run?')).value;"
STEPS = "for (let n = 0; n < params.count; n++) await ctx.step('s', () => n); return params.count;"
REPLAY = """
for (let n = 0; n < params.count; n++) await ctx.step('s', () => n);
return (await ctx.requestInput('Go on?')).value;
"""


def write_repo(root: Path) -> None:
    (root / "amodal.json").parent.mkdir(parents=True)
    (root / "amodal.json").write_text('{"name": "bench", "version": "1.0.0"}')
    for name, body in {"ask": ASK, "steps": STEPS, "replay": REPLAY}.items():
        folder = root / "amodal" / "tools" / name
        folder.mkdir(parents=True)
        (folder / "tool.json").write_text(json.dumps({"description": name, "execution": "durable"}))
        (folder / "handler.ts").write_text(f"export default async function (params, ctx) {{ {body} }}")


def fill_folder(data: Path, runs: int) -> None:
    """Park runs, in a process of its own so that the memory this takes is not counted."""

    async def work() -> None:
        journal = await SqliteJournal.open(data / "runtime.db")
        await fill(journal, 1_000_000, runs)
        await journal.close()

    asyncio.run(work())


async def answer_to_finished(runtime: Runtime, repo: Path, tool: str, params: str, samples: int) -> list[float]:
    """Milliseconds from posting an answer to the reply of the finished run."""
    found: list[float] = []
    for _ in range(samples):
        asked = await runtime.run_tool(repo, tool, params, who=WHO)
        begin = time.perf_counter()
        done = await runtime.answer(Answer(asked["sessionId"], '"staging"', WHO))
        found.append((time.perf_counter() - begin) * 1000)
        assert done["outcome"]["kind"] == "complete", done
    return found


async def bench(folder: Path, runs: int, samples: int) -> None:
    repo, data = folder / "repo", folder / "data"
    write_repo(repo)
    runtime = Runtime(data, execute=True)
    await runtime.open()
    await answer_to_finished(runtime, repo, "ask", "{}", 10)  # warm
    empty = await answer_to_finished(runtime, repo, "ask", "{}", samples)

    await runtime.run_tool(repo, "steps", '{"count": 100}', who=WHO)
    rates: list[float] = []
    for _ in range(3):
        bare = bare_appends(folder, 500)
        begin = time.perf_counter()
        await runtime.run_tool(repo, "steps", '{"count": 500}', who=WHO)
        rates.append(500 / (time.perf_counter() - begin) / bare)
    print(f"journaled steps of a handler in a row: {statistics.median(rates):.2f} of bare sqlite3 commits")
    long = await answer_to_finished(runtime, repo, "replay", '{"count": 1000}', 5)
    short = await answer_to_finished(runtime, repo, "replay", '{"count": 0}', 5)
    extra = statistics.median(long) - statistics.median(short)
    print(f"1,000 recorded calls make an answer {extra:.0f} ms longer")

    await runtime.close()

    filler = multiprocessing.get_context("spawn").Process(target=fill_folder, args=(data, runs))
    filler.start()
    await asyncio.to_thread(filler.join)
    before = resident_mb()
    begin = time.perf_counter()
    runtime = Runtime(data, execute=True)
    await runtime.open()
    recovered = await runtime.recover()
    opened = time.perf_counter() - begin
    await answer_to_finished(runtime, repo, "ask", "{}", 10)
    full = await answer_to_finished(runtime, repo, "ask", "{}", samples)
    page = time.perf_counter()
    waiting = await runtime.pending(who=WHO)
    page = (time.perf_counter() - page) * 1000
    assert waiting["total"] >= runs
    await runtime.close()
    print(f"answer to finished: {statistics.median(empty):.1f} ms with 0 parked runs")
    ratio = statistics.median(full) / statistics.median(empty)
    print(f"answer to finished: {ratio:.2f} times that with {runs:,} (at most 1.5)")
    print(f"first page of {waiting['total']:,} questions: {page:.1f} ms")
    print(f"memory added by {runs:,} parked runs: {resident_mb() - before:.1f} MB (less than 20)")
    print(f"opened again with them in {opened:.2f} s, {recovered} runs to resume")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path(".bench"))
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=100)
    args = parser.parse_args()
    folder: Path = args.dir / "runtime"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        asyncio.run(bench(folder, args.runs, args.samples))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
