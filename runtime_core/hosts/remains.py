"""Processes that outlive a killed runtime: it notes those it starts, and the next one ends those that are left.

On Linux the kernel ends them; elsewhere one that is blocked by its handler does not notice that its input has ended.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path


class Remains:
    """One file per process, ``OWNER-PID`` in ``folder``, that holds a mark which is on its command line as well."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @staticmethod
    def mark() -> str:
        return f"mark-{secrets.token_hex(8)}"

    def note(self, pid: int, mark: str) -> None:
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file(pid).write_text(mark)

    def forget(self, pid: int) -> None:
        with contextlib.suppress(OSError):
            self._file(pid).unlink(missing_ok=True)

    def sweep(self) -> int:
        """End what processes that are gone have left; how many there were."""
        if sys.platform == "win32" or not self._folder.is_dir():
            return 0
        ended = 0
        for file in self._folder.iterdir():
            owner, _, pid = file.name.partition("-")
            if not (owner.isdigit() and pid.isdigit()) or _exists(int(owner)):
                continue
            with contextlib.suppress(OSError):
                if (mark := file.read_text()) and mark in _command(int(pid)):
                    os.killpg(int(pid), signal.SIGKILL)
                    ended += 1
            with contextlib.suppress(OSError):
                file.unlink()
        return ended

    def _file(self, pid: int) -> Path:
        return self._folder / f"{os.getpid()}-{pid}"


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _command(pid: int) -> str:
    """The command line of a process, empty if it has none any more."""
    if sys.platform == "linux":
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    listing = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(listing, capture_output=True, text=True, check=False).stdout
