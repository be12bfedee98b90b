"""Reading a journal without leaving a trace: nothing is written to it or beside it, whatever state it is in."""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from runtime_core.journal.driver import Connection


@contextmanager
def look(path: Path, *, busy_ms: int = 2000) -> Generator[Connection]:
    """One snapshot of the file. Raises `DriverError`, and `OSError` where a copy of it cannot be made.

    A file that somebody has open is read as any reader would. One that nobody has open is read as it stands; if its
    last owner died and left a log of writes, a copy of both is read, because reading the log changes what is beside it.
    """
    log = path.with_name(f"{path.name}-wal")
    with tempfile.TemporaryDirectory(prefix="operator-inbox-") as folder:
        if is_open(path):
            place, mode = path, "mode=ro"
        elif log.exists() and log.stat().st_size:
            place, mode = Path(folder) / path.name, "mode=rw"
            shutil.copyfile(path, place)
            shutil.copyfile(log, place.with_name(log.name))
        else:
            place, mode = path, "mode=ro&immutable=1"
        with closing(sqlite3.connect(f"file:{quote(str(place))}?{mode}", uri=True, isolation_level=None)) as db:
            db.execute(f"PRAGMA busy_timeout={busy_ms}")
            db.execute("PRAGMA query_only=ON")
            db.execute("BEGIN")
            yield db


def is_open(path: Path) -> bool:
    """Whether a process has the file open as a database; where the system does not tell, whether it looks so."""
    shared = path.with_name(f"{path.name}-shm")
    if not shared.exists():
        return False
    return holder(shared) is not None if sys.platform == "linux" else True


def holder(path: Path) -> int | None:
    """The id of a process that holds a lock on the file, as far as the system tells (Linux)."""
    try:
        inode = path.stat().st_ino
        locks = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return None
    for line in locks.splitlines():
        words = line.replace("->", "").split()
        if len(words) >= 6 and words[5].rpartition(":")[2] == str(inode):
            return int(words[4])
    return None
