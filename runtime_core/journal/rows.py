"""Rows of the tables as the types of `wire.runs` and back, and where large values are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from runtime_core.journal.driver import Connection
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonError, JsonText, dumps, loads
from runtime_core.wire.runs import LATEST, Entry, Event, PauseRow, RunRow, Span

INLINE_LIMIT: Final = 64 * 1024
"""Characters of a value that stay in its row; longer ones go to ``durable_blob`` (engines.md 4.2)."""

RUN: Final = (
    "id, tool, repo, revision, status, epoch, params, created_by, created_at, updated_at, finished_at, wake_at, scope, "
    "parent_session, context, result, error, seed, leg_revision, resume_on, pruned_at, gate, usage"
)
QUESTION: Final = (
    "id, run_id, slot, kind, tool, names, spec, fingerprint, asked_at, requested_by, expires_at, outcome, answer, "
    "edits, note, answered_by, answered_at, scope, parent_session"
)
ENTRY: Final = (
    "path, n, kind, name, digest, state, value, started_at, ended_at, CASE WHEN state <> 'started' THEN id END, epoch"
)
SPAN: Final = (
    "run_id, slot, kind, name, state, started_at, ended_at, code, message, input, output, input_size, output_size, leg"
)
EVENT: Final = "id, run_id, type, body, at"

Stored = str | bytes | None


def marks(columns: str) -> str:
    """The ``?, ?, …`` that go with a list of columns."""
    return ", ".join("?" * (columns.count(",") + 1))


def keep(db: Connection, value: JsonText | None) -> Stored:
    """What to store for ``value``: itself, or the key under which it was put among the large values."""
    if value is None or len(value) <= INLINE_LIMIT:
        return value
    data = value.encode()
    digest = hashlib.sha256(data).digest()
    db.execute("INSERT OR IGNORE INTO durable_blob(digest, bytes, size) VALUES (?, ?, ?)", (digest, data, len(data)))
    return digest


_PLAIN: Final[Mapping[int, type]] = {}
_RUN_KINDS: Final[Mapping[int, type]] = {
    place: float if name.endswith("_at") else object
    for place, name in enumerate(RUN.split(", "))
    if name.endswith("_at") or name in ("params", "context", "result", "error", "usage")
}
_QUESTION_KINDS: Final[Mapping[int, type]] = {
    place: {"names": list, "spec": dict}.get(name, float if name.endswith("_at") else object)
    for place, name in enumerate(QUESTION.split(", "))
    if name.endswith("_at") or name in ("names", "spec", "answer", "edits")
}


def large(db: Connection, digest: bytes, schema: str = "main") -> JsonText | None:
    """The large value with this key; None if it is missing or not what was stored."""
    row = db.execute(f"SELECT CAST(bytes AS BLOB) FROM {schema}.durable_blob WHERE digest = ?", (digest,)).fetchone()
    if row is None or hashlib.sha256(row[0]).digest() != digest:
        return None
    return cast("bytes", row[0]).decode()


def damaged(run_id: str) -> RuntimeFault:
    return RuntimeFault(
        "data_folder_unusable",
        f"Session {run_id} is damaged: a value of it is missing or not what was stored. It cannot go on and can "
        "be cancelled; other sessions are not concerned. Restore a copy of the data folder to have it back.",
        session_id=run_id,
    )


def fetch(db: Connection, row: Iterable[Any], run_id: str) -> list[Any]:
    """The row with every key of a large value replaced by the value. Raises `RuntimeFault` if one is damaged."""
    values, problem = readable(db, row, run_id)
    if problem is not None:
        raise problem
    return values


def readable(
    db: Connection, row: Iterable[Any], run_id: str, kinds: Mapping[int, type] = _PLAIN
) -> tuple[list[Any], RuntimeFault | None]:
    """As `fetch`, for what is only shown: a damaged value is replaced by words about it, and it is told.

    ``kinds``: which places hold times (float) and whole numbers (int), and which JSON text of what (object for
    anything).
    """
    problem = None
    values: list[Any] = []
    for place, item in enumerate(row):
        value = large(db, item) if isinstance(item, bytes) else item
        kind = kinds.get(place)
        if item is not None and (value is None or (kind is not None and not _fits(value, kind))):
            problem = damaged(run_id)
            value = _stand_in(problem.message, kind)
        values.append(value)
    return values, problem


def in_place_of(run_id: str) -> JsonText:
    """The words that stand in the place of a damaged value."""
    return _stand_in(damaged(run_id).message, None)


def _fits(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and 0 <= value <= LATEST
    if kind is int:
        return isinstance(value, int)
    try:
        return isinstance(value, str) and isinstance(loads(value), kind)
    except JsonError:
        return False


def _stand_in(words: str, kind: type | None) -> Any:
    if kind is float:
        return 0.0
    if kind is int:
        return 0
    if kind is list:
        return "[]"
    return dumps({"code": "value-damaged", "message": words, "question": words, "inputType": "text"})


def run_values(db: Connection, run: RunRow) -> tuple[Any, ...]:
    return (
        run.id,
        run.tool,
        run.repo,
        run.revision,
        run.status,
        run.epoch,
        keep(db, run.params),
        run.created_by,
        run.created_at,
        run.updated_at,
        run.finished_at,
        run.wake_at,
        run.scope,
        run.parent_session,
        keep(db, run.context),
        keep(db, run.result),
        keep(db, run.error),
        run.seed,
        run.leg_revision,
        run.resume_on,
        run.pruned_at,
        run.gate,
        run.usage,
    )


def question_values(db: Connection, pause: PauseRow) -> tuple[Any, ...]:
    return (
        pause.id,
        pause.run_id,
        pause.slot,
        pause.kind,
        pause.tool,
        dumps(pause.names),
        keep(db, pause.spec),
        pause.fingerprint,
        pause.asked_at,
        pause.requested_by,
        pause.expires_at,
        pause.outcome,
        keep(db, pause.answer),
        keep(db, pause.edits),
        pause.note,
        pause.answered_by,
        pause.answered_at,
        pause.scope,
        pause.parent_session,
    )


def span_values(span: Span) -> tuple[Any, ...]:
    return (
        span.run_id,
        span.slot,
        span.kind,
        span.name,
        span.state,
        span.started_at,
        span.ended_at,
        span.code,
        span.message,
        span.input,
        span.output,
        span.input_size,
        span.output_size,
        span.leg,
    )


def to_run(db: Connection, row: Sequence[Any]) -> RunRow:
    """Readable even if it is damaged: see ``damage``."""
    values, problem = readable(db, row, row[0], _RUN_KINDS)
    return RunRow(*values, damage=problem.message if problem is not None else None)


def to_pause(db: Connection, row: Sequence[Any]) -> PauseRow:
    """Readable even if it is damaged: then its spec does not fit its fingerprint, and it takes no answer."""
    values, _ = readable(db, row, row[1], _QUESTION_KINDS)
    values[5] = tuple(cast("list[str]", loads(values[5])))
    return PauseRow(*values)


def to_entry(db: Connection, row: Iterable[Any], run_id: str) -> Entry:
    return Entry(*fetch(db, row, run_id))


def to_span(row: Iterable[Any]) -> Span:
    return Span(*row)


def to_event(db: Connection, row: Sequence[Any]) -> Event:
    (seq, run_id, kind, body, at), _ = readable(db, row, row[1])
    return Event(seq, run_id, kind, cast("dict[str, Any]", loads(body)), at)
