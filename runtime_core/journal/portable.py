"""Runs as JSON Lines: which line holds what, in which order, and what is acceptable in it (engines.md 4.6).

A file is a header, for each run its own line followed by those of its parts, in a file of everything what belongs to no
run (`HELD`) in the order of saving, and an end that counts. Fields are the columns of the journal's tables; fields
without a value are left out. Values are JSON text inside of JSON, so that not one character of them changes on the way.
Who executes a run is not part of it: a running one travels as runnable. Trust does not travel.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from runtime_core.journal.driver import Connection, DriverError
from runtime_core.journal.parts import HELD, PARTS, Part
from runtime_core.journal.rows import damaged, large
from runtime_core.wire.builds import problem_in_body
from runtime_core.wire.chat_bodies import problem_in
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.runs import FINISHED, JOURNAL_FORMAT

FORMAT: Final = 3
"""Of the file. It says nothing about the format of the journal it comes from or goes to.

2: documents and notes. 3: conversations, automations, results of evals, builds, switches of tools, tokens of runs.
"""


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


def held_lines(db: Connection, kind: str, lost: Collection[str] = ()) -> Iterator[tuple[str, JsonText | None]]:
    """What belongs to no run, in the order of saving: what each is called, and its line; None if it is damaged.

    What belongs to one of ``lost`` is lost with it, without a word.
    """
    part = HELD[kind]
    for (row_id,) in db.execute(f"SELECT rowid FROM main.{part.table} ORDER BY rowid").fetchall():
        called = _cells(db, part, part.whose, row_id)
        whose = f"number {row_id}" if called is None else called[0]
        if f"{part.owner} {whose}" in lost:
            continue
        row = _cells(db, part, ", ".join(part.columns), row_id)
        fields = _held_fields(db, part, row) if row is not None else None
        name = f"{kind} {whose}"
        if kind == "document" and row is not None:
            name = f"document {dumps(row[3])} of store {row[2]}"
        yield name, None if fields is None else dumps({"type": kind, **fields})


def _cells(db: Connection, part: Part, columns: str, row_id: int) -> Sequence[Any] | None:
    """None if the driver cannot make sense of them."""
    try:
        source = f"main.{part.table} {part.joined} WHERE {part.table}.rowid = ?"
        return db.execute(f"SELECT {columns} FROM {source}", (row_id,)).fetchone()
    except DriverError as error:
        if getattr(error, "sqlite_errorcode", None) is not None:  # the file as a whole cannot be read
            raise
        return None


def _held_fields(db: Connection, part: Part, row: Sequence[Any]) -> dict[str, Any] | None:
    fields: dict[str, Any] = {}
    for name, stored in zip(part.fields, row, strict=True):
        value = large(db, stored) if isinstance(stored, bytes) else stored
        if value is not None:
            fields[name.removesuffix("?")] = value
        elif stored is not None or not name.endswith("?"):
            return None
    return fields


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
    if kind == "chat_message" and (problem := problem_in(fields["role"], fields["body"])) is not None:
        return f"body {problem}"
    if kind == "build" and (problem := problem_in_body(cast("dict[str, Any]", loads(fields["body"])))) is not None:
        return f"body {problem}"
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
