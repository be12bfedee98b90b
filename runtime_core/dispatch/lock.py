"""Who executes: one process for a data folder, decided by a lock that the system drops when that process dies."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Final

from runtime_core.wire.codes import RuntimeFault

_ORPHAN_S: Final = 1.0

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _sign(descriptor: int, note: str) -> None:
        pass

    def _signer_is_gone(path: Path) -> bool:
        return False

else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _sign(descriptor: int, note: str) -> None:
        with contextlib.suppress(OSError):  # a full disk; the lock holds all the same
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n{note}".encode(errors="replace"), 0)

    def _signer_is_gone(path: Path) -> bool:
        try:
            os.kill(int(path.read_bytes().partition(b"\n")[0]), 0)
        except ProcessLookupError:
            return True
        except (ValueError, OSError):
            return False
        return False


class ExecutorLock:
    """The lock on ``executor.lock``; not inherited by child processes. ``note``: what others may read meanwhile."""

    def __init__(self, path: Path, note: str = "") -> None:
        self.path = path
        self._note = note
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    @property
    def holders_note(self) -> str:
        """That of the process which holds the lock, where the system lets it be read."""
        with contextlib.suppress(OSError):
            return self.path.read_bytes().partition(b"\n")[2].decode(errors="replace")
        return ""

    def acquire(self) -> bool:
        """True if this object holds the lock now. Raises `RuntimeFault` if the file cannot be opened."""
        if self._descriptor is not None:
            return True
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise RuntimeFault(
                "data_folder_unusable",
                f"{self.path} cannot be opened: {error.strerror}. Check its permissions, or use another folder.",
                file=str(self.path),
            ) from error
        try:
            _take(descriptor)
            _sign(descriptor, self._note)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    async def acquire_at_start(self) -> bool:
        """As `acquire`, with a little patience if the process that took the lock is gone.

        A child it was just starting keeps the lock for a moment, until it becomes the program it is to run.
        """
        deadline = time.monotonic() + _ORPHAN_S
        while not self.acquire():
            if not _signer_is_gone(self.path) or time.monotonic() > deadline:
                return False
            await asyncio.sleep(0.01)
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
