"""A small engine for the tests: keeps the journal of a run in memory, executes its calls, parks it at a pause."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtime_core.hosts.base import (
    Divergence,
    HandlerCall,
    HandlerFailure,
    HandlerJob,
    HostRepo,
    Language,
    Leg,
    RecordedCall,
)
from runtime_core.hosts.supervisor import HandlerHosts

INLINE = frozenset({"callTool", "callSubagent", "request", "store", "exec"})
DURABLE = INLINE | {"requestInput", "waitForApproval", "sleepUntil", "step", "now", "random"}
PAUSES = {"input", "approval", "sleep"}

Execute = Callable[[HandlerCall], Any]


def echo(call: HandlerCall) -> Any:
    return json.loads(call.args)


def name_of(call: HandlerCall) -> str:
    return call.name


def nothing(_: HandlerCall) -> None:
    return None


class ToolError(Exception):
    """An error a call of a handler gets."""

    def __init__(self, name: str, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.record = {"name": name, "message": message} | ({"code": code} if code else {})


@dataclass
class Outcome:
    """How a leg ended; exactly one of the first four is set, or ``parked`` is."""

    value: str | None = None
    failure: HandlerFailure | None = None
    divergence: Divergence | None = None
    parked: dict[int, HandlerCall] = field(default_factory=dict)
    warnings: Sequence[str] = ()

    @property
    def result(self) -> Any:
        assert self.value is not None, self
        return json.loads(self.value)


class RunDriver:
    """One run over any number of legs. ``calls`` lists what was executed, ``notes`` what was noted."""

    def __init__(
        self,
        hosts: HandlerHosts,
        repo: HostRepo,
        entry: str,
        params: Any = None,
        *,
        durable: bool = True,
        execute: Execute | None = None,
        methods: frozenset[str] | None = None,
        timeout_s: float = 20,
        **job: Any,
    ) -> None:
        self.hosts = hosts
        self.repo = repo
        self.entry = entry
        self.language: Language = "python" if entry.endswith(".py") else "typescript"
        self.params = json.dumps(params if params is not None else {})
        self.durable = durable
        self.execute = execute or echo
        self.methods = methods if methods is not None else (DURABLE if durable else INLINE)
        self.timeout_s = timeout_s
        self.job: dict[str, Any] = {
            "session_id": "s1",
            "scope_id": "",
            "started_ms": 1_700_000_000_000.0,
            "seed": "seed",
        } | job
        self.journal: list[RecordedCall] = []
        self.started: dict[int, RecordedCall] = {}
        self.executing: dict[int, asyncio.Task[None]] = {}
        self.calls: list[HandlerCall] = []
        self.given: list[int] = []
        self.notes: list[tuple[str, Any]] = []
        self.current: Leg | None = None
        self.is_timer_endless = False
        self.has_replayed = asyncio.Event()
        self.open: dict[int, HandlerCall] = {}
        self._done: asyncio.Future[Outcome] | None = None

    async def leg(self) -> Outcome:
        self.open = {}
        self._done = asyncio.get_running_loop().create_future()
        job = HandlerJob(
            self.entry,
            self.language,
            self.params,
            self.durable,
            self.methods,
            recorded=tuple(self.journal),
            started=tuple(self.started.values()),
            timeout_s=self.timeout_s,
            **self.job,
        )
        self.current = await self.hosts.start(self.repo, job, self)
        try:
            return await asyncio.wait_for(asyncio.shield(self._done), 30)
        finally:
            self.current = None

    def answer(self, seq: int, value: Any) -> None:
        """Record the answer of a parked run; it is handed out in the next leg."""
        self._record(seq, True, json.dumps(value))

    def notes_of(self, kind: str) -> list[Any]:
        return [value for noted, value in self.notes if noted == kind]

    # LegEvents

    def called(self, call: HandlerCall) -> None:
        self.open[call.seq] = call
        finished = next((record for record in self.journal if record.seq == call.seq), None)
        if finished is not None:  # while the leg was being started
            assert self.current is not None
            self.open.pop(call.seq)
            self.current.deliver(call.seq, bool(finished.ok), finished.value or "null", finished.at_ms)
            return
        self.started[call.seq] = RecordedCall(call.seq, call.kind, call.name, call.digest)
        if call.outcome is not None:
            self._finish(call, *call.outcome)
        elif not self._is_waited_for(call) and call.seq not in self.executing:
            self.calls.append(call)
            self.executing[call.seq] = asyncio.create_task(self._execute(call))

    def noted(self, kind: Any, value: Any) -> None:
        self.notes.append((kind, value))

    def returned(self, value: str, warnings: Sequence[str]) -> None:
        self._end(Outcome(value=value, warnings=warnings))

    def failed(self, failure: HandlerFailure) -> None:
        self._end(Outcome(failure=failure))

    def diverged(self, divergence: Divergence) -> None:
        self._end(Outcome(divergence=divergence))

    def given_up(self, seq: int) -> None:
        self.given.append(seq)

    def replayed(self) -> None:
        self.has_replayed.set()

    def settled(self) -> None:
        self._park_if_waiting()

    # inside

    def _is_waited_for(self, call: HandlerCall) -> bool:
        return call.kind in PAUSES or (call.kind == "timer" and self.is_timer_endless)

    async def _execute(self, call: HandlerCall) -> None:
        try:
            value = asyncio.sleep(json.loads(call.args) / 1000) if call.kind == "timer" else self.execute(call)
            if inspect.isawaitable(value):
                value = await value
            ok, text = True, json.dumps(value)
        except ToolError as error:
            ok, text = False, json.dumps(error.record)
        del self.executing[call.seq]
        self._finish(call, ok, text)
        self._park_if_waiting()

    def _finish(self, call: HandlerCall, ok: bool, text: str) -> None:
        at = self._record(call.seq, ok, text)
        self.open.pop(call.seq, None)
        if self.current is not None:
            self.current.deliver(call.seq, ok, text, at)

    def _record(self, seq: int, ok: bool, text: str) -> float:
        at = time.time() * 1000
        call = self.started.pop(seq)
        self.journal.append(RecordedCall(call.seq, call.kind, call.name, call.digest, ok, text, at))
        return at

    def _park_if_waiting(self) -> None:
        leg = self.current
        if leg is None or not leg.is_settled or self.executing:
            return
        waits = {seq: call for seq, call in self.open.items() if self._is_waited_for(call)}
        if waits:
            leg.drop()
            self._end(Outcome(parked=waits))

    def _end(self, outcome: Outcome) -> None:
        assert self._done is not None
        assert not self._done.done(), f"a second end: {outcome}"
        self._done.set_result(outcome)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 (looks at a process from outside)
        await asyncio.sleep(0.01)


def write_tools(root: Path, sources: dict[str, str]) -> HostRepo:
    """A repository with a handler per source; names end in .ts or .py and may contain folders."""
    for name, source in sources.items():
        stem, _, extension = name.rpartition(".")
        file = root / name if "/" in name else root / "amodal" / "tools" / stem / f"handler.{extension}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    return HostRepo(root, "r1")


def entry(name: str) -> str:
    stem, _, extension = name.rpartition(".")
    return f"amodal/tools/{stem}/handler.{extension}"
