"""The events of a conversation (contract 7.2), of this or of another runtime, in the words of the application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from inbox_app.gateway.base import Json
from inbox_app.gateway.chats import (
    Began,
    CallState,
    ChatCall,
    ChatEvent,
    ChatSession,
    ChatTurn,
    Choice,
    ChoiceOption,
    Ended,
    Note,
    Reasoning,
    Shown,
    Text,
    Tokens,
    TurnItem,
)
from inbox_app.gateway.translate import seconds
from inbox_app.gateway.values import BadJsonError, parse

Wire = Mapping[str, Any]

_STATES: Final[Mapping[str, CallState]] = {"ok": "ok", "failed": "failed", "cancelled": "stopped", "unknown": "failed"}
_PARKED: Final = frozenset({"running", "awaiting_operator"})


class ChatReader:
    """Reads the events of one turn, in their order: a call is known by what was told of it so far."""

    def __init__(self) -> None:
        self._calls: dict[str, ChatCall] = {}
        self._labels: dict[str, tuple[str, str]] = {}
        self._acted: set[str] = set()
        """Specialists that did something since they said something."""

    def read(self, told: Wire) -> ChatEvent | None:
        """What an event says to the window; None for one that says nothing, or that is not known."""
        match told:
            case {"type": "init"}:
                return Began(_text(told.get("session_id")))
            case {"type": "text_delta"}:
                return Text(_text(told.get("content")))
            case {"type": "reasoning"}:
                return Reasoning(_text(told.get("text")), told.get("tool_id"))
            case {"type": "ask_choice"}:
                return _choice(told)
            case {"type": "widget"}:
                return Shown(_text(told.get("widget_type")), told.get("data"))
            case {"type": "warning" | "error" as kind}:
                return Note(_text(told.get("message")), kind == "error", told.get("tool_id"))
            case {"type": "done"}:
                return Ended(_text(told.get("reason")), tokens(told.get("usage")))
            case {"type": "tool_call_start", "tool_id": str(id)}:
                return self._started(id, told)
            case _:
                return self._changed(told)

    def _changed(self, told: Wire) -> ChatCall | None:
        """A call about which something more is known."""
        id = told.get("tool_id") or told.get("preview_id") or told.get("parent_tool_id")
        call = self._calls.get(id) if isinstance(id, str) else None
        if call is None:
            return None
        match told:
            case {"type": "tool_call_result"}:
                return self._put(_finished(call, told))
            case {"type": "tool_call_update"}:
                state: CallState = "waiting" if told.get("state") == "waiting" else "running"
                return self._put(replace(call, state=state, run_id=told.get("durable_session_id")))
            case {"type": "confirmation_required"}:
                return self._put(replace(call, state="waiting", run_id=told.get("correlation_id")))
            case {"type": "approved"}:
                return self._put(replace(call, state="running"))
            case {"type": "tool_label_update"}:
                return self._labelled(call, told)
            case {"type": "subagent_event", "event_type": "thought"}:
                return self._put(replace(call, said=call.said + self._apart(call) + _text(told.get("text"))))
            case _:
                return None

    def _started(self, id: str, told: Wire) -> ChatCall:
        name = _text(told.get("tool_name"))
        running, completed = _text(told.get("running_label")), _text(told.get("completed_label"))
        self._acted.add(_text(told.get("parent_tool_id")))
        self._labels[id] = (running, completed or running)
        return self._put(
            ChatCall(
                id=id,
                parent=told.get("parent_tool_id"),
                kind=_text(told.get("kind")) or ("subagent" if name == "call_subagent" else "tool"),
                name=name,
                state="running",
                parameters=told.get("parameters"),
                started_at=seconds(told.get("timestamp")) or 0.0,
                internal=told.get("internal") is True,
            )
        )

    def _apart(self, call: ChatCall) -> str:
        """What stands before the next piece that a specialist says."""
        begins_anew = call.id in self._acted and call.said != ""
        self._acted.discard(call.id)
        return "\n\n" if begins_anew else ""

    def _labelled(self, call: ChatCall, told: Wire) -> ChatCall:
        running, completed = self._labels[call.id]
        self._labels[call.id] = (
            _text(told.get("running_label")) or running,
            _text(told.get("completed_label")) or completed,
        )
        return self._put(call)

    def _put(self, call: ChatCall) -> ChatCall:
        running, completed = self._labels[call.id]
        self._calls[call.id] = labelled = replace(
            call, label=completed if call.state == "ok" else running, done_label=completed
        )
        return labelled


def turn_of(wire: Wire) -> ChatTurn:
    """A turn that is read later: pieces that belong together are one, and a call stands where it began."""
    reader = ChatReader()
    items: list[TurnItem] = []
    places: dict[str, int] = {}
    for told in _list(wire.get("events")):
        item = reader.read(cast("Wire", told))
        if isinstance(item, ChatCall):
            if item.id in places:
                items[places[item.id]] = item
            else:
                places[item.id] = len(items)
                items.append(item)
        elif item is not None and not isinstance(item, Began | Ended):
            _add(items, item)
    end = cast("Wire", wire.get("end") or {})
    return ChatTurn(
        number=int(wire.get("turn") or 0),
        asked=_text(wire.get("text")),
        at=seconds(wire.get("at")) or 0.0,
        files=tuple(str(name) for name in _list(wire.get("files"))),
        items=tuple(items),
        end=_text(end.get("reason")),
        usage=tokens(end.get("usage")),
    )


def session_of(wire: Wire) -> ChatSession:
    return ChatSession(
        id=_text(wire.get("id")),
        repository=_text(wire.get("repository")),
        agent=_text(wire.get("agent")) or "default",
        title=_text(wire.get("title")),
        created_at=seconds(wire.get("created_at")) or 0.0,
        updated_at=seconds(wire.get("updated_at")) or 0.0,
        messages=int(wire.get("message_count") or 0),
        scope=_text(wire.get("scope_id")),
        provider=_text(wire.get("provider")),
        model=_text(wire.get("model")),
        usage=tokens(wire.get("token_usage")),
        busy=wire.get("busy") is True,
    )


def tokens(usage: Any) -> Tokens:
    counted = cast("Wire", usage if isinstance(usage, Mapping) else {})
    return Tokens(*(int(counted.get(f"{name}_tokens") or 0) for name in ("input", "output", "cached")))


def _finished(call: ChatCall, told: Wire) -> ChatCall:
    is_error = told.get("status") == "error"
    state = "failed" if is_error else "ok"
    result = _result(told.get("result"))
    run_id = told.get("durable_session_id") or call.run_id
    if not is_error and is_parked(result, run_id):
        state = "waiting"
    elif is_error:
        state = _STATES.get(_text(told.get("state")), "failed")
        state = "failed" if state == "ok" else state
    return replace(
        call,
        state=state,
        result=result,
        error=_text(told.get("error")),
        ended_at=seconds(told.get("timestamp")),
        run_id=run_id,
    )


def is_parked(result: Json, run_id: str | None) -> bool:
    """Whether a result says that the run which the call became goes on or waits (contract 7.4)."""
    match result:
        case {"durable": True, "status": str(status), "session_id": str(named)}:
            return status in _PARKED and named == run_id
        case _:
            return False


def _result(text: Any) -> Json:
    if not isinstance(text, str):
        return text
    try:
        return parse(text)
    except BadJsonError:
        return text


def _choice(told: Wire) -> Choice:
    options = [cast("Wire", one) for one in _list(told.get("options")) if isinstance(one, Mapping)]
    return Choice(
        ask_id=_text(told.get("ask_id")),
        question=_text(told.get("question")),
        options=tuple(
            ChoiceOption(one.get("value"), _text(one.get("label")), _text(one.get("description"))) for one in options
        ),
        multi=told.get("multi") is True,
    )


def _add(items: list[TurnItem], item: TurnItem) -> None:
    before = items[-1] if items else None
    match before, item:
        case Text(), Text():
            items[-1] = Text(before.text + item.text)
        case Reasoning(), Reasoning() if before.call_id == item.call_id:
            separator = "\n" if item.call_id is not None else ""
            items[-1] = Reasoning(before.text + separator + item.text, item.call_id)
        case _:
            items.append(item)


def _list(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
