"""Where in a JSON text a value stands, for messages that point at a line."""

from __future__ import annotations

import json
from collections.abc import Sequence

_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
_BLANK = " \t\n\r\ufeff"
_KEY_LIMIT = 120


def show_key(key: Sequence[str | int]) -> str | None:
    """``("uses", "tools", 2)`` as ``uses.tools[2]``; the middle of a very long one is left out."""
    shown = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).removeprefix(".")
    if len(shown) > _KEY_LIMIT:
        shown = f"{shown[: _KEY_LIMIT // 2]}…{shown[-_KEY_LIMIT // 2 :]}"
    return shown or None


def locate(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Line and column, from 1, of the value at ``path``; of its nearest parent where the path ends early.

    ``text`` must be valid JSON. A member is reported at its key.
    """
    at = shown = _skip(text, 0)
    for part in path:
        found = _member(text, at, part) if isinstance(part, str) else _element(text, at, part)
        if found is None:
            break
        shown, at = found
    return text.count("\n", 0, shown) + 1, shown - text.rfind("\n", 0, shown)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _member(text: str, at: int, key: str) -> tuple[int, int] | None:
    """Start of the key and of its value in the object that begins at ``at``."""
    if text[at] != "{":
        return None
    at = _skip(text, at + 1)
    while text[at] != "}":
        start = at
        name, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        if name == key:
            return start, at
        at = _next(text, at)
    return None


def _element(text: str, at: int, index: int) -> tuple[int, int] | None:
    if text[at] != "[":
        return None
    at = _skip(text, at + 1)
    while text[at] != "]":
        if index == 0:
            return at, at
        index -= 1
        at = _next(text, at)
    return None


def _next(text: str, at: int) -> int:
    """Behind the value at ``at`` and the comma that follows it."""
    _, at = _DECODER.raw_decode(text, at)
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at
