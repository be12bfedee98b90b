"""The code of revisions, one folder for each, so that a run can end on the code it began with (contract decision 12).

A folder is named by the digest of what it holds, and used only if that is so. It is there as a whole or not at all.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

from runtime_core.repo.revision import TooLarge, code_files, revision_of
from runtime_core.wire.codes import RuntimeFault

log = logging.getLogger(__name__)

_AT_ONCE: Final = 16
UNUSED_S: Final = 3600.0
"""How long a folder that no run names is kept after its last use: whoever took it a moment ago may not be known yet."""


class Versions:
    """``folder`` holds the folders. Every method blocks on files and may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._good: set[str] = set()
        self._lock = threading.RLock()

    def keep(self, root: Path, revision: str) -> Path | None:
        """Copy the code files of a repository; None if they are of another revision by now.

        Raises `RuntimeFault` data_folder_unusable.
        """
        target = self.folder / revision
        with self._lock:
            if revision in self._good and target.is_dir():
                _touch(target)
                return target
            if self.find(revision) is not None:
                return target
            return target if self._try_copy(root, revision, target) else None

    def _try_copy(self, root: Path, revision: str, target: Path) -> bool:
        try:
            return self._copy(root, revision, target)
        except OSError as error:
            raise RuntimeFault(
                "data_folder_unusable",
                f"The code of {root} cannot be kept in {self.folder}: {error.strerror}. "
                "Free space or repair its permissions, or use another data folder.",
                file=str(self.folder),
            ) from error

    def find(self, revision: str) -> Path | None:
        """The folder of a revision, if it is there and holds what its name says."""
        target = self.folder / revision
        if target.parent != self.folder or target.is_symlink() or not target.is_dir():
            return None
        with self._lock:
            if _digest(target) != revision:
                self._good.discard(revision)
                log.warning("%s does not hold the code it is named by, and is not used.", target)
                return None
            self._good.add(revision)
            _touch(target)
            return target

    def stored(self) -> Sequence[str]:
        """The revisions there are folders of."""
        with suppress(OSError):
            return sorted(entry.name for entry in os.scandir(self.folder) if not entry.name.startswith("."))
        return ()

    def sweep(self, named: Set[str], now: float | None = None) -> Sequence[str]:
        """Remove folders that nobody names and nobody used lately, and what unfinished copies left; returns which."""
        before = (time.time() if now is None else now) - UNUSED_S
        removed: list[str] = []
        with self._lock, suppress(OSError):
            for entry in os.scandir(self.folder):
                if entry.name not in named and entry.stat(follow_symlinks=False).st_mtime < before:
                    self._good.discard(entry.name)
                    removed.append(entry.name)
                    self._remove(Path(entry.path))
        return removed

    def _copy(self, root: Path, revision: str, target: Path) -> bool:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self.folder / f".{revision[:16]}.{os.getpid()}.{time.monotonic_ns()}.part"
        part.mkdir(mode=0o700)
        try:
            if not _copy_files(root, part) or _digest(part) != revision:
                return False
            if target.exists():  # what is there is not what its name says
                self._remove(target)
            try:
                part.rename(target)
            except OSError:  # another process was faster
                if _digest(target) != revision:
                    raise
            _sync(self.folder)
            self._good.add(revision)
            return True
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def _remove(self, target: Path) -> None:
        """Out of sight first, so that nobody finds half of it."""
        aside = self.folder / f".{target.name.lstrip('.')[:16]}.{os.getpid()}.{time.monotonic_ns()}.old"
        with suppress(OSError):
            target.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)


def _copy_files(root: Path, part: Path) -> bool:
    """False if the files at ``root`` change or go meanwhile; only what is wrong with the copy is an error."""
    folders, copies = {part}, list[Path]()
    try:
        names = code_files(root)
    except (OSError, TooLarge):
        return False
    for name in names:
        try:
            content = (root / name).read_bytes()
        except OSError:
            return False
        copy = part / name
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folders.update(parent for parent in copy.parents if parent.is_relative_to(part))
        copy.write_bytes(content)
        copies.append(copy)
    with ThreadPoolExecutor(_AT_ONCE) as threads:  # a file system writes what is asked for at once in one go
        for paths in (copies, folders):
            list(threads.map(_sync, paths))
    return True


def _digest(folder: Path) -> str | None:
    try:
        return revision_of(folder)
    except (OSError, TooLarge):
        return None


def _touch(folder: Path) -> None:
    with suppress(OSError):
        os.utime(folder)


def _sync(path: Path) -> None:
    """Make a file, or the names in a folder, safe. Raises `OSError`, but not where folders cannot be synced."""
    try:
        handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    except PermissionError:  # Windows opens no folder, and needs no sync of one
        if path.is_dir():
            return
        raise
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
