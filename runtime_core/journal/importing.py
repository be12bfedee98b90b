"""Taking runs, and what belongs to none, in from JSON Lines: all or none, beside whoever else uses the journal.

Every line is judged and put into a journal of its own first, so that the lock of the real one is held only while the
rows are copied.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, Final

from runtime_core.journal import documents
from runtime_core.journal.driver import Connection, DriverError, IntegrityError, connect, fault, rollback
from runtime_core.journal.formats import BLOB_COLUMNS
from runtime_core.journal.parts import HELD, PARTS
from runtime_core.journal.portable import FORMAT, lines_of, problem_of
from runtime_core.journal.queries import UNHELD
from runtime_core.journal.rows import keep
from runtime_core.journal.schema import migrate
from runtime_core.journal.sqlite import open_file
from runtime_core.journal.transactions import KEPT_EVENTS, withdraw
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonError, JsonValue, loads
from runtime_core.wire.stores import Partition, StoredDocument

LINE_LIMIT: Final = 256 * 1024 * 1024
_LEFT_ASKING: Final = (
    f"SELECT id FROM main.durable_run WHERE id IN taken AND gate = 'confirm' AND {UNHELD} AND EXISTS "
    "(SELECT 1 FROM main.durable_question AS question WHERE question.run_id = main.durable_run.id "
    "AND question.outcome IS NULL)"
)
"""What turns of conversations ask where the file comes from: nobody waits here for the answer."""
_LARGE: Final = frozenset(BLOB_COLUMNS)


@dataclass(frozen=True, slots=True)
class Imported:
    """``runs`` were taken in, ``known`` were there already, with the same content.

    ``unfinished``: the ids of those that were taken in and have not ended. ``held``: what else was taken in, counted by
    kind; ``kept`` documents were not, because the one that is here was saved later, or is the same. Automations that
    were taken in are off.
    """

    runs: int
    known: int
    unfinished: Sequence[str]
    held: Mapping[str, int]
    kept: int


Judge = Callable[[Connection], str | None]
"""What is wrong with the runs in a journal, as a sentence."""


def import_runs(journal: Path, source: IO[bytes], name: str, judge: Judge) -> Imported:
    """Take in every run of a file, called ``name`` in what is said about it. Raises `RuntimeFault`, then nothing is.

    ``judge`` sees the runs of the file, alone, when each of its lines is acceptable.
    """
    with (
        closing(open_file(journal)) as db,
        tempfile.TemporaryDirectory(dir=journal.parent, prefix=".import-") as folder,
    ):
        staged = Path(folder) / "runs.db"
        try:
            with closing(_staging(staged)) as staging:
                _stage(staging, source, name)
                problem = judge(staging)
            if problem is not None:
                raise RuntimeFault("VALIDATION_ERROR", f"{name}: {problem} Nothing was imported.")
            db.execute("ATTACH ? AS new", (str(staged),))
            known = _compare(db, name)
            return _take_in(db, name, known)
        except DriverError as error:
            raise fault(journal, error) from error


def _staging(path: Path) -> Connection:
    db = connect(path)
    migrate(db, path)
    db.execute("PRAGMA synchronous=OFF")  # if this is lost, so is the import
    return db


# Reading the file ----------------------------------------------------------------------------------------------------


def _stage(db: Connection, source: IO[bytes], name: str) -> None:
    db.execute("BEGIN")
    runs = count = 0
    run_id: JsonValue = None
    ended = False
    for number, line in _lines(source, name):
        kind, fields = line
        if number == 1:
            _check_header(kind, fields, name)
            continue
        if ended:
            raise _bad(name, number, "stands after the end of the file")
        if kind == "end":
            ended = True
            if fields != {"runs": runs, "lines": count}:
                raise _bad(name, number, f"counts {fields}, but there are {runs} runs in {count} lines before it")
            continue
        if kind not in PARTS and kind not in HELD:
            raise _bad(name, number, f"type {kind!r} is none of {', '.join((*PARTS, *HELD))}, end")
        problem = problem_of(kind, fields)
        if problem is not None:
            raise _bad(name, number, problem)
        if kind == "run":
            run_id = fields["id"]
            runs += 1
        elif kind in PARTS and fields.get("run_id", run_id) != run_id:
            raise _bad(name, number, f"run_id is {fields['run_id']}, but the lines before it are those of {run_id}")
        try:
            _insert(db, kind, fields)
        except IntegrityError as error:
            raise _bad(
                name, number, f"this {kind} stands twice in the file, or what it belongs to is missing"
            ) from error
        count += 1
    if not ended:
        raise RuntimeFault(
            "VALIDATION_ERROR", f"{name} is not complete: its last line is missing. Nothing was imported."
        )
    db.execute("COMMIT")


def _lines(source: IO[bytes], name: str) -> Iterator[tuple[int, tuple[Any, dict[str, JsonValue]]]]:
    number = 0
    while line := source.readline(LINE_LIMIT):
        number += 1
        if len(line) == LINE_LIMIT:
            raise _bad(name, number, f"is longer than {LINE_LIMIT} bytes")
        try:
            value = loads(line)
        except JsonError as error:
            raise _bad(name, number, f"is not JSON: {error.reason} (column {error.column})") from error
        if not isinstance(value, dict):
            raise _bad(name, number, "is not an object")
        yield number, (value.pop("type", None), value)
    if number == 0:
        raise RuntimeFault("VALIDATION_ERROR", f"{name} is empty. Nothing was imported.")


def _check_header(kind: Any, fields: Mapping[str, JsonValue], name: str) -> None:
    written = fields.get("format")
    if kind != "header" or type(written) is not int or fields.get("program") != "operator-inbox":
        raise _bad(name, 1, "is not the header of an export. Was the file written by: operator-inbox export?")
    if written > FORMAT:
        raise _bad(
            name,
            1,
            f"has format {written}, written by version {fields.get('version')} of this program; this one reads up to "
            f"{FORMAT}. Install the newer version",
        )


def _bad(name: str, number: int, problem: str) -> RuntimeFault:
    return RuntimeFault("VALIDATION_ERROR", f"{name}, line {number}: {problem}. Nothing was imported.", line=number)


def _insert(db: Connection, kind: str, fields: Mapping[str, Any]) -> None:
    if kind == "document":
        _insert_document(db, fields)
        return
    table = (PARTS.get(kind) or HELD[kind]).table
    row = {name: _stored(db, table, name, value) for name, value in fields.items()}
    if row.get("status") == "running":
        row["status"] = "runnable"
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table}({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def _insert_document(db: Connection, fields: Mapping[str, Any]) -> None:
    place = Partition(fields["repo"], fields["scope"], fields["store"])
    created_at, saved_at = float(fields["created_at"]), float(fields["saved_at"])
    document = StoredDocument(fields["key"], fields["payload"], fields["version"], created_at, saved_at)
    documents.put(db, documents.part_of(db, place), document, ())


def _stored(db: Connection, table: str, column: str, value: Any) -> Any:
    if (table, column) in _LARGE:
        return keep(db, value)
    return float(value) if isinstance(value, float) else value


# Into the journal ----------------------------------------------------------------------------------------------------


def _compare(db: Connection, name: str) -> int:
    """Refuse runs that are there with another content; how many are there with the same."""
    known: list[str] = [
        row[0] for row in db.execute("SELECT id FROM new.durable_run JOIN main.durable_run USING (id)").fetchall()
    ]
    for run_id in known:
        pairs = zip_longest(lines_of(db, run_id), lines_of(db, run_id, "new"))
        if any(ours != theirs for ours, theirs in pairs):
            raise RuntimeFault(
                "VALIDATION_ERROR",
                f"Session {run_id} of {name} is in this data folder already, with another content. Import into another "
                "data folder, or export without it. Nothing was imported.",
                session_id=run_id,
            )
    db.execute("CREATE TEMP TABLE taken AS SELECT id FROM new.durable_run EXCEPT SELECT id FROM main.durable_run")
    return len(known)


def _take_in(db: Connection, name: str, known: int) -> Imported:
    try:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT OR IGNORE INTO main.durable_blob SELECT * FROM new.durable_blob")
        for kind, part in PARTS.items():
            columns = ", ".join(part.columns)
            db.execute(
                f"INSERT INTO main.{part.table}({columns}) SELECT {columns} FROM new.{part.table} "
                f"WHERE {_OF_TAKEN.get(kind, 'run_id IN taken')} ORDER BY rowid"
            )
        for (gate_id,) in db.execute(_LEFT_ASKING).fetchall():
            withdraw(db, gate_id)
        taken = db.execute(
            "SELECT id, finished_at IS NULL FROM main.durable_run WHERE id IN taken ORDER BY id"
        ).fetchall()
        db.execute(_TELL, {"now": time.time()})
        db.execute("DELETE FROM main.durable_event WHERE id <= (SELECT max(id) FROM durable_event) - ?", (KEPT_EVENTS,))
        stored, kept = documents.take_over(db)
        held = {"document": stored, **{kind: _take_held(db, kind) for kind in _NOT_THERE}}
        db.execute("COMMIT")
    except IntegrityError as error:
        rollback(db)
        raise RuntimeFault(
            "VALIDATION_ERROR", f"{name} does not fit what is in this data folder ({error}). Nothing was imported."
        ) from error
    return Imported(len(taken), known, [run_id for run_id, is_open in taken if is_open], held, kept)


def _take_held(db: Connection, kind: str) -> int:
    """Take in what is not there, or only in an older state; returns how many there were."""
    part = HELD[kind]
    columns = ", ".join(part.columns)
    values = columns.replace("enabled", "0")
    db.execute(f"DROP TABLE IF EXISTS temp.taken_{kind}")
    db.execute(f"CREATE TEMP TABLE taken_{kind} AS SELECT rowid AS at FROM new.{part.table} AS new {_NOT_THERE[kind]}")
    for statement in _REPLACING.get(kind, ()):
        db.execute(statement)
    taken = f"rowid IN (SELECT at FROM taken_{kind}) ORDER BY rowid"
    db.execute(f"INSERT INTO main.{part.table}({columns}) SELECT {values} FROM new.{part.table} WHERE {taken}")
    return db.execute(f"SELECT count(*) FROM taken_{kind}").fetchone()[0]


def _missing(table: str, *key: str, later: str = "") -> str:
    same = " AND ".join(f"here.{column} = new.{column}" for column in key)
    still = f" AND here.{later} >= new.{later}" if later else ""
    return f"WHERE NOT EXISTS (SELECT 1 FROM main.{table} AS here WHERE {same}{still})"


def _owned(owner: str, table: str, column: str) -> str:
    return f"WHERE {column} IN (SELECT id FROM new.{table} WHERE rowid IN (SELECT at FROM taken_{owner}))"


_NOT_THERE: Final = {
    "note": _missing("memory_note", "id"),
    "chat": _missing("chat_session", "id", later="updated_at"),
    "chat_message": _owned("chat", "chat_session", "session_id"),
    "chat_span": _owned("chat", "chat_session", "session_id"),
    "automation": "WHERE NOT EXISTS (SELECT 1 FROM main.automation AS here "
    "WHERE here.id = new.id OR (here.repo, here.origin, here.name) = (new.repo, new.origin, new.name))",
    "automation_run": _owned("automation", "automation", "automation_id"),
    "eval_result": _missing("eval_result", "repo", "eval", "at"),
    "build": _missing("build", "id"),
    "tool_switch": _missing("tool_switch", "repo", "tool", later="at"),
}
"""Which rows are taken in: a conversation or a switch that was changed here later stays, as does what does not change,
and with its owner what belongs to it."""

_OLD_CHATS: Final = "(SELECT id FROM new.chat_session WHERE rowid IN (SELECT at FROM taken_chat))"
_REPLACING: Final = {
    "chat": (
        f"DELETE FROM main.chat_message WHERE session_id IN {_OLD_CHATS}",
        f"DELETE FROM main.chat_span WHERE session_id IN {_OLD_CHATS}",
        f"DELETE FROM main.chat_session WHERE id IN {_OLD_CHATS}",
    ),
    "tool_switch": (
        "DELETE FROM main.tool_switch WHERE (repo, tool) IN "
        "(SELECT repo, tool FROM new.tool_switch WHERE rowid IN (SELECT at FROM taken_tool_switch))",
    ),
}


_OF_TAKEN: Final = {
    "run": "id IN taken",
    "vote": "question_id IN (SELECT id FROM new.durable_question WHERE run_id IN taken)",
}
_TELL: Final = """
    INSERT INTO main.durable_event(run_id, type, body, at)
    SELECT id, 'session_created', json_object('sessionId', id, 'status',
        CASE status WHEN 'runnable' THEN 'running' ELSE status END), :now
    FROM main.durable_run WHERE id IN taken ORDER BY id"""
