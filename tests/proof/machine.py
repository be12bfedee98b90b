"""Any order of events: the journal behaves like a dictionary, whatever dies, is late, or comes from the wrong person.

`Machine` is told how a journal is opened, so that every back end is held to the same model.
"""

from __future__ import annotations

import asyncio
import io
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar
from unittest import mock

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

from runtime_core.approvals.answering import judge, recorded
from runtime_core.approvals.questions import question
from runtime_core.journal import answers, transactions
from runtime_core.journal.base import Answer, Claim, Fenced, Journal
from runtime_core.journal.exporting import export
from runtime_core.journal.importing import import_runs
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.json import dumps, loads
from runtime_core.wire.runs import FINISHED, PauseRow
from runtime_core.wire.stores import Partition, StoreQuery, StoreWrite
from tests.proof.options import MEMORY, options
from tests.unit.journal.stories import asking, pause_row, run_row, step

T = TypeVar("T")
Open = Callable[[Path], Awaitable[Journal]]

BIG: Final = '"' + "x" * 70_000 + '"'
VALUES: Final = st.sampled_from(["1", '"no"', "1.50", "null", '{"a": [1]}', BIG])
CALLS: Final = st.integers(0, 5)
QUESTIONS: Final = st.integers(10, 13)
PEOPLE: Final = st.sampled_from(["ann", "bob", "eve"])
EXCLUDED: Final = "eve"
WAITING: Final = frozenset({"awaiting-input", "runnable"})
STATUSES: Final = ("runnable", "running", "awaiting-input", "sleeping", "diverged")


def _spec(quorum: int) -> str:
    asked: dict[str, Any] = {"question": "Which dock?", "excludeAnswerers": [EXCLUDED]}
    return question("input", dumps(asked if quorum == 1 else {**asked, "quorum": quorum}))


SPECS: Final = {quorum: _spec(quorum) for quorum in (1, 2)}


PARCELS: Final = Partition("/repo", "", "parcels")
KEYS: Final = st.sampled_from(["p1", "p2"])


@dataclass(slots=True)
class Asked:
    """One question as the model sees it."""

    quorum: int
    deadline: float | None
    at: float
    outcome: str | None = None
    votes: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Run:
    """One run as the model sees it."""

    status: str = "runnable"
    epoch: int = 0
    entries: dict[int, tuple[str, str | None]] = field(default_factory=dict[int, tuple[str, str | None]])
    finished: list[int] = field(default_factory=list[int])
    asked: dict[int, Asked] = field(default_factory=dict[int, Asked])
    wake_at: float | None = None
    ended_at: float | None = None
    keys: dict[str, tuple[Answer, int]] = field(default_factory=dict[str, tuple[Answer, int]])
    legs: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    pruned: bool = False

    @property
    def open(self) -> dict[int, Asked]:
        return {n: asked for n, asked in self.asked.items() if asked.outcome is None}

    def complete(self, n: int, state: str, value: str | None) -> None:
        self.entries[n] = (state, value)
        self.finished.append(n)

    def close(self, n: int, outcome: str, value: str | None = None) -> None:
        self.asked[n].outcome = outcome
        if outcome in ("answered", "expired"):
            self.complete(n, "ok" if outcome == "answered" else "error", value)
            self.status = "runnable"

    def end(self, status: str, now: float) -> None:
        for n in self.open:
            self.close(n, "cancelled" if status == "cancelled" else "superseded")
        self.status, self.wake_at, self.ended_at = status, None, now


class Died(Exception):  # noqa: N818
    """The process went away in the middle of a transaction."""


class Machine(RuleBasedStateMachine):
    runs = Bundle("runs")
    claims = Bundle("claims")
    open_at: ClassVar[Open]

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY)
        self.loop = asyncio.new_event_loop()
        self.models: dict[str, Run] = {}
        self.documents: dict[str, tuple[int, str]] = {}
        self.events = 0
        self.now = 1000.0
        self.clock = mock.patch.object(time, "time", self.read_clock)
        self.clock.start()
        self.code = "a" * 64
        self.lives = 0
        self.place = Path(self.folder.name) / "0"
        self.place.mkdir()
        self.journal = self.do(type(self).open_at(self.place / "runtime.db"))

    def do(self, work: Awaitable[T]) -> T:
        return self.loop.run_until_complete(work)  # pyright: ignore[reportArgumentType]

    def teardown(self) -> None:
        self.do(self.journal.close())
        self.do(self.loop.shutdown_default_executor())
        self.loop.close()
        self.clock.stop()
        self.folder.cleanup()

    def read_clock(self) -> float:
        return self.now

    def tick(self) -> float:
        """Times of the journal are told apart by whole seconds."""
        self.now += 1
        return self.now

    def fenced(self, claim: Claim) -> bool:
        model = self.models[claim.run.id]
        return model.status != "running" or model.epoch != claim.epoch

    def note_leg(self, claim: Claim) -> None:
        legs = self.models[claim.run.id].legs
        if not legs or legs[-1][1] != claim.revision:
            legs.append((claim.epoch, claim.revision))

    # Runs and legs -----------------------------------------------------------------------------------------------

    @rule(target=runs)
    def create(self) -> str:
        run_id = f"dur_{len(self.models):04d}"
        self.do(self.journal.create_run(run_row(run_id, created_at=self.tick(), updated_at=self.now)))
        self.models[run_id] = Run()
        return run_id

    @rule(target=claims, run_id=runs, owner=st.sampled_from(["one", "two"]))
    def claim(self, run_id: str, owner: str) -> Claim:
        """Also by another executor, when the first one is thought dead."""
        model = self.models[run_id]
        claim = self.do(self.journal.claim(run_id, owner))
        if claim is None:
            assert model.status != "runnable"
            return Claim(run_row(run_id), -1, owner)  # one that may never write
        assert model.status in ("runnable", "running")
        model.status = "running"
        model.epoch += 1
        assert claim.epoch == model.epoch
        return replace(claim, revision=self.code)

    @rule(code=st.sampled_from("abc"))
    def upgrade(self, code: str) -> None:
        """The tool is edited: later claims run other code."""
        self.code = code * 64

    @rule(claim=claims, n=CALLS, state=st.sampled_from(["started", "ok", "error"]), value=VALUES)
    def append(self, claim: Claim, n: int, state: str, value: str) -> None:
        model = self.models[claim.run.id]
        work = self.journal.append(claim, [step(n, state=state, value=value)])
        if self.fenced(claim):
            with pytest.raises(Fenced):
                self.do(work)
        elif n in model.finished:
            with pytest.raises(ValueError, match="finished"):
                self.do(work)
        else:
            self.do(work)
            self.note_leg(claim)
            if state == "started":
                model.entries[n] = (state, None)
            else:
                model.complete(n, state, value)

    @rule(
        claim=claims,
        questions=st.dictionaries(QUESTIONS, st.sampled_from([1, 2]), max_size=3),
        deadline=st.none() | st.integers(-1, 20),
        sleep=st.none() | st.integers(1, 20),
        diverged=st.booleans(),
    )
    def park(
        self, claim: Claim, questions: dict[int, int], deadline: int | None, sleep: int | None, diverged: bool
    ) -> None:
        model, now = self.models[claim.run.id], self.tick()
        pauses: list[PauseRow] = []
        kept: dict[int, Asked] = {}
        for n, quorum in sorted(questions.items()):
            known = model.asked.get(n)
            if n in model.finished or (known is not None and known.outcome is None and known.quorum != quorum):
                continue  # answered, or it would be another question, which a leg refuses
            asked = Asked(quorum, None if deadline is None else now + deadline, now)
            if known is not None and known.quorum == quorum:
                asked.deadline, asked.votes = known.deadline, known.votes
                asked.at = known.at if known.outcome is None else now
            kept[n] = asked
            pauses.append(self.pause(claim.run.id, n, asked))
        status: Any = "diverged" if diverged else "awaiting-input" if pauses else "sleeping"
        wake_at = None if sleep is None else now + sleep
        work = self.journal.park(
            claim, status, pauses=pauses, entries=[asking(pause) for pause in pauses], wake_at=wake_at
        )
        if self.fenced(claim):
            with pytest.raises(Fenced):
                self.do(work)
            return
        self.do(work)
        self.note_leg(claim)
        for n in model.open:
            if n not in kept:
                model.close(n, "superseded")
        model.asked.update(kept)
        model.status, model.wake_at = status, None if diverged else wake_at
        model.entries.update(dict.fromkeys(kept, ("started", None)))

    def pause(self, run_id: str, n: int, asked: Asked) -> PauseRow:
        spec = SPECS[asked.quorum]
        return pause_row(
            run_id, str(n), asked.at, expires_at=asked.deadline, spec=spec, fingerprint=fingerprint("input", spec)
        )

    @rule(claim=consumes(claims), status=st.sampled_from(["completed", "failed", "expired"]), value=VALUES)
    def finish(self, claim: Claim, status: Any, value: str) -> None:
        work = self.journal.finish(claim, status, result=value)
        if self.fenced(claim):
            with pytest.raises(Fenced):
                self.do(work)
        else:
            self.tick()
            self.do(work)
            self.note_leg(claim)
            self.models[claim.run.id].end(status, self.now)

    # Stores ------------------------------------------------------------------------------------------------------

    @rule(claim=claims, n=CALLS, key=KEYS, value=st.none() | VALUES)
    def store(self, claim: Claim, n: int, key: str, value: str | None) -> None:
        """A call writes a store: both are there, or none."""
        model = self.models[claim.run.id]
        work = self.journal.append(claim, [replace(step(n, value=None), write=self.write(key, value))])
        if self.fenced(claim):
            with pytest.raises(Fenced):
                self.do(work)
        elif n in model.finished:
            with pytest.raises(ValueError, match="finished"):
                self.do(work)
        else:
            (entry,) = self.do(work)
            self.note_leg(claim)
            model.complete(n, "ok", self.written(key, value))
            assert entry.value == model.entries[n][1]

    @rule(key=KEYS, value=st.none() | VALUES)
    def store_loose(self, key: str, value: str | None) -> None:
        """A handler that has no journal writes a store."""
        (said,) = self.do(self.journal.write_documents([self.write(key, value)]))
        assert said == self.written(key, value)

    @rule(claim=claims, n=CALLS, key=KEYS, value=st.none() | VALUES)
    def die_while_storing(self, claim: Claim, n: int, key: str, value: str | None) -> None:
        work = self.journal.append(claim, [replace(step(n, value=None), write=self.write(key, value))])
        with mock.patch.object(transactions, "put_entry", side_effect=Died), pytest.raises((Died, Fenced)):
            self.do(work)
        self.crash()

    def write(self, key: str, value: str | None) -> StoreWrite:
        return StoreWrite(PARCELS, key, None if value is None else f'{{"size":{value}}}', ("size",))

    def written(self, key: str, value: str | None) -> str:
        """What the model says of a write that was made."""
        version, _ = self.documents.pop(key, (0, ""))
        if value is None:
            return dumps({"removed": version > 0, "key": key})
        self.documents[key] = (version + 1, value)
        return dumps({"stored": True, "key": key, "version": version + 1})

    # People ------------------------------------------------------------------------------------------------------

    @rule(
        run_id=runs,
        n=st.none() | QUESTIONS,
        who=PEOPLE,
        value=st.sampled_from(["1", "2", "1.50"]),
        shown=st.sampled_from([None, None, "right", "stale"]),
        key=st.sampled_from([None, "k1", "k2"]),
    )
    def answer(self, run_id: str, n: int | None, who: str, value: str, shown: str | None, key: str | None) -> None:
        """Right, second, late, by the wrong person, to the wrong question, to what it was before, or once more."""
        model, now = self.models[run_id], self.tick()
        asked = model.asked.get(n) if n is not None else None
        mark = "0" * 64 if shown == "stale" else None
        if shown == "right" and asked is not None:
            mark = fingerprint("input", SPECS[asked.quorum])
        sent = Answer(run_id, value, who, pause_id=None if n is None else f"{run_id}.{n}", fingerprint=mark, key=key)
        wanted = self.verdict(model, sent, n, now)
        if isinstance(wanted, frozenset):
            with pytest.raises(RuntimeFault) as refused:
                self.do(self.journal.answer(sent, judge, recorded))
            assert refused.value.code in wanted, (refused.value.code, wanted)
            return
        chosen, fresh = wanted
        pause, was_fresh = self.do(self.journal.answer(sent, judge, recorded))
        assert (int(pause.slot), was_fresh) == (chosen, fresh)
        if fresh:
            self.count(model, sent, chosen)

    def verdict(self, model: Run, sent: Answer, n: int | None, now: float) -> tuple[int, bool] | frozenset[str]:
        """The question an answer is counted for and whether it is new, or the codes it may be refused with."""
        if sent.key in model.keys:
            before, chosen = model.keys[sent.key]
            return (chosen, False) if before == sent else frozenset({"idempotency_mismatch"})
        if model.status == "cancelled":
            return frozenset({"run_cancelled"})
        live = {k: asked for k, asked in model.open.items() if asked.deadline is None or asked.deadline > now}
        if n is not None and self.is_late(model, n, now):
            return frozenset({"pause_expired"})
        if not live or model.status not in WAITING:
            return frozenset({"not_awaiting_input", "pause_expired"})
        if model.wake_at is not None and model.wake_at <= now:
            return frozenset({"not_awaiting_input"})
        if n is not None and n not in live:
            return frozenset({"pause_superseded"})
        candidates = [n] if n is not None else sorted(live, key=lambda k: (live[k].at, k))
        allowed = [k for k in candidates if sent.who != EXCLUDED and sent.who not in live[k].votes]
        if not allowed:
            return frozenset({"answerer_not_allowed", "already_voted"})
        asked = live[allowed[0]]
        if sent.fingerprint is not None and sent.fingerprint != fingerprint("input", SPECS[asked.quorum]):
            return frozenset({"content_changed"})
        if any(value != loads(sent.value) for value in map(loads, asked.votes.values())):
            return frozenset({"votes_differ"})
        return allowed[0], True

    def is_late(self, model: Run, n: int, now: float) -> bool:
        asked = model.asked.get(n)
        if asked is None or asked.outcome not in (None, "expired"):
            return False
        return asked.outcome == "expired" or (asked.deadline is not None and asked.deadline <= now)

    def count(self, model: Run, sent: Answer, n: int) -> None:
        asked = model.asked[n]
        if sent.key is not None:
            model.keys[sent.key] = (sent, n)
        if asked.quorum > 1:
            asked.votes[sent.who] = sent.value
        if asked.quorum == 1 or len(asked.votes) == asked.quorum:
            model.close(n, "answered")

    @rule(run_id=runs)
    def cancel(self, run_id: str) -> None:
        model = self.models[run_id]
        self.tick()
        if model.status in FINISHED:
            with pytest.raises(RuntimeFault):
                self.do(self.journal.cancel(run_id, "ann"))
        else:
            self.do(self.journal.cancel(run_id, "ann"))
            model.end("cancelled", self.now)
            model.epoch += 1

    @rule(run_id=runs)
    def resume(self, run_id: str) -> None:
        model = self.models[run_id]
        self.tick()
        if model.status != "diverged":
            with pytest.raises(RuntimeFault) as refused:
                self.do(self.journal.resume(run_id, None, "ann"))
            assert refused.value.code == "not_diverged"
        else:
            self.do(self.journal.resume(run_id, None, "ann"))
            model.status = "runnable"

    # Time and death ----------------------------------------------------------------------------------------------

    @rule(seconds=st.integers(0, 30))
    def jump(self, seconds: int) -> None:
        """The clock jumps; what was due by then happens, as far as no leg is concerned with it."""
        self.now += seconds
        due = {run_id for run_id, at in self.sleepers() if at <= self.now}
        assert set(self.do(self.journal.wake_due(self.now))) == due
        for run_id in due:
            self.models[run_id].status = "runnable"
        late = {(run_id, n) for run_id, n, deadline in self.deadlines() if deadline <= self.now}
        assert set(self.do(self.journal.expire_due(self.now, recorded))) == {run_id for run_id, _ in late}
        for run_id, n in sorted(late, key=lambda one: (self.models[one[0]].asked[one[1]].deadline, one[1])):
            self.models[run_id].close(n, "expired")

    def sleepers(self) -> Sequence[tuple[str, float]]:
        return [
            (run_id, model.wake_at)
            for run_id, model in self.models.items()
            if model.wake_at is not None and model.status in ("awaiting-input", "sleeping")
        ]

    def deadlines(self) -> Sequence[tuple[str, int, float]]:
        """Of questions whose runs nobody advances and no person has to make go on."""
        return [
            (run_id, n, asked.deadline)
            for run_id, model in self.models.items()
            for n, asked in model.open.items()
            if asked.deadline is not None and model.status not in ("running", "diverged")
        ]

    @rule()
    def restart(self) -> None:
        self.do(self.journal.close())
        self.reopen()

    @rule()
    def crash(self) -> None:
        """What the disk holds while the journal is open is what a dead process leaves."""
        self.lives += 1
        left = Path(self.folder.name) / str(self.lives)
        shutil.copytree(self.place, left)
        self.do(self.journal.close())
        self.place = left
        self.reopen()

    def reopen(self) -> None:
        self.journal = self.do(type(self).open_at(self.place / "runtime.db"))
        left = {run_id for run_id, model in self.models.items() if model.status == "running"}
        assert set(self.do(self.journal.abandon_claims())) == left
        for run_id in left:
            self.models[run_id].status = "runnable"

    @rule(run_id=runs, n=QUESTIONS)
    def die_while_answering(self, run_id: str, n: int) -> None:
        """All was written, and nothing committed."""
        sent = Answer(run_id, "1", "ann", pause_id=f"{run_id}.{n}")
        self.die_in(answers, self.journal.answer(sent, judge, recorded))

    @rule(run_id=runs)
    def die_while_cancelling(self, run_id: str) -> None:
        self.die_in(transactions, self.journal.cancel(run_id, "ann"))

    def die_in(self, module: Any, work: Awaitable[object]) -> None:
        with mock.patch.object(module, "events", side_effect=Died), pytest.raises((Died, RuntimeFault)):
            self.do(work)
        self.crash()

    @rule()
    def prune(self) -> None:
        """Retention takes the journals of ended runs."""
        while self.do(self.journal.tidy(self.now + 1)):
            pass
        for model in self.models.values():
            if model.status in FINISHED:
                model.entries, model.finished, model.asked = {}, [], {}
                model.keys, model.legs, model.pruned = {}, [], True

    # What has to agree -------------------------------------------------------------------------------------------

    @invariant()
    def runs_agree(self) -> None:
        for run_id, model in self.models.items():
            row = self.do(self.journal.run(run_id))
            assert row is not None
            assert (row.status, row.epoch, row.wake_at) == (model.status, model.epoch, model.wake_at)
            assert (row.finished_at, row.pruned_at is not None) == (model.ended_at, model.pruned)
            entries = self.do(self.journal.load(run_id))
            assert [entry.n for entry in entries if entry.state != "started"] == model.finished
            assert {entry.n: entry.state for entry in entries} == {n: state for n, (state, _) in model.entries.items()}
            for entry in entries:
                if entry.n < 10:
                    assert entry.value == model.entries[entry.n][1]
            legs = self.do(self.journal.legs(run_id))
            assert [(leg.epoch, leg.revision) for leg in legs] == model.legs

    @invariant()
    def documents_agree(self) -> None:
        found = self.do(self.journal.documents(PARCELS, StoreQuery()))
        wanted = [(key, version, f'{{"size":{value}}}') for key, (version, value) in reversed(self.documents.items())]
        assert [(one.key, one.version, one.payload) for one in found.documents] == wanted
        assert found.total == len(wanted)
        for size in {value for _, value in self.documents.values()}:
            by_index = self.do(self.journal.documents(PARCELS, StoreQuery({"size": loads(size)}, indexed=("size",))))
            right = [key for key, (_, value) in reversed(self.documents.items()) if value == size]
            assert [one.key for one in by_index.documents] == right

    @invariant()
    def questions_agree(self) -> None:
        for run_id, model in self.models.items():
            pauses = {int(pause.slot): pause for pause in self.do(self.journal.pauses(run_id))}
            assert {n: pause.outcome for n, pause in pauses.items()} == {
                n: asked.outcome for n, asked in model.asked.items()
            }
            for n, asked in model.asked.items():
                assert pauses[n].expires_at == asked.deadline
                assert {vote.who: vote.value for vote in pauses[n].votes} == asked.votes

    @invariant()
    def lists_agree(self) -> None:
        models = self.models.items()
        wanted = [(asked.at, f"{run_id}.{n}") for run_id, model in models for n, asked in model.open.items()]
        page = self.do(self.journal.pending(100, None))
        assert [pause.id for pause in page.items] == [pause_id for _, pause_id in sorted(wanted)]
        assert page.total == len(wanted)
        for statuses in (sorted(FINISHED), STATUSES):
            runs = self.do(self.journal.runs(statuses, 100, None))  # pyright: ignore[reportArgumentType]
            assert runs.total == len(runs.items) == sum(model.status in statuses for _, model in models)
        ready = {run_id for run_id, model in models if model.status == "runnable"}
        assert ready <= set(self.do(self.journal.runnable()))
        times = [at for _, at in self.sleepers()]
        times += [deadline for _, _, deadline in self.deadlines()]
        assert self.do(self.journal.next_wake()) == min(times, default=None)

    @invariant()
    def events_only_grow(self) -> None:
        last = self.do(self.journal.last_event())
        assert last >= self.events
        self.events = last


async def _open_sqlite(path: Path) -> Journal:
    return await SqliteJournal.open(path, durability="relaxed")


class SqliteMachine(Machine):
    open_at = staticmethod(_open_sqlite)

    @rule()
    def move_house(self) -> None:
        """All runs are exported, and imported somewhere else, twice."""
        lines: list[str] = []
        assert export(self.place / "runtime.db", [], "1", lines.append).runs == len(self.models)
        self.do(self.journal.close())
        self.lives += 1
        self.place = Path(self.folder.name) / str(self.lives)
        self.place.mkdir()
        source = "".join(lines).encode()
        for expected in ((len(self.models), 0), (0, len(self.models))):
            done = import_runs(self.place / "runtime.db", io.BytesIO(source), "runs.jsonl", lambda _: None)
            assert (done.runs, done.known) == expected
            assert done.held["document"] + done.kept == len(self.documents)
        for model in self.models.values():
            model.status = "runnable" if model.status == "running" else model.status
        self.events = 0
        self.reopen()


BACK_ENDS: Final[Sequence[type[Machine]]] = [SqliteMachine]


def examine(machine: type[Machine], examples: int, steps: int, *, at: int | None = None) -> None:
    """Raises what did not agree, with the steps that lead there, as few as were found."""
    factory = machine if at is None else seed(at)(machine)
    run_state_machine_as_test(
        factory,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        ),
    )


def main(argv: Sequence[str]) -> None:
    given = options("machine", argv, short=300, long=5000)
    began = time.monotonic()
    for machine in BACK_ENDS:
        examine(machine, given.rounds, 50, at=given.seed)
    print(
        f"seed {given.seed}: {given.rounds} orders of up to 50 events on {len(BACK_ENDS)} back end in "
        f"{time.monotonic() - began:.0f} s, all as the model says"
    )
