"""Runs as JSON Lines: which line holds what, in which order, and what is acceptable in it (engines.md 4.6).

A file is a header, for each run its own line followed by those of its parts, in a file of everything the documents of
stores and the notes of agents in the order of saving, and an end that counts. Fields are the columns of the journal's
tables; fields without a value are left out. Values are JSON text inside of JSON, so that not
one character of them changes on the way. Who executes a run is not part of it: a running one travels as runnable.
Trust does not travel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast, get_args

from runtime_core.journal.driver import Connection, DriverError
from runtime_core.journal.rows import damaged, large
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.json import JsonError, JsonText, dumps, loads
from runtime_core.wire.runs import FINISHED, JOURNAL_FORMAT, LATEST, CallKind, Gate, PauseOutcome, RunStatus, SpanState

FORMAT: Final = 2
"""Of the file. It says nothing about the format of the journal it comes from or goes to. 2: documents and notes."""

Check = Callable[[Any], str | None]
"""What is wrong with the value of a field, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of line: its table, its fields (``?`` at the end: may be absent), and which rows belong to a run.

    ``joined``: the table in which the other fields stand.
    """

    table: str
    fields: Mapping[str, Check]
    rows: str = "run_id = ? ORDER BY rowid"
    joined: str = ""

    @property
    def columns(self) -> list[str]:
        return [name.removesuffix("?") for name in self.fields]


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be a text"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "holds half of a surrogate pair"
    return None


def _name(value: Any) -> str | None:
    return _text(value) or (None if value else "must not be empty")


def _json(value: Any) -> str | None:
    problem = _text(value)
    if problem is not None:
        return problem
    try:
        loads(value)
    except JsonError as error:
        return f"is not JSON text: {error}"
    return None


def _object(value: Any) -> str | None:
    return _json(value) or (None if isinstance(loads(value), dict) else "must be the text of an object")


def _names(value: Any) -> str | None:
    problem = _json(value)
    if problem is not None:
        return problem
    names = loads(value)
    fits = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return None if fits else "must be the text of a list of texts"


def _whole(value: Any) -> str | None:
    return None if type(value) is int and abs(value) < 2**63 else "must be a whole number"


def _count(value: Any) -> str | None:
    return _whole(value) or (None if value >= 0 else "must not be negative")


def _time(value: Any) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LATEST:
        return None
    return "must be a time in seconds"


def _one_of(*words: str) -> Check:
    return lambda value: None if value in words else f"must be one of {', '.join(words)}"


def _like(pattern: str) -> Check:
    known = re.compile(pattern)
    return lambda value: (
        None if isinstance(value, str) and known.fullmatch(value) else "must be a place, such as 3 or 3/1"
    )


_SLOT: Final = r"-?\d+(/-?\d+)*"

PARTS: Final[Mapping[str, Part]] = {
    "run": Part(
        "durable_run",
        {
            "id": _name,
            "tool": _name,
            "repo": _name,
            "revision": _text,
            "leg_revision?": _text,
            "resume_on?": _text,
            "status": _one_of(*get_args(RunStatus)),
            "epoch": _count,
            "params": _json,
            "created_by": _text,
            "created_at": _time,
            "updated_at": _time,
            "finished_at?": _time,
            "wake_at?": _time,
            "scope?": _text,
            "parent_session?": _text,
            "context?": _json,
            "result?": _json,
            "error?": _object,
            "seed?": _text,
            "journal_format": _count,
            "pruned_at?": _time,
            "gate?": _one_of(*get_args(Gate)),
        },
        "id = ?",
    ),
    "leg": Part("durable_leg", {"run_id": _name, "epoch": _count, "revision": _text, "at": _time}),
    "entry": Part(
        "durable_entry",
        {
            "run_id": _name,
            "path": _like(f"({_SLOT})?"),
            "n": _whole,
            "kind": _one_of(*get_args(CallKind)),
            "name": _text,
            "digest": _text,
            "state": _one_of("started", "ok", "error"),
            "value?": _json,
            "started_at": _time,
            "ended_at?": _time,
            "epoch": _count,
        },
    ),
    "question": Part(
        "durable_question",
        {
            "run_id": _name,
            "id": _name,
            "slot": _like(_SLOT),
            "kind": _one_of("input", "approval", "attention"),
            "tool": _text,
            "names": _names,
            "spec": _object,
            "fingerprint": _text,
            "asked_at": _time,
            "requested_by": _text,
            "expires_at?": _time,
            "outcome?": _one_of(*get_args(PauseOutcome)),
            "answer?": _json,
            "edits?": _json,
            "note?": _text,
            "answered_by?": _text,
            "answered_at?": _time,
            "scope?": _text,
            "parent_session?": _text,
            "answer_key?": _text,
            "answer_digest?": _text,
        },
    ),
    "vote": Part(
        "durable_vote",
        {
            "question_id": _name,
            "who": _name,
            "value": _json,
            "edits?": _json,
            "note?": _text,
            "at": _time,
            "answer_key?": _text,
            "answer_digest?": _text,
        },
        "question_id IN (SELECT id FROM {schema}.durable_question WHERE run_id = ?) ORDER BY rowid",
    ),
    "warning": Part("durable_warning", {"run_id": _name, "kind": _name, "text": _text, "at": _time}),
    "span": Part(
        "span",
        {
            "run_id": _name,
            "slot": _like(f"({_SLOT})?"),
            "kind": _text,
            "name": _text,
            "state": _one_of(*get_args(SpanState)),
            "started_at": _time,
            "ended_at?": _time,
            "code?": _text,
            "message?": _text,
            "input?": _json,
            "output?": _json,
            "input_size": _whole,
            "output_size": _whole,
            "leg": _whole,
        },
    ),
}


HELD: Final[Mapping[str, Part]] = {
    "document": Part(
        "store_document",
        {
            "repo": _name,
            "scope": _text,
            "store": _name,
            "key": _name,
            "payload": _object,
            "version": _count,
            "created_at": _time,
            "saved_at": _time,
        },
        joined="JOIN main.store_part ON store_part.id = part",
    ),
    "note": Part(
        "memory_note",
        {"id": _name, "repo": _name, "scope": _text, "text": _text, "created_at": _time, "who": _text},
    ),
}
"""What belongs to no run."""


def header(version: str, at: str) -> JsonText:
    return dumps({"type": "header", "format": FORMAT, "program": "operator-inbox", "version": version, "at": at})


def end(runs: int, lines: int) -> JsonText:
    """``lines``: those between the header and this one."""
    return dumps({"type": "end", "runs": runs, "lines": lines})


def lines_of(db: Connection, run_id: str, schema: str = "main") -> Iterator[JsonText]:
    """A run and its parts, in a fixed order; equal lines are equal runs. Raises `RuntimeFault` if it is damaged."""
    for kind, part in PARTS.items():
        which = part.rows.format(schema=schema)
        found = db.execute(f"SELECT {', '.join(part.columns)} FROM {schema}.{part.table} WHERE {which}", (run_id,))
        for row in found.fetchall():
            values = [large(db, value, schema) if isinstance(value, bytes) else value for value in row]
            if any(value is None and key is not None for value, key in zip(values, row, strict=True)):
                raise damaged(run_id)
            fields = {name: value for name, value in zip(part.columns, values, strict=True) if value is not None}
            if fields.get("status") == "running":
                fields["status"] = "runnable"
            yield dumps({"type": kind, **fields})
            if kind == "run" and "pruned_at" in fields:  # what may be left of it is about to go
                return


def held_lines(db: Connection, kind: str) -> Iterator[tuple[str, JsonText | None]]:
    """What belongs to no run, in the order of saving: what each is called, and its line; None if it is damaged."""
    part = HELD[kind]
    source = f"FROM main.{part.table} {part.joined}"
    for (at,) in db.execute(f"SELECT rowid FROM main.{part.table} ORDER BY rowid").fetchall():
        try:
            row = db.execute(
                f"SELECT {', '.join(part.columns)} {source} WHERE {part.table}.rowid = ?", (at,)
            ).fetchone()
        except DriverError as error:
            if getattr(error, "sqlite_errorcode", None) is not None:
                raise
            yield f"{kind} number {at}", None
            continue
        fields = dict(zip(part.columns, row, strict=True))
        payload = fields.get("payload")
        if isinstance(payload, bytes):
            fields["payload"] = large(db, payload)
        name = f"document {dumps(fields['key'])} of store {fields['store']}" if kind == "document" else fields["id"]
        yield name, dumps({"type": kind, **fields}) if None not in fields.values() else None


def problem_of(kind: str, fields: Mapping[str, Any]) -> str | None:
    """What is wrong with the fields of a line, with the name of the field; None if they are acceptable."""
    part = PARTS.get(kind) or HELD[kind]
    for given in fields:
        if given not in part.fields and f"{given}?" not in part.fields:
            return f"{given} is no field of a {kind}"
    for name, check in part.fields.items():
        key = name.removesuffix("?")
        if key not in fields:
            if key == name:
                return f"{key} is missing"
        elif (problem := check(fields[key])) is not None:
            return f"{key} {problem}"
    return _contradiction(kind, fields)


def _contradiction(kind: str, fields: Mapping[str, Any]) -> str | None:
    if kind == "entry" and fields["state"] != "started" and not ("value" in fields and "ended_at" in fields):
        return f"state is {fields['state']}, so value and ended_at must be there"
    if kind == "question":
        return _question_problem(fields)
    if kind == "run":
        if (fields["status"] in FINISHED) != ("finished_at" in fields):
            return f"status is {fields['status']}, which does not go with finished_at"
        if fields["journal_format"] > JOURNAL_FORMAT:
            return f"journal_format is {fields['journal_format']}: it was recorded by a newer version of this program"
    return None


def _question_problem(fields: Mapping[str, Any]) -> str | None:
    spec = cast("dict[str, Any]", loads(fields["spec"]))
    if not isinstance(spec.get("question"), str) or not isinstance(spec.get("inputType"), str):
        return "spec must hold the question and its inputType"
    if fingerprint(fields["kind"], fields["spec"]) != fields["fingerprint"]:
        return "spec does not fit its fingerprint: it is not the question that was asked"
    outcome = fields.get("outcome")
    if "answered_at" in fields and outcome is None:
        return "outcome is missing, but it has an answered_at"
    if outcome in ("answered", "refused") and not fields.keys() >= {"answer", "answered_at"}:
        return f"outcome is {outcome}, so answer and answered_at must be there"
    return None
