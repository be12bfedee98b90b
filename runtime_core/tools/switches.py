"""Which tools that come with the runtime an operator has switched off for a repository."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

from runtime_core.journal.base import Journal


class StoredSwitches:
    """Implements `Switches`. Any process on the data folder may switch tools, so this is looked at again before every
    turn and every call."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._off: dict[Path, Set[str]] = {}

    async def look(self, root: Path) -> None:
        self._off[root] = {one.tool for one in await self._journal.switches(str(root)) if not one.is_on}

    def is_off(self, root: Path, tool: str) -> bool:
        """As of the last `look`."""
        return tool in self._off.get(root, ())
