"""Notices that the files of open repositories changed, so that waiting questions can say so."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from runtime_core.engine.shelf import Shelf
from runtime_core.journal.base import Journal
from runtime_core.repo.bundle import Bundle

LOOK_S: Final = 1.0
SHARE: Final = 50
"""Looking may take one part in so many of the time, however many files there are."""


class CodeWatch:
    """``tell`` gets the runs that wait and whose repository holds other code than a moment ago."""

    def __init__(self, journal: Journal, shelf: Shelf, tell: Callable[[Sequence[str]], Awaitable[None]]) -> None:
        self._journal = journal
        self._shelf = shelf
        self._tell = tell
        self._seen: dict[str, str | None] = {}
        self._next = 0.0

    async def beat(self) -> None:
        began = time.monotonic()
        if began < self._next:
            return
        changed = [str(bundle.root) for bundle in self._shelf.bundles if await self._is_new(bundle)]
        took = time.monotonic() - began
        self._next = began + max(LOOK_S, took * SHARE)
        for repo in changed:
            await self._tell(await self._journal.waiting_in(repo))

    async def _is_new(self, bundle: Bundle) -> bool:
        repo = str(bundle.root)
        newest = await self._shelf.newest(repo)
        before = self._seen.get(repo, bundle.revision)
        self._seen[repo] = newest
        return newest != before
