"""How often a handler took its process down, and when that is enough."""

from __future__ import annotations

from typing import Final

from runtime_core.hosts.base import HandlerFailure
from runtime_core.wire.runs import SlotPath

HUNG_LIMIT: Final = 2
"""How often a handler may take its process down at the same place before its run fails."""
LOST_LIMIT: Final = 3
"""The same for processes that went away without a known culprit."""


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
