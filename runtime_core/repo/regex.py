"""JavaScript regular expressions, as they stand in JSON Schemas and triggers, for an engine that knows a time limit."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import regex

PATTERN_LIMIT: Final = 10_000
"""Characters of a pattern."""

_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_"}
_ONLY_JAVASCRIPT = re.compile(r"\\[pP]\{|\\u\{|\\c[A-Za-z]|\[\^?\]")
"""Beginnings that have no counterpart: Unicode properties, long code points, control letters, ``[]`` and ``[^]``."""


_ESCAPES: Final = frozenset("bBdDsSwWnrtfvxuk")
"""Letters that mean something behind a backslash; the others stand for themselves."""
_GROUP: Final = re.compile(r"\(\?(:|=|!|<=|<!)")
_REPEATS: Final = re.compile(r"\{\d+(,\d*)?\}")


_FLAGS: Final = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}


class UnsupportedPattern(Exception):  # noqa: N818
    """A pattern that is fine in JavaScript and has no counterpart here."""


class BrokenPattern(Exception):  # noqa: N818
    """A pattern that is no regular expression, with the reason."""


@lru_cache(maxsize=1024)
def compile_javascript(pattern: str, flags: str = "") -> regex.Pattern[str]:
    """What comes back takes a ``timeout`` in seconds, after which it raises `TimeoutError`.

    ``flags``: ``i``, ``m`` and ``s`` count, others are ignored.

    Raises `BrokenPattern`, and `UnsupportedPattern` for one that only JavaScript understands.
    """
    if len(pattern) > PATTERN_LIMIT:
        raise UnsupportedPattern(pattern)
    try:
        chosen = sum(_FLAGS[flag] for flag in set(flags) & _FLAGS.keys())
        return regex.compile("".join(_translate(pattern)), regex.VERSION0 | chosen)
    except RecursionError:
        raise UnsupportedPattern(pattern) from None
    except regex.error as error:
        raise BrokenPattern(str(error)) from None


def _translate(pattern: str) -> list[str]:
    out: list[str] = []
    in_class = False
    at = 0
    while at < len(pattern):
        char = pattern[at]
        following = pattern[at + 1 : at + 2]
        if _ONLY_JAVASCRIPT.match(pattern, at) and not (in_class and char == "["):
            raise UnsupportedPattern(pattern)
        if char == "\\" and following in _CLASSES:
            members = _CLASSES[following]
            out.append(members if in_class else f"[{members}]")
            at += 2
        elif char == "\\" and following in ("D", "W") and not in_class:
            out.append(f"[^{_CLASSES[following.lower()]}]")
            at += 2
        elif char == "\\" and following == "k" and pattern[at + 2 : at + 3] == "<":
            name, _, _ = pattern[at + 3 :].partition(">")
            out.append(f"(?P={name})")
            at += len(name) + 4
        elif char == "\\" and following.isalpha() and following not in _ESCAPES:
            out.append(following)
            at += 2
        elif char == "\\":
            out.append(char + following)
            at += 2
        elif in_class:
            in_class = char != "]"
            out.append("\\[" if char == "[" else char)
            at += 1
        elif pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!"):
            out.append("(?P<")
            at += 3
        elif char == "(" and following == "?" and not _GROUP.match(pattern, at):
            raise BrokenPattern(f"unknown kind of group at position {at}")
        elif char == "{" and not _REPEATS.match(pattern, at):
            out.append("\\{")
            at += 1
        else:
            in_class = char == "["
            out.append(r"\Z" if char == "$" else char)
            at += 1
    return out
