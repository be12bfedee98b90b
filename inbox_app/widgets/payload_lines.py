"""One JSON value as lines to read: a key and its value each, digits and characters as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, cast

from inbox_app.gateway import values
from inbox_app.widgets.hidden_text import ISOLATE, ISOLATE_END, Piece, Tag, count_hidden, joined, pieces

INLINE: Final = 60
KEY_COLUMN: Final = 28
DEEPEST_INDENT: Final = 12
_WIDE: Final = re.compile(
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\U0001f000-\U0003fffd]"
)
_RIGHT_TO_LEFT: Final = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?')
_MOST_ISOLATED: Final = 20_000
_BEFORE, _AFTER = Piece("", ISOLATE, False), Piece("", ISOLATE_END, False)


@dataclass(frozen=True, slots=True)
class Line:
    """``text`` is our indent, a key with its colon, our blanks and a value; the numbers say where each part ends.

    ``hidden`` counts the characters that do not show, ``length`` those of what is shown; ``is_wide`` if some take the
    room of two; ``is_mixed`` if some run from right to left: keys and values keep their places all the same.
    """

    text: str
    lead: int
    key: int
    pad: int
    hidden: int
    length: int
    is_wide: bool
    is_mixed: bool

    def pieces(self) -> list[Piece]:
        return [*self._name(), *self._pieces(self.text[self.pad :])]

    def shown(self) -> tuple[str, list[Tag], int]:
        """The text to lay out, its marks, and where the value begins in it."""
        if not self.hidden and not self.is_mixed:
            return self.text, [], self.pad
        return *joined(self.pieces()), sum(len(piece.shown) for piece in self._name())

    def _name(self) -> list[Piece]:
        text = self.text
        ours = [Piece(part, part, False) for part in (text[: self.lead], text[self.key : self.pad])]
        return [ours[0], *self._pieces(text[self.lead : self.key]), ours[1]]

    def _pieces(self, text: str) -> list[Piece]:
        if not self.is_mixed:
            return pieces(text)
        found: list[Piece] = []
        end = 0
        for hit in _STRING.finditer(text):
            found += [*pieces(text[end : hit.start()]), _BEFORE, *pieces(hit[0]), _AFTER]
            end = hit.end()
        return [*found, *pieces(text[end:])]


def payload_lines(value: object) -> Iterator[Line]:
    """The lines of one JSON value. The fields of the outermost object are aligned and stand without braces."""
    column = 0
    items: Iterator[tuple[str, object]] = iter((("", value),))
    if isinstance(value, dict) and value:
        fields = cast("dict[str, object]", value)
        column = min(max(len(_key(name)) for name in islice(fields, 200)), KEY_COLUMN) + 2
        items = iter(fields.items())
    named = column > 0
    stack: list[tuple[Iterator[tuple[str, object]], bool, str]] = [(items, named, "")]
    while stack:
        items, named, end = stack[-1]
        depth = len(stack) - 1
        entry = next(items, None)
        if entry is None:
            stack.pop()
            if end:
                yield _line("", end, depth - 1, column)
            continue
        key, item = _key(entry[0]) if named else "", entry[1]
        if not isinstance(item, dict | list | tuple) or not item:
            yield _line(key, values.pretty(cast("object", item)), depth, column)
            continue
        inner = cast("dict[str, object] | list[object] | tuple[object, ...]", item)
        short = values.compact(inner, INLINE)
        if len(short) <= INLINE:
            yield _line(key, short, depth, column)
        elif isinstance(inner, dict):
            yield _line(key, "{", depth, column)
            stack.append((iter(inner.items()), True, "}"))
        else:
            yield _line(key, "[", depth, column)
            stack.append(((("", part) for part in inner), False, "]"))


def _key(name: str) -> str:
    return f"{values.pretty(name)}:"


def _lead(depth: int) -> str:
    """Two blanks a level; below the deepest shown level the number of the level."""
    return "  " * depth if depth <= DEEPEST_INDENT else "  " * DEEPEST_INDENT + f"{depth}› "


def _line(key: str, value: str, depth: int, column: int) -> Line:
    lead = _lead(depth)
    pad = "" if not key else " " * max(1, column - len(key)) if depth == 0 else " "
    text = f"{lead}{key}{pad}{value}"
    hidden = (count_hidden(key) if key else 0) + count_hidden(value)
    first, second = len(lead), len(lead) + len(key)
    wide = not text.isascii() and _WIDE.search(text) is not None
    mixed = len(text) <= _MOST_ISOLATED and not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None
    line = Line(text, first, second, second + len(pad), hidden, len(text), wide, mixed)
    return replace(line, length=len(line.shown()[0])) if hidden or mixed else line
