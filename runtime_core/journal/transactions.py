"""What changes the journal. Every function runs inside one transaction that the writer opens and commits.

What has to be atomic with what is the table of engines.md 4.3. A change of the status that is shown writes events: one
for each question that opened or closed with it, or one without a question (contract decision 16).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from runtime_core.journal import documents
from runtime_core.journal.base import Claim, Fenced
from runtime_core.journal.driver import Connection
from runtime_core.journal.queries import ASLEEP, READABLE, known_run, pauses, sound_run
from runtime_core.journal.rows import (
    QUESTION,
    RUN,
    SPAN,
    damaged,
    keep,
    marks,
    question_values,
    run_values,
    span_values,
    to_run,
)
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.runs import (
    FINISHED,
    WAKING,
    Entry,
    PauseOutcome,
    PauseRow,
    RunRow,
    RunStatus,
    RunWarning,
    Span,
    iso,
    parent_slot,
    slot,
)

WAKE_LIMIT: Final = 1000
KEPT_EVENTS: Final = 20_000
"""Contract decision 16 asks for the last 10,000 at least."""

_SPAN_CODES: Final[Mapping[PauseOutcome, str]] = {"superseded": "pause_superseded", "cancelled": "run_cancelled"}

RUNTIME: Final = "runtime"
"""Who has closed a question that no person closed."""
_GATE_QUESTION: Final = slot("", 0)

_ADD_ENTRY: Final = (
    "INSERT INTO durable_entry(run_id, path, n, kind, name, digest, state, value, started_at, ended_at, epoch) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(run_id, path, n) DO NOTHING"
)
DROP_STARTED: Final = "DELETE FROM durable_entry WHERE run_id = ? AND path = ? AND n = ? AND state = 'started'"
_PUT_SPAN: Final = (
    f"INSERT INTO span({SPAN}) VALUES ({marks(SPAN)}) ON CONFLICT(run_id, slot) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in SPAN.split(", ")[2:])
)
_OPEN_QUESTION: Final = f"""
    INSERT INTO durable_question({QUESTION}) VALUES ({marks(QUESTION)})
    ON CONFLICT(id) DO UPDATE SET spec = excluded.spec, fingerprint = excluded.fingerprint, names = excluded.names,
        asked_at = excluded.asked_at, outcome = NULL, answered_by = NULL, answered_at = NULL, expires_at = CASE
        WHEN durable_question.fingerprint = excluded.fingerprint THEN durable_question.expires_at
        ELSE excluded.expires_at END
    WHERE durable_question.outcome = 'superseded'"""


_PUT_CLOSED: Final = (
    f"INSERT INTO durable_question({QUESTION}) VALUES ({marks(QUESTION)}) "
    "ON CONFLICT(id) DO UPDATE SET outcome = excluded.outcome, answered_at = excluded.answered_at"
)
_OLD_VOTES: Final = (
    "DELETE FROM durable_vote WHERE question_id = ? AND EXISTS (SELECT 1 FROM durable_question AS question "
    "WHERE question.id = durable_vote.question_id AND question.fingerprint <> ?)"
)
_END_SPAN: Final = (
    "UPDATE span SET state = 'cancelled', ended_at = coalesce(ended_at, ?), code = ?, message = ? WHERE run_id = ? "
    "AND slot = ? AND kind IN ('input', 'approval') AND state IN ('running', 'waiting', 'cancelled')"
)


def create_run(db: Connection, run: RunRow) -> None:
    db.execute(f"INSERT INTO durable_run({RUN}) VALUES ({marks(RUN)})", run_values(db, run))
    _event(db, run, "session_created", {})


def claim(db: Connection, run_id: str, owner: str) -> Claim | None:
    rows = db.execute(
        "UPDATE durable_run SET status = 'running', epoch = epoch + 1, lease_owner = :owner, "
        "updated_at = :now WHERE id = :id "
        f"AND {READABLE} AND (status = 'runnable' OR (status = 'running' AND lease_owner IS NOT :owner)) "
        f"RETURNING {RUN}",
        {"owner": owner, "now": time.time(), "id": run_id},
    ).fetchall()
    if not rows:
        return None
    run = to_run(db, rows[0])
    if run.damage is not None:
        raise damaged(run_id)
    return Claim(run, run.epoch, owner)


def append(
    db: Connection, claim: Claim, entries: Sequence[Entry], spans: Sequence[Span], expired: Sequence[PauseRow] = ()
) -> Sequence[Entry]:
    _fence(db, claim)
    stored = [_with_write(db, entry) for entry in entries]
    for entry in stored:
        put_entry(db, claim.run.id, entry, claim.epoch)
    _put_spans(db, spans)
    for pause in expired:
        db.execute(_PUT_CLOSED, question_values(db, pause))
    if expired:
        events(db, claim.run, expired)
    return stored


def _with_write(db: Connection, entry: Entry) -> Entry:
    return replace(entry, value=documents.write(db, entry.write), write=None) if entry.write is not None else entry


def warn(db: Connection, run_id: str, warnings: Sequence[RunWarning]) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO durable_warning(run_id, kind, text, at) VALUES (?, ?, ?, ?)",
        [(run_id, warning.kind, warning.text, warning.at) for warning in warnings],
    )


def spend(db: Connection, run_id: str, tokens: Mapping[str, int]) -> None:
    (known,) = db.execute("SELECT usage FROM durable_run WHERE id = ?", (run_id,)).fetchone()
    before = loads(known) if known is not None else {}
    used = cast("dict[str, int]", before if isinstance(before, dict) else {})
    for name, count in tokens.items():
        used[name] = used.get(name, 0) + count
    db.execute("UPDATE durable_run SET usage = ? WHERE id = ?", (dumps(used), run_id))


def park(
    db: Connection,
    claim: Claim,
    status: RunStatus,
    asked: Sequence[PauseRow],
    entries: Sequence[Entry],
    wake_at: float | None,
    error: JsonText | None,
    spans: Sequence[Span],
) -> None:
    append(db, claim, entries, spans)
    now = time.time()
    open_before = {pause.id: pause for pause in pauses(db, claim.run.id) if pause.outcome is None}
    given = {pause.id for pause in asked}
    closed = [
        close(db, pause, "superseded", None, now) for pause_id, pause in open_before.items() if pause_id not in given
    ]
    still_open = [pause for pause_id, pause in open_before.items() if pause_id in given]
    opened = [pause for pause in asked if pause.id not in open_before]
    for pause in opened:
        db.execute(_OLD_VOTES, (pause.id, pause.fingerprint))
        db.execute(_OPEN_QUESTION, question_values(db, pause))
    run = move(
        db, claim.run.id, status, now, wake_at=wake_at if status in WAKING else None, error=error, finished_at=None
    )
    events(db, run, [*closed, *(opened or still_open[:1])])


def finish(
    db: Connection,
    claim: Claim,
    status: RunStatus,
    result: JsonText | None,
    error: JsonText | None,
    entries: Sequence[Entry],
    spans: Sequence[Span],
) -> None:
    append(db, claim, entries, spans)
    now = time.time()
    closed = _close_all(db, claim.run.id, "superseded", None, now)
    run = move(db, claim.run.id, status, now, result=result, error=error, finished_at=now)
    events(db, run, closed)


def withdraw(db: Connection, gate_id: str) -> bool:
    """Cancel a gate because nobody waits for it any more; False if somebody has answered: then it goes on."""
    if any(pause.slot == _GATE_QUESTION and pause.outcome is not None for pause in pauses(db, gate_id)):
        return False
    cancel(db, gate_id, RUNTIME, "Nobody waits for the answer any more.")
    return True


def cancel(db: Connection, run_id: str, who: str, why: str | None = None) -> RunRow:
    run = known_run(db, run_id)
    if run.status in FINISHED:
        code = {"cancelled": "run_cancelled", "expired": "pause_expired"}.get(run.status, "not_awaiting_input")
        raise RuntimeFault(
            code,
            f"Session {run_id} has already ended ({run.status}); there is nothing to cancel.",
            status=run.status,
            finished_at=iso(run.finished_at),
        )
    now = time.time()
    closed = _close_all(db, run_id, "cancelled", who, now)
    db.execute(
        "UPDATE span SET state = 'cancelled', ended_at = ? WHERE run_id = ? AND state IN ('running', 'waiting')",
        (now, run_id),
    )
    message = why or f"Cancelled by {who}."
    error = dumps({"code": "run_cancelled", "message": message, "cancelled_by": who})
    run = move(db, run_id, "cancelled", now, error=error, finished_at=now, epoch=run.epoch + 1)
    events(db, run, closed)
    return run


def resume(db: Connection, run_id: str, revision: str | None, who: str) -> RunRow:
    run = sound_run(db, run_id)
    open_pauses = [pause for pause in pauses(db, run_id) if pause.outcome is None]
    stuck = [pause for pause in open_pauses if pause.slot.startswith("-")]
    is_other = revision is not None or run.resume_on is not None
    if run.status != "diverged" and not (run.status == "needs-attention" and is_other and stuck):
        raise RuntimeFault(
            "not_diverged",
            f"Session {run_id} is {run.shown_status}. Only a run that stopped as diverged, or one that cannot go on "
            "with the code there is, is resumed with other code.",
            status=run.shown_status,
        )
    now = time.time()
    closed = [close(db, pause, "superseded", who, now) for pause in stuck]
    for pause in stuck:
        db.execute(DROP_STARTED, (run_id, parent_slot(pause.slot), int(pause.slot)))
    run = move(db, run_id, "runnable", now, error=None, resume_on=revision)
    events(db, run, [*closed, *[pause for pause in open_pauses if pause not in stuck]])
    return run


def wake_due(db: Connection, now: float) -> list[str]:
    due = db.execute(
        f"SELECT id, wake_at {ASLEEP} AND wake_at IS NOT NULL AND wake_at <= ? ORDER BY wake_at, id LIMIT ?",
        (now, WAKE_LIMIT),
    ).fetchall()
    for run_id, wake_at in due:
        events(db, move(db, run_id, "runnable", time.time(), wake_at=wake_at), [])
    return [run_id for run_id, _ in due]


def abandon_claims(db: Connection) -> list[str]:
    rows = db.execute(
        "UPDATE durable_run SET status = 'runnable', lease_owner = NULL WHERE status IN ('runnable', 'running') "
        f"AND status = 'running' AND {READABLE} RETURNING id"
    )
    return sorted(row[0] for row in rows.fetchall())


def _fence(db: Connection, claim: Claim) -> None:
    row = db.execute("SELECT epoch, status, leg_revision FROM durable_run WHERE id = ?", (claim.run.id,)).fetchone()
    if row is None or row[:2] != (claim.epoch, "running"):
        raise Fenced(f"Leg {claim.epoch} of {claim.run.id} may not write: the run is now {row or 'gone'}.")
    if claim.revision and row[2] != claim.revision:
        _note_leg(db, claim)


def _note_leg(db: Connection, claim: Claim) -> None:
    """Only legs that run other code than the one before them are noted: the others ran what it ran."""
    db.execute("UPDATE durable_run SET leg_revision = ? WHERE id = ?", (claim.revision, claim.run.id))
    db.execute(
        "INSERT INTO durable_leg(run_id, epoch, revision, at) VALUES (?, ?, ?, ?)",
        (claim.run.id, claim.epoch, claim.revision, time.time()),
    )


def put_entry(db: Connection, run_id: str, entry: Entry, epoch: int) -> None:
    """Insert an entry; a started one in its place gives way, so that ids follow the order of completion."""
    values = (
        run_id,
        entry.path,
        entry.n,
        entry.kind,
        entry.name,
        entry.digest,
        entry.state,
        keep(db, entry.value),
        entry.started_at,
        entry.ended_at,
        epoch,
    )
    if not db.execute(_ADD_ENTRY, values).rowcount:
        db.execute(DROP_STARTED, values[:3])
        if not db.execute(_ADD_ENTRY, values).rowcount:
            raise ValueError(f"call {slot(entry.path, entry.n)} of {run_id} is finished and never changes again")


def _put_spans(db: Connection, spans: Sequence[Span]) -> None:
    if spans:
        db.executemany(_PUT_SPAN, [span_values(span) for span in spans])


def close(db: Connection, pause: PauseRow, outcome: PauseOutcome, who: str | None, now: float) -> PauseRow:
    closed = replace(pause, outcome=outcome, answered_by=who, answered_at=now)
    db.execute(
        "UPDATE durable_question SET outcome = ?, answered_by = ?, answered_at = ? WHERE id = ?",
        (outcome, who, now, pause.id),
    )
    if pause.slot.startswith("-"):  # no call of a handler: its entry is there for an answer only
        db.execute(DROP_STARTED, (pause.run_id, parent_slot(pause.slot), int(pause.slot)))
    if outcome in _SPAN_CODES:
        message = f"Cancelled by {who}." if outcome == "cancelled" else "The run went on without an answer."
        db.execute(_END_SPAN, (now, _SPAN_CODES[outcome], message, pause.run_id, pause.slot))
    return closed


def _close_all(db: Connection, run_id: str, outcome: PauseOutcome, who: str | None, now: float) -> list[PauseRow]:
    return [close(db, pause, outcome, who, now) for pause in pauses(db, run_id) if pause.outcome is None]


def move(db: Connection, run_id: str, status: RunStatus, now: float, **changes: Any) -> RunRow:
    """Set the status and release the claim; ``wake_at`` is cleared unless it is among the changes."""
    changes = {"wake_at": None, **changes, "status": status, "lease_owner": None, "updated_at": now}
    for name in ("result", "error"):
        if name in changes:
            changes[name] = keep(db, changes[name])
    columns = ", ".join(f"{name} = ?" for name in changes)
    rows = db.execute(
        f"UPDATE durable_run SET {columns} WHERE id = ? RETURNING {RUN}", (*changes.values(), run_id)
    ).fetchall()
    return to_run(db, rows[0])


def events(db: Connection, run: RunRow, touched: Sequence[PauseRow]) -> None:
    for pause in touched:
        _event(db, run, "session_updated", {"pauseId": pause.id, "pause": pause.to_wire(status=run.shown_status)})
    if not touched:
        _event(db, run, "session_updated", {})


def _event(db: Connection, run: RunRow, kind: str, more: dict[str, Any]) -> None:
    tell(db, run.id, kind, {"sessionId": run.id, "status": run.shown_status, **more})


def tell(db: Connection, about: str, kind: str, body: dict[str, Any]) -> None:
    """Add an event about a run, or about an automation, to the outbox."""
    seq = db.execute(
        "INSERT INTO durable_event(run_id, type, body, at) VALUES (?, ?, ?, ?)",
        (about, kind, keep(db, dumps(body)), time.time()),
    ).lastrowid
    if seq is not None and seq % 1000 == 0:
        db.execute("DELETE FROM durable_event WHERE id <= ?", (seq - KEPT_EVENTS,))
