"""The process is killed with -9 while it appends: what was acknowledged is there, and there is no gap before it."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runtime_core.journal.driver import connect
from runtime_core.journal.sqlite import SqliteJournal
from tests.unit.journal.stories import play, run_row

CYCLES = 30

PROGRAM = """
import asyncio, sys
from pathlib import Path
from runtime_core.journal.sqlite import SqliteJournal
from tests.unit.journal.stories import claimed, run_row, step

async def produce(journal, run_id):
    claim = await claimed(journal, run_id, sys.argv[2])
    entries = await journal.load(run_id)
    n = len(entries)
    while True:
        await journal.append(claim, [step(n, value=f'"{n}"')])
        print(run_id, n, flush=True)
        n += 1

async def main():
    journal = await SqliteJournal.open(Path(sys.argv[1]))
    await asyncio.gather(*(produce(journal, f"dur_{number}") for number in range(4)))

asyncio.run(main())
"""


@pytest.mark.timeout(300)
def test_no_acknowledged_append_is_lost_and_there_is_no_gap(tmp_path: Path) -> None:
    path = tmp_path / "runtime.db"
    chance = random.Random()

    async def prepare(journal: SqliteJournal) -> None:
        for number in range(4):
            await journal.create_run(run_row(f"dur_{number}"))

    play(tmp_path, prepare)
    acknowledged = {f"dur_{number}": -1 for number in range(4)}
    for cycle in range(CYCLES):
        victim = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(path), f"executor {cycle}"], stdout=subprocess.PIPE, text=True
        )
        assert victim.stdout is not None
        first = victim.stdout.readline()
        time.sleep(chance.random() * 0.05)
        victim.kill()
        printed = first + victim.communicate()[0]
        for line in printed.splitlines(keepends=True):
            if line.endswith("\n"):
                run_id, n = line.split()
                acknowledged[run_id] = int(n)

        async def check(journal: SqliteJournal) -> None:
            for run_id, last in acknowledged.items():
                entries = await journal.load(run_id)
                assert [entry.n for entry in entries] == list(range(len(entries)))
                assert all(entry.value == f'"{entry.n}"' for entry in entries)
                assert len(entries) > last

        play(tmp_path, check)
    assert min(acknowledged.values()) > CYCLES
    db = connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
