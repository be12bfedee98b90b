"""The repositories that were opened, in the order they were, with those that cannot be used."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime_core.engine.shelf import Shelf, absolute, stamp
from runtime_core.repo.bundle import Bundle, BundleError, Problem


@dataclass(frozen=True, slots=True)
class Listed:
    """An opened repository. ``bundle`` None: it cannot be used, because of its ``problems``.

    ``needs`` is what its code needs trust for (decision 28), ``trusted`` whether it has that as it is now.
    """

    root: Path
    bundle: Bundle | None
    problems: Sequence[Problem]
    needs: Sequence[str] = ()
    trusted: bool = True


Trust = Callable[[Bundle], Awaitable[tuple[Sequence[str], bool]]]
"""What a bundle needs trust for, and whether it has it."""


class Catalog:
    def __init__(self, shelf: Shelf, trust: Trust) -> None:
        self._shelf = shelf
        self._trust = trust
        self._roots: dict[Path, None] = {}
        self._broken: dict[Path, tuple[str, BundleError]] = {}

    def add(self, root: Path) -> None:
        """List a repository, whether it can be used or not."""
        self._roots.setdefault(absolute(root))

    def remove(self, root: Path) -> bool:
        """List it no longer; runs that are going on keep their code. False if it was not listed."""
        root = absolute(root)
        if root not in self._roots:
            return False
        del self._roots[root]
        self._broken.pop(root, None)
        self._shelf.forget(root)
        return True

    async def listed(self) -> Sequence[Listed]:
        """All of them as their files are now."""
        return [await self.look(root) for root in tuple(self._roots)]

    async def look(self, root: Path) -> Listed:
        """One repository as its files are now, opened or not."""
        root = absolute(root)
        try:
            bundle = await self._load(root)
            needs, trusted = await self._trust(bundle)
        except BundleError as error:
            return Listed(root, None, error.problems)
        return Listed(root, bundle, bundle.problems, needs, trusted)

    async def _load(self, root: Path) -> Bundle:
        """What could not be read is not read again before a file of it changes."""
        now = await asyncio.to_thread(stamp, root)
        known = self._broken.get(root)
        if known is not None and now and known[0] == now:
            raise known[1]
        self._broken.pop(root, None)
        try:
            return await self._shelf.bundle(root)
        except BundleError as error:
            self._broken[root] = now, error
            raise
