"""Processes that outlive a killed runtime: it notes those it starts, and the next one ends those that are left.

On Linux the kernel ends handlers; elsewhere one that is blocked by its handler does not notice that its input ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path


class Remains:
    """One file per process, ``OWNER-PID`` in ``folder``, that holds when it was started: its number may be given away
    again, and its command line is its own affair.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, pid: int) -> None:
        if sys.platform == "win32":
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self._file(pid), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(born(pid))

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
                if (noted := file.read_text()) and noted == born(int(pid)):
                    os.killpg(int(pid), signal.SIGKILL)
                    ended += 1
            with contextlib.suppress(OSError):
                file.unlink()
        return ended

    def _file(self, pid: int) -> Path:
        return self._folder / f"{os.getpid()}-{pid}"


def this_process() -> str:
    """Names this process so that no other one is ever taken for it; empty where `is_gone` cannot tell anyway."""
    if sys.platform == "win32":
        return ""
    with contextlib.suppress(OSError):
        return f"{os.getpid()} {born(os.getpid())}"
    return ""


def is_gone(process: str) -> bool:
    """Whether a process, named by `this_process`, has ended; False if nobody can tell."""
    pid, _, since = process.partition(" ")
    if sys.platform == "win32" or not pid.isdigit() or not since:
        return False
    try:
        return not _exists(int(pid)) or born(int(pid)) != since
    except OSError:
        return not _exists(int(pid))


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def born(pid: int) -> str:
    """When a process was started, as its system counts it; empty if there is none. Raises `OSError`."""
    if sys.platform == "linux":
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        after_name = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return f"{boot} {after_name[19]}"  # field 22 of proc_pid_stat(5), in clock ticks since then
    listing = ["ps", "-o", "lstart=", "-p", str(pid)]
    fixed = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    return subprocess.run(listing, capture_output=True, text=True, check=False, env=fixed).stdout.strip()
