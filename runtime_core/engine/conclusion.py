"""How one claimed run is let go of: what is written last, and when that is done."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from runtime_core.engine import divergence as divergences
from runtime_core.engine.changes import ChangedCalls
from runtime_core.engine.encore import Encore
from runtime_core.engine.frames import Place
from runtime_core.engine.ledger import Ledger
from runtime_core.engine.parking import Waits
from runtime_core.engine.repeats import Stand
from runtime_core.engine.tasks import Tasks
from runtime_core.hosts.base import Divergence
from runtime_core.journal.base import Claim, Journal
from runtime_core.wire.json import JsonText
from runtime_core.wire.runs import RunStatus

log = logging.getLogger(__name__)


class Stuck(Exception):  # noqa: N818
    """The run cannot go on until somebody repairs something; the message says what."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Conclusion:
    """One of `park`, `diverge` and `finish` is written, once; `reach` ends without. ``broken``: the journal refused.

    A run that was concluded moves no more in this process.
    """

    def __init__(
        self,
        claim: Claim,
        journal: Journal,
        ledger: Ledger,
        waits: Waits,
        tasks: Tasks,
        changed: ChangedCalls,
        encore: Encore | None,
        broken: Callable[[Exception], None],
    ) -> None:
        self._claim = claim
        self._journal = journal
        self._ledger = ledger
        self._waits = waits
        self._tasks = tasks
        self._changed = changed
        self._encore = encore
        self._broken = broken
        self._is_announced = False
        self._writing: asyncio.Task[None] | None = None
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_near(self) -> bool:
        """No new call begins."""
        return self._is_announced or self.is_decided

    @property
    def is_decided(self) -> bool:
        """What is written last does not change any more."""
        return self._writing is not None or self.is_over

    @property
    def is_over(self) -> bool:
        return self._over.done()

    def announce(self) -> None:
        self._is_announced = True

    async def written(self) -> None:
        """Wait until what was decided is stored."""
        if self._writing is not None:
            await asyncio.wait({self._writing})

    async def over(self) -> None:
        """Wait until the run was let go of. Raises what `reach` was told."""
        await self._over

    def reach(self, error: Exception | None = None) -> None:
        """Let go of the run, because of ``error`` if there is one."""
        if self.is_over:
            return
        if error is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(error)

    def park(self) -> None:
        """Every branch waits for something."""
        self._write(self._park())

    def diverge(self, place: Place, divergence: Divergence) -> None:
        """Stop; the questions that are open stay so, and can be answered when the run was resumed."""
        self._write(self._park_diverged(place, divergence))

    def finish(self, status: RunStatus, result: JsonText | None, error: JsonText | None) -> None:
        self._write(self._finish(status, result, error))

    def _write(self, last: Coroutine[Any, Any, None]) -> None:
        self._writing = asyncio.get_running_loop().create_task(self._write_last(last))

    async def _write_last(self, last: Coroutine[Any, Any, None]) -> None:
        await self._changed.told()
        await self._ledger.drained()
        try:
            await last
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever drives the run reports it
            self._broken(error)
        else:
            self.reach()

    async def _park(self) -> None:
        waits = self._waits
        if await self._differs(Stand("waits")):
            return
        await self._ledger.park(
            waits.status, waits.open_pauses(), entries=list(waits.entries.values()), wake_at=waits.wake_at
        )

    async def _park_diverged(self, place: Place, divergence: Divergence) -> None:
        self._tasks.cancel()
        run, revision = self._claim.run, self._claim.revision
        found = await divergences.find(self._journal, run, revision, place.names, place.path, divergence)
        log.warning("%s: %s", found.code, found.message)
        await self._stop_as_diverged(found.to_json())

    async def _finish(self, status: RunStatus, result: JsonText | None, error: JsonText | None) -> None:
        self._tasks.cancel()
        if not await self._differs(Stand("returned", result) if error is None else Stand("failed", error)):
            await self._ledger.finish(status, result, error)

    async def _differs(self, stand: Stand) -> bool:
        """Whether the leg goes another way when it is replayed at once; the run is stopped then."""
        error = await self._encore.error(stand, self._waits) if self._encore is not None else None
        if error is not None:
            await self._stop_as_diverged(error)
        return error is not None

    async def _stop_as_diverged(self, error: JsonText) -> None:
        await self._ledger.park("diverged", list(self._waits.known.values()), error=error)
