"""Picks and texts that were not sent yet, kept in ``desk.db`` so that they survive a restart.

Reading is from memory; writing happens in one thread of its own, so that a slow disk never holds the window.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

_SCHEMA: Final = "CREATE TABLE IF NOT EXISTS drafts (pause_id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT"
_BUSY_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class Draft:
    """What was prepared for one pause. Only what the operator did; the question itself is never kept.

    ``pick`` counts options from 0 (yes is 0, no is 1) and is only good for the ``fingerprint`` it was made under.
    ``text`` is a text answer or typed JSON, ``edits`` the edited copy of the payload as JSON text, ``note`` the reason.
    """

    pause_id: str
    fingerprint: str | None = None
    pick: int | None = None
    text: str = ""
    edits: str | None = None
    note: str = ""

    @property
    def is_empty(self) -> bool:
        return self.pick is None and not self.text and self.edits is None and not self.note

    def under(self, fingerprint: str | None) -> Draft:
        """The part that may be used for a question with this fingerprint: texts stay, a pick of other options goes."""
        if fingerprint == self.fingerprint:
            return self
        return replace(self, fingerprint=fingerprint, pick=None)


class Drafts:
    """All drafts of this installation. ``problem`` is a sentence if they cannot be kept, else None."""

    def __init__(self, path: Path | None) -> None:
        """``path`` is the data base file; None keeps drafts in memory only."""
        self.problem: str | None = None
        self._path = path
        self._drafts: dict[str, Draft] = {}
        self._jobs: SimpleQueue[tuple[str, str | None] | None] = SimpleQueue()
        self._writer: threading.Thread | None = None
        if path is not None:
            self._load(path)

    def __len__(self) -> int:
        return len(self._drafts)

    def get(self, pause_id: str) -> Draft | None:
        return self._drafts.get(pause_id)

    def put(self, draft: Draft) -> None:
        """Keep a draft; an empty one is dropped."""
        if draft.is_empty:
            self.drop(draft.pause_id)
        elif self._drafts.get(draft.pause_id) != draft:
            self._drafts[draft.pause_id] = draft
            self._write(draft.pause_id, json.dumps(asdict(draft)))

    def drop(self, pause_id: str) -> None:
        if self._drafts.pop(pause_id, None) is not None:
            self._write(pause_id, None)

    def close(self) -> None:
        """Write what is left and stop the writer."""
        if self._writer is not None:
            self._jobs.put(None)
            self._writer.join()
            self._writer = None

    def _load(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = _connect(path)
            try:
                rows = connection.execute("SELECT body FROM drafts").fetchall()
            finally:
                connection.close()
        except (sqlite3.Error, OSError) as error:
            self.problem = f"Drafts are not kept: {path} cannot be used ({error})."
            return
        for (body,) in rows:
            draft = _read(body)
            if draft is not None:
                self._drafts[draft.pause_id] = draft

    def _write(self, pause_id: str, body: str | None) -> None:
        if self._path is None:
            return
        if self._writer is None:
            self._writer = threading.Thread(target=self._run, args=(self._path,), name="drafts", daemon=True)
            self._writer.start()
        self._jobs.put((pause_id, body))

    def _run(self, path: Path) -> None:
        connection: sqlite3.Connection | None = None
        while (job := self._jobs.get()) is not None:
            try:
                if connection is None:
                    connection = _connect(path)
                _store(connection, *job)
                self.problem = None
            except (sqlite3.Error, OSError) as error:
                self.problem = f"Drafts are not kept: {path} cannot be written ({error})."
        if connection is not None:
            connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _store(connection: sqlite3.Connection, pause_id: str, body: str | None) -> None:
    if body is None:
        connection.execute("DELETE FROM drafts WHERE pause_id = ?", (pause_id,))
    else:
        connection.execute(
            "INSERT INTO drafts (pause_id, body) VALUES (?, ?)"
            " ON CONFLICT (pause_id) DO UPDATE SET body = excluded.body",
            (pause_id, body),
        )


def _read(body: str) -> Draft | None:
    """A stored draft; None for one that this version does not understand."""
    try:
        fields: dict[str, Any] = json.loads(body)
        return Draft(**fields)
    except (ValueError, TypeError):
        return None
