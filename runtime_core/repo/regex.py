"""JavaScript regular expressions, as they stand in JSON Schemas and triggers, for an engine that knows a time limit."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import regex

from runtime_core.repo.regex_syntax import BrokenPattern, UnsupportedPattern, are_flags, translated

__all__ = ["BrokenPattern", "UnsupportedPattern", "are_flags", "compile_javascript", "compile_schema_pattern"]

PATTERN_LIMIT: Final = 10_000
"""Characters of a pattern."""


@lru_cache(maxsize=1024)
def compile_javascript(pattern: str, flags: str = "") -> regex.Pattern[str]:
    """What comes back takes a ``timeout`` in seconds, after which it raises `TimeoutError`.

    ``flags`` as JavaScript has them: ``y`` finds only what begins where the text does, ``d`` and ``g`` change nothing
    about a search from the start. A text is a sequence of characters, not of halves of them, with and without ``u``.
    Raises `BrokenPattern` for what is none in JavaScript either, and `UnsupportedPattern` for one that only JavaScript
    understands.
    """
    if len(pattern) > PATTERN_LIMIT:
        raise UnsupportedPattern(f"it has more than {PATTERN_LIMIT:,} characters")
    try:
        found = translated(pattern, flags)
        return regex.compile(rf"\A(?:{found})" if "y" in flags else found, regex.VERSION0)
    except (RecursionError, MemoryError, OverflowError):
        raise UnsupportedPattern("it is too deep or counts too far") from None
    except regex.error as error:
        raise UnsupportedPattern(str(error)) from None


@lru_cache(maxsize=1024)
def compile_schema_pattern(pattern: str) -> regex.Pattern[str]:
    """A ``pattern`` of JSON Schema: with the flag ``u``, or without if it is none with it. Raises as
    `compile_javascript`."""
    try:
        return compile_javascript(pattern, "u")
    except BrokenPattern:
        return compile_javascript(pattern)
