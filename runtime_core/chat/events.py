"""The events of a conversation: their fields are those of contract 7.2, on the wire and in the window."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any, Final, cast

from runtime_core.wire.json import JsonError, JsonText, JsonValue, dumps, loads
from runtime_core.wire.runs import SlotPath, iso, parent_slot

Event = dict[str, Any]

RESULT_LIMIT: Final = 50_000
"""Characters of a result on the stream."""
_CUT: Final = "\n[... truncated]"
_REDACTED: Final = "[REDACTED]"
_SECRET: Final = re.compile("token|secret|password|key|auth", re.IGNORECASE)
_PLACE: Final = re.compile(r"\{\{\s*([\w.-]+)\s*\}\}")


def event(kind: str, at: float | None = None, /, **fields: Any) -> Event:
    """An event with its time; fields that are None are left out. ``at`` in seconds since the epoch, None is now."""
    told = {name: value for name, value in fields.items() if value is not None}
    return {"type": kind, **told, "timestamp": iso(time.time() if at is None else at)}


def redacted(told: Event) -> Event:
    """The event as it may leave the computer: parameters whose names look like secrets have no value (contract 7.2)."""
    hidden = {name: without_secrets(told[name]) for name in ("parameters", "params", "tool_args") if name in told}
    return {**told, **hidden}


def redacted_session(told: Mapping[str, Any]) -> dict[str, Any]:
    """A conversation as `Chats.session` tells it, with its events and the parameters of its messages as `redacted`."""
    turns = [{**turn, "events": [redacted(one) for one in turn["events"]]} for turn in told["turns"]]
    return {**told, "turns": turns, "messages": [_without_parameters(message) for message in told["messages"]]}


def _without_parameters(message: Mapping[str, Any]) -> dict[str, Any]:
    if "toolCalls" not in message:
        return dict(message)
    calls = [
        {**call, **{name: without_secrets(call[name]) for name in ("parameters", "args")}}
        for call in message["toolCalls"]
    ]
    return {**message, "toolCalls": calls}


def without_secrets(value: Any) -> Any:
    """Parameters as they may leave the computer."""
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        return {name: _REDACTED if _SECRET.search(name) else without_secrets(one) for name, one in given.items()}
    return [without_secrets(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value


def tool_id(turn: int, at: SlotPath) -> str:
    """The id of the call at this slot of a turn; none other of the conversation has it."""
    return f"call_{turn}.{at.replace('/', '.')}"


def parent_id(turn: int, at: SlotPath) -> str | None:
    above = parent_slot(at)
    return tool_id(turn, above) if above else None


def label(phrase: str | None, parameters: Mapping[str, JsonValue]) -> str | None:
    """A phrase with the parameters in its places (contract 7.2)."""
    if phrase is None:
        return None
    return " ".join(_PLACE.sub(lambda found: _in_words(parameters.get(found[1])), phrase).split())


def _in_words(value: JsonValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""


def result_text(output: JsonText | None, size: int) -> str:
    """A result as the stream has it: a text as it is, anything else as JSON text, and not too much of it."""
    if output is None:
        return f"[a result of {size:,} characters is left out]"
    value = loads(output)
    text = value if isinstance(value, str) else output
    return text if len(text) <= RESULT_LIMIT else text[:RESULT_LIMIT] + _CUT


def error_of(output: JsonText | None) -> str | None:
    """What a result says that counts as a failure: an object that holds nothing but a text ``error`` (contract 2.7)."""
    if output is None or not output.startswith('{"error":'):
        return None
    match loads(output):
        case {"error": str(message), **more} if not more:
            return message
        case _:
            return None


def given_to(kind: str, name: str, input: JsonText | None) -> Mapping[str, JsonValue]:
    """The parameters of a call as they are shown: those of a specialist are ``{agent, task, input?, files?}``."""
    if input is None:
        return {"agent": name} if kind == "subagent" else {}
    try:
        value = loads(input)
    except JsonError:
        return {"arguments": input}
    if kind == "subagent" and isinstance(value, list):
        return _of_specialist(name, value)
    return cast("dict[str, JsonValue]", value) if isinstance(value, dict) else {"arguments": value}


def _of_specialist(name: str, values: list[JsonValue]) -> dict[str, JsonValue]:
    task, given, options = [*values, None, None, None][:3]
    shown: dict[str, JsonValue] = {"agent": name, "task": task}
    if given is not None:
        shown["input"] = given
    match options:
        case {"attachments": list(files)} if files:
            shown["files"] = [file.get("filename") for file in files if isinstance(file, dict)]
        case _:
            pass
    return shown


def as_text(value: JsonValue) -> str:
    """What is said of the result of a trigger's tool: its words, if it has any, else all of it."""
    match value:
        case str():
            return value
        case {"message": str(words)} | {"text": str(words)}:
            return words
        case _:
            return dumps(value)
