"""What ``chat`` prints: what is said, and a line for every call."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import click

from inbox_app.cli_session import say
from inbox_app.cli_text import indented, span_of, visible
from inbox_app.gateway.chat_events import ChatReader, is_parked
from inbox_app.gateway.chats import ChatCall, ChatEvent, ChatTurn, Choice, Note, Reasoning, Text

Wire = Mapping[str, Any]

_MARKS: Final = {"running": "·", "waiting": "?", "ok": "✓", "failed": "✗", "denied": "✗", "stopped": "✗"}


@dataclass(slots=True)
class Told:
    """What a turn came to, as ``/chat/sync`` has it (contract 6.3)."""

    session_id: str = ""
    response: str = ""
    reason: str = ""
    usage: Wire = field(default_factory=dict[str, Any])
    error: str | None = None
    calls: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    runs: dict[str, None] = field(default_factory=dict[str, None])

    def take(self, event: Wire) -> None:
        match event:
            case {"type": "init", "session_id": str(session_id)}:
                self.session_id = session_id
            case {"type": "text_delta", "content": str(piece)}:
                self.response += piece
            case {"type": "tool_call_start", "tool_id": str(id)} if "parent_tool_id" not in event:
                self.calls[id] = {"tool_name": event["tool_name"], "tool_id": id, "status": "running"}
            case {"type": "tool_call_result", "tool_id": str(id)}:
                if id in self.calls:
                    more = {"error": event["error"]} if "error" in event else {}
                    self.calls[id] |= {"status": event["status"], **more}
                if isinstance(run_id := event.get("durable_session_id"), str):
                    self.runs[run_id] = None
            case {"type": "error", "message": str(message)}:
                self.error = message
            case {"type": "done"}:
                self.reason, self.usage = str(event.get("reason")), event.get("usage") or {}
            case _:
                pass

    def reply(self) -> dict[str, Any]:
        told = {
            "session_id": self.session_id,
            "response": self.response,
            "tool_calls": list(self.calls.values()),
            "reason": self.reason,
            "usage": self.usage,
        }
        return told if self.error is None else {**told, "error": self.error}


class Printer:
    """Writes what is said as it is said, and a line for every call that begins or ends."""

    def __init__(self) -> None:
        self._reader = ChatReader()
        self._depths: dict[str, int] = {}
        self._is_open = False

    def tell(self, event: Wire) -> None:
        read = self._reader.read(event)
        match read:
            case Text():
                click.echo(visible(read.text, lines=True), nl=False)
                self._is_open = not read.text.endswith("\n")
            case ChatCall() if event["type"] in ("tool_call_start", "tool_call_result") and not read.internal:
                self._depths.setdefault(read.id, self._depths.get(read.parent or "", -1) + 1)
                self.break_line()
                say(["  " * (self._depths[read.id] + 1) + _call_line(read)])
            case Choice() | Note():
                self.break_line()
                say(_item_lines(read))
            case _:
                pass
        sys.stdout.flush()

    def break_line(self) -> None:
        if self._is_open:
            click.echo()
            self._is_open = False


def turn_lines(one: ChatTurn) -> Iterator[str]:
    yield f"> {visible(one.asked)}"
    if one.files:
        yield f"  with {visible(', '.join(one.files))}"
    depths: dict[str, int] = {}
    for item in one.items:
        if isinstance(item, ChatCall):
            depths[item.id] = depths.get(item.parent or "", -1) + 1
            if not item.internal:
                yield "  " * (depths[item.id] + 1) + _call_line(item)
        else:
            yield from _item_lines(item)
    if one.end not in ("model_stop", "error", ""):
        yield f"({one.end})"


def _item_lines(item: ChatEvent) -> Iterator[str]:
    match item:
        case Text():
            yield visible(item.text, lines=True)
        case Choice():
            yield visible(item.question)
            for option in item.options:
                about = f"  {visible(option.description)}" if option.description else ""
                yield f"  {visible(str(option.value))}: {visible(option.label)}{about}"
        case Note():
            yield f"{'error' if item.error else 'note'}: {visible(item.text)}"
        case Reasoning() if item.call_id is None:
            yield from indented(visible(item.text, lines=True), "  | ")
        case _:
            pass


def _call_line(call: ChatCall) -> str:
    name = _agent(call) if call.kind == "subagent" or call.name == "call_subagent" else call.name
    shown_name = visible(call.label or name)
    has_ended = call.ended_at is not None and call.state != "waiting"
    took = f"  {span_of(call.ended_at - call.started_at)}" if has_ended and call.ended_at is not None else ""
    error = f": {visible(call.error)}" if call.error else ""
    waits = f"  waits as {call.run_id}" if is_parked(call.result, call.run_id) else ""
    return f"{_MARKS[call.state]} {shown_name}{error}{waits}{took}"


def _agent(call: ChatCall) -> str:
    given = call.parameters
    return str(cast("Wire", given).get("agent", call.name)) if isinstance(given, dict) else call.name
