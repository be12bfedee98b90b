"""The code of agent repositories: the newest, loaded anew when files change, and older revisions that were kept."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from runtime_core.engine.definitions import Definitions
from runtime_core.repo.bundle import Bundle, BundleError, Problem, Tool
from runtime_core.repo.revision import TooLarge, revision_of, stamp_of
from runtime_core.repo.versions import Versions
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.runs import PARKED, RunRow, Standing

log = logging.getLogger(__name__)

ATTEMPTS: Final = 5
UNSURE_S: Final = 0.1
"""Files that changed so shortly before they were looked at may change again without their times showing it."""
LOOK_S: Final = 0.5
_OLD_BUNDLES: Final = 16


class Shelf:
    """Bundles by path. ``replaced`` is told of a bundle whose newer revision has just been loaded."""

    def __init__(
        self, versions: Versions, definitions: Definitions, replaced: Callable[[Bundle], Awaitable[None]]
    ) -> None:
        self.versions = versions
        self._definitions = definitions
        self._replaced = replaced
        self._stamps: dict[Path, str] = {}
        self._bundles: dict[Path, Bundle] = {}
        self._locks: dict[Path, asyncio.Lock] = {}
        self._old: OrderedDict[tuple[Path, str], Bundle] = OrderedDict()
        self._newest: dict[str, tuple[float, str, str | None]] = {}

    @property
    def bundles(self) -> Sequence[Bundle]:
        return list(self._bundles.values())

    async def bundle(self, root: Path) -> Bundle:
        """The newest revision of a repository. Raises `BundleError`."""
        root = absolute(root)
        async with self._locks.setdefault(root, asyncio.Lock()):
            known = self._bundles.get(root)
            now = await asyncio.to_thread(stamp, root)
            is_current = known is not None and now and now == self._stamps.get(root)
            if known is not None and is_current and not await self._definitions.has_values_for(known):
                return known
            try:
                bundle = await self._definitions.load(root)
            except BundleError as error:
                raise (_with_old_runs(error, known) if known is not None else error) from None
            self._stamps[root] = "" if bundle.passing else now
            if known is not None and known.revision == bundle.revision:
                bundle = replace(bundle, code=known.code)
            self._bundles[root] = bundle
            if known is not None and known.revision != bundle.revision:
                await self._replaced(known)
            return bundle

    def forget(self, root: Path) -> None:
        """Have it open no longer, until it is asked for again."""
        self._bundles.pop(absolute(root), None)
        self._stamps.pop(absolute(root), None)

    async def tool(self, root: Path | None, name: str) -> tuple[Bundle, Tool]:
        """A tool as it is now, of one repository or (None) of the first open one that has it.

        Raises `BundleError`, and `RuntimeFault` tool_not_found, or the code of what keeps its definition from being
        read.
        """
        bundles = [await self.bundle(root)] if root is not None else await self._open_bundles(name)
        for bundle in bundles:
            tool = bundle.tools.get(name)
            if tool is not None:
                return bundle, tool
        for code, reason in (bundle.waiting[name] for bundle in bundles if name in bundle.waiting):
            raise RuntimeFault(code, f'The tool "{name}" cannot be read: {reason}.')
        names = sorted(known for bundle in bundles for known in bundle.tools)
        where = bundles[0].root if len(bundles) == 1 else "the open repositories"
        raise RuntimeFault(
            "tool_not_found",
            f'There is no tool "{name}" in {where}. Its tools are: {", ".join(names) or "none"}.',
        )

    async def _open_bundles(self, tool: str) -> Sequence[Bundle]:
        """The open repositories, those that had the tool when they were last looked at as they are now."""
        return [
            await self.bundle(one.root) if tool in one.tools or tool in one.waiting else one for one in self.bundles
        ]

    async def kept(self, root: Path) -> Bundle:
        """The newest revision with its code kept apart, whatever becomes of the repository.

        Raises `BundleError`, and `RuntimeFault` data_folder_unusable.
        """
        root = absolute(root)
        for _ in range(ATTEMPTS):
            bundle = await self.bundle(root)
            if bundle.code is not None and bundle.code.is_dir():
                return bundle
            code = await asyncio.to_thread(self.versions.keep, root, bundle.revision)
            if code is None:  # the files have changed again
                self._stamps.pop(root, None)
                continue
            return self._with_copy(bundle, code)
        raise _unusable(root, "Its files change faster than they can be copied.", "Wait until they are written.")

    async def seen(self, root: Path) -> Bundle:
        """The newest revision as its copy has it, if there is one: none is made. Raises `BundleError`."""
        bundle = await self.bundle(root)
        if bundle.code is not None and bundle.code.is_dir():
            return bundle
        return self._with_copy(bundle, await asyncio.to_thread(self.versions.find, bundle.revision))

    def _with_copy(self, bundle: Bundle, code: Path | None) -> Bundle:
        copied = replace(bundle, code=code)
        if self._bundles.get(bundle.root) is bundle:
            self._bundles[bundle.root] = copied
        return copied

    async def stored(self, root: Path, revision: str) -> Bundle:
        """An older revision of a repository, which need not be there any more. Raises `BundleError`."""
        root = absolute(root)
        code = await asyncio.to_thread(self.versions.find, revision)
        if code is None:
            raise _unusable(
                self.versions.folder,
                f"The code {revision} is not stored any more.",
                "Resume the run on the present code, or cancel it.",
            )
        bundle = self._old.get((root, revision))
        if bundle is None or await self._definitions.has_values_for(bundle):
            bundle = await self._definitions.load(root, code)
            self._old[root, revision] = bundle
            if len(self._old) > _OLD_BUNDLES:
                self._old.popitem(last=False)
        return bundle

    async def next_code(self, run: RunRow, *, keep: bool) -> Bundle:
        """What the next leg of a run executes; ``keep`` as `kept`, else as `seen`. Raises as these."""
        root = Path(run.repo)
        if run.resume_on is not None:
            return await self.stored(root, run.resume_on)
        return await (self.kept(root) if keep else self.seen(root))

    async def is_changed(self, run: Standing) -> bool:
        """Whether a parked run would go on with other code than its last leg had."""
        if run.status not in PARKED or run.resume_on is not None:
            return False
        newest = await self.newest(run.repo)
        return newest is not None and newest != (run.leg_revision or run.revision)

    async def newest(self, repo: str) -> str | None:
        """The revision of the files that are there, at most `LOOK_S` old; None if they cannot be read."""
        looked, known, revision = self._newest.get(repo, (0.0, "", None))
        if time.monotonic() - looked > LOOK_S:
            now = await asyncio.to_thread(stamp, Path(repo))
            if not now or now != known:
                known, revision = now, await asyncio.to_thread(_revision, Path(repo))
            self._newest[repo] = (time.monotonic(), known, revision)
        return revision


def absolute(root: Path) -> Path:
    return root.absolute()


def stamp(root: Path) -> str:
    """Empty, which fits no load, when the files cannot be looked at (the loader says why) or have just been written."""
    try:
        return stamp_of(root, unsure_s=UNSURE_S)
    except (OSError, TooLarge):
        return ""


def _revision(root: Path) -> str | None:
    try:
        return revision_of(root)
    except (OSError, TooLarge):
        return None


def _unusable(root: Path, message: str, remedy: str) -> BundleError:
    return BundleError(root, [Problem("error", "CONFIG_NOT_FOUND", ".", message, remedy)])


def _with_old_runs(error: BundleError, known: Bundle) -> BundleError:
    """Say what becomes of the runs that are going on."""
    log.warning("%s cannot be loaded any more; what runs goes on with the code %s.", known.root, known.revision)
    kept = f"Runs that are going on keep the code {known.revision[:12]}; new ones are refused."
    note = Problem("warning", "OLD_CODE_KEPT", ".", kept, "Put the errors right; the files are read again then.")
    return BundleError(error.root, [*error.problems, note])
