"""The kinds of lines of an exported file: the table of each, its fields, and what is acceptable in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from runtime_core.wire.automations import FiringState, Origin, Source
from runtime_core.wire.builds import BuildKind, BuildState
from runtime_core.wire.chat_bodies import are_counts
from runtime_core.wire.chats import ChatRole
from runtime_core.wire.json import JsonError, loads
from runtime_core.wire.runs import LATEST, SLOT, CallKind, Gate, PauseOutcome, RunStatus, SpanState

Check = Callable[[Any], str | None]
"""What is wrong with the value of a field, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of line: its table, its fields (``?`` at the end: may be absent), and which rows belong to a run.

    ``joined``: the table in which the other fields stand. ``whose``: SQL for what a row is called by. ``owner``: the
    kind of what it belongs to, called as ``whose`` says.
    """

    table: str
    fields: Mapping[str, Check]
    rows: str = "run_id = ? ORDER BY rowid"
    joined: str = ""
    whose: str = "run_id"
    owner: str = ""

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


def _flag(value: Any) -> str | None:
    return None if type(value) is int and value in (0, 1) else "must be 0 or 1"


def _one_of(*words: str) -> Check:
    return lambda value: None if value in words else f"must be one of {', '.join(words)}"


def _like(pattern: str) -> Check:
    known = re.compile(pattern)
    return lambda value: (
        None if isinstance(value, str) and known.fullmatch(value) else "must be a place, such as 3 or 3/1"
    )


def _counts(value: Any) -> str | None:
    return _json(value) or (None if are_counts(loads(value)) else "must be the text of an object of whole numbers")


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
            "usage?": _counts,
        },
        "id = ?",
        whose="id",
    ),
    "leg": Part("durable_leg", {"run_id": _name, "epoch": _count, "revision": _text, "at": _time}),
    "entry": Part(
        "durable_entry",
        {
            "run_id": _name,
            "path": _like(f"({SLOT})?"),
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
            "slot": _like(SLOT),
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
        whose="question_id",
    ),
    "warning": Part("durable_warning", {"run_id": _name, "kind": _name, "text": _text, "at": _time}),
    "span": Part(
        "span",
        {
            "run_id": _name,
            "slot": _like(f"({SLOT})?"),
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
        whose="store || '/' || key",
    ),
    "note": Part(
        "memory_note",
        {"id": _name, "repo": _name, "scope": _text, "text": _text, "created_at": _time, "who": _text},
        whose="id",
    ),
    "chat": Part(
        "chat_session",
        {
            "id": _name,
            "repo": _name,
            "agent": _name,
            "scope": _text,
            "title?": _text,
            "source": _name,
            "context?": _json,
            "created_by": _text,
            "created_at": _time,
            "updated_at": _time,
            "provider?": _text,
            "model?": _text,
            "usage?": _counts,
            "messages": _count,
        },
        whose="id",
    ),
    "chat_message": Part(
        "chat_message",
        {"session_id": _name, "turn": _count, "role": _one_of(*get_args(ChatRole)), "body": _object, "at": _time},
        whose="session_id",
        owner="chat",
    ),
    "chat_span": Part(
        "chat_span",
        {
            "session_id": _name,
            "turn": _count,
            "slot": _like(SLOT),
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
            "run_id?": _text,
        },
        whose="session_id",
        owner="chat",
    ),
    "automation": Part(
        "automation",
        {
            "id": _name,
            "repo": _name,
            "name": _name,
            "origin": _one_of(*get_args(Origin)),
            "body": _object,
            "enabled": _flag,
            "created_by": _text,
            "created_at": _time,
            "updated_at": _time,
        },
        whose="id",
    ),
    "automation_run": Part(
        "automation_run",
        {
            "automation_id": _name,
            "source": _one_of(*get_args(Source)),
            "due_at": _time,
            "started_at": _time,
            "ended_at?": _time,
            "late": _flag,
            "state": _one_of(*get_args(FiringState)),
            "session_id?": _text,
            "error?": _text,
        },
        whose="automation_id",
        owner="automation",
    ),
    "eval_result": Part(
        "eval_result",
        {"repo": _name, "eval": _name, "at": _time, "passed": _flag, "body": _object},
        whose="eval",
    ),
    "build": Part(
        "build",
        {
            "id": _name,
            "repo": _text,
            "kind": _one_of(*get_args(BuildKind)),
            "state": _one_of(*get_args(BuildState)),
            "started_at": _time,
            "ended_at?": _time,
            "remote?": _text,
            "body": _object,
        },
        whose="id",
    ),
    "tool_switch": Part(
        "tool_switch", {"repo": _name, "tool": _name, "is_on": _flag, "who": _text, "at": _time}, whose="tool"
    ),
}
"""What belongs to no run. An owner stands before what it owns."""
