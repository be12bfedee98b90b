"""Who executes: one process for a data folder, decided by a lock that the system drops when that process dies."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _sign(descriptor: int) -> None:
        pass

    def _signer_is_gone(path: Path) -> bool:
        return False

else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _sign(descriptor: int) -> None:
        with contextlib.suppress(OSError):  # a full disk; the lock holds all the same
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)

    def _signer_is_gone(path: Path) -> bool:
        try:
            os.kill(int(path.read_bytes()), 0)
        except ProcessLookupError:
            return True
        except (ValueError, OSError):
            return False
        return False


class ExecutorLock:
    """The lock on ``executor.lock``; not inherited by child processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    @property
    def is_orphaned(self) -> bool:
        """Whether the process that took the lock is gone.

        A child it was just starting keeps the lock for a moment, until it becomes the program it is to run.
        """
        return _signer_is_gone(self.path)

    def acquire(self) -> bool:
        """True if this object holds the lock now. Raises `OSError` if the file cannot be opened."""
        if self._descriptor is not None:
            return True
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _take(descriptor)
            _sign(descriptor)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
