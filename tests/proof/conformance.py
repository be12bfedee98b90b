"""Real journals are led along random ways through the model and have to agree with it at every step."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtime_core.approvals.questions import attention
from runtime_core.journal.base import Claim, Fenced
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.runs import Entry
from tests.proof.protocol import CALL, LAST, QUESTION, Action, State, actions
from tests.unit.journal.stories import answered, asking, pause_row, run_row, step

STEPS = 60
WON, REFUSED = "won", "lost"


@dataclass
class Walked:
    """``taken``: how often each action was taken over all ways."""

    ways: int = 0
    steps: int = 0
    taken: dict[str, int] = field(default_factory=dict[str, int])

    def __str__(self) -> str:
        taken = ", ".join(f"{name} {count}" for name, count in sorted(self.taken.items()))
        return f"{self.ways} ways, {self.steps} steps agree ({taken})"


def conform(folder: Path, ways: int, seed: int) -> Walked:
    """Raises AssertionError with the way that led apart."""
    walked = Walked()

    async def walk() -> None:
        journal = await SqliteJournal.open(folder / "runtime.db", durability="relaxed")
        try:
            for number in range(ways):
                await _walk(_Twin(journal, f"dur_{number:06d}"), random.Random(f"{seed} {number}"), walked)
        finally:
            await journal.close()

    asyncio.run(walk())
    return walked


async def _walk(twin: _Twin, chance: random.Random, walked: Walked) -> None:
    await twin.journal.create_run(run_row(twin.run_id))
    state, way = State(), list[Action]()
    walked.ways += 1
    for _ in range(STEPS):
        possible = [move for move in actions(state) if move[0][0] != "clock"]
        if not possible:
            return
        weights = [1 if _disturbs(action[0], state) else 8 for action, _ in possible]
        action, after = chance.choices(possible, weights)[0]
        way.append(action)
        try:
            await twin.take(action, state, after)
            await twin.compare(after)
        except Exception as error:
            raise AssertionError(f"{way}: {error!r}; the model says {after}") from error
        state = after
        walked.steps += 1
        walked.taken[action[0]] = walked.taken.get(action[0], 0) + 1


def _disturbs(name: str, state: State) -> bool:
    """What would rarely let a run come far, if it happened as often as the rest."""
    if name in ("crash", "abandon_claims", "cancel", "clock"):
        return True
    if name == "claim":
        return state.status == "running"
    return name.startswith("answer") and state.question == ""


class _Twin:
    """A run of a real journal that does what the model does."""

    def __init__(self, journal: SqliteJournal, run_id: str) -> None:
        self.journal = journal
        self.run_id = run_id
        self._names = ["worker 0.0", "worker 1.0"]
        self._claims: list[Claim | None] = [None, None]
        self._question = pause_row(run_id, str(QUESTION))

    async def take(self, action: Action, before: State, after: State) -> None:
        name, who = action
        match name:
            case "claim":
                self._claims[who] = await self.journal.claim(self.run_id, self._names[who])
                assert self._claims[who] is not None, "the claim was not given"
            case "crash":
                self._names[who] = f"{self._names[who]}'"
                self._claims[who] = None
            case "load":
                entries = await self.journal.load(self.run_id)
                assert _entries(entries) == before.entries
            case "make":
                pass
            case "answer" | "answer unheard":
                await self._answer(who, before, after)
            case "cancel":
                told = await _told(self.journal.cancel(self.run_id, "local:eve"))
                assert (told == WON) == (after.canceller == "done"), told
            case "resolve":
                await answered(self.journal, '{"use_result": "done"}', self.run_id)
            case "abandon_claims":
                assert await self.journal.abandon_claims() == [self.run_id]
            case _:
                await self._write(name, who, before, after)

    async def _write(self, name: str, worker: int, before: State, after: State) -> None:
        """What a leg writes: refused if the model drops the leg for it without any change."""
        claim, leg = self._claims[worker], before.legs[worker]
        assert claim is not None
        assert leg is not None
        slot = CALL if leg.seen[CALL] != "ok" else LAST
        work: Awaitable[None]
        match name:
            case "intend":
                work = self.journal.append(claim, [step(slot, state="started")])
            case "record":
                work = self.journal.append(claim, [step(slot)])
            case "park":
                is_new = leg.seen[QUESTION] == ""
                entries = [asking(self._question)] if is_new else []
                work = self.journal.park(claim, "awaiting-input", pauses=[self._question], entries=entries)
            case "park in doubt":
                doubt = pause_row(
                    self.run_id, "0", id=f"{self.run_id}.0.a1", kind="attention", spec=attention("tool", "charge", 1.0)
                )
                work = self.journal.park(claim, "needs-attention", pauses=[doubt])
            case _:
                work = self.journal.finish(claim, "completed", result="1")
        if after == before._replace(legs=after.legs) and after.legs[worker] is None:
            self._claims[worker] = None
            try:
                await work
            except Fenced:
                return
            raise AssertionError("a leg that is not the run's present one could write")
        await work
        if after.legs[worker] is None:
            self._claims[worker] = None

    async def _answer(self, person: int, before: State, after: State) -> None:
        who, key = f"local:{person}", f"key {person}"
        told = await _told(
            answered(self.journal, str(person), self.run_id, who=who, key=key, pause_id=self._question.id)
        )
        won = after.question == f"by {person}"
        assert (told == WON) == won, told
        if not won and before.question.startswith("by "):
            assert told == f"local:{before.question[3:]}", told

    async def compare(self, model: State) -> None:
        run = await self.journal.run(self.run_id)
        assert run is not None
        assert run.status == model.status, run.status
        assert _entries(await self.journal.load(self.run_id)) == model.entries
        pauses = {pause.id: pause for pause in await self.journal.pauses(self.run_id)}
        question = pauses.pop(self._question.id, None)
        if question is None:
            assert not model.question
        elif question.outcome == "answered":
            assert question.answered_by is not None
            assert model.question == f"by {question.answered_by.removeprefix('local:')}"
        else:
            assert model.question == (question.outcome or "open")
        assert any(pause.outcome is None for pause in pauses.values()) == model.doubt
        for worker, name in enumerate(self._names):
            can = model.status == "runnable" or (model.status == "running" and model.owner != worker)
            if not can:
                assert await self.journal.claim(self.run_id, name) is None


def _entries(entries: list[Entry]) -> tuple[str, ...]:
    found = ["", "", ""]
    for entry in entries:
        if entry.n == QUESTION and entry.state == "ok":
            found[entry.n] = next(f"by {n}" for n in (0, 1) if f'"value":{n}' in (entry.value or ""))
        else:
            found[entry.n] = "expired" if entry.state == "error" else entry.state
    return tuple(found)


async def _told(work: Awaitable[Any]) -> str:
    """What the caller is told: won, who has won instead, or only lost."""
    try:
        await work
    except RuntimeFault as fault:
        return fault.details.get("answered_by") or REFUSED
    return WON
