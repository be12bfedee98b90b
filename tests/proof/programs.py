"""Programs made by chance, each run once undisturbed and then interrupted at every single write of its journal.

What an interrupted run leaves behind is what the undisturbed one left: the result, the recorded calls with their
names, values and order, the decisions, and how often every effect came about. What may differ: a call that was under
way when the process died is made again if its tool allows that, and else a person says what became of it.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from unittest import mock

from runtime_core.engine import waiting
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.journal.base import Answer
from runtime_core.runtime import Runtime
from runtime_core.wire.json import dumps, loads
from runtime_core.wire.runs import FINISHED, Entry, Span, slot
from tests.proof.authoring import LOST, Author, Program, approval_of, reply_to, smaller
from tests.proof.crashing import Crashed, Fuse, Stage, counted
from tests.proof.options import MEMORY, options
from tests.proof.writing import OTHER, Language, write, write_effects
from tests.unit.engine.workshop import Repo

BATCH: Final = 12
"""Programs of one repository: their handler processes serve all of them."""
KILLED_OF: Final = 20
"""One of so many programs also runs in a process that is really killed."""
STUCK_S: Final = 20.0
PARKED_S: Final = 0.02
"""Sleeps longer than this park, so that programs need not be slow to sleep."""

Record = tuple[str, ...]


@dataclass(slots=True)
class Told:
    """What is to be the same in every variant."""

    status: str
    result: Any
    records: list[Record]
    effects: Counter[str]
    decisions: dict[str, Any]


@dataclass(slots=True)
class Story:
    """One run from its start to its end, with at most one interruption."""

    program: Program
    tool: str
    root: Path
    stage: Stage
    run_id: str | None = None
    kept: Sequence[Entry] = ()
    settled: set[str] = field(default_factory=set[str])
    before: Counter[str] = field(default_factory=Counter[str])
    interrupted: bool = False
    lives: int = 2
    """How often a call may have been made that was under way whenever its process died."""

    async def go_on(self, lives: int) -> Told:
        """Bring a run to its end that was begun ``lives`` - 1 times before, by processes that are dead."""
        self.interrupted, self.lives = True, lives
        self.before = counted(self.stage.effects)
        async with self.stage.runtime() as runtime:
            begun = (await runtime.runs(finished=None))["runs"]
            self.stage.created[:] = [run["session_id"] for run in begun]
            await self._advance(runtime)
            return await self._told(runtime)

    async def play(self, fuse: Fuse) -> Told:
        self.stage.fuse = fuse
        self.stage.created.clear()
        self.stage.effects.clear()
        async with asyncio.timeout(STUCK_S):
            while True:
                async with self.stage.runtime() as runtime:
                    if fuse.blown and not self.interrupted:
                        await self._look_back()
                    try:
                        await self._advance(runtime)
                    except Exception:
                        if not self.stage.fuse.blown:
                            raise
                        continue
                    return await self._told(runtime)

    async def _look_back(self) -> None:
        """What the interruption left: from here on none of it may change or be made again."""
        self.interrupted = True
        self.run_id = next(iter(self.stage.created), None)
        if self.run_id is not None:
            self.kept = [entry for entry in await self.stage.journal.load(self.run_id) if entry.state != "started"]
        self.settled = {f"{self.run_id}/{slot(entry.path, entry.n)}" for entry in self.kept}
        self.before = counted(self.stage.effects)

    async def _advance(self, runtime: Runtime) -> None:
        if self.interrupted:
            await runtime.recover()
        if not self.stage.created:
            await runtime.run_tool(self.root, self.tool, dumps({}), who="ann", wait_s=5)
        self.run_id = self.stage.created[-1]
        moved = asyncio.Event()
        runtime.subscribe(lambda _: moved.set())
        while True:
            moved.clear()
            if self.stage.fuse.blown:
                raise Crashed("found out late")
            detail = await runtime.run(self.run_id, who="ann")
            status = detail["run"]["status"]
            if status in FINISHED:
                return
            assert status != "diverged", f"diverged: {detail['run']['error']}"
            pause = next((pause for pause in detail["pauses"] if not pause["question"].startswith(LOST)), None)
            if status in ("awaiting-input", "needs-attention") and pause is not None:
                await self._answer(runtime, pause)
            else:
                await asyncio.wait({asyncio.ensure_future(moved.wait())}, timeout=0.05)

    async def _answer(self, runtime: Runtime, pause: dict[str, Any]) -> None:
        value: Any
        if pause["kind"] == "attention":
            value = self._remedy(pause)
        elif pause["kind"] == "approval":
            value = approval_of(pause["question"])
        else:
            value = reply_to(pause["question"])
        assert self.run_id is not None
        answer = Answer(
            self.run_id, dumps(value), "bob", pause_id=pause["pause_id"], fingerprint=pause["fingerprint"],
            key=pause["pause_id"],
        )  # fmt: skip
        await runtime.answer(answer)

    def _remedy(self, pause: dict[str, Any]) -> Any:
        """A person looks whether the interrupted call had its effect."""
        assert self.interrupted, f"nothing was interrupted: {pause['question']}"
        label = pause["context"]["params"].get("id")
        assert label is not None, pause["question"]
        if any(effect.params["id"] == label for effect in self.stage.effects):
            return {"use_result": f"once {label}"}
        return "run-again"

    async def _told(self, runtime: Runtime) -> Told:
        assert self.run_id is not None
        entries = [entry for entry in await self.stage.journal.load(self.run_id) if entry.state != "started"]
        spans = {span.slot: span for span in await self.stage.journal.spans(self.run_id)}
        detail = await runtime.run(self.run_id, who="ann")
        run = detail["run"]
        self._check_effects()
        assert [_fixed(entry) for entry in entries[: len(self.kept)]] == [_fixed(entry) for entry in self.kept], (
            "what was recorded before the interruption changed"
        )
        if run["status"] == "completed":
            _check_trace(run["result"]["trace"], entries, spans)
        decided = [pause for pause in detail["decisions"] if pause["kind"] != "attention"]
        answered = {
            pause["question"]: pause["value"] for pause in decided if pause["outcome"] in ("answered", "refused")
        }
        result = run["result"]["value"] if run["status"] == "completed" else (run["error"] or {}).get("message")
        return Told(
            run["status"],
            result,
            [_record(entry, spans) for entry in entries],
            Counter(str(effect.params["id"]) for effect in self.stage.effects),
            answered,
        )

    def _check_effects(self) -> None:
        labels: dict[str, str] = {}
        for effect in self.stage.effects:
            assert labels.setdefault(effect.call_id, effect.params["id"]) == effect.params["id"], (
                f"callId {effect.call_id} stood for two calls"
            )
        later = self.stage.effects[self.before.total() :]
        repeated = [effect for effect in later if effect.call_id in self.settled]
        assert not repeated, f"made again although recorded: {repeated}"
        for call_id, times in counted(self.stage.effects).items():
            allowed = self.lives if self.interrupted and self.before[call_id] and not self._is_once(call_id) else 1
            assert times <= allowed, f"{call_id} was made {times} times"

    def _is_once(self, call_id: str) -> bool:
        return any("/once/" in effect.entry for effect in self.stage.effects if effect.call_id == call_id)


def _fixed(entry: Entry) -> Entry:
    return replace(entry, order=None)


def _record(entry: Entry, spans: dict[str, Span]) -> Record:
    """A recorded call without its times, and without slots, which depend on which of two branches was quicker."""
    place = ">".join(_words(spans[above]) for above in _slots(entry.path))
    value = loads(entry.value or "null")
    if isinstance(value, dict):
        value = {key: value[key] for key in value if key not in ("respondedAt", "trace")}
    digest = "" if entry.kind == "sleep" else entry.digest
    return place, entry.kind, entry.name, digest, entry.state, dumps(value)


def _slots(path: str) -> list[str]:
    return list(itertools.accumulate(path.split("/"), "{}/{}".format)) if path else []


def _words(span: Span) -> str:
    return f"{span.name}{span.input}"


def _check_trace(trace: Sequence[str], entries: Sequence[Entry], spans: dict[str, Span]) -> None:
    """The handler saw the results in the order in which they are recorded."""
    recorded = [label for entry in entries if not entry.path and (label := _label(entry, spans)) is not None]
    seen = [label for label in trace if label[0] not in "nu"]
    left = iter(recorded)
    assert all(label in left for label in seen), f"seen {seen}, recorded {recorded}"


def _label(entry: Entry, spans: dict[str, Span]) -> str | None:
    given = loads(spans[slot(entry.path, entry.n)].input or "null")
    if entry.kind == "step":
        return entry.name
    if entry.kind in ("input", "approval"):
        return str(given["question"]).removeprefix(LOST) if isinstance(given, dict) else str(given)
    if entry.kind == "tool":
        assert isinstance(given, dict)
        return str(given["id"]) if "id" in given else f"{entry.name.rpartition('_')[0]}{given['s']}"
    return None


class Failed(Exception):  # noqa: N818
    """A program that did not survive an interruption."""


@dataclass(slots=True)
class Figures:
    programs: int = 0
    variants: int = 0
    unreached: int = 0
    by_write: Counter[str] = field(default_factory=Counter[str])


class Theatre:
    """Repositories with programs, and the processes that run them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self.figures = Figures()

    @asynccontextmanager
    async def stage(self, programs: Sequence[Program]) -> AsyncGenerator[tuple[Repo, Stage]]:
        self._count += 1
        folder = self._folder / str(self._count)
        repo = Repo(folder / "repo")
        write_effects(repo)
        for program in programs:
            for language in OTHER:
                write(repo, program, language)
        stage = Stage(folder / "data", HandlerHosts(folder / "hosts"))
        try:
            with mock.patch.object(waiting, "SHORT_WAIT_S", PARKED_S):
                yield repo, stage
        finally:
            await stage.close()

    async def undisturbed(self, program: Program, tool: str, repo: Repo, stage: Stage) -> Told:
        return await self._variant(program, tool, repo, stage, Fuse(), None)

    async def examine(self, repo: Repo, stage: Stage, program: Program, every: int, seed: int) -> None:
        """Run a program undisturbed, then with every ``every``-th of its interruptions. Raises `Failed`."""
        told: dict[Language, Told] = {}
        for language in OTHER:
            tool = f"{program.name}_{language}"
            oracle = Fuse()
            told[language] = await self._variant(program, tool, repo, stage, oracle, None)
            self.figures.programs += 1
            for number in range(oracle.writes):
                for before in (False, True):
                    if (2 * number + before + seed) % every:
                        continue
                    fuse = Fuse(number + 1, before)
                    await self._variant(program, tool, repo, stage, fuse, told[language])
                    if fuse.blown:
                        self.figures.variants += 1
                        self.figures.by_write[fuse.names[-1]] += 1
                    else:
                        self.figures.unreached += 1
        ts, py = told["ts"], told["py"]
        if (ts.status, ts.result, ts.decisions, ts.effects) != (py.status, py.result, py.decisions, py.effects):
            raise Failed(f"{program}\nTypeScript: {ts}\nPython: {py}")

    async def _variant(
        self, program: Program, tool: str, repo: Repo, stage: Stage, fuse: Fuse, oracle: Told | None
    ) -> Told:
        story = Story(program, tool, repo.root, stage)
        try:
            told = await story.play(fuse)
            if oracle is not None:
                compare(told, oracle, story)
        except (Exception, TimeoutError) as error:
            moment = "undisturbed"
            if fuse.at:
                moment = f"{'before' if fuse.before else 'after'} write {fuse.at} ({fuse.names[-1:]})"
            raise Failed(f"{tool} {moment}: {type(error).__name__}: {error}\n{program}") from error
        return told


def compare(told: Told, oracle: Told, story: Story) -> None:
    assert (told.status, told.result) == (oracle.status, oracle.result), f"{told} instead of {oracle}"
    assert told.decisions == oracle.decisions, f"{told.decisions} instead of {oracle.decisions}"
    assert set(told.effects) == set(oracle.effects), f"{told.effects} instead of {oracle.effects}"
    more, less = Counter(told.records) - Counter(oracle.records), Counter(oracle.records) - Counter(told.records)
    assert not more, f"{more} instead of {less}"
    assert not less, f"lacks {less}"
    if story.program.is_sequential:
        assert told.records == oracle.records, f"{told.records} instead of {oracle.records}"


async def examine(folder: Path, seeds: Sequence[int], *, every: int = 1) -> Figures:
    """Examine the programs of these seeds. Raises `Failed` with a program as small as was found."""
    theatre = Theatre(folder)
    for first in range(0, len(seeds), BATCH):
        programs = [Author(seed).program() for seed in seeds[first : first + BATCH]]
        async with theatre.stage(programs) as (repo, stage):
            for seed, program in zip(seeds[first:], programs, strict=False):
                try:
                    await theatre.examine(repo, stage, program, every, seed)
                except Failed as failed:
                    raise await _smallest(theatre, program, every, seed, failed) from failed
    return theatre.figures


async def _smallest(theatre: Theatre, program: Program, every: int, seed: int, failed: Failed) -> Failed:
    """Leave out of a failing program what it fails without."""
    ends = time.monotonic() + 60
    found = True
    while found and time.monotonic() < ends:
        found = False
        for less in smaller(program):
            async with theatre.stage([less]) as (repo, stage):
                try:
                    await theatre.examine(repo, stage, less, every, seed)
                except Failed as again:
                    program, failed, found = less, again, True
                    break
            if time.monotonic() > ends:
                break
    return Failed(f"seed {seed}, made smaller: {failed}")


def main(argv: Sequence[str]) -> None:
    from tests.proof.killing import kill

    given = options("programs", argv, short=20, long=500)
    first = given.seed % 1_000_000
    logging.disable(logging.ERROR)  # an interrupted executor says so
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        figures = asyncio.run(examine(Path(folder), range(first, first + given.rounds), every=2))
        kills = asyncio.run(kill(Path(folder) / "killed", range(first, first + given.rounds // KILLED_OF)))
    print(
        f"seed {given.seed}: {given.rounds} programs in two languages, {figures.variants} interrupted runs and {kills} "
        f"killed processes in {time.monotonic() - began:.0f} s, none differs. Interrupted at {dict(figures.by_write)}; "
        f"{figures.unreached} ended before their moment."
    )
