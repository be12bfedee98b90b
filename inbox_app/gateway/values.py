"""JSON as the window shows and edits it: every digit as it was written.

The runtime's lossless JSON does the work; it is imported on first use, so that nothing of it is loaded before the
first paint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast


class BadJsonError(ValueError):
    """Text that is not acceptable JSON; the message says why and where. Lines and columns count from 1; 0: unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def parse(text: str) -> Any:
    """One JSON value; integers of any size, other numbers with their digits. Raises `BadJsonError`."""
    from runtime_core.wire.json import JsonError, loads

    try:
        return loads(text)
    except JsonError as error:
        raise BadJsonError(str(error), error.line, error.column) from None


def pretty(value: object) -> str:
    """JSON over several lines, two spaces of indent, characters and digits as they are."""
    return _writer()(value)


def compact(value: object, limit: int = 2000) -> str:
    """JSON on one line, for people: spaces after commas and colons. Cut with "…" after ``limit`` characters."""
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


@cache
def _writer() -> Callable[[object], str]:
    from runtime_core.wire.json import pretty

    return pretty


def _pieces(value: object) -> Iterator[str]:
    write = _writer()
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict) and item:
            fields = cast("dict[str, object]", item)
            stack.append(_Rest(iter(fields.items()), True, "{"))
        elif isinstance(item, list | tuple) and item:
            stack.append(_Rest((("", inner) for inner in cast("list[object]", item)), False, "["))
        elif isinstance(item, _Rest):
            entry = next(item.items, None)
            if entry is None:
                yield "}" if item.named else "]"
                continue
            yield item.before + (f"{write(entry[0])}: " if item.named else "")
            stack += [_Rest(item.items, item.named, ", "), entry[1]]
        else:
            yield write(cast("object", item))


@dataclass(frozen=True, slots=True)
class _Rest:
    """What is left of an object or a list, and what stands before its next part."""

    items: Iterator[tuple[str, object]]
    named: bool
    before: str
