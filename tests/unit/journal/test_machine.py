"""Any order of events: the journal behaves like a dictionary, also when it is closed and opened in between."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from runtime_core.journal.base import Claim, Fenced
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.runs import FINISHED
from tests.unit.journal.stories import answered, asking, pause_row, run_row, step

VALUES = st.sampled_from(["1", '"no"', "1.50", "null", '{"a": [1]}', '"' + "x" * 70_000 + '"'])


class Model:
    """One run as the model sees it."""

    def __init__(self) -> None:
        self.status = "runnable"
        self.epoch = 0
        self.entries: dict[int, tuple[str, str | None]] = {}
        self.finished: list[int] = []
        self.open: list[int] = []
        self.wake_at: float | None = None

    def complete(self, n: int, state: str, value: str | None) -> None:
        self.entries[n] = (state, value)
        self.finished.append(n)


class Machine(RuleBasedStateMachine):
    runs = Bundle("runs")
    claims = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.models: dict[str, Model] = {}
        self.events = 0
        self.open_journal()

    def open_journal(self) -> None:
        self.journal = self.do(SqliteJournal.open(Path(self.folder.name) / "runtime.db", durability="relaxed"))

    def do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        self.do(self.journal.close())
        self.do(self.loop.shutdown_default_executor())
        self.loop.close()
        self.folder.cleanup()

    def fenced(self, claim: Claim) -> bool:
        model = self.models[claim.run.id]
        return model.status != "running" or model.epoch != claim.epoch

    @rule(target=runs)
    def create(self) -> str:
        run_id = f"dur_{len(self.models):04d}"
        self.do(self.journal.create_run(run_row(run_id)))
        self.models[run_id] = Model()
        return run_id

    @rule(target=claims, run_id=runs, owner=st.sampled_from(["one", "two"]))
    def claim(self, run_id: str, owner: str) -> Claim:
        model = self.models[run_id]
        claim = self.do(self.journal.claim(run_id, owner))
        if claim is None:
            assert model.status not in ("runnable",)
            return Claim(run_row(run_id), -1, owner)  # one that may never write
        assert model.status in ("runnable", "running")
        model.status, model.wake_at = "running", None
        model.epoch += 1
        assert claim.epoch == model.epoch
        return claim

    @rule(claim=claims, n=st.integers(0, 5), state=st.sampled_from(["started", "ok", "error"]), value=VALUES)
    def append(self, claim: Claim, n: int, state: str, value: str) -> None:
        model = self.models[claim.run.id]
        entry = step(n, state=state, value=value)
        work = self.journal.append(claim, [entry])
        if self.fenced(claim):
            with pytest.raises(Fenced):
                self.do(work)
        elif n in model.finished:
            with pytest.raises(ValueError, match="finished"):
                self.do(work)
        else:
            self.do(work)
            if state == "started":
                model.entries[n] = (state, None)
            else:
                model.complete(n, state, value)

    @rule(claim=claims, slots=st.sets(st.integers(10, 13)), wake_at=st.none() | st.integers(1, 9).map(float))
    def park(self, claim: Claim, slots: set[int], wake_at: float | None) -> None:
        model = self.models[claim.run.id]
        asked = [pause_row(claim.run.id, str(n), asked_at=float(n)) for n in sorted(slots - set(model.finished))]
        status: Any = "awaiting-input" if asked else "sleeping"
        entries = [asking(pause) for pause in asked]
        work = self.journal.park(claim, status, pauses=asked, entries=entries, wake_at=wake_at)
        if self.fenced(claim):
            with pytest.raises(Fenced):
                self.do(work)
            return
        self.do(work)
        model.status, model.wake_at = status, wake_at
        model.open = [int(pause.slot) for pause in asked]
        model.entries.update(dict.fromkeys(model.open, ("started", None)))

    @rule(claim=consumes(claims), status=st.sampled_from(["completed", "failed"]), value=VALUES)
    def finish(self, claim: Claim, status: Any, value: str) -> None:
        model = self.models[claim.run.id]
        work = self.journal.finish(claim, status, result=value)
        if self.fenced(claim):
            with pytest.raises(Fenced):
                self.do(work)
        else:
            self.do(work)
            model.status, model.open = status, []

    @rule(run_id=runs, n=st.none() | st.integers(10, 13), value=VALUES)
    def answer(self, run_id: str, n: int | None, value: str) -> None:
        model = self.models[run_id]
        pause_id = None if n is None else f"{run_id}.{n}"
        waiting = model.open if model.status in ("awaiting-input", "runnable") else []
        chosen = (min(waiting) if n is None else n) if waiting else None
        work = answered(self.journal, value, run_id, pause_id=pause_id)
        if chosen is None or chosen not in waiting:
            with pytest.raises(RuntimeFault) as caught:
                self.do(work)
            assert caught.value.code in ("not_awaiting_input", "pause_superseded", "run_cancelled")
            return
        pause, fresh = self.do(work)
        assert fresh
        assert int(pause.slot) == chosen
        model.open.remove(chosen)
        model.complete(chosen, "ok", None)
        model.status, model.wake_at = "runnable", None

    @rule(run_id=runs)
    def cancel(self, run_id: str) -> None:
        model = self.models[run_id]
        work = self.journal.cancel(run_id, "local:eve")
        if model.status in FINISHED:
            with pytest.raises(RuntimeFault):
                self.do(work)
        else:
            self.do(work)
            model.status, model.open, model.wake_at = "cancelled", [], None
            model.epoch += 1

    @rule(now=st.integers(0, 10).map(float))
    def wake(self, now: float) -> None:
        due = {run_id for run_id, model in self.models.items() if model.wake_at is not None and model.wake_at <= now}
        assert set(self.do(self.journal.wake_due(now))) == due
        for run_id in due:
            self.models[run_id].status, self.models[run_id].wake_at = "runnable", None

    @rule()
    def restart(self) -> None:
        self.do(self.journal.close())
        self.open_journal()
        left = {run_id for run_id, model in self.models.items() if model.status == "running"}
        assert set(self.do(self.journal.abandon_claims())) == left
        for run_id in left:
            self.models[run_id].status = "runnable"

    @invariant()
    def runs_agree(self) -> None:
        for run_id, model in self.models.items():
            row = self.do(self.journal.run(run_id))
            assert (row.status, row.epoch, row.wake_at) == (model.status, model.epoch, model.wake_at)
            assert (row.finished_at is not None) == (model.status in FINISHED)
            entries = self.do(self.journal.load(run_id))
            assert [entry.n for entry in entries if entry.state != "started"] == model.finished
            assert {entry.n: entry.state for entry in entries} == {n: state for n, (state, _) in model.entries.items()}
            for entry in entries:
                if entry.n < 10:
                    assert entry.value == model.entries[entry.n][1]

    @invariant()
    def lists_agree(self) -> None:
        wanted = [(n, run_id) for run_id, model in self.models.items() for n in model.open]
        page = self.do(self.journal.pending(100, None))
        assert [(int(pause.slot), pause.run_id) for pause in page.items] == sorted(wanted)
        assert page.total == len(wanted)
        for statuses in (["completed", "failed", "cancelled"], ["runnable", "running", "awaiting-input", "sleeping"]):
            runs = self.do(self.journal.runs(statuses, 100, None))
            assert runs.total == len(runs.items) == sum(model.status in statuses for model in self.models.values())
        ready = {run_id for run_id, model in self.models.items() if model.status == "runnable"}
        assert ready <= set(self.do(self.journal.runnable()))
        times = [model.wake_at for model in self.models.values() if model.wake_at is not None]
        assert self.do(self.journal.next_wake()) == (min(times) if times else None)

    @invariant()
    def events_only_grow(self) -> None:
        last = self.do(self.journal.last_event())
        assert last >= self.events
        self.events = last


TestMachine = pytest.mark.timeout(300)(Machine.TestCase)
TestMachine.settings = settings(
    max_examples=30, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
