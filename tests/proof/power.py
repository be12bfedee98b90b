"""Power is lost at every write of a story: the journal keeps what it acknowledged, and nothing half.

The story is told once, on a file layer that notes every write and every sync. The disk is then put together as it
would be had power failed after each of these acts, what was not synced being lost in several ways, and opened again.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from runtime_core.approvals.answering import recorded
from runtime_core.approvals.questions import question, quorum
from runtime_core.journal.driver import Connection, connect
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.json import JsonText, loads
from runtime_core.wire.runs import Entry
from runtime_core.wire.settings import Durability
from runtime_core.wire.stores import Partition, StoreQuery, StoreWrite
from tests.proof.apsw_driver import installed
from tests.proof.disklog import LOSSES, Act, Disk, DiskLog, Loss
from tests.proof.options import options
from tests.unit.journal.stories import answered, asking, claimed, parked, pause_row, run_row, step

FILE: Final = "runtime.db"
_MEMORY: Final = "/dev/shm" if Path("/dev/shm").is_dir() else None  # to check what is left needs no real disk
TWO: Final = question("input", '{"question": "Which dock?", "quorum": 2}')
PARCELS: Final = Partition("/repo", "", "parcels")
SET: Final = "store__parcels__set"
LARGE: Final = '"' + "x" * 70_000 + '"'


@dataclass
class Told:
    """A story: what reached the disk, what the file held after each commit, and when that was.

    ``committed`` and ``acknowledged`` hold after how many acts so many commits were made, and their callers told.
    """

    acts: Sequence[Act] = ()
    contents: list[Any] = field(default_factory=lambda: [None])
    committed: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    acknowledged: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


def _until(acts: int, counts: Sequence[tuple[int, int]]) -> int:
    return max((commits for at, commits in counts if at <= acts), default=0)


def tell(durability: Durability, folder: Path, *, synchronous: str | None = None) -> Told:
    """Run the story in an empty folder."""
    told = Told()
    log = DiskLog(f"disk of {folder.name}")

    def committed(db: Connection) -> None:
        told.contents.append(contents(db))
        told.committed.append((len(log.acts), len(told.contents) - 1))

    async def play() -> None:
        stage = _Stage(
            folder / FILE, durability, lambda: told.acknowledged.append((len(log.acts), len(told.contents) - 1))
        )
        for scene in (_first_day, _second_day, _third_day):
            await scene(stage)

    with installed(log.name, committed=committed, synchronous=synchronous):  # type: ignore[arg-type]
        asyncio.run(play())
    told.acts = tuple(log.acts)
    return told


class _Stage:
    def __init__(self, path: Path, durability: Durability, acknowledged: Callable[[], None]) -> None:
        self._path = path
        self._durability: Durability = durability
        self._acknowledged = acknowledged

    async def open(self) -> SqliteJournal:
        journal = await SqliteJournal.open(self._path, durability=self._durability)
        self._acknowledged()
        return journal

    async def do(self, *work: Awaitable[Any]) -> Any:
        """Several at once are committed together; all of it is acknowledged when this returns."""
        done = await asyncio.gather(*work)
        self._acknowledged()
        return done[0]


async def _first_day(stage: _Stage) -> None:
    """A run makes three calls and asks two questions, both are answered, another one is cancelled."""
    journal = await stage.open()
    await stage.do(journal.create_run(run_row()))
    claim = await stage.do(claimed(journal))
    await stage.do(journal.append(claim, [step(0, state="started")]))
    for n in range(3):
        await stage.do(journal.append(claim, [step(n, value=LARGE if n == 2 else f'"{n}"')]))
    asked = [pause_row(slot="3"), pause_row(slot="4")]
    await stage.do(
        journal.park(claim, "awaiting-input", pauses=asked, entries=[asking(pause) for pause in asked], wake_at=None)
    )
    await stage.do(answered(journal, "1", pause_id="dur_a.3", key="k3"))
    await _checkpoint(journal)
    await stage.do(journal.create_run(run_row("dur_b")))
    other = await stage.do(claimed(journal, "dur_b"))
    await stage.do(journal.append(other, [step(0)]))
    await stage.do(journal.cancel("dur_b", "local:eve"))
    await stage.do(answered(journal, "2", pause_id="dur_a.4"))
    await _checkpoint(journal)
    await stage.do(parked(journal, run_id="dur_c"))
    await journal.close()


async def _second_day(stage: _Stage) -> None:
    """The file is opened anew, the run goes on and ends, much is committed at once, a sleeper is woken."""
    journal = await stage.open()
    claim = await stage.do(claimed(journal, owner="another"))
    await stage.do(*(journal.append(claim, [step(n)]) for n in range(5, 9)))
    await stage.do(journal.append(claim, [_set(9, LARGE)]))
    await stage.do(*(journal.append(claim, [_set(n, '"small"')]) for n in range(10, 13)))
    await stage.do(journal.write_documents([StoreWrite(PARCELS, "loose", '{"size":1}', ("size",))]))
    await stage.do(journal.finish(claim, "completed", result=LARGE))
    await stage.do(journal.create_run(run_row("dur_d")))
    await stage.do(journal.park(await claimed(journal, "dur_d"), "sleeping", wake_at=5.0))
    await _checkpoint(journal)
    await stage.do(answered(journal, "1", "dur_c"))
    await stage.do(journal.wake_due(6.0))
    left = await stage.do(claimed(journal, "dur_d"))
    await stage.do(journal.append(left, [step(0, state="started")]))
    await stage.do(journal.abandon_claims())
    await journal.close()


def _set(n: int, size: JsonText) -> Entry:
    """A call that writes one and the same document."""
    write = StoreWrite(PARCELS, "p1", f'{{"size":{size}}}', ("size",))
    return replace(step(n, value=None), name=SET, write=write)


async def _third_day(stage: _Stage) -> None:
    """Two people answer one question, another one expires, and what is old is taken away."""
    journal = await stage.open()
    await stage.do(parked(journal, pause_row("dur_e", spec=TWO), run_id="dur_e"))
    for who in ("local:bob", "local:eve"):
        await stage.do(answered(journal, "1", "dur_e", who=who, key=f"of {who}"))
    await stage.do(parked(journal, pause_row("dur_f", expires_at=time.time() + 3600), run_id="dur_f"))
    await stage.do(journal.expire_due(time.time() + 7200, recorded))
    await stage.do(journal.finish(await claimed(journal, "dur_f"), "expired", error="{}"))
    await stage.do(journal.write_documents([StoreWrite(PARCELS, "loose", None)]))
    await _checkpoint(journal)
    while await stage.do(journal.tidy(time.time() + 1)):
        pass
    await journal.close()


async def _checkpoint(journal: SqliteJournal) -> None:
    """What the writer does when it has nothing to do."""
    await journal._writer.look(lambda db: db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall())


def contents(db: Connection) -> Any:
    """Everything a file holds; None for one in which nothing was committed yet."""
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    if not tables:
        return None
    rows = {name: sorted(map(repr, map(tuple, db.execute(f"SELECT * FROM {name}")))) for name in tables}
    return db.execute("PRAGMA user_version").fetchone()[0], rows


# Checking ------------------------------------------------------------------------------------------------------------


@dataclass
class Figures:
    """``commits``: made before the power was lost, over all disks; ``lost``: those of them that are not there."""

    acts: int = 0
    disks: int = 0
    commits: int = 0
    lost: int = 0
    problems: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        found = "".join(f"\n  {problem}" for problem in self.problems[:20])
        return (
            f"{self.acts} acts, {self.disks} disks opened again, {self.lost} of {self.commits} commits not there, "
            f"{len(self.problems)} problems{found}"
        )


def sweep(
    told: Told,
    durability: Durability,
    seed: int,
    *,
    every: int = 1,
    losses: Sequence[Loss] = LOSSES,
    lies: bool = False,
) -> Figures:
    """Lose power after every act (or every so many), in every way, and open what is left."""
    figures = Figures(acts=len(told.acts))
    disk = Disk(lies=lies)
    with tempfile.TemporaryDirectory(dir=_MEMORY) as where:
        for number, act in enumerate(told.acts, 1):
            disk.apply(act)
            if number % every and number != len(told.acts):
                continue
            for loss in losses:
                place = Path(where) / f"{number}-{loss}"
                place.mkdir()
                for name, content in disk.after_loss(loss, random.Random(f"{seed} {number} {loss}")):
                    (place / name).write_bytes(content)
                made = _until(number, told.committed)
                promised = _until(number, told.acknowledged) if durability == "full" else 0
                figures.disks += 1
                figures.commits += made
                try:
                    figures.lost += max(0, made - _check(place, told.contents, promised, goes_on=loss == "dropped"))
                except AssertionError as problem:
                    figures.problems.append(f"power lost after act {number} ({loss}): {problem}")
                for file in place.iterdir():
                    file.unlink()
    return figures


def _check(place: Path, states: Sequence[Any], promised: int, *, goes_on: bool) -> int:
    """Raises AssertionError with what is wrong; returns how many commits are there."""
    try:
        db = connect(place / FILE)
        try:
            found = db.execute("PRAGMA integrity_check").fetchone()[0]
            assert found == "ok", found
            now = contents(db)
        finally:
            db.close()
    except Exception as error:
        raise AssertionError(f"cannot be read: {error}") from error
    newest = next((n for n in reversed(range(len(states))) if states[n] == now), None)
    assert newest is not None, "what it holds was never committed as a whole"
    assert newest >= promised, f"{promised} commits were acknowledged, {newest} are there"
    if goes_on:
        asyncio.run(_go_on(place))
    return newest


async def _go_on(place: Path) -> None:
    """The product opens the file, every run is as one transaction left it, and work goes on."""
    journal = await SqliteJournal.open(place / FILE)
    try:
        await journal.abandon_claims()
        for run_id in ("dur_a", "dur_b", "dur_c", "dur_d", "dur_e", "dur_f"):
            await _is_whole(journal, run_id)
        await _is_stored(journal)
        for pause in (await journal.pending(10, None)).items:
            for who in ("local:one", "local:two")[: quorum(pause.spec) - len(pause.votes)]:
                await answered(journal, "1", pause.run_id, pause_id=pause.id, who=who)
        for run_id in await journal.runnable():
            await journal.finish(await claimed(journal, run_id, "a new one"), "completed", result="1")
        await journal.create_run(run_row("dur_new"))
        assert (await journal.pending(10, None)).total == 0, "questions are left over"
    finally:
        await journal.close()


async def _is_whole(journal: SqliteJournal, run_id: str) -> None:
    run = await journal.run(run_id)
    if run is None or run.pruned_at is not None:
        return
    entries = {entry.n: entry for entry in await journal.load(run_id)}
    assert sorted(entries) == list(range(len(entries))), f"{run_id}: an entry has no predecessor: {sorted(entries)}"
    asked = await journal.pauses(run_id)
    for pause in asked:
        entry = entries[int(pause.slot)]
        is_closed = pause.outcome is not None
        assert is_closed == (entry.state != "started"), f"{pause.id} is {pause.outcome}, its call {entry.state}"
        assert not (pause.votes and is_closed) or len(pause.votes) == 2, f"{pause.id} was decided by {pause.votes}"
    waits = bool(asked) and not any(pause.outcome for pause in asked)
    assert (run.status == "awaiting-input") == waits, f"{run_id} is {run.status}"


async def _is_stored(journal: SqliteJournal) -> None:
    """A document was written as often as its journal says."""
    run = await journal.run("dur_a")
    if run is None or run.pruned_at is not None:
        return
    calls = [entry for entry in await journal.load("dur_a") if entry.name == SET]
    document = await journal.document(PARCELS, "p1")
    assert (document.version if document is not None else 0) == len(calls), f"{len(calls)} writes, but {document}"
    by_index = await journal.documents(PARCELS, StoreQuery({"size": loads(LARGE)}, indexed=("size",)))
    assert by_index.total == (len(calls) == 1), "the index does not hold what the document holds"


def prove(every: int, seed: int, folder: Path) -> dict[Durability, Figures]:
    done: dict[Durability, Figures] = {}
    for durability in ("full", "relaxed"):
        place = folder / durability
        place.mkdir()
        done[durability] = sweep(tell(durability, place), durability, seed, every=every)
    return done


def main(argv: Sequence[str]) -> None:
    """``--rounds``: with how many seeds everything is repeated."""
    given = options("power", argv, short=1, long=10)
    is_bad = False
    for seed in range(given.seed, given.seed + given.rounds):
        with tempfile.TemporaryDirectory() as folder:
            for durability, figures in prove(1 if given.long else 5, seed, Path(folder)).items():
                print(f"power, {durability}, seed {seed}: {figures}")
                is_bad |= bool(figures.problems)
    if is_bad:
        raise SystemExit(1)
