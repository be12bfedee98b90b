"""What agents keep in mind: short texts, by repository and scope (contract 1.2 and 5.2, ``memory``)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence

from runtime_core.journal.driver import Connection
from runtime_core.wire.memory import Note


def add(db: Connection, repo: str, scope: str, text: str, who: str, judge: Callable[[Sequence[Note]], None]) -> Note:
    judge(those_of(db, repo, scope, ""))
    note = Note(f"note_{secrets.token_hex(8)}", text, time.time(), who)
    db.execute(
        "INSERT INTO memory_note(id, repo, scope, text, created_at, who) VALUES (?, ?, ?, ?, ?, ?)",
        (note.id, repo, scope, text, note.created_at, who),
    )
    return note


def remove(db: Connection, repo: str, scope: str, note_id: str) -> bool:
    found = db.execute("DELETE FROM memory_note WHERE id = ? AND repo = ? AND scope = ?", (note_id, repo, scope))
    return found.rowcount > 0


def those_of(db: Connection, repo: str, scope: str, query: str) -> list[Note]:
    rows = db.execute(
        "SELECT id, text, created_at, who FROM memory_note WHERE repo = ? AND scope = ? ORDER BY created_at, rowid",
        (repo, scope),
    )
    words = query.casefold().split()
    notes = [Note(*row) for row in rows.fetchall()]
    return [note for note in notes if all(word in note.text.casefold() for word in words)]
