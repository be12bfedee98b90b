"""The one file that knows the SQLite driver: connections, pragmas, and what its errors mean to a person."""

from __future__ import annotations

import sqlite3
import sys
import time
from pathlib import Path
from typing import Final, TypeAlias

from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.settings import Durability

Connection: TypeAlias = sqlite3.Connection
DriverError: TypeAlias = sqlite3.Error
IntegrityError: TypeAlias = sqlite3.IntegrityError

BUSY_MS: Final = 5000

_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_UNUSABLE: Final = {
    sqlite3.SQLITE_FULL: "the disk is full. Free some space and try again",
    sqlite3.SQLITE_READONLY: "it cannot be written. Give yourself write permission or choose another data folder",
    sqlite3.SQLITE_PERM: "it may not be opened. Give yourself permission or choose another data folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened. Check that the folder exists, is writable and has space left, "
    "or choose another data folder",
    sqlite3.SQLITE_IOERR: "reading or writing failed. Check the free space and the health of the disk and try again",
    sqlite3.SQLITE_CORRUPT: "the file is damaged. Restore a copy, or move it away to start afresh",
    sqlite3.SQLITE_NOTADB: "the file is not a database. Move it away, or choose another data folder",
}


def connect(
    path: Path, *, durability: Durability = "full", read_only: bool = False, busy_ms: int = BUSY_MS
) -> Connection:
    """Open ``path`` in autocommit mode with the journal's pragmas (engines.md 4.5). Raises `RuntimeFault`.

    The connection may be closed by another thread than the one that uses it, but only one may use it at a time.
    """
    db: Connection | None = None
    try:
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
        db.execute(f"PRAGMA busy_timeout={busy_ms}")
        if not path.stat().st_size:
            db.execute("PRAGMA auto_vacuum=INCREMENTAL")
        _use_wal(db, busy_ms)
        db.execute(f"PRAGMA synchronous={'FULL' if durability == 'full' else 'NORMAL'}")
        db.execute("PRAGMA foreign_keys=ON")
        db.execute("PRAGMA wal_autocheckpoint=1000")
        if sys.platform == "darwin" and durability == "full":
            db.execute("PRAGMA fullfsync=ON")
        if read_only:
            db.execute("PRAGMA query_only=ON")
    except sqlite3.Error as error:
        if db is not None:
            db.close()
        raise fault(path, error) from error
    return db


def pragma(db: Connection, name: str) -> int:
    """The value of a pragma that is a number."""
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def rollback(db: Connection) -> None:
    """Give up the open transaction, if the error at hand has not done so already."""
    if db.in_transaction:
        db.execute("ROLLBACK")


def fault(path: Path, error: sqlite3.Error) -> RuntimeFault:
    """What ``error`` means to the person whose data folder it is. A bug of ours stays an ``INTERNAL_ERROR``."""
    primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if primary in _BUSY:
        return RuntimeFault(
            "data_folder_busy",
            f"{path} is locked by another program. Close that program (a database browser, a backup) and try again; "
            "nothing was stored.",
            file=str(path),
        )
    if primary in _UNUSABLE:
        return RuntimeFault(
            "data_folder_unusable", f"{path}: {_UNUSABLE[primary]}; nothing was stored. ({error})", file=str(path)
        )
    if "Could not decode to UTF-8" in str(error):
        return RuntimeFault(
            "data_folder_unusable",
            f"{path}: a text in it is damaged; nothing was stored. Find out which with: operator-inbox doctor",
            file=str(path),
        )
    return RuntimeFault("INTERNAL_ERROR", f"{path}: {type(error).__name__}: {error}; nothing was stored.")


def _use_wal(db: Connection, busy_ms: int) -> None:
    """Switch a new file to WAL. Two processes that do so at once do not wait for each other by themselves."""
    deadline = time.monotonic() + busy_ms / 1000
    while True:
        try:
            mode = db.execute("PRAGMA journal_mode").fetchone()[0]
            if mode != "wal":
                db.execute("PRAGMA journal_mode=WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
