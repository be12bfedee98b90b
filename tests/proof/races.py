"""Many people answer one question at the same moment, from threads and processes: one decision, and all are told it."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, Literal

from runtime_core.approvals.answering import recorded
from runtime_core.approvals.questions import question
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.runs import PauseRow
from tests.proof.options import options
from tests.unit.journal.stories import answered, parked, pause_row

THREADS: Final = 50
PROCESSES: Final = 4
BUSY_MS: Final = 30_000
_QUORUM: Final = 3
_CANCELLER: Final = "local:eve"

Kind = Literal["answers", "cancel", "key", "votes", "deadline"]
KINDS: Final[Sequence[Kind]] = ("answers", "cancel", "key", "votes", "deadline")
"""Everybody another answer; a third of them cancels; all the same answer with one key; equal answers to a question that
takes three people, two from each person; the deadline passes at that very moment."""

_SPEC: Final = question("input", '{"question": "Which dock?"}')
_VOTED: Final = question("input", f'{{"question": "Which dock?", "quorum": {_QUORUM}}}')


@dataclass(frozen=True, slots=True)
class Round:
    number: int
    kind: Kind

    @property
    def run_id(self) -> str:
        return f"dur_{self.number:06d}"

    def asked(self) -> PauseRow:
        spec = _VOTED if self.kind == "votes" else _SPEC
        far = time.time() + 86_400 if self.kind == "deadline" else None
        return pause_row(self.run_id, spec=spec, fingerprint=fingerprint("input", spec), expires_at=far)


@dataclass(frozen=True, slots=True)
class Reply:
    """What one of them was told. ``winner``: who has decided, as far as the reply names anybody."""

    who: str
    did: Literal["won", "lost", "cancelled", "expired", "nothing"]
    code: str = ""
    winner: str = ""
    is_first: bool = False


async def press(journal: SqliteJournal, turn: Round, index: int) -> Reply:
    """What number ``index`` of them does."""
    who = f"local:{index}"
    if turn.kind == "cancel" and index % 3 == turn.number % 3:
        return await _cancel(journal, turn)
    if turn.kind == "deadline" and index % 10 == 0:
        done = await journal.expire_due(time.time(), recorded)
        return Reply(who, "expired" if done else "nothing")
    more: dict[str, Any] = {"pause_id": turn.asked().id, "who": who}
    value = f'"from {index}"'
    if turn.kind == "key":
        more |= {"key": "the same", "who": "local:bob"}
        value = '"the same"'
    elif turn.kind == "votes":
        more["who"] = f"local:{index // 2}"
        value = '"the same"'
    try:
        pause, is_first = await answered(journal, value, turn.run_id, **more)
    except RuntimeFault as fault:
        return Reply(more["who"], "lost", fault.code, _named(fault))
    return Reply(more["who"], "won", winner=str(pause.answered_by), is_first=is_first)


async def _cancel(journal: SqliteJournal, turn: Round) -> Reply:
    try:
        await journal.cancel(turn.run_id, _CANCELLER)
    except RuntimeFault as fault:
        return Reply(_CANCELLER, "lost", fault.code)
    return Reply(_CANCELLER, "cancelled", winner=_CANCELLER)


def _named(fault: RuntimeFault) -> str:
    canceller = _CANCELLER if _CANCELLER in fault.message else ""
    return str(fault.details.get("answered_by") or canceller)


# The crowd -----------------------------------------------------------------------------------------------------------


class _Process:
    """One more process with the file open, which answers whenever it is told a round."""

    def __init__(self, path: Path, index: int, start: Any) -> None:
        ours, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=_serve, args=(str(path), index, start, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._ours = ours
        assert ours.recv() == "ready"

    def tell(self, turn: Round | None) -> None:
        self._ours.send(turn)

    def reply(self) -> Reply:
        return self._ours.recv()

    def close(self) -> None:
        self.tell(None)
        self._process.join()


def _serve(path: str, index: int, start: Any, pipe: Connection) -> None:
    async def serve() -> None:
        journal = await SqliteJournal.open(Path(path), durability="relaxed", busy_ms=BUSY_MS)
        pipe.send("ready")
        while (turn := pipe.recv()) is not None:
            start.wait()
            pipe.send(await press(journal, turn, index))
        await journal.close()

    asyncio.run(serve())


class _Threads:
    """Threads with loops of their own that share one journal."""

    def __init__(self, journal: SqliteJournal, count: int) -> None:
        self._journal = journal
        self._turn: Round | None = None
        self._start = threading.Barrier(count + 1)
        self._end = threading.Barrier(count + 1)
        self._replies: list[Reply] = []
        self._threads = [threading.Thread(target=self._serve, args=(index,), daemon=True) for index in range(count)]
        for thread in self._threads:
            thread.start()

    def go(self, turn: Round | None) -> None:
        self._turn, self._replies = turn, []
        self._start.wait()

    def replies(self) -> list[Reply]:
        self._end.wait()
        return self._replies

    def close(self) -> None:
        self.go(None)
        for thread in self._threads:
            thread.join()

    def _serve(self, index: int) -> None:
        async def serve() -> None:
            while True:
                self._start.wait()
                if (turn := self._turn) is None:
                    return
                self._replies.append(await press(self._journal, turn, index))
                self._end.wait()

        asyncio.run(serve())


# Rounds --------------------------------------------------------------------------------------------------------------


@dataclass
class Figures:
    rounds: Counter[str] = field(default_factory=Counter[str])
    decided: Counter[str] = field(default_factory=Counter[str])
    refusals: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return (
            f"{self.rounds.total()} rounds of {THREADS} threads and {PROCESSES} processes ({_counts(self.rounds)}); "
            f"decided: {_counts(self.decided)}; refused: {_counts(self.refusals)}; {len(self.problems)} problems"
            + "".join(f"\n  {problem}" for problem in self.problems[:20])
        )


def race(folder: Path, rounds: int) -> Figures:
    return asyncio.run(_race(folder / "runtime.db", [Round(n, KINDS[n % len(KINDS)]) for n in range(rounds)]))


async def _race(path: Path, turns: Sequence[Round]) -> Figures:
    figures = Figures()
    journal = await SqliteJournal.open(path, durability="relaxed", busy_ms=BUSY_MS)
    start = multiprocessing.get_context("spawn").Barrier(PROCESSES + 1)
    threads = _Threads(journal, THREADS)
    processes = [_Process(path, THREADS + number, start) for number in range(PROCESSES)]
    try:
        for turn in turns:
            await parked(journal, turn.asked(), run_id=turn.run_id)
            replies = await asyncio.to_thread(_hold, path, turn, threads, processes, start.wait)
            figures.rounds[turn.kind] += 1
            figures.refusals.update(reply.code for reply in replies if reply.code)
            try:
                figures.decided[await _check(journal, turn, replies)] += 1
            except AssertionError as problem:
                figures.problems.append(f"round {turn.number} ({turn.kind}): {problem}")
    finally:
        threads.close()
        for process in processes:
            process.close()
        await journal.close()
    return figures


def _hold(
    path: Path, turn: Round, threads: _Threads, processes: Sequence[_Process], start: Callable[[], object]
) -> list[Reply]:
    for process in processes:
        process.tell(turn)
    if turn.kind == "deadline":
        _set_deadline(path, turn, time.time() + turn.number % 50 / 1000)
    starts = [start, lambda: threads.go(turn)]
    for begin in starts[:: 1 if turn.number % 2 else -1]:
        begin()
    return [*threads.replies(), *(process.reply() for process in processes)]


def _set_deadline(path: Path, turn: Round, at: float) -> None:
    db = sqlite3.connect(path, timeout=BUSY_MS / 1000)
    with db:
        db.execute("UPDATE durable_question SET expires_at = ? WHERE run_id = ?", (at, turn.run_id))
    db.close()


async def _check(journal: SqliteJournal, turn: Round, replies: Sequence[Reply]) -> str:
    """How the round was decided. Raises AssertionError."""
    if turn.kind == "deadline":
        await journal.expire_due(time.time() + 10, recorded)  # if nobody came in time, on either side
    run = await journal.run(turn.run_id)
    (pause,) = await journal.pauses(turn.run_id)
    (entry,) = await journal.load(turn.run_id)
    assert run is not None
    assert pause.outcome is not None, "nothing was decided"
    assert (entry.state == "started") == (pause.outcome == "cancelled"), f"{pause.outcome}, but its call {entry.state}"
    winners = [reply for reply in replies if reply.did == "won" and reply.is_first]
    if turn.kind == "cancel":
        assert sum(reply.did == "cancelled" for reply in replies) == 1, "the run was cancelled more than once, or not"
    for reply in replies:
        if reply.did == "lost" and reply.who != _CANCELLER:
            _check_refusal(turn, pause, run.status, reply)
    if pause.outcome == "answered":
        await _check_winners(turn, pause, entry.value or "", replies, winners)
    else:
        assert not winners, f"{winners} were told to have won, but the question was {pause.outcome}"
    assert await _closed(journal, pause) == 1, "the decision was told more than once"
    return f"{turn.kind} {pause.outcome}"


async def _check_winners(
    turn: Round, pause: PauseRow, value: str, replies: Iterable[Reply], winners: Sequence[Reply]
) -> None:
    if turn.kind == "votes":
        assert len(winners) == len({reply.who for reply in winners}) == _QUORUM, f"{winners} were counted"
        assert sorted(vote.who for vote in pause.votes) == sorted(reply.who for reply in winners)
        return
    assert len(winners) == 1, f"{winners} were told to have won"
    winner = winners[0]
    assert pause.answered_by == winner.who
    if turn.kind == "key":
        assert all(reply.did == "won" for reply in replies), "a repeat with the same key was refused"
        return
    assert f'"from {winner.who.removeprefix("local:")}"' in value, f"{winner.who} won, but the call got {value}"
    if pause.expires_at is not None:
        assert pause.answered_at is not None
        assert pause.answered_at < pause.expires_at, "an answer after the deadline was counted"


def _check_refusal(turn: Round, pause: PauseRow, status: str, reply: Reply) -> None:
    if reply.code == "run_cancelled":
        assert status == "cancelled", "the reply says the run was cancelled, and it was not"
        assert reply.winner == pause.answered_by, f"{reply.winner or 'nobody'} is named, it was {pause.answered_by}"
    elif reply.code == "pause_expired":
        assert pause.outcome == "expired" or pause.expires_at is not None
    elif reply.code in ("already_voted", "votes_differ"):
        assert turn.kind == "votes"
    else:
        assert reply.code in ("not_awaiting_input", "pause_superseded"), f"refused with {reply.code}"
        assert reply.winner == pause.answered_by, f"{reply.winner or 'nobody'} is named, {pause.answered_by} has won"


async def _closed(journal: SqliteJournal, pause: PauseRow) -> int:
    """How many events tell that the question was closed."""
    last = await journal.last_event()
    events = await journal.events(max(0, last - 500))
    told = [event.body.get("pause") for event in events if event.body.get("pauseId") == pause.id]
    return sum(isinstance(wire, dict) and wire.get("outcome") is not None for wire in told)


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counted.items())) or "none"


def main(argv: Sequence[str]) -> None:
    """``--rounds``: races, of all kinds in turn."""
    given = options("races", argv, short=100, long=2000)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        figures = race(Path(folder), given.rounds)
    print(f"races: {figures} in {time.monotonic() - began:.0f} s")
    if figures.problems:
        raise SystemExit(1)
