"""Housekeeping of the data folder by the process that executes, in the moments when it has nothing else to do."""

from __future__ import annotations

import time
from typing import Final

from runtime_core.journal.base import Journal
from runtime_core.wire.settings import Retention

FIRST_S: Final = 5.0
REST_S: Final = 3600.0
BUDGET_S: Final = 0.02
"""How long one beat may spend here. An answer that comes meanwhile waits for one step, a few milliseconds."""

_DAY_S: Final = 86_400.0


class Upkeep:
    """Goes through one round after the other, with an hour in between."""

    def __init__(self, journal: Journal, retention: Retention) -> None:
        self._journal = journal
        self._retention = retention
        self._next = time.monotonic() + FIRST_S

    async def beat(self) -> None:
        """Do a little, if there is something to do. Raises `RuntimeFault`."""
        end = time.monotonic() + BUDGET_S
        while self._next <= (now := time.monotonic()) < end:
            if not await self._journal.tidy(self._retention_limit()):
                self._next = now + REST_S

    def _retention_limit(self) -> float | None:
        days = self._retention.journal_days
        return time.time() - days * _DAY_S if days else None
