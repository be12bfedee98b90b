"""Housekeeping of the journal in pieces so small that no answer waits for one (engines.md 4.7).

Ended runs keep their row, with input and result, and lose everything else after a time; runs that have not ended lose
nothing, ever. Conversations stay until somebody deletes them; of what repeats itself (`LATEST_OF`) the latest stay.
Large values that nobody names any more go, and the file gives back the room.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from runtime_core.journal.driver import Connection, pragma
from runtime_core.journal.formats import BLOB_COLUMNS
from runtime_core.wire.runs import FINISHED, JOURNAL_FORMAT

RUNS: Final = 50
ROWS: Final = 40
BLOBS: Final = 100
BLOB_BYTES: Final = 4 * 1024 * 1024
LOOKED: Final = 10
PAGES: Final = 128
KEPT_PAGES: Final = 1024
"""Free pages that stay in the file for what comes next."""

_TAKEN: Final = (
    ("span", "run_id = :run"),
    ("durable_vote", "question_id IN (SELECT id FROM durable_question WHERE run_id = :run)"),
    ("durable_question", "run_id = :run"),
    ("durable_leg", "run_id = :run"),
    ("durable_warning", "run_id = :run"),
    ("durable_entry", "run_id = :run"),
)
LATEST_OF: Final = (
    ("automation_run", "automation_id", "id", 1000),
    ("build", "repo", "started_at", 100),
)
"""Tables of which so many ended rows stay for each value of a column, the last ones in the order of another. An index
has both columns."""

_ENDED: Final = ", ".join(f"'{status}'" for status in sorted(FINISHED))

_IS_NAMED: Final = " OR ".join(
    f"EXISTS (SELECT 1 FROM {table} WHERE {column} = :digest AND typeof({column}) = 'blob')"
    for table, column in BLOB_COLUMNS
)


class Housekeeping:
    """One round after another: take journals away, drop what later rows push out and unnamed values, forget old trust,
    give back room."""

    def __init__(self) -> None:
        self._trimmed: tuple[int, str] = (0, "")
        self._swept = False
        self._cursor = b""

    def step(self, db: Connection, before: float | None) -> bool:
        """One small piece of work inside a transaction; False if the round is over.

        Runs that ended ``before`` (seconds since the epoch; None: none) lose their journals.
        """
        if _take_away(db) or self._trim(db) or (before is not None and _begin(db, before)):
            return True
        if not self._swept:
            self._sweep(db)
            return True
        if _shrink(db):
            return True
        if before is not None:
            _forget_trust(db, before)
        self._trimmed = (0, "")
        self._swept = False
        return False

    def _trim(self, db: Connection) -> bool:
        """Look at the next few values of `LATEST_OF` and delete rows of them that later ones have pushed out; False if
        there is no further one in this round."""
        for _ in range(LOOKED):
            number, after = self._trimmed
            if number == len(LATEST_OF):
                return False
            table, whose, order, kept = LATEST_OF[number]
            (value,) = db.execute(f"SELECT min({whose}) FROM {table} WHERE {whose} > ?", (after,)).fetchone()
            if value is None:
                self._trimmed = (number + 1, "")
            elif _push_out(db, table, f"{whose} = :value", order, {"value": value, "kept": kept, "rows": ROWS}):
                return True
            else:
                self._trimmed = (number, value)
        return True

    def _sweep(self, db: Connection) -> None:
        """Look at the next few large values and remove those that no row names."""
        found: Sequence[tuple[bytes, int]] = db.execute(
            "SELECT digest, size FROM durable_blob WHERE digest > ? ORDER BY digest LIMIT ?", (self._cursor, BLOBS)
        ).fetchall()
        removed = 0
        for digest, size in found:
            self._cursor = digest
            if not is_named(db, digest):
                db.execute("DELETE FROM durable_blob WHERE digest = ?", (digest,))
                removed += size
                if removed > BLOB_BYTES:
                    return
        if len(found) < BLOBS:
            self._swept = True
            self._cursor = b""


def is_named(db: Connection, digest: bytes) -> bool:
    """Whether any row holds the key of this large value."""
    return bool(db.execute(f"SELECT {_IS_NAMED}", {"digest": digest}).fetchone()[0])


def _begin(db: Connection, before: float) -> bool:
    """Mark the next runs whose time is over."""
    due = db.execute(
        "SELECT id FROM durable_run WHERE finished_at IS NOT NULL AND pruned_at IS NULL AND finished_at < ? "
        f"AND status IN ({_ENDED}) AND journal_format <= ? ORDER BY finished_at LIMIT ?",
        (before, JOURNAL_FORMAT, RUNS),
    ).fetchall()
    now = time.time()
    for (run_id,) in due:
        db.execute("UPDATE durable_run SET pruned_at = ? WHERE id = ?", (now, run_id))
        db.execute("INSERT OR IGNORE INTO durable_pruning(run_id) VALUES (?)", (run_id,))
    return bool(due)


def _take_away(db: Connection) -> bool:
    """Delete the next rows of the marked runs."""
    left = ROWS
    runs = db.execute("SELECT run_id FROM durable_pruning LIMIT ?", (RUNS,)).fetchall()
    for (run_id,) in runs:
        for table, whose in _TAKEN:
            taken = db.execute(
                f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE {whose} LIMIT :rows)",
                {"run": run_id, "rows": left},
            ).rowcount
            left -= taken
            if left <= 0:
                return True
        db.execute("DELETE FROM durable_pruning WHERE run_id = ?", (run_id,))
    return bool(runs)


def _push_out(db: Connection, table: str, whose: str, order: str, limits: dict[str, Any]) -> bool:
    """Delete the next ended rows before the last ``kept``: of what goes on, nothing is forgotten."""
    oldest = f"SELECT {order} FROM {table} WHERE {whose} ORDER BY {order} DESC LIMIT 1 OFFSET :kept - 1"
    before = f"{whose} AND ended_at IS NOT NULL AND {order} < ({oldest})"
    deleted = db.execute(
        f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE {before} LIMIT :rows)", limits
    )
    return deleted.rowcount > 0


def _forget_trust(db: Connection, before: float) -> None:
    """Forget code that was trusted long ago, unless it is the last of its repository or an open run may execute it."""
    db.execute(
        "DELETE FROM durable_trust WHERE at < :before "
        "AND EXISTS (SELECT 1 FROM durable_trust AS later WHERE later.repo = durable_trust.repo "
        "AND later.at > durable_trust.at) "
        "AND NOT EXISTS (SELECT 1 FROM durable_run WHERE finished_at IS NULL AND durable_run.repo = durable_trust.repo "
        "AND durable_trust.revision IN (durable_run.revision, leg_revision, resume_on))",
        {"before": before},
    )


def _shrink(db: Connection) -> bool:
    free = pragma(db, "freelist_count")
    if free <= KEPT_PAGES + PAGES or pragma(db, "auto_vacuum") == 0:
        return False
    for _ in range(PAGES):  # the driver ends a statement without columns after its first step, which is one page
        db.execute("PRAGMA incremental_vacuum(1)")
    return pragma(db, "freelist_count") < free
