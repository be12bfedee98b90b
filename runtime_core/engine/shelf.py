"""The agent repositories a runtime has open, loaded anew when their files change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from runtime_core.repo.bundle import Bundle
from runtime_core.repo.revision import TooLarge, stamp_of


class Shelf:
    """Bundles by path. ``replaced`` is told of a bundle whose newer revision has just been loaded."""

    def __init__(self, replaced: Callable[[Bundle], Awaitable[None]]) -> None:
        self._replaced = replaced
        self._stamps: dict[Path, str] = {}
        self._bundles: dict[Path, Bundle] = {}
        self._locks: dict[Path, asyncio.Lock] = {}

    @property
    def bundles(self) -> Sequence[Bundle]:
        return list(self._bundles.values())

    async def bundle(self, root: Path) -> Bundle:
        """The newest revision of a repository. Raises `BundleError`."""
        root = _absolute(root)
        async with self._locks.setdefault(root, asyncio.Lock()):
            known = self._bundles.get(root)
            stamp = await asyncio.to_thread(_stamp, root)
            if known is not None and stamp and stamp == self._stamps.get(root):
                return known
            bundle = await asyncio.to_thread(_load, root)
            self._stamps[root] = stamp
            self._bundles[root] = bundle
            if known is not None and known.revision != bundle.revision:
                await self._replaced(known)
            return bundle


def _load(root: Path) -> Bundle:
    from runtime_core.repo.loader import load_bundle  # with pydantic and jsonschema: not for commands that only look

    return load_bundle(root)


def _absolute(root: Path) -> Path:
    return root.absolute()


def _stamp(root: Path) -> str:
    """Empty, which fits no load, when the files cannot be looked at: the loader says why."""
    try:
        return stamp_of(root)
    except (OSError, TooLarge):
        return ""
