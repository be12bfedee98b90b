"""The folder itself: whether it can be used, who uses it, and what lies about in it."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from runtime_core.doctor.findings import Finding, in_megabytes, ok, problem, warning
from runtime_core.journal.driver import DriverError
from runtime_core.journal.folder import NETWORK, file_system
from runtime_core.journal.look import holder, look

SCARCE_BYTES: Final = 500 * 1024 * 1024
TOO_LITTLE_BYTES: Final = 50 * 1024 * 1024
CACHE_BYTES: Final = 1024 * 1024 * 1024
LOG_BYTES: Final = 50 * 1024 * 1024


def place(data: Path) -> Iterator[Finding]:
    """Whether it can hold a journal at all."""
    if not os.access(data, os.R_OK | os.X_OK):
        yield problem("folder-unreadable", f"{data} may not be read.", "Give yourself permission to read and write it.")
    elif not os.access(data, os.W_OK):
        yield problem(
            "folder-read-only", f"{data} is read-only: nothing can be answered or started.", "Make it writable."
        )
    kind = file_system(data)
    if kind in NETWORK:
        yield problem(
            "network-file-system",
            f"{data} is on a network file system ({kind}), whose locks cannot be trusted.",
            "Move it to a local disk.",
        )
    free = shutil.disk_usage(data).free
    if free < TOO_LITTLE_BYTES:
        yield problem("disk-full", f"The disk of {data} has {in_megabytes(free)} left.", "Free some space.")
    elif free < SCARCE_BYTES:
        yield warning("disk-low", f"The disk of {data} has {in_megabytes(free)} left.", "Free some space soon.")
    else:
        yield ok("disk", f"{in_megabytes(free)} are free on the disk of {data}.")


def hindrance(data: Path) -> str | None:
    """Why a folder that is not there cannot be made."""
    if data.is_symlink():
        return f"it is a link to {os.readlink(data)}, which is not there"
    parent = next(parent for parent in data.parents if parent.exists())
    if not parent.is_dir():
        return f"{parent} is a file"
    if not os.access(parent, os.W_OK | os.X_OK) or file_system(parent) in {"proc", "sysfs"}:
        return f"{parent} may not be written"
    return None


def executor(data: Path) -> Iterator[Finding]:
    lock = data / "executor.lock"
    who = holder(lock)
    if who is not None:
        yield ok("executor", f"Process {who} executes the runs of this folder.")
    elif lock.exists():
        yield ok("executor", "No process executes runs now; the next command or window will.")


def privacy(data: Path) -> Iterator[Finding]:
    for name in ("runtime.db", "desk.db"):
        file = data / name
        if os.name == "posix" and file.exists() and (mode := stat.S_IMODE(file.stat().st_mode)) & 0o077:
            yield warning(
                "readable-by-others",
                f"{file} may be used by others (mode {mode:o}).",
                f"chmod 600 {shlex.quote(str(file))}",
            )


def leftovers(data: Path) -> Iterator[Finding]:
    for copy in sorted(data.glob("runtime.db.format-*.copy")):
        yield warning(
            "old-copy",
            f"{copy} ({in_megabytes(copy.stat().st_size)}) is the journal as it was before an update.",
            "Remove it when you do not mean to go back to the version before.",
        )
    unfinished = [*data.glob("*.part*"), *data.glob(".import-*"), *data.glob("versions/.*")]
    for left in sorted(unfinished):
        yield warning("unfinished", f"{left} was left by something that did not finish.", "Remove it.")


def sizes(data: Path) -> Iterator[Finding]:
    cache = size_of(data / "hosts")
    if cache > CACHE_BYTES:
        yield warning(
            "large-cache",
            f"{data / 'hosts'} holds {in_megabytes(cache)} of prepared code and installed packages.",
            "Remove it while the program is closed; it is made anew as needed, packages from the network.",
        )
    logs = size_of(data / "logs")
    if logs > LOG_BYTES:
        yield warning("large-logs", f"{data / 'logs'} holds {in_megabytes(logs)}.", "Remove the older files in it.")


def size_of(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except OSError:  # it has gone meanwhile
                continue
    return total


def desk(data: Path) -> Iterator[Finding]:
    """What the window remembers."""
    file = data / "desk.db"
    if not file.exists():
        return
    try:
        with look(file) as db:
            said = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except (DriverError, OSError, UnicodeDecodeError) as error:
        said = str(error)
    if said != "ok":
        yield problem(
            "desk-damaged",
            f"{file}, which holds drafts and what the window remembers, is damaged: {said}",
            "Move it away; runs and questions are not in it.",
        )
