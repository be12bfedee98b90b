"""What ``doctor --compact`` does: take away what has had its time, count anew, and write the file small."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path

from runtime_core.dispatch.lock import ExecutorLock
from runtime_core.journal.documents import rebuild
from runtime_core.journal.driver import Connection, DriverError, fault, rollback
from runtime_core.journal.retention import Housekeeping
from runtime_core.journal.schema import make_shrinkable
from runtime_core.journal.sqlite import open_file
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.settings import Retention


def compact(data: Path, retention: Retention) -> tuple[int, int]:
    """Bytes of the journal before and after. Raises `RuntimeFault` data_folder_busy if somebody executes its runs."""
    file = data / "runtime.db"
    if not file.exists():
        raise RuntimeFault("NOT_FOUND", f"There is no journal at {file}.")
    if not os.access(data, os.W_OK):
        raise RuntimeFault("data_folder_unusable", f"{data} is read-only. Make it writable; nothing was changed.")
    lock = ExecutorLock(data / "executor.lock")
    if not lock.acquire():
        raise RuntimeFault("data_folder_busy", f"Another process executes the runs of {data}. Close it and try again.")
    try:
        with closing(open_file(file)) as db:
            before = file.stat().st_size
            _tidy(db, retention)
            make_shrinkable(db)
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return before, file.stat().st_size
    except OSError as error:
        where = error.filename or data
        raise RuntimeFault(
            "data_folder_unusable", f"{where}: {error.strerror}. Check permissions and space."
        ) from error
    except DriverError as error:
        raise fault(file, error) from error
    finally:
        lock.release()


def _tidy(db: Connection, retention: Retention) -> None:
    keeper = Housekeeping()
    before = retention.limit(time.time())
    try:
        more = True
        while more:
            db.execute("BEGIN IMMEDIATE")
            more = keeper.step(db, before)
            db.execute("COMMIT")
        db.execute("BEGIN IMMEDIATE")
        db.execute("DELETE FROM durable_count")
        db.execute("INSERT INTO durable_count(name, n) SELECT status, count(*) FROM durable_run GROUP BY status")
        db.execute(
            "INSERT INTO durable_count(name, n) "
            "SELECT 'open questions', count(*) FROM durable_question WHERE outcome IS NULL"
        )
        rebuild(db)
        db.execute("COMMIT")
    finally:
        rollback(db)
