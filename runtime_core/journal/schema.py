"""Bringing a journal's file to the newest format: forward only, all or nothing (engines.md 4.7)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from runtime_core.journal.driver import Connection, DriverError, fault, pragma, rollback
from runtime_core.journal.formats import MIGRATIONS, Migration
from runtime_core.wire.codes import RuntimeFault

CHEAP_BYTES: Final = 64 * 1024 * 1024


def migrate(db: Connection, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the file to the newest format and prove that it can be written. Raises `RuntimeFault`.

    All migrations are one transaction; before it a copy of a file with data is put beside it. A small file from the
    time before files could shrink is made to.
    """
    newest = len(migrations)
    try:
        db.execute("BEGIN")
        found = _format(db, path, newest)
        rollback(db)
        if 0 < found < newest:
            _copy(db, path, found)
        if found < newest:
            _apply(db, path, migrations)
        if 0 < found < newest and path.stat().st_size <= CHEAP_BYTES:
            with suppress(DriverError):  # somebody reads it, or there is no room: it works as it is
                make_shrinkable(db)
        db.execute("BEGIN IMMEDIATE")
        db.execute(f"PRAGMA user_version={newest}")
    except DriverError as error:
        raise fault(path, error) from error
    finally:
        rollback(db)


def fresh(number: int) -> Connection:
    """An empty journal of this format, in memory."""
    from sqlite_utils import Database

    db = Database(memory=True, execute_plugins=False)
    for migration in MIGRATIONS[:number]:
        migration(db)
    return db.conn


def make_shrinkable(db: Connection) -> None:
    """Write the file anew, without free pages and so that it can give back later ones. Nobody else may use it then."""
    db.execute("PRAGMA auto_vacuum=INCREMENTAL")
    db.execute("VACUUM")


def _format(db: Connection, path: Path, newest: int) -> int:
    found = pragma(db, "user_version")
    if found > newest:
        raise RuntimeFault(
            "data_folder_unusable",
            f"{path} has format {found}, made by a newer version of this program, which reads up to format {newest}. "
            "Install the newer version or choose another data folder; nothing was changed.",
            file=str(path),
        )
    if found == 0 and db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise RuntimeFault(
            "data_folder_unusable",
            f"{path} holds the tables of another program. Move it away or choose another data folder; "
            "nothing was changed.",
            file=str(path),
        )
    return found


def _copy(db: Connection, path: Path, found: int) -> None:
    copy = path.with_name(f"{path.name}.format-{found}.copy")
    if copy.exists():
        return
    unfinished = copy.with_name(f"{copy.name}.{os.getpid()}.part")
    try:
        _remove(unfinished)
        db.execute("VACUUM INTO ?", (str(unfinished),))
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(copy)
    except FileNotFoundError:
        if not copy.exists():  # else another process was faster, and tidied up
            raise
    finally:
        _remove(unfinished)
    for left in copy.parent.glob(f"{copy.name}.*.part"):
        _remove(left)


def _remove(unfinished: Path) -> None:
    for name in (unfinished.name, f"{unfinished.name}-journal"):
        unfinished.with_name(name).unlink(missing_ok=True)


def _apply(db: Connection, path: Path, migrations: Sequence[Migration]) -> None:
    from sqlite_utils import Database  # slow to import and needed only once in the life of a file

    db.execute("BEGIN IMMEDIATE")
    found = _format(db, path, len(migrations))  # another process may have been faster
    for migration in migrations[found:]:
        migration(Database(db, execute_plugins=False))
    db.execute(f"PRAGMA user_version={len(migrations)}")
    db.execute("COMMIT")
