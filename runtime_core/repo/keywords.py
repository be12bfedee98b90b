"""The keywords of JSON Schema as they are applied here: numbers as written, patterns of JavaScript, and a clock.

No schema of a repository can hold up whoever checks a value with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache
from typing import Any, Final, cast

from jsonschema import ValidationError, validators

from runtime_core.repo.regex import BrokenPattern, UnsupportedPattern, compile_schema_pattern
from runtime_core.wire.json import Number, dumps


class _ExactNumber(Decimal):
    """A decimal that shows the digits it was written with."""

    text: str

    def __new__(cls, text: str) -> _ExactNumber:
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __repr__(self) -> str:
        return self.text


def as_written(value: Any) -> Any:
    if isinstance(value, Number):
        try:
            return _ExactNumber(value.text)
        except InvalidOperation:  # an exponent beyond what decimals hold: infinity or zero will do
            return value
    if isinstance(value, Mapping):
        return {key: as_written(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [as_written(item) for item in cast("list[Any]", value)]
    return value


def _is_number(_: Any, value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_integer(_: Any, value: Any) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


def _multiple_of(_validator: Any, step: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if not _is_number(None, value) or value == 0:
        return
    if isinstance(value, float) or abs(Decimal(value).adjusted()) > 1000:
        yield ValidationError(f"{value!r} is too large or too small to be checked against multipleOf {step!r}")
    elif (Fraction(value) / Fraction(step)).denominator != 1:
        yield ValidationError(f"{value!r} is not a multiple of {step!r}")


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if not isinstance(value, str):
        return
    if _fits(pattern, value) is False:
        yield ValidationError(f"{dumps(value)} does not match {pattern}")


def _fits(pattern: str, text: str) -> bool | None:
    """None for a pattern that is not checked."""
    try:
        return compile_schema_pattern(pattern).search(text, timeout=_left_s()) is not None
    except (UnsupportedPattern, BrokenPattern):
        return None


def _pattern_properties(validator: Any, patterns: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    for pattern, subschema in patterns.items() if isinstance(value, dict) else ():
        for name, item in cast("dict[str, Any]", value).items():
            if _fits(pattern, name):
                yield from validator.descend(item, subschema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, item in cast("dict[str, Any]", value).items():
        if name in named or any(_fits(pattern, name) is not False for pattern in patterns):
            continue
        if allowed is False:
            known = f"; known are: {', '.join(named)}" if named and not patterns else ""
            yield ValidationError(f"Additional properties are not allowed ({name!r} was unexpected{known})")
        else:
            yield from validator.descend(item, allowed, path=name)


def _unique_items(_validator: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if wanted and isinstance(value, list):
        items = cast("list[Any]", value)
        if len(set(map(_identity, items))) < len(items):
            yield ValidationError(f"{show(items)} has non-unique elements")


def _identity(value: Any) -> object:
    """Equal for values that are the same in JSON Schema: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return "object", frozenset((name, _identity(item)) for name, item in cast("dict[str, Any]", value).items())
    if isinstance(value, list):
        return "array", tuple(map(_identity, cast("list[Any]", value)))
    return (bool, value) if isinstance(value, bool) else value


_OWN_KEYWORDS: Final[Mapping[str, Callable[..., Any]]] = {
    "additionalProperties": _additional_properties,
    "multipleOf": _multiple_of,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "uniqueItems": _unique_items,
}


@cache
def with_exact_numbers(dialect: Any, without: str | None = None) -> Any:
    checker = dialect.TYPE_CHECKER.redefine_many({"number": _is_number, "integer": _is_integer})
    extend: Any = cast("Any", validators).extend
    known: Mapping[str, Callable[..., Any]] = dialect.VALIDATORS
    keywords = {name: _bounded(_OWN_KEYWORDS.get(name, check)) for name, check in known.items()}
    if without is not None:
        keywords[without] = lambda *_: ()
    return extend(dialect, keywords, type_checker=checker)


# --- time --------------------------------------------------------------------------------------------------------

_until: ContextVar[float] = ContextVar("_until")


@contextmanager
def within(seconds: float) -> Generator[None]:
    token = _until.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _until.reset(token)


def _left_s() -> float:
    """Raises `TimeoutError` when nothing is left."""
    left = _until.get() - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _bounded(check: Callable[..., Any]) -> Callable[..., Any]:
    """References may multiply the work of a schema without end, so every keyword looks at the clock."""

    def bounded(*given: Any) -> Iterator[ValidationError]:
        _left_s()
        yield from check(*given) or ()

    return bounded


# --- values in messages ---


def show(value: Any) -> str:
    text = _show_exact(value)
    return text if len(text) <= 80 else text[:80] + "…"


def _show_exact(value: Any) -> str:
    if isinstance(value, _ExactNumber):
        return value.text
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return "{" + ", ".join(f"{dumps(key)}: {_show_exact(item)}" for key, item in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_show_exact, cast("list[Any]", value))) + "]"
    return dumps(value)
