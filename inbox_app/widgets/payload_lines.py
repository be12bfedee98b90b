"""One JSON value as lines to read: a key and its value each, digits and characters as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, cast

from inbox_app.gateway import values
from inbox_app.widgets.hidden_text import Piece, Tag, count_hidden, joined, pieces

INLINE: Final = 60
KEY_COLUMN: Final = 28
DEEPEST_INDENT: Final = 12


@dataclass(frozen=True, slots=True)
class Line:
    """``lead`` is our indent, ``key`` a key with its quotes and colon, ``pad`` our blanks, ``value`` JSON.

    ``hidden`` counts the characters of key and value that do not show.
    """

    lead: str
    key: str
    pad: str
    value: str
    hidden: int = 0

    @property
    def text(self) -> str:
        return f"{self.lead}{self.key}{self.pad}{self.value}"

    @property
    def key_end(self) -> int:
        """Where the value begins, in `text`."""
        return len(self.lead) + len(self.key) + len(self.pad)

    def pieces(self) -> list[Piece]:
        ours = [Piece(part, part, False) for part in (self.lead, self.pad)]
        return [ours[0], *pieces(self.key), ours[1], *pieces(self.value)]

    def shown(self) -> tuple[str, list[Tag]]:
        """The text to lay out, and its marks."""
        return joined(self.pieces()) if self.hidden else (self.text, [])


def payload_lines(value: object) -> Iterator[Line]:
    """The lines of one JSON value. The fields of the outermost object are aligned and stand without braces."""
    column = 0
    stack: list[tuple[str, object, int]] = [("", value, 0)]
    if isinstance(value, dict) and value:
        fields = cast("dict[str, object]", value)
        keys = [(_key(name), inner) for name, inner in fields.items()]
        column = min(max(len(key) for key, _ in islice(keys, 200)), KEY_COLUMN) + 2
        stack = [(key, inner, 0) for key, inner in reversed(keys)]
    while stack:
        key, item, depth = stack.pop()
        if isinstance(item, _Close):
            yield Line(_lead(depth), "", "", item.text)
        elif isinstance(item, dict | list | tuple) and item:
            inner_values = cast("dict[str, object] | list[object] | tuple[object, ...]", item)
            short = values.compact(inner_values, INLINE)
            if len(short) <= INLINE:
                yield _line(key, short, depth, column)
                continue
            yield _line(key, "{" if isinstance(inner_values, dict) else "[", depth, column)
            if isinstance(inner_values, dict):
                stack.append(("", _Close("}"), depth))
                stack += [(_key(name), inner, depth + 1) for name, inner in reversed(list(inner_values.items()))]
            else:
                stack.append(("", _Close("]"), depth))
                stack += [("", inner, depth + 1) for inner in reversed(inner_values)]
        else:
            yield _line(key, values.pretty(cast("object", item)), depth, column)


@dataclass(frozen=True, slots=True)
class _Close:
    text: str


def _key(name: str) -> str:
    return f"{values.pretty(name)}:"


def _lead(depth: int) -> str:
    """Two blanks a level; below the deepest shown level the number of the level."""
    return "  " * depth if depth <= DEEPEST_INDENT else "  " * DEEPEST_INDENT + f"{depth}› "


def _line(key: str, value: str, depth: int, column: int) -> Line:
    pad = "" if not key else " " * max(1, column - len(key)) if depth == 0 else " "
    return Line(_lead(depth), key, pad, value, count_hidden(key) + count_hidden(value))
