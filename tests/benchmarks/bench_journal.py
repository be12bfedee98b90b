"""The journal against the bare driver, and against its own size: ``python -m tests.benchmarks.bench_journal``.

Prints ratios; absolute figures are those of the machine and the disk. ``--dir`` must lie on a real disk.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import shutil
import sqlite3
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from runtime_core.approvals.answering import judge, recorded
from runtime_core.approvals.questions import question
from runtime_core.journal.base import Answer, Claim
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.runs import Entry, PauseRow, RunRow

VALUE = '{"text": "' + "x" * 200 + '"}'
SPEC = question(
    "input",
    '{"question": "Where should this release run?", "inputType": "choice", "context": {"text": "'
    + "x" * 250
    + '"}, "options": [{"value": "staging", "label": "Staging"}, {"value": "production", "label": "Production"}]}',
)
FINGERPRINT = fingerprint("input", SPEC)


def run_row(number: int) -> RunRow:
    now = time.time()
    return RunRow(f"dur_{number:026d}", "release", "/repo", "r1", "runnable", 0, "{}", "local:ops", now, now)


def entry(n: int) -> Entry:
    now = time.time()
    return Entry("", n, "tool", "lookup", "0123456789abcdef", "ok", VALUE, now, now)


def pause(run_id: str) -> PauseRow:
    return PauseRow(
        f"{run_id}.0", run_id, "0", "input", "release", ("release",), SPEC, FINGERPRINT, time.time(), "local:ops"
    )


def bare_appends(folder: Path, count: int) -> float:
    """Single-row commits a second of the driver alone, WAL and FULL."""
    path = folder / f"bare{time.monotonic_ns()}.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("CREATE TABLE entry(run_id TEXT, n INTEGER, value TEXT, at REAL)")
    begin = time.perf_counter()
    for n in range(count):
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO entry VALUES (?, ?, ?, ?)", ("dur_0", n, VALUE, 0.0))
        db.execute("COMMIT")
    spent = time.perf_counter() - begin
    db.close()
    return count / spent


async def claimed(journal: SqliteJournal, number: int) -> Claim:
    row = run_row(number)
    await journal.create_run(row)
    claim = await journal.claim(row.id, "bench")
    assert claim is not None
    return claim


async def journal_appends(journal: SqliteJournal, number: int, count: int, producers: int) -> float:
    claims = [await claimed(journal, number + index) for index in range(producers)]

    async def produce(claim: Claim) -> None:
        for n in range(count // producers):
            await journal.append(claim, [entry(n)])

    begin = time.perf_counter()
    await asyncio.gather(*(produce(claim) for claim in claims))
    return count / (time.perf_counter() - begin)


async def parked(journal: SqliteJournal, number: int) -> str:
    claim = await claimed(journal, number)
    asked = pause(claim.run.id)
    started = Entry("", 0, "input", "requestInput", "0123456789abcdef", "started", None, asked.asked_at)
    await journal.park(claim, "awaiting-input", pauses=[asked], entries=[started])
    return claim.run.id


async def milliseconds(work: Callable[[], Awaitable[object]]) -> float:
    begin = time.perf_counter()
    await work()
    return (time.perf_counter() - begin) * 1000


async def latencies(journal: SqliteJournal, number: int, samples: int) -> dict[str, float]:
    """Medians in ms; every sample answers the newest run, so that the number of parked runs stays."""
    found: dict[str, list[float]] = {"answer": [], "answer to finished": [], "pending": [], "runnable": [], "wake": []}
    for index in range(samples):
        run_id = await parked(journal, number + index)

        async def answer(run_id: str = run_id) -> None:
            await journal.answer(Answer(run_id, '"staging"', "local:ops"), judge, recorded)

        async def advance(run_id: str = run_id) -> None:
            claim = await journal.claim(run_id, "bench")
            assert claim is not None
            await journal.load(run_id)
            await journal.finish(claim, "completed", result='"ok"')

        answered = await milliseconds(answer)
        found["runnable"].append(await milliseconds(journal.runnable))
        found["answer"].append(answered)
        found["answer to finished"].append(answered + await milliseconds(advance))
        found["pending"].append(await milliseconds(lambda: journal.pending(100, None)))
        found["wake"].append(await milliseconds(journal.next_wake))
    return {name: statistics.median(values) for name, values in found.items()}


async def fill(journal: SqliteJournal, number: int, count: int) -> None:
    for start in range(0, count, 250):
        await asyncio.gather(*(parked(journal, number + index) for index in range(start, min(start + 250, count))))


def resident_mb() -> float:
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


async def rates(folder: Path, appends: int, rounds: int) -> None:
    """Every round on new files, one after the other, so that all of them see the same disk and the same WAL."""
    bare: list[float] = []
    lone: list[float] = []
    many: list[float] = []
    for index in range(rounds):
        bare.append(bare_appends(folder, appends))
        for producers, found in ((1, lone), (16, many)):
            journal = await SqliteJournal.open(folder / f"{index}-{producers}" / "runtime.db")
            found.append(await journal_appends(journal, 0, appends, producers))
            await journal.close()
    anchor = statistics.median(bare)
    print(f"bare sqlite3, WAL FULL, one row a commit: {anchor:,.0f}/s")
    print(f"journal, one producer:   {statistics.median(lone) / anchor:.2f} of bare (at least 0.75)")
    print(f"journal, 16 producers:   {statistics.median(many) / anchor:.2f} of bare", flush=True)


async def bench(folder: Path, appends: int, rounds: int, runs: int) -> None:
    await rates(folder, appends, rounds)
    journal = await SqliteJournal.open(folder / "runtime.db")
    await latencies(journal, 9_000, 20)  # warm
    empty = await latencies(journal, 10_000, 100)
    await fill(journal, 20_000, 100)
    empty["pending"] = (await latencies(journal, 21_000, 100))["pending"]  # a full page, as later
    before = resident_mb()
    await fill(journal, 100_000, runs)
    full = await latencies(journal, 100_000 + runs, 100)
    added = resident_mb() - before
    for name, value in empty.items():
        few = 100 if name == "pending" else 0
        print(f"{name + ':':<20} {value:.2f} ms with {few} parked runs, {full[name] / value:.2f} times with {runs:,}")
    print(f"memory added by {runs:,} parked runs: {added:.1f} MB (less than 20)")
    print(f"disk for each: {(folder / 'runtime.db').stat().st_size / runs:,.0f} bytes")
    await journal.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path(".bench"))
    parser.add_argument("--appends", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--runs", type=int, default=100_000)
    args = parser.parse_args()
    folder: Path = args.dir / "journal"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        asyncio.run(bench(folder, args.appends, args.rounds, args.runs))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
