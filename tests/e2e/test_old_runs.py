"""Runs that a runtime of an earlier format left are resumed to their end, by handlers of both languages."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from runtime_core.journal.base import Answer
from runtime_core.journal.formats import MIGRATIONS
from runtime_core.runtime import Runtime
from tests.fixtures.golden.runs import REPO

GOLDEN = REPO.parent
FILES = sorted(GOLDEN.glob("runs-v*.db"))


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A data folder with one of the files, whose tools are a copy of ours."""
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copyfile(request.param, folder / "runtime.db")
    shutil.copytree(REPO, tmp_path / "repo")
    db = sqlite3.connect(folder / "runtime.db")
    with db:
        db.execute("UPDATE durable_run SET repo = ?", (str(tmp_path / "repo"),))
    db.close()
    return folder


async def resume(runtime: Runtime) -> dict[str, Any]:
    """Answer whatever is asked and wait for the end of all; the runs by the names of their tools."""
    changed = asyncio.Event()
    runtime.subscribe(lambda _: changed.set())
    answers = {"input": "2", "approval": '"yes"', "attention": '{"use_result": "by hand"}'}
    await runtime.recover()
    while asked := (await runtime.pending(who="local:bob"))["approvals"]:
        for pause in asked:
            answer = Answer(pause["session_id"], answers[pause["kind"]], "local:bob", pause_id=pause["pause_id"])
            await runtime.answer(answer)
    while (await runtime.runs(finished=False))["runs"]:
        await changed.wait()
        changed.clear()
    return {run["tool_name"]: run for run in (await runtime.runs(finished=None))["runs"]}


def test_runs_of_every_format_are_resumed_to_their_end(data: Path) -> None:
    async def story() -> dict[str, Any]:
        runtime = Runtime(data)
        await runtime.open()
        try:
            async with asyncio.timeout(45):
                return await resume(runtime)
        finally:
            await runtime.close()

    runs = asyncio.run(story())
    assert {name: run["status"] for name, run in runs.items()} == dict.fromkeys(runs, "completed")
    for language in ("ts", "py"):
        assert runs[f"release_{language}"]["result"] == {
            "built": "built for 1.5",
            "note": "to dock 2",
            "shipped": "shipped from 2",
            "approved": True,
        }
        assert runs[f"nap_{language}"]["result"] == {"built": "built for 0", "awake": True}
        assert runs[f"charge_{language}"]["result"] == {"charged": "by hand"}


def test_there_are_runs_of_every_format() -> None:
    assert {path.name for path in FILES} == {f"runs-v{n}.db" for n in range(1, len(MIGRATIONS) + 1)}
