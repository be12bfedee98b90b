"""Rows to tell stories about, and the stage they are played on: a real journal in a real file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from runtime_core.approvals.answering import judge, recorded
from runtime_core.approvals.questions import question
from runtime_core.journal.base import Answer, Claim
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.runs import Entry, PauseRow, RunRow

T = TypeVar("T")

SPEC = question("input", '{"question": "Which dock?", "inputType": "choice", "options": [{"value": 1}, {"value": 2}]}')


def play(path: Path, story: Callable[[SqliteJournal], Awaitable[T]]) -> T:
    """Open ``path``, or ``runtime.db`` in it, tell the story, close."""
    file = path / "runtime.db" if path.is_dir() else path

    async def stage() -> T:
        journal = await SqliteJournal.open(file, busy_ms=500)
        try:
            return await story(journal)
        finally:
            await journal.close()

    return asyncio.run(stage())


def run_row(run_id: str = "dur_a", **changes: Any) -> RunRow:
    now = time.time()
    fields: dict[str, Any] = {
        "id": run_id,
        "tool": "release",
        "repo": "/repo",
        "revision": "r1",
        "status": "runnable",
        "epoch": 0,
        "params": '{"dock": 1.50}',
        "created_by": "local:rosa",
        "created_at": now,
        "updated_at": now,
    }
    return RunRow(**(fields | changes))


def step(n: int, *, path: str = "", state: Any = "ok", value: str | None = '"done"') -> Entry:
    ended = None if state == "started" else 2.0
    return Entry(path, n, "step", f"step {n}", f"digest {n}", state, None if state == "started" else value, 1.0, ended)


def pause_row(run_id: str = "dur_a", slot: str = "0", asked_at: float | None = None, **changes: Any) -> PauseRow:
    fields: dict[str, Any] = {
        "id": f"{run_id}.{slot.replace('/', '-')}",
        "run_id": run_id,
        "slot": slot,
        "kind": "input",
        "tool": "release",
        "names": ("release",),
        "spec": SPEC,
        "asked_at": time.time() if asked_at is None else asked_at,
        "requested_by": "local:rosa",
    }
    fields |= changes
    fields.setdefault("fingerprint", fingerprint(fields["kind"], fields["spec"]))
    return PauseRow(**fields)


def asking(pause: PauseRow) -> Entry:
    """The started entry of the call that asks."""
    path, _, n = pause.slot.rpartition("/")
    return Entry(path, int(n), "input", "", "digest of the question", "started", None, pause.asked_at)


async def claimed(journal: SqliteJournal, run_id: str = "dur_a", owner: str = "executor") -> Claim:
    claim = await journal.claim(run_id, owner)
    assert claim is not None
    return claim


async def parked(journal: SqliteJournal, *pauses: PauseRow, run_id: str = "dur_a") -> None:
    """A new run that waits for answers to ``pauses``, or for one to its first call."""
    asked = pauses or (pause_row(run_id),)
    await journal.create_run(run_row(run_id))
    claim = await claimed(journal, run_id)
    await journal.park(claim, "awaiting-input", pauses=asked, entries=[asking(pause) for pause in asked])


async def answered(
    journal: SqliteJournal, value: str = "1", run_id: str = "dur_a", **more: Any
) -> tuple[PauseRow, bool]:
    who = more.pop("who", "local:bob")
    return await journal.answer(Answer(run_id, value, who, **more), judge, recorded)


async def refused(work: Awaitable[object]) -> RuntimeFault:
    with pytest.raises(RuntimeFault) as caught:
        await work
    return caught.value
