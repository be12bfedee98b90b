"""How often processes are lost, and when that is enough."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from runtime_core.hosts.base import DependenciesUnavailable, HandlerFailure, HostUnavailable
from runtime_core.wire.runs import SlotPath

log = logging.getLogger(__name__)

START_ATTEMPTS: Final = 3
HUNG_LIMIT: Final = 2
"""How often a handler may take its process down at the same place before its run fails."""
LOST_LIMIT: Final = 3
"""The same for processes that went away without a known culprit."""


T = TypeVar("T")


async def started(what: str, begin: Callable[[], Awaitable[T]]) -> T:
    """A process may die while it starts, before anything ran in it: another one is tried. Raises `HostUnavailable`."""
    for _ in range(START_ATTEMPTS - 1):
        try:
            return await begin()
        except DependenciesUnavailable:
            raise
        except HostUnavailable as error:
            log.warning("%s: %s Trying again.", what, error)
    return await begin()


class Losses:
    """Counts by handler; a loss is at the same place as the one before if nothing was journaled between them."""

    def __init__(self) -> None:
        self._counts: dict[SlotPath, tuple[int, int]] = {}

    def exhausted(self, path: SlotPath, journaled: int, failure: HandlerFailure) -> bool:
        """Count one more loss; True if the run must fail. ``journaled`` is the number of entries by now."""
        before, times = self._counts.get(path, (journaled, 0))
        times = times + 1 if before == journaled else 1
        self._counts[path] = (journaled, times)
        return times >= (LOST_LIMIT if failure.code == "host-lost" else HUNG_LIMIT)
