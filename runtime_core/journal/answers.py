"""What closes a question, answers and deadlines; as in `transactions`, inside one transaction of the writer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from runtime_core.journal.base import Answer, Recorded
from runtime_core.journal.driver import Connection
from runtime_core.journal.queries import OVERDUE, known_run, pauses, sound_run
from runtime_core.journal.rows import ENTRY, keep, to_entry
from runtime_core.journal.transactions import DROP_STARTED, WAKE_LIMIT, close, events, move, put_entry
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonError, JsonText, JsonValue, digest, loads
from runtime_core.wire.runs import Entry, PauseRow, RunRow, Vote, parent_slot

Judge = Callable[[RunRow, Sequence[PauseRow], Answer], PauseRow]

_DUE: Final = f"SELECT run_id, question.id {OVERDUE} AND expires_at <= ? ORDER BY expires_at, question.id LIMIT ?"
_ANSWERED_WITH: Final = (
    "SELECT id, answer_digest FROM durable_question WHERE run_id = :run AND answer_key = :key UNION ALL "
    "SELECT question_id, vote.answer_digest FROM durable_vote AS vote JOIN durable_question AS question "
    "ON question.id = question_id WHERE run_id = :run AND vote.answer_key = :key"
)


def answer(
    db: Connection, answer: Answer, judge: Judge, recorded: Callable[[PauseRow], Recorded]
) -> tuple[PauseRow, bool]:
    run = sound_run(db, answer.run_id)
    known = pauses(db, run.id)
    body = _body_digest(answer) if answer.key else None
    stored = _stored(db, known, answer, body)
    if stored is not None:
        return stored, False
    pause = judge(run, known, answer)
    vote = _new_vote(known, pause)
    if vote is not None:
        _put_vote(db, pause, vote, answer.key, body)
    if pause.outcome is None:
        events(db, run, [pause])
        return pause, True
    db.execute(
        "UPDATE durable_question SET outcome = ?, answer = ?, edits = ?, note = ?, answered_by = ?, answered_at = ?, "
        "answer_key = ?, answer_digest = ? WHERE id = ?",
        (
            pause.outcome,
            keep(db, pause.answer),
            keep(db, pause.edits),
            pause.note,
            pause.answered_by,
            pause.answered_at,
            answer.key if vote is None else None,
            body if vote is None else None,
            pause.id,
        ),
    )
    now = time.time()
    _record(db, run, pause, recorded(pause), now)
    events(db, move(db, run.id, "runnable", now, error=None, wake_at=run.wake_at), [pause])
    return pause, True


def expire_due(db: Connection, now: float, recorded: Callable[[PauseRow], Recorded]) -> list[str]:
    due = db.execute(_DUE, (now, WAKE_LIMIT)).fetchall()
    for run_id, pause_id in due:
        run = known_run(db, run_id)
        asked = next(pause for pause in pauses(db, run_id) if pause.id == pause_id)
        pause = close(db, asked, "expired", None, now)
        _record(db, run, pause, recorded(pause), now)
        events(db, move(db, run_id, "runnable", now, error=None, wake_at=run.wake_at), [pause])
    return list(dict.fromkeys(run_id for run_id, _ in due))


def _new_vote(known: Sequence[PauseRow], pause: PauseRow) -> Vote | None:
    before = next(one for one in known if one.id == pause.id)
    return pause.votes[-1] if len(pause.votes) > len(before.votes) else None


def _put_vote(db: Connection, pause: PauseRow, vote: Vote, key: str | None, body: str | None) -> None:
    db.execute(
        "INSERT INTO durable_vote(question_id, who, value, edits, note, at, answer_key, answer_digest) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (pause.id, vote.who, keep(db, vote.value), keep(db, vote.edits), vote.note, vote.at, key, body),
    )


def _record(db: Connection, run: RunRow, pause: PauseRow, recorded: Recorded, now: float) -> None:
    """Turn the started entry in the pause's slot into what the answer leaves."""
    path, n = parent_slot(pause.slot), int(pause.slot.rpartition("/")[2])
    row = db.execute(
        f"SELECT {ENTRY} FROM durable_entry WHERE run_id = ? AND path = ? AND n = ?", (run.id, path, n)
    ).fetchone()
    if row is not None:
        started = to_entry(db, row, run.id)
    elif pause.kind == "attention":
        raise ValueError(f"{pause.id}: the call it asks about is not in the journal")
    else:
        started = Entry(path, n, pause.kind, "", "", "started", None, pause.asked_at, epoch=run.epoch)
    if recorded.state == "again":
        db.execute(DROP_STARTED, (run.id, path, n))
    else:
        completed = replace(started, state=recorded.state, value=recorded.value, ended_at=now)
        put_entry(db, run.id, completed, started.epoch)


def _stored(db: Connection, known: Sequence[PauseRow], answer: Answer, body: str | None) -> PauseRow | None:
    """The pause this very answer closed, or was counted for, found by its key."""
    if answer.key is None:
        return None
    row = db.execute(_ANSWERED_WITH, {"run": answer.run_id, "key": answer.key}).fetchone()
    if row is None:
        return None
    if row[1] != body:
        raise RuntimeFault(
            "idempotency_mismatch",
            f"The key {answer.key} was already used for another answer to session {answer.run_id}. "
            "Send a new answer with a new key.",
            pause_id=row[0],
        )
    return next(pause for pause in known if pause.id == row[0])


def _body_digest(answer: Answer) -> str:
    return digest(
        {
            "value": _parsed(answer.value),
            "edits": None if answer.edits is None else [_parsed(answer.edits)],
            "note": answer.note,
            "who": answer.who,
            "pause_id": answer.pause_id,
            "fingerprint": answer.fingerprint,
        }
    )


def _parsed(text: JsonText) -> JsonValue:
    try:
        return loads(text)
    except JsonError:  # the judge refuses it
        return text
