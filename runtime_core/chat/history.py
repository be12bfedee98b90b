"""Conversations as they are read later: items and messages of contract 6.8, and each turn as the events it told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, cast

from runtime_core.chat.calls import result_event, start_event, update_event
from runtime_core.chat.events import Event, event, given_to, result_text, tool_id
from runtime_core.chat.transcript import ended_since, read
from runtime_core.repo.bundle import Bundle
from runtime_core.wire.chats import ChatCall, ChatEntry, ChatRow
from runtime_core.wire.json import JsonText, loads
from runtime_core.wire.runs import FINISHED, RunRow, iso

TITLE_LIMIT: Final = 80
UNTITLED: Final = "Untitled"
INTERRUPTED: Final = "interrupted"
_AGENT: Final = ("assistant", "draft")


def item_of(row: ChatRow, first: JsonText | None, *, busy: bool = False) -> dict[str, Any]:
    """One conversation of a list. ``first``: the body of its first message, whose words stand for a title."""
    used = row.usage or {}
    usage = {name: used.get(name, 0) for name in ("input_tokens", "output_tokens", "cached_tokens")}
    return {
        "id": row.id,
        "app_id": "local",
        "scope_id": row.scope,
        "title": row.title or _words_of(first) or UNTITLED,
        "tags": [],
        "status": "active",
        "message_count": row.messages,
        "token_usage": {**usage, "total_tokens": usage["input_tokens"] + usage["output_tokens"]},
        "model": row.model,
        "provider": row.provider,
        "cost": None,
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
        "agent": row.agent,
        "repository": row.repo,
        "source": row.source,
        "created_by": row.created_by,
        "busy": busy,
    }


def messages_of(entries: Sequence[ChatEntry], calls: Sequence[ChatCall]) -> list[dict[str, Any]]:
    """``messages`` of one conversation; the calls are those that its agent made itself."""
    made = {(call.turn, call.slot): call for call in calls}
    found: list[dict[str, Any]] = []
    for entry, body, slots in _with_slots(entries):
        if entry.role not in ("user", *_AGENT):
            continue
        is_asked = entry.role == "user"
        message = {
            "role": "user" if is_asked else "assistant",
            "type": "user" if is_asked else "assistant_text",
            "id": f"hist-{len(found)}",
            "text": body["text"],
            "timestamp": iso(entry.at),
        }
        asked = [made[entry.turn, at] for at in slots if (entry.turn, at) in made]
        if asked:
            message["toolCalls"] = [_tool_call(call) for call in asked]
        if files := body.get("files"):
            message["files"] = [file["filename"] for file in files]
        found.append(message)
    return found


def turns_of(
    entries: Sequence[ChatEntry], calls: Sequence[ChatCall], bundle: Bundle | None, live: int | None
) -> list[dict[str, Any]]:
    """Each turn as ``{"turn", "text", "files", "at", "events", "end"}``, ``events`` as they were on the stream.

    ``calls`` as `known_now`. ``end`` is that of `turn.End` with ``usage``; None of the turn that goes on, whose number
    is ``live``. ``bundle``: where the labels of tools stand, if it can be read.
    """
    by_turn = {turn: list(some) for turn, some in groupby(calls, key=lambda call: call.turn)}
    told: list[dict[str, Any]] = []
    for turn, some in groupby(entries, key=lambda entry: entry.turn):
        of_turn = list(some)
        is_live = turn == live
        ended = next((loads(entry.body) for entry in of_turn if entry.role == "end"), None)
        if ended is None and not is_live:
            ended = {"reason": INTERRUPTED}
        made = by_turn.get(turn, [])
        asked = of_turn[0]
        body = read(asked)
        told.append(
            {
                "turn": turn,
                "text": body["text"],
                "files": [file["filename"] for file in body.get("files", ())],
                "at": iso(asked.at),
                "events": list(_events(of_turn, made, bundle)),
                "end": ended,
            }
        )
    return told


def _events(entries: Sequence[ChatEntry], calls: Sequence[ChatCall], bundle: Bundle | None) -> Iterator[Event]:
    below: dict[str, list[ChatCall]] = {}
    for call in calls:
        below.setdefault(call.slot.partition("/")[0], []).append(call)
    for entry, body, slots in _with_slots(entries):
        if entry.role == "event":
            yield cast("Event", loads(entry.body))
        elif entry.role == "end" and "message" in body:
            yield event("error", entry.at, message=body["message"], code=body.get("code"))
        elif entry.role in _AGENT:
            if reasoning := body.get("reasoning"):
                yield event("reasoning", entry.at, text=reasoning)
            if body["text"]:
                yield event("text_delta", entry.at, content=body["text"])
            for at in slots:
                yield from _told(below.pop(at, []), bundle)


def _told(calls: Sequence[ChatCall], bundle: Bundle | None) -> Iterator[Event]:
    """One call of the model and all below it, each beginning after the one that made it."""
    for call in calls:
        yield start_event(call, bundle)
    for call in reversed(calls):
        if call.state not in ("running", "waiting"):
            yield result_event(call)
        elif call.run_id is not None:
            yield update_event(call)


def _with_slots(entries: Sequence[ChatEntry]) -> Iterator[tuple[ChatEntry, Mapping[str, Any], Sequence[str]]]:
    """Each entry with its body and the slots of the calls it asks for, which are numbered through a turn."""
    turn, made = 0, 0
    for entry in entries:
        body = {"text": "", **read(entry)}
        if entry.turn != turn:
            turn, made = entry.turn, 0
        count = len(body.get("tool_calls", ())) if entry.role == "assistant" else 0
        yield entry, body, [str(number) for number in range(made, made + count)]
        made += count


def _tool_call(call: ChatCall) -> dict[str, Any]:
    given = given_to(call.kind, call.name, call.input)
    told = {"toolId": tool_id(call.turn, call.slot), "toolName": call.name, "parameters": given, "args": given}
    if call.state == "ok":
        told["result"] = result_text(call.output, call.output_size)
    return told


def known_now(
    entries: Sequence[ChatEntry], calls: Sequence[ChatCall], runs: Mapping[str, RunRow], live: int | None
) -> list[ChatCall]:
    """The calls as they stand now: those that their turn left behind, and the runs that some became, went on without
    it. ``runs`` by their id; ``live`` as in `turns_of`."""
    ends = {entry.turn: entry.at for entry in entries}
    return [call if call.turn == live else _left(call, ends.get(call.turn), runs) for call in calls]


def _left(call: ChatCall, at: float | None, runs: Mapping[str, RunRow]) -> ChatCall:
    if (ended := ended_since(call, runs)) is not None:
        return _as_run(call, ended)
    run = runs.get(call.run_id) if call.run_id is not None else None
    if run is not None and run.status not in FINISHED and call.state in ("running", "waiting", "cancelled"):
        return replace(call, state="running" if run.status in ("running", "runnable") else "waiting", ended_at=None)
    if call.state == "running":  # its process has ended meanwhile
        return replace(call, state="unknown", ended_at=at)
    return replace(call, state="cancelled", ended_at=at) if call.state == "waiting" else call


def _as_run(call: ChatCall, run: RunRow) -> ChatCall:
    if run.status == "completed":
        result = run.result or JsonText("null")
        return replace(call, state="ok", ended_at=run.finished_at, output=result, output_size=len(result))
    if run.status == "cancelled":
        return replace(call, state="cancelled", ended_at=run.finished_at)
    error: Any = loads(run.error) if run.error is not None else {}
    told = {"code": error.get("code"), "message": error.get("message") or run.status}
    return replace(call, state="failed", ended_at=run.finished_at, **told)


def first_words(text: str) -> str:
    """The beginning of what a person said first, as a title."""
    words = " ".join(text.split())
    return words if len(words) <= TITLE_LIMIT else words[: TITLE_LIMIT - 1] + "…"


def _words_of(body: JsonText | None) -> str:
    said = loads(body) if body is not None else None
    return first_words(str(said.get("text", ""))) if isinstance(said, dict) else ""
