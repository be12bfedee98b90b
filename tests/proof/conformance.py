"""Real journals are led along random ways through the model and have to agree with it at every step."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from runtime_core.approvals.answering import recorded
from runtime_core.approvals.deadlines import expired
from runtime_core.approvals.questions import attention
from runtime_core.journal.base import Claim, Fenced
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.runs import Entry
from tests.proof.protocol import CALL, LAST, QUESTION, Action, State, actions
from tests.unit.journal.stories import answered, asking, pause_row, run_row, step

STEPS: Final = 60
WON: Final = "won"
REFUSED: Final = "lost"


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
        possible = list(actions(state))
        if not possible:
            return
        weights = [_weight(action[0], state) for action, _ in possible]
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


def _weight(name: str, state: State) -> float:
    """What disturbs a run is rarer than what it does, or it would never come far."""
    if name == "cancel":
        return 0.2
    if name in ("crash", "abandon_claims", "clock"):
        return 1
    if name == "claim" and state.status == "running":
        return 1
    return 0.2 if name.startswith("answer") and state.question == "" else 8


class _Twin:
    """A run of a real journal that does what the model does."""

    def __init__(self, journal: SqliteJournal, run_id: str) -> None:
        self.journal = journal
        self.run_id = run_id
        self._names = ["worker 0.0", "worker 1.0"]
        self._claims: list[Claim | None] = [None, None]
        self._question = pause_row(run_id, str(QUESTION), expires_at=time.time() + 86_400)

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
                assert self.run_id in await self.journal.abandon_claims()
            case "clock":
                await self._pass_deadline()
            case "expire":
                assert self.run_id in await self.journal.expire_due(time.time(), recorded)
            case _:
                await self._write(name, who, before, after)

    async def _pass_deadline(self) -> None:
        """Instead of waiting for it, the deadline of the question is moved into the past."""
        self._question = replace(self._question, expires_at=1.0)
        await self.journal._writer.write(
            lambda db: db.execute("UPDATE durable_question SET expires_at = 1.0 WHERE id = ?", (self._question.id,))
        )

    async def _write(self, name: str, worker: int, before: State, after: State) -> None:
        """What a leg writes: refused if the model drops the leg for it without any change."""
        claim, leg = self._claims[worker], before.legs[worker]
        assert claim is not None
        assert leg is not None
        slot = CALL if leg.seen[CALL] != "ok" else LAST
        work: Awaitable[object]
        match name:
            case "intend":
                work = self.journal.append(claim, [step(slot, state="started")])
            case "record":
                work = self.journal.append(claim, [step(slot)])
            case "park":
                is_new = leg.seen[QUESTION] == ""
                entries = [asking(self._question)] if is_new else []
                work = self.journal.park(claim, "awaiting-input", pauses=[self._question], entries=entries)
            case "append expired":
                late = expired(self._question, time.time())
                error = replace(asking(self._question), state="error", value="{}", ended_at=time.time())
                work = self.journal.append(claim, [error], expired=[late])
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
        if not won and before.question.startswith("by ") and before.status != "cancelled":
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
