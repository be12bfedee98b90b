"""The journal's SQLite driver on apsw, so that the files it writes go through a file layer of ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import apsw

from runtime_core.journal import driver


class Cursor:
    """What a statement left; its rows are all read at once."""

    def __init__(self, rows: list[Any], description: Any, changes: int, last_id: int) -> None:
        self._rows = iter(rows)
        self.description = description
        self.rowcount = changes
        self.lastrowid = last_id

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows


class Connection:
    """As much of ``sqlite3.Connection`` as the journal and its migrations use.

    ``committed`` is called after every commit; ``synchronous`` takes the place of what the journal asks for.
    """

    def __init__(
        self, path: Path, vfs: str, committed: Callable[[Connection], None], synchronous: str | None = None
    ) -> None:
        with _translated():
            self._db = apsw.Connection(str(path), vfs=vfs)
        self._committed = committed
        self._synchronous = synchronous

    @property
    def in_transaction(self) -> bool:
        return self._db.in_transaction

    def execute(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> Cursor:
        if self._synchronous is not None and sql.startswith("PRAGMA synchronous="):
            sql = f"PRAGMA synchronous={self._synchronous}"
        with _translated():
            columns: list[Any] = []

            def look(statement: apsw.Cursor, *_: object) -> bool:
                columns.append(statement.get_description())
                return True

            cursor = self._db.cursor()
            cursor.exec_trace = look
            rows = cursor.execute(sql, values or None).fetchall()
            done = Cursor(rows, columns[-1] if columns else None, self._db.changes(), self._db.last_insert_rowid())
        if sql == "COMMIT":
            self._committed(self)
        return done

    def executemany(self, sql: str, rows: Sequence[Any]) -> None:
        with _translated():
            self._db.cursor().executemany(sql, rows)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        """The journal's migrations stand in a transaction of their own: nothing is committed here."""


@contextmanager
def installed(
    vfs: str, *, committed: Callable[[Connection], None] = lambda _: None, synchronous: str | None = None
) -> Generator[None]:
    """Within the block every connection of the journal is one of apsw, on this file layer."""

    def connect(path: Path, **_: Any) -> Connection:
        return Connection(path, vfs, committed, synchronous)

    with mock.patch.object(driver, "sqlite3", SimpleNamespace(**vars(sqlite3) | {"connect": connect})):
        yield


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except apsw.Error as error:
        translated = sqlite3.OperationalError(str(error))
        translated.sqlite_errorcode = getattr(error, "extendedresult", 0) & 0xFFFFFFFF
        raise translated from error
