"""JSON as the window shows and edits it: every digit as it was written.

The runtime's lossless JSON does the work; it is imported on first use, so that nothing of it is loaded before the
first paint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast


class BadJsonError(ValueError):
    """Text that is not acceptable JSON; the message says why and where (line and column)."""


def parse(text: str) -> Any:
    """One JSON value; integers of any size, other numbers with their digits. Raises `BadJsonError`."""
    from runtime_core.wire.json import JsonError, loads

    try:
        return loads(text)
    except JsonError as error:
        raise BadJsonError(str(error)) from None


def compact(value: object, limit: int = 2000) -> str:
    """JSON on one line, for people: spaces after commas and colons. Cut with "…" after about ``limit`` characters."""
    out: list[str] = []
    size = 0
    for piece in _pieces(value):
        out.append(piece)
        size += len(piece)
        if size > limit:
            return "".join(out)[:limit] + "…"
    return "".join(out)


def canonical(value: object) -> str:
    """Equal for two values exactly if they are the same JSON (types, digits, keys) whatever the order of the keys."""
    from runtime_core.wire.json import dumps

    return dumps(value, sort_keys=True)


def pretty(value: object) -> str:
    """JSON over several lines, two spaces of indent, characters and digits as they are."""
    from runtime_core.wire.json import pretty

    return pretty(value)


def _pieces(value: object) -> Iterator[str]:
    from runtime_core.wire.json import pretty

    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Literal):
            yield item.text
        elif isinstance(item, dict) and item:
            fields = cast("dict[str, object]", item)
            stack.append(_Literal("}"))
            for at, (key, inner) in reversed(list(enumerate(fields.items()))):
                stack += [inner, _Literal(f"{', ' if at else '{'}{pretty(key)}: ")]
        elif isinstance(item, list | tuple) and item:
            items = cast("list[object]", item)
            stack.append(_Literal("]"))
            for at, inner in reversed(list(enumerate(items))):
                stack += [inner, _Literal(", " if at else "[")]
        else:
            yield pretty(cast("object", item))


@dataclass(frozen=True, slots=True)
class _Literal:
    text: str
