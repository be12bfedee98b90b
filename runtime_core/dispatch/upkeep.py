"""Housekeeping of the data folder by the process that executes, in the moments when it has nothing else to do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Set
from typing import Final

from runtime_core.journal.base import Journal
from runtime_core.repo.versions import Versions
from runtime_core.wire.settings import Retention

FIRST_S: Final = 5.0
REST_S: Final = 3600.0
BUDGET_S: Final = 0.02
"""How long one beat may spend here. An answer that comes meanwhile waits for one step, a few milliseconds."""


class Upkeep:
    """Goes through one round after the other, with an hour in between. ``used``: the revisions this process uses."""

    def __init__(
        self, journal: Journal, retention: Retention, versions: Versions, used: Callable[[], Set[str]]
    ) -> None:
        self._journal = journal
        self._retention = retention
        self._versions = versions
        self._used = used
        self._next = time.monotonic() + FIRST_S
        self._has_begun = False
        self._next_sweep = 0.0

    async def beat(self) -> None:
        """Do a little, if there is something to do. Raises `RuntimeFault`."""
        await self._tidy()
        if self._next_sweep <= time.monotonic():
            self._next_sweep = time.monotonic() + REST_S
            await asyncio.to_thread(self._versions.sweep, {*await self._journal.named_revisions(), *self._used()})

    async def part(self) -> None:
        """Do a little before the process ends, which it may have begun a moment ago. Raises `RuntimeFault`."""
        if not self._has_begun:
            self._next = 0.0
        await self._tidy()

    async def _tidy(self) -> None:
        end = time.monotonic() + BUDGET_S
        while self._next <= (now := time.monotonic()) < end:
            self._has_begun = True
            if not await self._journal.tidy(self._retention.limit(time.time())):
                self._next = now + REST_S
