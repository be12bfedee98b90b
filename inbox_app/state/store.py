"""One table of ``desk.db``: text by text.

Reading is once; writing happens in one thread of its own, so that a slow disk never holds the window.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Final

_BUSY_SECONDS: Final = 10


class Store:
    """``path`` None keeps nothing. ``problem`` is what went wrong last, else None; nothing is raised."""

    def __init__(self, path: Path | None, table: str, key: str) -> None:
        """``table`` and ``key`` (the column of the keys) are names of SQL, not of users."""
        self.problem: str | None = None
        self._path = path
        self._table = table
        self._key = key
        self._jobs: SimpleQueue[tuple[str, str | None] | None] = SimpleQueue()
        self._writer: threading.Thread | None = None

    def load(self) -> dict[str, str]:
        """Everything, in the order it was first written."""
        if self._path is None:
            return {}
        try:
            connection = self._connect(self._path)
            try:
                return dict(connection.execute(f"SELECT {self._key}, body FROM {self._table} ORDER BY rowid"))
            finally:
                connection.close()
        except (sqlite3.Error, OSError) as error:
            self.problem = f"{self._path} cannot be used ({error})."
            return {}

    def write(self, key: str, body: str | None) -> None:
        """None takes it out."""
        if self._path is None:
            return
        if self._writer is None:
            self._writer = threading.Thread(target=self._run, args=(self._path,), name=self._table, daemon=True)
            self._writer.start()
        self._jobs.put((key, body))

    def close(self) -> None:
        """Write what is left and stop the writer."""
        if self._writer is not None:
            self._jobs.put(None)
            self._writer.join()
            self._writer = None

    def _run(self, path: Path) -> None:
        connection: sqlite3.Connection | None = None
        while (job := self._jobs.get()) is not None:
            try:
                if connection is None:
                    connection = self._connect(path)
                self._store(connection, *job)
                self.problem = None
            except (sqlite3.Error, OSError) as error:
                self.problem = f"{path} cannot be written ({error})."
        if connection is not None:
            connection.close()

    def _connect(self, path: Path) -> sqlite3.Connection:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):  # a new file is for its owner's eyes, and what SQLite puts beside it too
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {self._table} ({self._key} TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT"
            )
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _store(self, connection: sqlite3.Connection, key: str, body: str | None) -> None:
        if body is None:
            connection.execute(f"DELETE FROM {self._table} WHERE {self._key} = ?", (key,))
        else:
            connection.execute(
                f"INSERT INTO {self._table} ({self._key}, body) VALUES (?, ?)"
                f" ON CONFLICT ({self._key}) DO UPDATE SET body = excluded.body",
                (key, body),
            )
