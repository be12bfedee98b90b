"""Conversations: what was said in them, the calls that were made for it, and the tokens that took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final, cast, get_args

from runtime_core.journal.base import Page
from runtime_core.journal.driver import Connection
from runtime_core.journal.queries import cursor_of, page_size, position_of
from runtime_core.journal.rows import in_place_of, keep, marks, readable
from runtime_core.wire.chat_bodies import are_counts, problem_in
from runtime_core.wire.chats import SPOKEN, ChatCall, ChatEntry, ChatRow
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText, JsonValue, dumps, loads
from runtime_core.wire.runs import SpanState, is_slot

_SESSION: Final = ", ".join(one.name for one in fields(ChatRow))
_CALL: Final = ", ".join(one.name for one in fields(ChatCall))
_SESSION_KINDS: Final[Mapping[int, type]] = {
    place: {"messages": int, "context": object, "usage": dict}.get(name, float)
    for place, name in enumerate(_SESSION.split(", "))
    if name.endswith("_at") or name in ("messages", "context", "usage")
}
_ENTRY_KINDS: Final[Mapping[int, type]] = {0: int, 3: float}
_CALL_KINDS: Final[Mapping[int, type]] = {
    place: {"input": object, "output": object}.get(name, float if name.endswith("_at") else int)
    for place, name in enumerate(_CALL.split(", "))
    if name.endswith(("_at", "_size")) or name in ("turn", "input", "output")
}
"""A damaged value is replaced by words about it: all that can be read of a conversation is shown."""
_STATES: Final = frozenset(get_args(SpanState))
_AFTER_DRAFT: Final = frozenset({"draft", "assistant", "end"})
"""What takes the place of a draft."""
_PUT_CALL: Final = (
    f"INSERT INTO chat_span(session_id, {_CALL}) VALUES (?, {marks(_CALL)}) "
    "ON CONFLICT(session_id, turn, slot) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _CALL.split(", ")[2:])
)


def create(db: Connection, row: ChatRow) -> None:
    values = {**{name: getattr(row, name) for name in _SESSION.split(", ")}, "usage": _usage_text(row.usage)}
    db.execute(f"INSERT INTO chat_session({_SESSION}) VALUES ({marks(_SESSION)})", tuple(values.values()))


def record(
    db: Connection,
    row: ChatRow,
    entries: Sequence[ChatEntry],
    calls: Sequence[ChatCall],
    spent: Mapping[str, int],
) -> None:
    """Add what was said and put what became of calls; ``row`` says when, and with which model.

    Raises `RuntimeFault` NOT_FOUND if the conversation was deleted meanwhile.
    """
    known = session(db, row.id)
    if known is None:
        raise no_chat(row.id)
    for turn in {entry.turn for entry in entries if entry.role in _AFTER_DRAFT}:
        db.execute("DELETE FROM chat_message WHERE session_id = ? AND turn = ? AND role = 'draft'", (row.id, turn))
    for entry in entries:
        db.execute(
            "INSERT INTO chat_message(session_id, turn, role, body, at) VALUES (?, ?, ?, ?, ?)",
            (row.id, entry.turn, entry.role, keep(db, entry.body), entry.at),
        )
    for call in calls:
        values = {name: getattr(call, name) for name in _CALL.split(", ")}
        values |= {"input": keep(db, call.input), "output": keep(db, call.output)}
        db.execute(_PUT_CALL, (row.id, *values.values()))
    used = dict(known.usage or {})
    for name, count in spent.items():
        used[name] = used.get(name, 0) + count
    db.execute(
        "UPDATE chat_session SET updated_at = ?, messages = messages + ?, usage = ?, provider = ?, model = ? "
        "WHERE id = ?",
        (
            max(row.updated_at, known.updated_at),
            sum(entry.role in SPOKEN for entry in entries),
            _usage_text(used),
            row.provider,
            row.model,
            row.id,
        ),
    )


def session(db: Connection, session_id: str) -> ChatRow | None:
    found = db.execute(f"SELECT {_SESSION} FROM chat_session WHERE id = ?", (session_id,)).fetchone()
    return _to_session(db, found) if found is not None else None


def latest(db: Connection, repo: str, agent: str, scope: str) -> ChatRow | None:
    """The conversation with an agent in a scope that was used last, if a person had it."""
    found = db.execute(
        f"SELECT {_SESSION} FROM chat_session WHERE scope = ? AND repo = ? AND agent = ? AND source = 'chat' "
        "ORDER BY updated_at DESC, id DESC LIMIT 1",
        (scope, repo, agent),
    ).fetchone()
    return _to_session(db, found) if found is not None else None


def sessions(db: Connection, sources: Sequence[str], limit: int, cursor: str | None) -> Page[ChatRow]:
    """The one that was used last first; those that one of ``sources`` speaks in."""
    spoken = f"source IN ({marks(', '.join(sources))})"
    size = page_size(limit)
    at, key = position_of(cursor) or (float("inf"), "")
    total = db.execute(f"SELECT count(*) FROM chat_session WHERE {spoken}", tuple(sources)).fetchone()[0]
    found = db.execute(
        f"SELECT {_SESSION} FROM chat_session WHERE {spoken} AND (updated_at, id) < (?, ?) "
        "ORDER BY updated_at DESC, id DESC LIMIT ?",
        (*sources, at, key, size + 1),
    ).fetchall()
    items = [_to_session(db, row) for row in found[:size]]
    return Page(items, total, cursor_of(items[-1].updated_at, items[-1].id) if len(found) > size else None)


def first_words(db: Connection, session_ids: Sequence[str]) -> dict[str, str]:
    """The body of the first message of each of these conversations."""
    found: dict[str, str] = {}
    for session_id in session_ids:
        row = db.execute(
            "SELECT body FROM chat_message WHERE session_id = ? AND role = 'user' ORDER BY id LIMIT 1", (session_id,)
        ).fetchone()
        if row is not None:
            found[session_id] = _body(session_id, "user", *readable(db, row, session_id)[0])
    return found


def entries(db: Connection, session_id: str) -> list[ChatEntry]:
    found = db.execute(
        "SELECT turn, role, body, at FROM chat_message WHERE session_id = ? ORDER BY id", (session_id,)
    ).fetchall()
    rows = [readable(db, row, session_id, _ENTRY_KINDS)[0] for row in found]
    return [ChatEntry(turn, role, _body(session_id, role, body), at) for turn, role, body, at in rows]


def _body(session_id: str, role: str, body: str) -> JsonText:
    return JsonText(body) if problem_in(role, body) is None else in_place_of(session_id)


def calls(db: Connection, session_id: str) -> list[ChatCall]:
    """In the order in which they were made; a damaged one that has no place among them is left out."""
    found = db.execute(f"SELECT {_CALL} FROM chat_span WHERE session_id = ?", (session_id,)).fetchall()
    made = [ChatCall(*readable(db, row, session_id, _CALL_KINDS)[0]) for row in found]
    placed = [call for call in made if is_slot(call.slot)]
    known = [call if call.state in _STATES else replace(call, state="unknown") for call in placed]
    return sorted(known, key=lambda call: (call.turn, [int(part) for part in call.slot.split("/")]))


def last_turn(db: Connection, session_id: str) -> int:
    query = "SELECT coalesce(max(turn), 0) FROM chat_message WHERE session_id = ?"
    return db.execute(query, (session_id,)).fetchone()[0]


def rename(db: Connection, session_id: str, title: str | None) -> bool:
    found = db.execute("UPDATE chat_session SET title = ? WHERE id = ?", (title, session_id))
    return found.rowcount > 0


def delete(db: Connection, session_id: str) -> bool:
    """With all that was said; the runs that began in it stay."""
    for table in ("chat_span", "chat_message"):
        db.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))
    return db.execute("DELETE FROM chat_session WHERE id = ?", (session_id,)).rowcount > 0


def no_chat(session_id: str) -> RuntimeFault:
    return RuntimeFault(
        "NOT_FOUND", f"There is no conversation {session_id}. See those there are with: operator-inbox chat --list"
    )


def _usage_text(usage: Mapping[str, int] | None) -> str | None:
    return dumps(dict(usage)) if usage else None


def _to_session(db: Connection, row: Sequence[Any]) -> ChatRow:
    """Readable even if it is damaged: tokens that are no numbers are not counted."""
    values, _ = readable(db, row, row[0], _SESSION_KINDS)
    found: dict[str, Any] = dict(zip(_SESSION.split(", "), values, strict=True))
    if found["usage"] is not None:
        usage = cast("dict[str, JsonValue]", loads(found["usage"]))
        found["usage"] = {name: count for name, count in usage.items() if are_counts({name: count})}
    found |= {"provider": found["provider"] or "", "model": found["model"] or ""}
    return ChatRow(**found)
