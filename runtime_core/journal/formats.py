"""The tables of the journal, format by format (engines.md 4.2 and 4.7). Published formats never change.

A JSON value is TEXT, or, above `INLINE_LIMIT` characters, the 32-byte BLOB that is its key in ``durable_blob``.
``durable_count`` is kept by triggers, so that a total never costs a scan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlite_utils import Database

Migration = Callable[["Database"], None]


def _first_format(db: Database) -> None:
    run = db.table("durable_run").create(
        {
            "id": str,
            "tool": str,
            "repo": str,
            "revision": str,
            "status": str,
            "epoch": int,
            "params": str,
            "created_by": str,
            "created_at": float,
            "updated_at": float,
            "finished_at": float,
            "wake_at": float,
            "scope": str,
            "parent_session": str,
            "context": str,
            "result": str,
            "error": str,
            "seed": str,
            "lease_owner": str,
            "journal_format": int,
        },
        pk="id",
        not_null={"tool", "repo", "revision", "status", "epoch", "params", "created_by", "created_at", "updated_at"},
        defaults={"journal_format": 1},
    )
    # The id of a finished entry is its place in the order of completion, so that an append touches no further index.
    db.table("durable_entry").create(
        {
            "id": int,
            "run_id": str,
            "path": str,
            "n": int,
            "kind": str,
            "name": str,
            "digest": str,
            "state": str,
            "value": str,
            "started_at": float,
            "ended_at": float,
            "epoch": int,
        },
        pk="id",
        not_null={"run_id", "path", "n", "kind", "name", "digest", "state", "started_at", "epoch"},
        foreign_keys=[("run_id", run.name, "id")],
    ).create_index(["run_id", "path", "n"], unique=True)
    db.table("durable_question").create(
        {
            "id": str,
            "run_id": str,
            "slot": str,
            "kind": str,
            "tool": str,
            "names": str,
            "spec": str,
            "fingerprint": str,
            "asked_at": float,
            "requested_by": str,
            "expires_at": float,
            "outcome": str,
            "answer": str,
            "edits": str,
            "note": str,
            "answered_by": str,
            "answered_at": float,
            "scope": str,
            "parent_session": str,
            "answer_key": str,
            "answer_digest": str,
        },
        pk="id",
        not_null={"run_id", "slot", "kind", "tool", "names", "spec", "fingerprint", "asked_at", "requested_by"},
        foreign_keys=[("run_id", run.name, "id")],
    ).create_index(["run_id", "asked_at", "id"])
    db.table("durable_event").create(
        {"id": int, "run_id": str, "type": str, "body": str, "at": float},
        pk="id",
        not_null={"run_id", "type", "body", "at"},
    )
    db.table("durable_blob").create(
        {"digest": bytes, "bytes": bytes, "size": int}, pk="digest", not_null={"bytes", "size"}
    )
    db.table("durable_count").create({"name": str, "n": int}, pk="name", not_null={"n"})
    db.table("span").create(
        {
            "run_id": str,
            "slot": str,
            "kind": str,
            "name": str,
            "state": str,
            "started_at": float,
            "ended_at": float,
            "code": str,
            "message": str,
            "input": str,
            "output": str,
            "input_size": int,
            "output_size": int,
            "leg": int,
        },
        pk=("run_id", "slot"),
        not_null={"kind", "name", "state", "started_at", "input_size", "output_size", "leg"},
        foreign_keys=[("run_id", run.name, "id")],
    )
    for statement in _FIRST_INDICES + _FIRST_TRIGGERS:
        db.conn.execute(statement)


_FIRST_INDICES: Final = (
    "CREATE INDEX durable_run_ready ON durable_run(updated_at, id) WHERE status IN ('runnable', 'running')",
    "CREATE INDEX durable_run_wake ON durable_run(wake_at) WHERE wake_at IS NOT NULL",
    "CREATE INDEX durable_run_open ON durable_run(id) WHERE finished_at IS NULL",
    "CREATE INDEX durable_run_finished ON durable_run(finished_at, id) WHERE finished_at IS NOT NULL",
    "CREATE INDEX durable_question_open ON durable_question(asked_at, id) WHERE outcome IS NULL",
    "CREATE UNIQUE INDEX durable_question_key ON durable_question(run_id, answer_key) WHERE answer_key IS NOT NULL",
)


def _counter(table: str, trigger: str, event: str, steps: str) -> str:
    return f"CREATE TRIGGER {table}_{trigger} AFTER {event} BEGIN {steps} END"


def _add(name: str, by: int) -> str:
    return (
        f"INSERT INTO durable_count(name, n) VALUES ({name}, {by}) ON CONFLICT(name) DO UPDATE SET n = n + excluded.n;"
    )


_FIRST_TRIGGERS: Final = (
    _counter("durable_run", "added", "INSERT ON durable_run", _add("new.status", 1)),
    _counter(
        "durable_run",
        "moved",
        "UPDATE OF status ON durable_run WHEN old.status <> new.status",
        _add("old.status", -1) + _add("new.status", 1),
    ),
    _counter("durable_run", "removed", "DELETE ON durable_run", _add("old.status", -1)),
    _counter(
        "durable_question", "added", "INSERT ON durable_question WHEN new.outcome IS NULL", _add("'open questions'", 1)
    ),
    _counter(
        "durable_question",
        "closed",
        "UPDATE OF outcome ON durable_question WHEN old.outcome IS NULL AND new.outcome IS NOT NULL",
        _add("'open questions'", -1),
    ),
    _counter(
        "durable_question",
        "reopened",
        "UPDATE OF outcome ON durable_question WHEN old.outcome IS NOT NULL AND new.outcome IS NULL",
        _add("'open questions'", 1),
    ),
    _counter(
        "durable_question",
        "removed",
        "DELETE ON durable_question WHEN old.outcome IS NULL",
        _add("'open questions'", -1),
    ),
)


def _second_format(db: Database) -> None:
    """Legs and the code they ran, the code a run is to go on with, votes, trust, warnings, and what retention takes."""
    run = db.table("durable_run")
    for column, kind in (("leg_revision", str), ("resume_on", str), ("pruned_at", float)):
        run.add_column(column, kind)
    db.table("durable_leg").create(
        {"run_id": str, "epoch": int, "revision": str, "at": float},
        pk=("run_id", "epoch"),
        not_null={"revision", "at"},
        foreign_keys=[("run_id", run.name, "id")],
    )
    db.table("durable_vote").create(
        {
            "question_id": str,
            "who": str,
            "value": str,
            "edits": str,
            "note": str,
            "at": float,
            "answer_key": str,
            "answer_digest": str,
        },
        pk=("question_id", "who"),
        not_null={"value", "at"},
        foreign_keys=[("question_id", "durable_question", "id")],
    )
    db.table("durable_trust").create(
        {"repo": str, "revision": str, "needs": str, "who": str, "at": float},
        pk=("repo", "revision"),
        not_null={"needs", "who", "at"},
    )
    db.table("durable_warning").create(
        {"run_id": str, "kind": str, "text": str, "at": float},
        pk=("run_id", "kind"),
        not_null={"text", "at"},
        foreign_keys=[("run_id", run.name, "id")],
    )
    # Ended runs whose rows are being taken away, piece by piece.
    db.table("durable_pruning").create({"run_id": str}, pk="run_id", foreign_keys=[("run_id", run.name, "id")])
    for statement in _SECOND_INDICES:
        db.conn.execute(statement)


_SECOND_BLOB_COLUMNS: Final = (
    ("durable_run", "params"),
    ("durable_run", "context"),
    ("durable_run", "result"),
    ("durable_run", "error"),
    ("durable_entry", "value"),
    ("durable_question", "spec"),
    ("durable_question", "answer"),
    ("durable_question", "edits"),
    ("durable_vote", "value"),
    ("durable_vote", "edits"),
    ("durable_event", "body"),
)

_SECOND_INDICES: Final = (
    "CREATE INDEX durable_question_due ON durable_question(expires_at) "
    "WHERE outcome IS NULL AND expires_at IS NOT NULL",
    "CREATE INDEX durable_run_unpruned ON durable_run(finished_at) WHERE finished_at IS NOT NULL AND pruned_at IS NULL",
    *(
        f"CREATE INDEX {table}_{column}_blob ON {table}({column}) WHERE typeof({column}) = 'blob'"
        for table, column in _SECOND_BLOB_COLUMNS
    ),
)


def _third_format(db: Database) -> None:
    """Documents of stores with what they are found by, notes that agents keep, and runs that only ask a person."""
    run = db.table("durable_run")
    run.add_column("gate", str)
    db.table("store_part").create(
        {"id": int, "repo": str, "scope": str, "store": str, "documents": int},
        pk="id",
        not_null={"repo", "scope", "store", "documents"},
        defaults={"documents": 0},
    ).create_index(["repo", "scope", "store"], unique=True)
    # The id of a document is its place in the order of saving: each write of it gives it a new one.
    db.table("store_document").create(
        {
            "id": int,
            "part": int,
            "key": str,
            "payload": str,
            "version": int,
            "created_at": float,
            "saved_at": float,
        },
        pk="id",
        not_null={"part", "key", "payload", "version", "created_at", "saved_at"},
        foreign_keys=[("part", "store_part", "id")],
    ).create_index(["part", "key"], unique=True)
    # ``built_to``: the index of this field is being built and holds the documents up to this one; null: all of them.
    db.table("store_field").create(
        {"id": int, "part": int, "name": str, "built_to": int},
        pk="id",
        not_null={"part", "name"},
        foreign_keys=[("part", "store_part", "id")],
    ).create_index(["part", "name"], unique=True)
    db.table("memory_note").create(
        {"id": str, "repo": str, "scope": str, "text": str, "created_at": float, "who": str},
        pk="id",
        not_null={"repo", "scope", "text", "created_at", "who"},
    ).create_index(["repo", "scope", "created_at"])
    for statement in _THIRD_STATEMENTS:
        db.conn.execute(statement)


_THIRD_STATEMENTS: Final = (
    "CREATE TABLE store_value(field INTEGER NOT NULL REFERENCES store_field(id), value TEXT NOT NULL, "
    "document INTEGER NOT NULL REFERENCES store_document(id) ON DELETE CASCADE, "
    "PRIMARY KEY (field, value, document)) WITHOUT ROWID",
    "CREATE INDEX store_value_document ON store_value(document)",
    "CREATE INDEX durable_run_gate ON durable_run(parent_session) WHERE gate IS NOT NULL",
    "CREATE INDEX store_document_part ON store_document(part)",
    "CREATE INDEX store_document_payload_blob ON store_document(payload) WHERE typeof(payload) = 'blob'",
    _counter(
        "store_document",
        "added",
        "INSERT ON store_document",
        "UPDATE store_part SET documents = documents + 1 WHERE id = new.part;",
    ),
    _counter(
        "store_document",
        "removed",
        "DELETE ON store_document",
        "UPDATE store_part SET documents = documents - 1 WHERE id = old.part;",
    ),
)


def _fourth_format(db: Database) -> None:
    """Conversations, automations, evals and builds, which built-in tools are off, and the tokens of runs."""
    db.table("durable_run").add_column("usage", str)
    chat = db.table("chat_session").create(
        {
            "id": str,
            "repo": str,
            "agent": str,
            "scope": str,
            "title": str,
            "source": str,
            "context": str,
            "created_by": str,
            "created_at": float,
            "updated_at": float,
            "provider": str,
            "model": str,
            "usage": str,
            "messages": int,
        },
        pk="id",
        not_null={"repo", "agent", "scope", "source", "created_by", "created_at", "updated_at", "messages"},
        defaults={"messages": 0},
    )
    chat.create_index(["updated_at", "id"])
    db.table("chat_message").create(
        {"id": int, "session_id": str, "turn": int, "role": str, "body": str, "at": float},
        pk="id",
        not_null={"session_id", "turn", "role", "body", "at"},
        foreign_keys=[("session_id", "chat_session", "id")],
    ).create_index(["session_id", "id"])
    db.table("chat_span").create(
        {
            "session_id": str,
            "turn": int,
            "slot": str,
            "kind": str,
            "name": str,
            "state": str,
            "started_at": float,
            "ended_at": float,
            "code": str,
            "message": str,
            "input": str,
            "output": str,
            "input_size": int,
            "output_size": int,
            "run_id": str,
        },
        pk=("session_id", "turn", "slot"),
        not_null={"kind", "name", "state", "started_at", "input_size", "output_size"},
        foreign_keys=[("session_id", "chat_session", "id")],
    )
    # ``body``: target, schedule, time zone, label and input as one object; ``origin``: file, or a person's.
    # ``next_at``: the next time it is due; null for one that is off, or that no time starts.
    db.table("automation").create(
        {
            "id": str,
            "repo": str,
            "name": str,
            "origin": str,
            "body": str,
            "enabled": int,
            "next_at": float,
            "created_by": str,
            "created_at": float,
            "updated_at": float,
        },
        pk="id",
        not_null={"repo", "name", "origin", "body", "enabled", "created_by", "created_at", "updated_at"},
    ).create_index(["repo", "origin", "name"], unique=True)
    db.table("automation_run").create(
        {
            "id": int,
            "automation_id": str,
            "source": str,
            "due_at": float,
            "started_at": float,
            "ended_at": float,
            "late": int,
            "state": str,
            "session_id": str,
            "error": str,
        },
        pk="id",
        not_null={"automation_id", "source", "due_at", "started_at", "late", "state"},
        foreign_keys=[("automation_id", "automation", "id")],
    ).create_index(["automation_id", "id"])
    db.table("eval_result").create(
        {"id": int, "repo": str, "eval": str, "at": float, "passed": int, "body": str},
        pk="id",
        not_null={"repo", "eval", "at", "passed", "body"},
    ).create_index(["repo", "eval", "id"])
    # ``remote``: what the platform calls it.
    db.table("build").create(
        {
            "id": str,
            "repo": str,
            "kind": str,
            "state": str,
            "started_at": float,
            "ended_at": float,
            "remote": str,
            "body": str,
        },
        pk="id",
        not_null={"repo", "kind", "state", "started_at", "body"},
    ).create_index(["repo", "started_at"])
    db.table("tool_switch").create(
        {"repo": str, "tool": str, "is_on": int, "who": str, "at": float},
        pk=("repo", "tool"),
        not_null={"is_on", "who", "at"},
    )
    for statement in _FOURTH_STATEMENTS:
        db.conn.execute(statement)


_FOURTH_BLOB_COLUMNS: Final = (
    ("automation", "body"),
    ("chat_message", "body"),
    ("chat_span", "input"),
    ("chat_span", "output"),
    ("eval_result", "body"),
    ("build", "body"),
)

_FOURTH_STATEMENTS: Final = (
    "CREATE INDEX automation_due ON automation(next_at) WHERE enabled AND next_at IS NOT NULL",
    "CREATE UNIQUE INDEX automation_run_due ON automation_run(automation_id, due_at) WHERE source = 'schedule'",
    "CREATE INDEX automation_run_open ON automation_run(automation_id) WHERE ended_at IS NULL",
    *(
        f"CREATE INDEX {table}_{column}_blob ON {table}({column}) WHERE typeof({column}) = 'blob'"
        for table, column in _FOURTH_BLOB_COLUMNS
    ),
)

BLOB_COLUMNS: Final = (*_SECOND_BLOB_COLUMNS, ("store_document", "payload"), *_FOURTH_BLOB_COLUMNS)
"""Every column that may hold the key of a large value; the index of each tells at once whether it names one."""

MIGRATIONS: Final[Sequence[Migration]] = (_first_format, _second_format, _third_format, _fourth_format)
"""Migration number n, counted from 1, brings a file of format n - 1 to format n. Published ones never change."""

FORMAT: Final = len(MIGRATIONS)
