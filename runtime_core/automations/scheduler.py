"""Starts automations when they are due, by the wall clock, which may jump or have stood still (decision 34)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from runtime_core.automations.definition import definition_of
from runtime_core.automations.starting import Starter
from runtime_core.journal.base import Journal
from runtime_core.wire.automations import AutomationRow, AutomationStart
from runtime_core.wire.codes import RuntimeFault

log = logging.getLogger(__name__)

LATE_S: Final = 60.0
"""A start so long after its time is marked late."""
_CHECK_S: Final = 60.0
_PAUSE_AFTER_FAULT_S: Final = 1.0


class Scheduler:
    """Of the one process that executes. However long it was not there, each automation is started once, for the latest
    of the times that passed; never twice for one time, and not while its last start has not ended.

    ``reread`` takes over what the files of a repository, or (None) of all, state.
    """

    def __init__(
        self,
        journal: Journal,
        starter: Starter,
        reread: Callable[[str | None], Awaitable[None]],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._reread = reread
        self._journal = journal
        self._starter = starter
        self._now = now
        self._last: float | None = None
        self._next: float | None = None
        self._looked = 0.0
        self._changed = self._stopped = False
        self._beating: asyncio.Task[None] | None = None

    def nudge(self, changed: bool) -> None:
        """Have a look, beside what goes on. ``changed``: something was written since the last time."""
        self._changed = self._changed or changed
        if not self._stopped and (self._beating is None or self._beating.done()):
            changed, self._changed = self._changed, False
            self._beating = asyncio.get_running_loop().create_task(self._guarded(changed), name="automations")

    async def stop(self) -> None:
        self._stopped = True
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)

    async def _guarded(self, changed: bool) -> None:
        try:
            await self.beat(changed)
        except Exception as error:  # what is due stays so, and is tried again
            log.warning("automations were not looked at: %s", error, exc_info=not isinstance(error, RuntimeFault))
            self._changed = True
            await asyncio.sleep(_PAUSE_AFTER_FAULT_S)

    async def beat(self, changed: bool) -> None:
        """Start what is due. ``changed``: something was written since the last time.

        Raises `RuntimeFault`, and an `ExceptionGroup` of what kept single automations from being started.
        """
        now = self._now()
        await self._starter.settle()
        if self._last is None or now < self._last:
            await self._plan_again(now)
            changed = True
        if changed:
            await self._starter.note_ends()
            await self._starter.stop_removed()
        if self._last is None or now - self._looked > _CHECK_S:
            await self._reread(None)
            changed = True
        if changed:
            self._next = await self._journal.next_automation()
            self._looked = now
        self._last = now
        if self._next is not None and self._next <= now:
            await self._start_all(await self._journal.due_automations(now), now)

    async def _start_all(self, due: Sequence[AutomationRow], now: float) -> None:
        """One that cannot be started holds no other up. Raises an `ExceptionGroup` of what was in the way."""
        faults: list[Exception] = []
        for row in due:
            try:
                await self._start(row, now)
            except Exception as error:  # noqa: BLE001 - raised below
                error.add_note(f"This kept the automation {row.id} of {row.repo} from being started.")
                faults.append(error)
        if faults:
            raise ExceptionGroup(f"{len(faults)} of {len(due)} that are due were not started", faults)
        self._next = await self._journal.next_automation()

    async def _plan_again(self, now: float) -> None:
        """The clock may have been ahead when the next times were found: they must not be waited for twice as long."""
        for row in await self._journal.automations():
            if row.enabled and row.next_at is not None and row.next_at > now:
                following = definition_of(row.body).schedule.next_after(now, row.updated_at)
                if following is not None and following < row.next_at:
                    await self._journal.postpone_automation(row.id, row.next_at, following)

    async def _start(self, row: AutomationRow, now: float) -> None:
        seen = row.next_at
        if row.origin == "file":
            await self._reread(row.repo)
            row = await self._journal.automation(row.id) or row
        if seen is None or row.next_at != seen:  # its file changed
            return
        ready = await self._starter.ready(row)
        schedule = ready.definition.schedule
        due = schedule.latest(now, seen, row.updated_at)
        following = schedule.next_after(max(now, due), row.updated_at)
        start = AutomationStart(
            row.id,
            "schedule",
            due,
            now,
            late=now - due > LATE_S,
            seen=seen,
            next_at=following,
            stays_on=following is not None,
            run=ready.run if not ready.problem else None,
        )
        firing = await self._journal.start_automation(start)
        if firing is not None:
            log.info("automation %s: %s for %s", row.id, firing.state, due)
            await self._starter.go(ready, firing)
