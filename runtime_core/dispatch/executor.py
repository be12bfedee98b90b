"""The part of a runtime that advances runs: all that are runnable where it executes, else it looks on."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from runtime_core.approvals.answering import recorded
from runtime_core.dispatch.changes import Changes
from runtime_core.dispatch.local import LocalDispatcher
from runtime_core.dispatch.lock import ExecutorLock
from runtime_core.dispatch.pulse import PULSE_S, Pulse
from runtime_core.dispatch.upkeep import Upkeep
from runtime_core.engine.engine import Engine
from runtime_core.engine.watch import CodeWatch
from runtime_core.journal.base import Journal
from runtime_core.wire.codes import RuntimeFault, no_session
from runtime_core.wire.runs import RunRow

log = logging.getLogger(__name__)

_MOVING: Final = frozenset({"runnable", "running"})
_WAKE_CHECK_S: Final = 60.0
_SWEEP_S: Final = 5.0
_LEFT_LIMIT: Final = 100_000


class Executor:
    """Executes while it holds ``lock``. ``takes_over``: it takes the lock as soon as that is free.

    It advances nothing before it was asked to advance or to recover runs. ``timekeeper`` is told of each beat from
    then on, with whether something was written.
    """

    def __init__(
        self,
        journal: Journal,
        engine: Engine,
        lock: ExecutorLock,
        changes: Changes,
        watch: CodeWatch,
        upkeep: Upkeep,
        *,
        takes_over: bool,
        timekeeper: Callable[[bool], None] | None = None,
    ) -> None:
        self._timekeeper = timekeeper
        self._journal = journal
        self._engine = engine
        self._lock = lock
        self._changes = changes
        self._watch = watch
        self._upkeep = upkeep
        self._takes_over = takes_over
        self.pulse = Pulse(journal.data_version, self._beat, self._until_wake)
        self._dispatcher = LocalDispatcher(engine.advance, journal.runnable, self.pulse.kick)
        self._willing = False
        self._serving = False
        self._serve_lock = asyncio.Lock()
        self._left: Sequence[str] = []
        self.hindrances: dict[str, str] = {}
        """Why runs that were waited for did not go on, by their id."""
        self._wake_at: float | None = None
        self._wake_checked = 0.0
        self._swept = 0.0

    def start(self) -> None:
        self.pulse.start()

    async def stop(self, grace_s: float) -> None:
        """Let go of all runs; calls that are executed get ``grace_s`` seconds to end."""
        await self.pulse.stop()
        await self._engine.stop(grace_s)
        await self._dispatcher.stop()
        if self._serving:
            with suppress(RuntimeFault):  # the next process does it
                await self._upkeep.part()

    async def recover(self, wait_s: float) -> int:
        """Resume the runs a dead process left and wait until they park, end or ask a person; how many there were."""
        self._willing = True
        if not self._lock.held:
            return 0
        await self._serve()
        left, self._left = self._left, []
        deadline = time.monotonic() + wait_s
        for run_id in left:
            if time.monotonic() >= deadline:
                break
            try:
                await self._settle_or_ask(run_id, deadline)
            except RuntimeFault as fault:
                log.warning("%s was not resumed: %s", run_id, fault.message)
        return len(left)

    async def advance(self, run_id: str, wait_s: float | None) -> RunRow:
        """The run when it moves no more; as it is after ``wait_s``, or when the data folder keeps it from going on.

        Raises `RuntimeFault`.
        """
        self._willing = True
        self.pulse.kick()
        return await self._settle(run_id, None if wait_s is None else time.monotonic() + wait_s)

    async def _settle_or_ask(self, run_id: str, deadline: float) -> None:
        """As `_settle`, but no longer than until a model of the run waits for a person."""
        settling = asyncio.get_running_loop().create_task(self._settle(run_id, deadline))
        try:
            while not settling.done() and not self._engine.is_asking(run_id):
                await asyncio.wait({settling}, timeout=PULSE_S)
            if settling.done():
                settling.result()
        finally:
            settling.cancel()

    async def _settle(self, run_id: str, deadline: float | None) -> RunRow:
        is_held_up = False
        while True:
            if self._lock.held:
                try:
                    await self._serve()
                    await self._wait_for_task(run_id, deadline)
                except RuntimeFault as fault:
                    if not fault.is_storage:
                        raise
                    is_held_up = True  # what was asked for is stored, and the run is tried again
                    self.hindrances[run_id] = fault.message.replace("; nothing was stored", "")
            run = await self._journal.run(run_id)
            if run is None:
                raise no_session(run_id)
            left = float("inf") if deadline is None else deadline - time.monotonic()
            if run.status not in _MOVING or left <= 0 or is_held_up:
                return run
            await self.pulse.wait(min(left, 2 * PULSE_S))

    async def _wait_for_task(self, run_id: str, deadline: float | None) -> None:
        task = self._dispatcher.wake(run_id)
        timeout = None if deadline is None else deadline - time.monotonic()
        done, _ = await asyncio.wait({task}, timeout=timeout)
        if task in done and not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, RuntimeFault):
                raise error
            raise RuntimeFault("INTERNAL_ERROR", f"Session {run_id} could not be advanced: {error}") from error

    async def _serve(self) -> None:
        """From now on this process advances every runnable run, also those that a dead process left."""
        async with self._serve_lock:
            if self._serving:
                return
            await self._journal.abandon_claims()
            await self._journal.expire_due(time.time(), recorded)
            await self._engine.sweep()
            self._left = await self._journal.runnable(_LEFT_LIMIT)
            self._serving = True
        self.pulse.kick()

    async def _beat(self, changed: bool) -> None:
        if self._takes_over:
            self._lock.acquire()
        if changed:
            for run_id in await self._changes.catch_up(executes=self._lock.held):
                self._engine.cancel(run_id)
        if self._changes.is_heard:
            await self._watch.beat()
        if not self._lock.held:
            return
        if self._willing:
            await self._serve()
        if self._serving:
            await self._keep_time(changed)
            if self._timekeeper is not None:
                self._timekeeper(changed)
            if changed or self._dispatcher.wants_retry or time.monotonic() - self._swept > _SWEEP_S:
                self._swept = time.monotonic()
                await self._dispatcher.sweep()
            if not changed and self._dispatcher.is_idle:
                await self._upkeep.beat()

    async def _keep_time(self, changed: bool) -> None:
        """Wake the runs whose time has come and expire questions, by the wall clock, which may jump."""
        if changed or time.monotonic() - self._wake_checked > _WAKE_CHECK_S:
            self._wake_checked = time.monotonic()
            self._wake_at = await self._journal.next_wake()
        if self._wake_at is not None and self._wake_at <= time.time():
            await self._journal.wake_due(time.time())
            await self._journal.expire_due(time.time(), recorded)
            self._wake_at = None
            self.pulse.kick()

    def _until_wake(self) -> float | None:
        return None if self._wake_at is None or not self._serving else self._wake_at - time.time()
