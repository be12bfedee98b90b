"""What the body of an entry of a conversation may hold, by the role of the entry; `chat.transcript` writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from runtime_core.wire.json import JsonError, loads

Fits = Callable[[Any], bool]


def problem_in(role: str, body: str) -> str | None:
    """What is wrong with a body, as the end of a sentence; None if it can be read."""
    try:
        value = loads(body)
    except JsonError as error:
        return f"is not JSON text: {error}"
    if not isinstance(value, dict):
        return "must be the text of an object"
    for name, fits in _FIELDS.get(role, _SAID).items():
        if name in value and not fits(value[name]):
            return f"has an unreadable value: {name}"
    return None


def are_counts(value: Any) -> bool:
    """Whether it is an object of whole numbers, such as the tokens that were used."""
    counts = cast("Mapping[str, Any]", value) if isinstance(value, dict) else {"": None}
    return all(type(count) is int and 0 <= count < 2**63 for count in counts.values())


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _holds_texts(*names: str) -> Fits:
    def fits(value: Any) -> bool:
        return isinstance(value, dict) and all(
            isinstance(cast("Mapping[str, Any]", value).get(name), str) for name in names
        )

    return fits


def _list_of(item: Fits) -> Fits:
    return lambda value: isinstance(value, list) and all(item(one) for one in cast("list[Any]", value))


_CALL: Final = _holds_texts("name", "args", "id")

_SAID: Final[Mapping[str, Fits]] = {
    "text": _is_text,
    "files": _list_of(_holds_texts("filename", "mimeType", "data")),
    "tool_calls": _list_of(_CALL),
    "call": _CALL,
    "reasoning": _is_text,
    "raw": _is_text,
}
_FIELDS: Final[Mapping[str, Mapping[str, Fits]]] = {
    "event": {"type": _is_text},
    "end": {"reason": _is_text, "code": _is_text, "message": _is_text, "usage": are_counts},
}
