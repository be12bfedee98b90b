"""The handler processes of one runtime: one per repository revision and language, started on demand."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from runtime_core.hosts import deno, python
from runtime_core.hosts.base import Form, HandlerJob, HostRepo, HostUnavailable, Language, LegEvents, NoteKind
from runtime_core.hosts.dependencies import Dependencies, Trusted, nobody_trusts
from runtime_core.hosts.leg import HostLeg
from runtime_core.hosts.process import HostProcess
from runtime_core.hosts.remains import Remains
from runtime_core.hosts.sandbox import missing_borders
from runtime_core.hosts.source import Source

Stray = Callable[[Path, Language, NoteKind, Any], None]

_Key = tuple[HostRepo, Path | None, Language, Path | None]

_CLOSING = "The runtime is closing; no handler can be started any more."


log = logging.getLogger(__name__)


def _logged(root: Path, language: Language, kind: NoteKind, value: Any) -> None:
    log.info("%s, %s: %s: %s", root, language, kind, value)


class HandlerHosts:
    """Implements `Hosts`. ``cache_dir`` takes what the engines cache (compiled code, packages), never the repository.

    ``stray`` is told what a process says while nobody knows for which run; ``trusted`` says whose packages may be
    installed, ``packages`` where they are looked for if none are to be. Handlers with packages run in a process apart
    from those that have others, or none.
    """

    def __init__(
        self,
        cache_dir: Path,
        stray: Stray = _logged,
        trusted: Trusted = nobody_trusts,
        *,
        packages: Path | None = None,
    ) -> None:
        folder = packages or cache_dir / "packages"
        self._dependencies = Dependencies(folder, trusted, looks=packages is not None)
        self._cache_dir = cache_dir
        self.command_homes = cache_dir / "commands"
        self._stray = stray
        self._remains = Remains(cache_dir / "processes")
        self._current: dict[_Key, HostProcess] = {}
        self._locks = defaultdict[_Key, asyncio.Lock](asyncio.Lock)
        self._all: dict[HostProcess, HostRepo] = {}
        self._suspects: set[tuple[Path, str]] = set()
        self._launching: set[asyncio.Task[HostProcess]] = set()
        self._is_closed = False
        self._is_open_told = False

    async def start(self, repo: HostRepo, job: HandlerJob, events: LegEvents) -> HostLeg:
        packages = await self._dependencies.of(repo, job.entry, job.language)
        if (repo.root, job.entry) in self._suspects:
            alone = await self._launch(repo, job.language, packages, alone=job.entry)
            leg = alone.start(job, events)
            alone.retire()
            return leg
        return (await self._process(repo, job.language, packages)).start(job, events)

    async def describe(
        self,
        repo: HostRepo,
        language: Language,
        entry: str,
        form: Form = "handler",
        config: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        packages = await self._dependencies.of(repo, entry, language)
        return await (await self._process(repo, language, packages)).describe(entry, form, config)

    async def sweep(self) -> None:
        """End the processes that a killed runtime has left behind, and remove the folders of its commands."""
        if ended := await asyncio.to_thread(self._remains.sweep):
            log.warning("%d handler processes of a runtime that was killed were still there and have been ended", ended)
        for left in (self.command_homes, self._cache_dir / "pycache"):  # byte code is of earlier versions
            await asyncio.to_thread(shutil.rmtree, left, ignore_errors=True)
        await asyncio.to_thread(self._dependencies.sweep)

    async def retire(self, repo: HostRepo) -> None:
        for key in [key for key in self._current if key[0] == repo]:
            self._current.pop(key).retire()

    async def cleaned_up(self, wait_s: float) -> None:
        """Wait for handlers that clean up because their time is up, or their run was cancelled."""
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await asyncio.gather(*(process.cleaned_up() for process in self._all))

    async def close(self) -> None:
        self._is_closed = True
        await self._dependencies.close()
        launched = await asyncio.gather(*self._launching, return_exceptions=True)
        late = [process for process in launched if isinstance(process, HostProcess)]
        await asyncio.gather(*(process.close() for process in {*self._all, *late}))

    @property
    def processes(self) -> Mapping[HostProcess, HostRepo]:
        """Every process that has not ended, and the code it serves."""
        return dict(self._all)

    async def _process(self, repo: HostRepo, language: Language, packages: Path | None) -> HostProcess:
        key = (repo, repo.code, language, packages)
        async with self._locks[key]:
            current = self._current.get(key)
            if current is None or not (await current.is_awake() and current.takes_more):
                if current is not None:
                    current.retire()
                current = self._current[key] = await self._launch(repo, language, packages)
            return current

    async def _launch(
        self, repo: HostRepo, language: Language, packages: Path | None, alone: str | None = None
    ) -> HostProcess:
        if self._is_closed:
            raise HostUnavailable(_CLOSING)
        if not self._is_open_told:
            self._is_open_told = True
            for text in missing_borders():
                log.warning(text)
        source = Source(repo.root.resolve(), repo.code and repo.code.resolve(), packages)
        engine = deno if language == "typescript" else python

        def lost(process: HostProcess, suspects: frozenset[str]) -> None:
            """Entries that may have brought a process down run alone until one of them has ended well."""
            self._all.pop(process, None)
            self._remains.forget(process.pid)
            if alone is not None and not suspects:
                self._suspects.discard((repo.root, alone))
            self._suspects |= {(repo.root, entry) for entry in suspects if entry}

        command = engine.launch(source, self._cache_dir)
        stray = partial(self._stray, repo.root, language)
        launching = asyncio.get_running_loop().create_task(HostProcess.launch(source, language, command, lost, stray))
        self._launching.add(launching)
        launching.add_done_callback(self._launching.discard)
        try:
            # Cancelled while it makes a child, asyncio waits for that child beside the watcher that does so already.
            process = await asyncio.shield(launching)
        except asyncio.CancelledError:
            launching.add_done_callback(_unwanted)
            raise
        if self._is_closed:
            await process.close()
            raise HostUnavailable(_CLOSING)
        self._all[process] = repo
        self._remains.note(process.pid)
        return process


def _unwanted(launching: asyncio.Task[HostProcess]) -> None:
    if not launching.cancelled() and launching.exception() is None:
        launching.result().retire()
