"""What a document of a store has to look like, and the key it has (contract 1.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from runtime_core.repo.position import show_key
from runtime_core.wire.json import JsonValue, dumps
from runtime_core.wire.runs import instant
from runtime_core.wire.stores import found_by

Key = tuple[str | int, ...]

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_SHOWN: Final = 80
_WHOLE: Final = 1e21
_WORDS: Final[Mapping[str, str]] = {
    "string": "a text",
    "ref": "a text, the key of a document",
    "number": "a number",
    "boolean": "true or false",
    "datetime": "a time such as 2026-09-01T08:15:00Z",
    "array": "a list",
    "object": "an object",
}


def problem_of(schema: Mapping[str, Any], payload: JsonValue) -> str | None:
    """The first thing that is wrong with a document, as a sentence without its full stop that names the field.

    A field that may be null has to be there; what the schema does not name is let through.
    """
    if not isinstance(payload, dict):
        return f"the value is {_shown(payload)} and should be an object with the fields {', '.join(schema) or '(none)'}"
    return next(_problems(schema, payload, ()), None)


def key_of(template: str, payload: Mapping[str, JsonValue]) -> str | None:
    """The key that a checked document has; None if a field that makes it is empty or null."""
    values = {name: _as_key(payload.get(name)) for name in _PLACEHOLDER.findall(template)}
    if not all(values.values()):
        return None
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def key_fields(template: str) -> str:
    return ", ".join(_PLACEHOLDER.findall(template))


def described(definition: Mapping[str, Any]) -> str:
    """A field in words, for a model that is to fill it."""
    return _wanted(definition) + (f", each {described(definition['item'])}" if definition["type"] == "array" else "")


def _problems(fields: Mapping[str, Any], values: Mapping[str, JsonValue], at: Key) -> Iterator[str]:
    for name, definition in fields.items():
        here = (*at, name)
        if name in values:
            yield from _problems_at(definition, values[name], here)
        else:
            also = "; write null if there is none" if definition.get("nullable") else ""
            yield f"{show_key(here)} is missing{also}"


def _problems_at(definition: Mapping[str, Any], value: JsonValue, at: Key) -> Iterator[str]:
    if value is None and definition.get("nullable"):
        return
    if not _fits(definition, value):
        yield f"{show_key(at)} should be {_wanted(definition)}, and is {_shown(value)}"
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _problems_at(definition["item"], item, (*at, number))
    elif isinstance(value, dict):
        yield from _problems(definition.get("fields") or {}, value, at)


def _fits(definition: Mapping[str, Any], value: JsonValue) -> bool:
    match definition["type"]:
        case "string" | "ref":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "datetime":
            return isinstance(value, str) and instant(value) is not None
        case "enum":
            return found_by(value) in map(found_by, definition["values"])
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            low, high = definition.get("min"), definition.get("max")
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return is_number and (low is None or value >= low) and (high is None or value <= high)


def _wanted(definition: Mapping[str, Any]) -> str:
    kind = definition["type"]
    words = f"one of {', '.join(map(dumps, definition['values']))}" if kind == "enum" else _WORDS[kind]
    low, high = definition.get("min"), definition.get("max")
    if kind == "number" and low is not None:
        words += f" from {dumps(low)}"
    if kind == "number" and high is not None:
        words += f" up to {dumps(high)}"
    return f"{words} or null" if definition.get("nullable") else words


def _shown(value: JsonValue) -> str:
    text = dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _as_key(value: JsonValue) -> str:
    """As JavaScript writes it into a text, but with all digits of a whole number."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _WHOLE else float.__repr__(value)
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value)
