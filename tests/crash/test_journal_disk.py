"""The disk fills up while the journal writes: a clear refusal, nothing half-stored, and work goes on with new space."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime_core.journal.base import Claim
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from tests.crash.small_disk import mounted
from tests.unit.journal.stories import answered, claimed, parked, play, refused, run_row, step

FILLING = '"' + "x" * 3000 + '"'


async def append_until_refused(journal: SqliteJournal, claim: Claim) -> tuple[int, RuntimeFault]:
    """How many appends were acknowledged, and what the refused one said."""
    for n in range(100_000):
        try:
            await journal.append(claim, [step(n, value=FILLING)])
        except RuntimeFault as fault:
            return n, fault
    raise AssertionError("the disk never filled up")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    yield from mounted(tmp_path / "small", "3m")


def test_a_full_disk_refuses_and_recovers(small_disk: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal, run_id="dur_p")
        await journal.create_run(run_row())
        claim = await claimed(journal)
        ballast = small_disk / "ballast"
        ballast.write_bytes(b"x" * 1_000_000)
        count, fault = await append_until_refused(journal, claim)
        assert fault.code == "data_folder_unusable"
        assert str(journal.path) in fault.message
        refusals = await asyncio.gather(
            *(refused(journal.append(claim, [step(count + n, value=FILLING * 9)])) for n in range(5))
        )
        assert {refusal.code for refusal in refusals} == {"data_folder_unusable"}
        assert [entry.n for entry in await journal.load("dur_a")] == list(range(count))
        assert (await journal.pending(10, None)).total == 1

        ballast.unlink()
        await answered(journal, run_id="dur_p")
        await journal.append(claim, [step(count)])
        assert [entry.n for entry in await journal.load("dur_a")] == list(range(count + 1))

    play(small_disk, story)

    async def later(journal: SqliteJournal) -> None:
        assert len(await journal.load("dur_a")) > 1

    play(small_disk, later)


def test_opening_on_a_full_disk_is_refused(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(b"x" * (3 * 2**20 - 4096))

    async def story() -> None:
        fault = await refused(SqliteJournal.open(small_disk / "runtime.db"))
        assert fault.code == "data_folder_unusable"
        assert "runtime.db" in fault.message

    asyncio.run(story())


LIMITED = """
import asyncio, resource, sys
from pathlib import Path
from runtime_core.journal.sqlite import SqliteJournal
from tests.crash.test_journal_disk import append_until_refused
from tests.unit.journal.stories import claimed, run_row, step

async def main():
    journal = await SqliteJournal.open(Path(sys.argv[1]))
    await journal.create_run(run_row())
    claim = await claimed(journal)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, unlimited[1]))
    count, fault = await append_until_refused(journal, claim)
    assert fault.code == "data_folder_unusable", fault
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    await journal.append(claim, [step(count)])
    await journal.close()
    print(count + 1)

asyncio.run(main())
"""


def test_a_file_that_may_not_grow_refuses_and_recovers(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("there is no such limit")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "runtime.db")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

    async def story(journal: SqliteJournal) -> None:
        assert [entry.n for entry in await journal.load("dur_a")] == list(range(int(done.stdout)))

    play(tmp_path, story)
