"""JavaScript regular expressions, as they stand in JSON Schemas and triggers, for Python's engine."""

from __future__ import annotations

import re

_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_"}
_ONLY_JAVASCRIPT = re.compile(r"\\[pP]\{|\\u\{|\\c[A-Za-z]|\[\^?\]")
"""Beginnings that have no counterpart: Unicode properties, long code points, control letters, ``[]`` and ``[^]``."""


class UnsupportedPattern(Exception):  # noqa: N818
    """A pattern that is fine in JavaScript and has no counterpart here."""


def compile_javascript(pattern: str) -> re.Pattern[str]:
    """Raises `re.error` for a broken pattern and `UnsupportedPattern` for one that only JavaScript understands."""
    return re.compile("".join(_translate(pattern)))


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
        else:
            in_class = char == "["
            out.append(r"\Z" if char == "$" else char)
            at += 1
    return out
