"""The queue through which a leg writes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from runtime_core.engine.ears import Tally
from runtime_core.engine.ledger import Ledger
from runtime_core.journal.base import Claim
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.spans.book import SpanBook
from tests.unit.journal.stories import play, run_row, step


async def claimed(journal: SqliteJournal) -> Claim:
    await journal.create_run(run_row())
    claim = await journal.claim("dur_a", "me")
    assert claim is not None
    return claim


def test_what_comes_in_the_moment_the_queue_becomes_empty_is_stored_before_the_run_parks(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        more = [step(1)]

        def on_idle() -> None:
            if more:
                loop = asyncio.get_running_loop()
                loop.call_soon(loop.call_soon, ledger.record, more.pop())

        broken: list[Exception] = []
        claim = await claimed(journal)
        ledger = Ledger(journal, claim, SpanBook("dur_a", 1), Tally(), idle=on_idle, broken=broken.append)
        ledger.record(step(0))
        await ledger.park("diverged", [])
        assert [entry.n for entry in await journal.load("dur_a")] == [0, 1]
        assert broken == []

    play(tmp_path, story)


def test_a_result_that_cannot_be_handed_out_ends_the_writing(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        def refuse(*_: object) -> None:
            raise LookupError("nobody there")

        broken: list[Exception] = []
        claim = await claimed(journal)
        ledger = Ledger(journal, claim, SpanBook("dur_a", 1), Tally(), idle=refuse, broken=broken.append)
        ledger.record(step(0), refuse)
        await ledger.drained()
        assert [str(error) for error in broken] == ["nobody there"]

    play(tmp_path, story)
