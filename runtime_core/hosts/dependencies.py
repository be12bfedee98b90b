"""Packages that handlers import: those in the ``package.json`` or ``requirements.txt`` beside a handler (contract 2.1).

They are installed once for what these files say, into a folder of the application, and from then on found there
without a network. What installs them runs with the user's rights, so the code has to be trusted (decision 28).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import platform
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runtime_core.hosts import installers
from runtime_core.hosts.base import DependenciesUnavailable, HostRepo, Language
from runtime_core.hosts.source import Source

FILES: Final[Mapping[Language, tuple[str, ...]]] = {
    "typescript": ("package.json", "package-lock.json", "deno.lock"),
    "python": ("requirements.txt",),
}
"""What says which packages, the file that has to be there first."""
TOOLS: Final = ("amodal/tools/", "tools/")
UNUSED_S: Final = 90 * 24 * 3600.0
STAGE_S: Final = 3600.0
FILE_LIMIT: Final = 4 * 1024 * 1024
SIZE_LIMIT: Final = 1024 * 1024 * 1024
AT_ONCE: Final = 2

_STAGE: Final = ".stage-"

Trusted = Callable[[Path, str], Awaitable[bool]]
"""Whether a person has trusted the code of a repository: its root and revision."""

log = logging.getLogger(__name__)


async def nobody_trusts(root: Path, revision: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class _Wanted:
    """``file`` relative to the repository, ``digest`` over all that decides what is installed."""

    file: str
    language: Language
    contents: Mapping[str, bytes]
    digest: str


class Dependencies:
    """``folder`` holds one folder for each set of packages. Several processes may share it.

    ``looks``: what is there is used, and nothing is changed.
    """

    def __init__(self, folder: Path, trusted: Trusted = nobody_trusts, *, looks: bool = False) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._is_there = Path.is_dir if looks else _use
        self._trusted = trusted
        self._installing: dict[str, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(AT_ONCE)

    async def of(self, repo: HostRepo, entry: str, language: Language) -> Path | None:
        """The folder with the packages of a handler, installed if they are not yet; None if it needs none.

        Raises `DependenciesUnavailable`.
        """
        if not _names_packages(repo, entry, language):
            return None
        wanted = await asyncio.to_thread(_read, repo, entry, language)
        if wanted is None:
            return None
        target = self._folder / wanted.digest
        if not self._is_there(target):
            if not await self._trusted(repo.root, repo.revision):
                raise _untrusted(repo, wanted)
            await self._installed(repo, wanted, target)
        return target

    async def close(self) -> None:
        """End the installations that go on."""
        for task in self._installing.values():
            task.cancel()
        await asyncio.gather(*self._installing.values(), return_exceptions=True)

    def sweep(self, now: float | None = None) -> None:
        """Remove what was not used for long, and what killed installations left. Blocks on files."""
        now = time.time() if now is None else now
        with suppress(OSError):
            for entry in os.scandir(self._folder):
                kept_s = STAGE_S if entry.name.startswith(_STAGE) else UNUSED_S
                if entry.stat(follow_symlinks=False).st_mtime < now - kept_s:
                    self._remove(Path(entry.path))

    async def _installed(self, repo: HostRepo, wanted: _Wanted, target: Path) -> None:
        """Everybody who waits for the same packages waits for one installation, which none of them can break off."""
        task = self._installing.get(wanted.digest)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._install(repo, wanted, target))
            self._installing[wanted.digest] = task
            task.add_done_callback(lambda _: self._installing.pop(wanted.digest, None))
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise DependenciesUnavailable(f"The runtime closed while the packages of {wanted.file} came.") from None
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            raise

    async def _install(self, repo: HostRepo, wanted: _Wanted, target: Path) -> None:
        stage = self._folder / f"{_STAGE}{os.getpid()}-{time.monotonic_ns()}"
        async with self._room:
            log.info("installing the packages of %s in %s", wanted.file, repo.root)
            try:
                await asyncio.to_thread(stage.mkdir, mode=0o700, parents=True)
                await installers.install(wanted.language, wanted.contents, stage)
                await asyncio.to_thread(self._keep, stage, target)
            except installers.InstallationFailed as failed:
                raise DependenciesUnavailable(
                    f"The packages of {wanted.file} in {repo.root} cannot be installed: {failed} {failed.remedy}"
                ) from None
            except OSError as error:
                raise DependenciesUnavailable(
                    f"The packages of {wanted.file} cannot be kept in {self._folder}: {error.strerror or error}. "
                    "Free space or repair its permissions."
                ) from None
            finally:
                await asyncio.to_thread(shutil.rmtree, stage, ignore_errors=True)

    def _keep(self, stage: Path, target: Path) -> None:
        """All of it in one step, so that nobody ever finds a part. Raises `OSError`, `InstallationFailed`."""
        size = sum(entry.lstat().st_size for entry in stage.rglob("*"))
        if size > SIZE_LIMIT:
            raise installers.InstallationFailed(
                f"they take {size:,} bytes, of {SIZE_LIMIT:,} at most.", "Ask for fewer or smaller packages."
            )
        if sys.platform != "win32":
            _sync(stage)
        try:
            stage.rename(target)
        except OSError:
            if not target.is_dir():  # else another process was faster
                raise

    def _remove(self, path: Path) -> None:
        """Out of sight first, so that nobody finds a part."""
        aside = self._folder / f"{_STAGE}{os.getpid()}-{time.monotonic_ns()}-old"
        with suppress(OSError):
            path.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)


def _sync(stage: Path) -> None:
    """Its files are there after a power loss if its name is. Links and folders follow from what they hold."""
    for entry in stage.rglob("*"):
        if entry.is_file() and not entry.is_symlink():
            file = os.open(entry, os.O_RDONLY)
            try:
                os.fsync(file)
            finally:
                os.close(file)


def _beside(repo: HostRepo, entry: str, name: str) -> tuple[str, Path]:
    """The name of a file beside a handler, relative to the repository, and where it is read."""
    folder = entry.rpartition("/")[0]
    file = f"{folder}/{name}" if folder else name
    return file, Source(repo.root, repo.code).home(file) / file


def _names_packages(repo: HostRepo, entry: str, language: Language) -> bool:
    """Most handlers have no such file, and are started without a detour.

    Only tools may have one, and whoever has installed packages of npm beside a handler uses these.
    """
    if not entry.startswith(TOOLS) or not _beside(repo, entry, FILES[language][0])[1].exists():
        return False
    return language == "python" or not _beside(repo, entry, installers.NPM_FOLDER)[1].is_dir()


def _use(target: Path) -> bool:
    try:
        os.utime(target)
    except OSError:
        return target.is_dir()
    return True


def _read(repo: HostRepo, entry: str, language: Language) -> _Wanted | None:
    """What stands beside a handler. Raises `DependenciesUnavailable`."""
    contents: dict[str, bytes] = {}
    for name in FILES[language]:
        file, path = _beside(repo, entry, name)
        try:
            if path.stat().st_size > FILE_LIMIT:
                raise DependenciesUnavailable(f"{file} has more than {FILE_LIMIT:,} bytes. Make it shorter.")
            contents[name] = path.read_bytes()
        except FileNotFoundError:
            if not contents:  # gone by now
                return None
        except OSError as error:
            raise DependenciesUnavailable(f"{file} in {repo.root} cannot be read: {error.strerror}.") from None
    file, _ = _beside(repo, entry, FILES[language][0])
    try:
        contents = installers.staged(language, contents)
    except ValueError as error:
        raise DependenciesUnavailable(f"{file} in {repo.root} {error}.") from None
    return _Wanted(file, language, contents, _digest(language, contents)) if contents else None


def _digest(language: Language, contents: Mapping[str, bytes]) -> str:
    """Over the files, and over what packages are made for: two machines may share a folder."""
    where = [sys.platform, platform.machine(), *(map(str, sys.version_info[:2]) if language == "python" else ())]
    total = hashlib.sha256("\0".join([language, *where]).encode())
    for name, content in contents.items():
        total.update(f"\0{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def _untrusted(repo: HostRepo, wanted: _Wanted) -> DependenciesUnavailable:
    return DependenciesUnavailable(
        f"{wanted.file} in {repo.root} asks for packages, and nobody has trusted its code "
        f"({repo.revision[:12]}) so far. See what it needs with: operator-inbox check {repo.root}. "
        "Then give --trust to run, to answer, or to the window; a change of the code asks again.",
        code="untrusted",
    )
