"""What the journal is asked. Every function reads in one snapshot of the connection it is given."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from runtime_core.journal.base import Page
from runtime_core.journal.driver import Connection
from runtime_core.journal.rows import (
    ENTRY,
    EVENT,
    QUESTION,
    RUN,
    SPAN,
    damaged,
    readable,
    to_entry,
    to_event,
    to_pause,
    to_run,
    to_span,
)
from runtime_core.wire.codes import RuntimeFault, no_session
from runtime_core.wire.runs import (
    FINISHED,
    JOURNAL_FORMAT,
    WAKING,
    Entry,
    Event,
    LegRow,
    PauseRow,
    RunRow,
    RunStatus,
    RunWarning,
    Span,
    Standing,
    Vote,
)

MAX_PAGE: Final = 1000

READABLE: Final = f"journal_format <= {JOURNAL_FORMAT}"
"""Runs of a format of the future are shown, and nothing else is done with them."""

ASLEEP: Final = f"FROM durable_run WHERE status IN {tuple(sorted(WAKING))} AND {READABLE}"
"""Runs whose time wakes them. The time stays what it is while they are on their way, until they park again."""

OVERDUE: Final = (
    "FROM durable_question AS question JOIN durable_run AS run ON run.id = run_id "
    "WHERE question.outcome IS NULL AND expires_at IS NOT NULL AND run.status NOT IN ('running', 'diverged') "
    f"AND {READABLE}"
)
"""Open questions with a deadline, except those of runs that a leg advances, which looks at deadlines itself, and of
runs that only a person can make go on."""


def run(db: Connection, run_id: str) -> RunRow | None:
    row = db.execute(f"SELECT {RUN} FROM durable_run WHERE id = ?", (run_id,)).fetchone()
    return to_run(db, row) if row else None


def sound_run(db: Connection, run_id: str) -> RunRow:
    """A known run with which something may be done. Raises `RuntimeFault`."""
    found = known_run(db, run_id)
    if found.damage is not None:
        raise damaged(run_id)
    return found


def known_run(db: Connection, run_id: str) -> RunRow:
    found = run(db, run_id)
    if found is None:
        raise no_session(run_id)
    if not db.execute(f"SELECT {READABLE} FROM durable_run WHERE id = ?", (run_id,)).fetchone()[0]:
        raise RuntimeFault(
            "data_folder_unusable",
            f"Session {run_id} was recorded by a newer version of this program, in a way that this one does not know. "
            "Install the newer version; nothing was changed.",
        )
    return found


def runs(db: Connection, statuses: Sequence[RunStatus], limit: int, cursor: str | None) -> Page[RunRow]:
    """Finished runs by the time they ended, others by the time they began; latest first."""
    limit = page_size(limit)
    wanted = ", ".join("?" * len(statuses))
    total = db.execute(
        f"SELECT coalesce(sum(n), 0) FROM durable_count WHERE name IN ({wanted})", tuple(statuses)
    ).fetchone()[0]
    if FINISHED.issuperset(statuses):
        at, key = position_of(cursor) or (float("inf"), "")
        rows = db.execute(
            f"SELECT {RUN} FROM durable_run WHERE finished_at IS NOT NULL AND (finished_at, id) < (?, ?) "
            f"AND status IN ({wanted}) ORDER BY finished_at DESC, id DESC LIMIT ?",
            (at, key, *statuses, limit + 1),
        ).fetchall()
    else:
        _, key = position_of(cursor) or (0.0, "~")
        only_open = "AND finished_at IS NULL " if FINISHED.isdisjoint(statuses) else ""
        rows = db.execute(
            f"SELECT {RUN} FROM durable_run WHERE id < ? {only_open}AND status IN ({wanted}) ORDER BY id DESC LIMIT ?",
            (key, *statuses, limit + 1),
        ).fetchall()
    items = [to_run(db, row) for row in rows[:limit]]
    last = items[-1] if len(rows) > limit else None
    return Page(items, total, cursor_of(last.finished_at or 0.0, last.id) if last else None)


def entries(db: Connection, run_id: str) -> list[Entry]:
    rows = db.execute(
        f"SELECT {ENTRY} FROM durable_entry WHERE run_id = ? ORDER BY state = 'started', id",
        (run_id,),
    )
    return [to_entry(db, row, run_id) for row in rows.fetchall()]


def pauses(db: Connection, run_id: str) -> list[PauseRow]:
    rows = db.execute(f"SELECT {QUESTION} FROM durable_question WHERE run_id = ? ORDER BY asked_at, id", (run_id,))
    return [_with_votes(db, to_pause(db, row)) for row in rows.fetchall()]


def _with_votes(db: Connection, pause: PauseRow) -> PauseRow:
    if '"quorum"' not in pause.spec:
        return pause
    rows = db.execute(
        "SELECT who, value, edits, note, at FROM durable_vote WHERE question_id = ? ORDER BY at, rowid", (pause.id,)
    )
    return replace(pause, votes=tuple(Vote(*readable(db, row, pause.run_id)[0]) for row in rows.fetchall()))


def pending(db: Connection, limit: int, cursor: str | None) -> Page[PauseRow]:
    limit = page_size(limit)
    at, key = position_of(cursor) or (float("-inf"), "")
    rows = db.execute(
        f"SELECT {QUESTION} FROM durable_question WHERE outcome IS NULL AND (asked_at, id) > (?, ?) "
        "ORDER BY asked_at, id LIMIT ?",
        (at, key, limit + 1),
    ).fetchall()
    items = [_with_votes(db, to_pause(db, row)) for row in rows[:limit]]
    total = db.execute("SELECT coalesce(sum(n), 0) FROM durable_count WHERE name = 'open questions'").fetchone()[0]
    return Page(items, total, cursor_of(items[-1].asked_at, items[-1].id) if len(rows) > limit else None)


UNHELD: Final = (
    "finished_at IS NULL AND NOT EXISTS "
    "(SELECT 1 FROM durable_run AS asking WHERE asking.id = durable_run.parent_session)"
)
"""The parent of what a conversation asks is the conversation."""


def gates(db: Connection, parent: str | None) -> list[RunRow]:
    whose = "parent_session = ?" if parent is not None else UNHELD
    given = () if parent is None else (parent,)
    rows = db.execute(f"SELECT {RUN} FROM durable_run WHERE {whose} AND gate IS NOT NULL ORDER BY id", given)
    return [to_run(db, row) for row in rows.fetchall()]


def legs(db: Connection, run_id: str) -> list[LegRow]:
    rows = db.execute("SELECT epoch, revision, at FROM durable_leg WHERE run_id = ? ORDER BY epoch", (run_id,))
    return [LegRow(*row) for row in rows.fetchall()]


def warnings(db: Connection, run_id: str) -> list[RunWarning]:
    rows = db.execute("SELECT kind, text, at FROM durable_warning WHERE run_id = ? ORDER BY at, kind", (run_id,))
    return [RunWarning(*row) for row in rows.fetchall()]


def waiting_in(db: Connection, repo: str, limit: int) -> list[str]:
    rows = db.execute(
        "SELECT run.id FROM durable_question AS question JOIN durable_run AS run ON run.id = question.run_id "
        "WHERE question.outcome IS NULL AND run.repo = ? ORDER BY question.asked_at, question.id LIMIT ?",
        (repo, limit),
    )
    return list(dict.fromkeys(row[0] for row in rows.fetchall()))


def named_revisions(db: Connection) -> set[str]:
    rows = db.execute(
        "SELECT revision FROM durable_run WHERE finished_at IS NULL "
        "UNION SELECT leg_revision FROM durable_run WHERE finished_at IS NULL "
        "UNION SELECT resume_on FROM durable_run WHERE finished_at IS NULL "
        "UNION SELECT leg.revision FROM durable_run AS run JOIN durable_leg AS leg ON leg.run_id = run.id "
        "WHERE run.finished_at IS NULL"
    )
    return {row[0] for row in rows.fetchall() if row[0]}


def standings(db: Connection, run_ids: Sequence[str]) -> dict[str, Standing]:
    found = (
        db.execute(
            "SELECT id, status, repo, revision, leg_revision, resume_on FROM durable_run WHERE id = ?", (run_id,)
        )
        for run_id in dict.fromkeys(run_ids)
    )
    return {row[0]: Standing(*row[1:]) for one in found for row in one.fetchall()}


def spans(db: Connection, run_id: str) -> list[Span]:
    """In the order in which the calls were made."""
    rows = db.execute(f"SELECT {SPAN} FROM span WHERE run_id = ?", (run_id,))
    found = [to_span(row) for row in rows.fetchall()]
    return sorted(found, key=lambda span: [int(part) for part in span.slot.split("/") if part.isdecimal()])


def events(db: Connection, after: int, limit: int) -> list[Event]:
    rows = db.execute(f"SELECT {EVENT} FROM durable_event WHERE id > ? ORDER BY id LIMIT ?", (after, limit))
    return [to_event(db, row) for row in rows.fetchall()]


def last_event(db: Connection) -> int:
    return db.execute("SELECT coalesce(max(id), 0) FROM durable_event").fetchone()[0]


def runnable(db: Connection, limit: int, owners: Sequence[str]) -> list[str]:
    """Ids of runs to advance, oldest first; ``owners`` are the live executors."""
    rows = db.execute(
        f"SELECT id FROM durable_run WHERE status IN ('runnable', 'running') AND {READABLE} AND (status = 'runnable' "
        f"OR lease_owner NOT IN ({', '.join('?' * len(owners))})) ORDER BY updated_at, id LIMIT ?",
        (*owners, limit),
    )
    return [row[0] for row in rows.fetchall()]


def next_wake(db: Connection) -> float | None:
    """The earliest end of a sleep, or deadline of a question that no leg is concerned with now."""
    sleep = db.execute(f"SELECT min(wake_at) {ASLEEP} AND wake_at IS NOT NULL").fetchone()
    deadline = db.execute(f"SELECT expires_at {OVERDUE} ORDER BY expires_at LIMIT 1").fetchone()
    return min((row[0] for row in (sleep, deadline) if row is not None and row[0] is not None), default=None)


def page_size(limit: int) -> int:
    return max(1, min(limit, MAX_PAGE))


def cursor_of(at: float, key: str) -> str:
    return base64.urlsafe_b64encode(f"{at!r} {key}".encode()).decode()


def position_of(cursor: str | None) -> tuple[float, str] | None:
    if not cursor:
        return None
    try:
        at, _, key = base64.urlsafe_b64decode(cursor.encode()).decode().partition(" ")
        return float(at), key
    except ValueError as error:  # bad base64, bad UTF-8 or not a number
        raise RuntimeFault(
            "VALIDATION_ERROR", "cursor: not one that this list gave out. Leave it out to begin with the first page."
        ) from error
