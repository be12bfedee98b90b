"""The disk of the data folder is full, or read-only: nothing accepted is lost, and work goes on with new space."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from runtime_core.journal.base import Answer
from runtime_core.journal.driver import connect
from runtime_core.wire.codes import RuntimeFault
from tests.proof.options import options
from tests.unit.engine.workshop import Bench, Repo, bench

SIZE: Final = 12 * 2**20
STEP: Final = 4096
"""Every level leaves one page of the file system more."""

LARGE: Final = "x" * 20_000
ANSWERS: Final = {"input": "staging", "attention": {"use_result": "by hand"}}


class NotPermittedError(Exception):
    """No file system can be mounted here."""


@contextmanager
def small_disk(folder: Path) -> Generator[Path]:
    """An empty file system of `SIZE` bytes. Raises `NotPermittedError`."""
    place = folder / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)]
    if not sys.platform.startswith("linux") or shutil.which("mount") is None:
        raise NotPermittedError("mounting a small file system takes Linux")
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        raise NotPermittedError(mounted.stderr.strip())
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def filled(place: Path, free: int) -> Generator[None]:
    """Within the block only so many bytes are free."""
    ballast = place / "ballast"
    room = os.statvfs(place)
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(STEP, room.f_bavail * room.f_bsize - free))
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def read_only(place: Path) -> Generator[None]:
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)


def desk(root: Path) -> Repo:
    """A tool of both languages that builds, asks, notes and ships; its values are large."""
    repo = Repo(root)
    repo.tool("build", ts=f"return '{LARGE}';", effect="read")
    repo.tool("ship", py="return params['target']", effect="once")
    repo.durable(
        "release_ts",
        tools=("build", "ship"),
        ts="""
await ctx.callTool('build', {});
const target = await ctx.requestInput('Where?');
const note = await ctx.step('note', () => 'to ' + target.value);
return [note, await ctx.callTool('ship', {target: target.value})];
""",
    )
    repo.durable(
        "release_py",
        tools=("build", "ship"),
        py="""
await ctx.call_tool("build", {})
target = await ctx.request_input("Where?")
note = await ctx.step("note", lambda: "to " + target["value"])
return [note, await ctx.call_tool("ship", {"target": target["value"]})]
""",
    )
    return repo


@dataclass
class Figures:
    """``accepted`` and ``refused`` while the disk was full; ``refused`` by what was wanted."""

    levels: int = 0
    accepted: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    doubts: int = 0
    problems: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return (
            f"{self.levels} levels; accepted on a full disk: {_counts(self.accepted)}; "
            f"refused: {_counts(self.refused)}; {self.doubts} calls in doubt; {len(self.problems)} problems"
            + "".join(f"\n  {problem}" for problem in self.problems)
        )


def sweep(folder: Path, levels: Sequence[int]) -> Figures:
    """One runtime on a data folder of its own for each number of free pages. Raises `NotPermittedError`."""
    figures = Figures()
    repo = desk(folder / "repo")
    with small_disk(folder) as place:
        for level in levels:
            _try(figures, f"{level} pages free", _at_level(place, repo, level, figures))
        _try(figures, "read-only", _read_only(place, repo, figures))
    return figures


def _try(figures: Figures, name: str, story: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await story

    figures.levels += 1
    try:
        asyncio.run(bounded())
    except (AssertionError, TimeoutError, RuntimeFault) as problem:
        figures.problems.append(f"{name}: {type(problem).__name__}: {problem}")


async def _at_level(place: Path, repo: Repo, pages: int, figures: Figures) -> None:
    data = place / f"data {pages}"
    try:
        async with bench(repo, data) as team:
            waiting = [(await team.run(f"release_{language}"))["sessionId"] for language in ("ts", "py")]
            with filled(place, pages * STEP):
                accepted = await _work(team, waiting, figures)
            await _all_is_there(team, accepted, figures)
        _check_file(data)
    finally:
        shutil.rmtree(data)


async def _read_only(place: Path, repo: Repo, figures: Figures) -> None:
    """Files that are open for writing keep a disk from turning read-only: it does so while no runtime is open."""
    data = place / "data"
    async with bench(repo, data) as team:
        waiting = (await team.run("release_ts"))["sessionId"]
    with read_only(place):
        try:
            async with bench(repo, data):
                raise AssertionError("a runtime was opened on a read-only disk")
        except RuntimeFault as fault:
            _is_clear(fault, data)
            figures.refused["open"] += 1
    async with bench(repo, data) as team:
        await team.answer(waiting, "staging")
        await _all_is_there(team, {waiting}, figures)
    _check_file(data)


async def _work(team: Bench, waiting: Sequence[str], figures: Figures) -> set[str]:
    """Answer what waits and start more; the runs that were promised to go on."""
    accepted: set[str] = set(waiting)
    for run_id in waiting:
        answer = team.runtime.answer(Answer(run_id, '"staging"', "ann"), wait_s=2)
        done = await _attempt("answer", answer, team, figures)
        is_open = not (await team.detail(run_id))["decisions"]
        assert is_open == (done is None), f"the answer was {'not ' * is_open}stored, its sender was told the contrary"
    for language in ("py", "ts"):
        before = await _count(team)
        started = await _attempt("start", team.run(f"release_{language}", wait_s=2), team, figures)
        after = await _count(team)
        assert (after > before) == (started is not None), (
            f"{after - before} runs were stored, its sender was told the contrary"
        )
        if started is not None:
            accepted.add(started["sessionId"])
    return accepted


async def _count(team: Bench) -> int:
    return (await team.runtime.runs(finished=None))["total"]


async def _attempt(
    name: str, work: Coroutine[Any, Any, dict[str, Any]], team: Bench, figures: Figures
) -> dict[str, Any] | None:
    try:
        done = await work
    except RuntimeFault as fault:
        _is_clear(fault, team.runtime._data)
        figures.refused[name] += 1
        return None
    figures.accepted[name] += 1
    return done


def _is_clear(fault: RuntimeFault, data: Path) -> None:
    assert fault.code == "data_folder_unusable", f"{fault.code}: {fault}"
    assert str(data) in fault.message, f"the folder is not named: {fault}"


async def _all_is_there(team: Bench, accepted: set[str], figures: Figures) -> None:
    """With space again every run comes to its end, and none that was accepted is missing."""
    while (await team.runtime.runs(finished=False))["runs"]:
        for pause in (await team.runtime.pending(who="ann"))["approvals"]:
            figures.doubts += pause["kind"] == "attention"
            await team.answer(pause["session_id"], ANSWERS[pause["kind"]], pause_id=pause["pause_id"])
        await asyncio.sleep(0.02)
    runs = {run["session_id"]: run for run in (await team.runtime.runs(finished=True))["runs"]}
    missing = accepted - runs.keys()
    assert not missing, f"{missing} were accepted and are not there"
    for run in runs.values():
        assert run["status"] == "completed", f"{run['tool_name']} is {run['status']}: {run['error']}"
        assert run["result"] in (["to staging", "staging"], ["to staging", "by hand"]), run["result"]


def _check_file(data: Path) -> None:
    db = connect(data / "runtime.db")
    found = db.execute("PRAGMA integrity_check").fetchone()[0]
    db.close()
    assert found == "ok", found


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counted.items())) or "none"


def main(argv: Sequence[str]) -> None:
    """``--rounds``: how many levels."""
    given = options("disk", argv, short=8, long=50)
    logging.disable(logging.WARNING)  # every run that has to wait is one
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            figures = sweep(Path(folder), range(given.rounds))
        except NotPermittedError as reason:
            print(f"disk: not possible here: {reason}")
            return
    print(f"disk: {figures} in {time.monotonic() - began:.0f} s")
    if figures.problems:
        raise SystemExit(1)
