"""Reading one line of the assertions of an eval (contract 11.2)."""

from __future__ import annotations

import re
from typing import Any, Final

from runtime_core.repo.bundle import Assertion, AssertionKind
from runtime_core.repo.regex import BrokenPattern, UnsupportedPattern, compile_javascript
from runtime_core.repo.report import did_you_mean
from runtime_core.wire.json import JsonError, loads

_FORM: Final = re.compile(r"(?P<negation>not\s+)?(?P<form>[a-z_]+)\s*:\s*(?P<value>.*)", re.DOTALL)
_FORMS: Final[dict[str, tuple[AssertionKind, bool]]] = {
    "contains": ("contains", False),
    "regex": ("regex", False),
    "starts_with": ("starts_with", False),
    "length_between": ("length_between", False),
    "max_latency": ("max_latency", False),
    "max_turns": ("max_turns", False),
    "tool_called": ("tool_called", False),
    "tool_not_called": ("tool_called", True),
}
_SLASHED: Final = re.compile(r"/(?P<pattern>.+)/(?P<flags>[a-z]*)", re.DOTALL)
_DURATION: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m)?")
_UNITS: Final = {None: 0.001, "ms": 0.001, "s": 1.0, "m": 60.0}
_SHOULD_NOT: Final = re.compile(r"should\s+not\b|shouldn['’]t\b|must\s+not\b", re.IGNORECASE)


class AssertionProblem(Exception):  # noqa: N818
    """A line that is no assertion: what is wrong, and what to write."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def parse_assertion(text: str) -> Assertion:
    """Raises `AssertionProblem`. A line of no known form is judged by a model."""
    found = _FORM.fullmatch(text)
    form = found["form"] if found is not None else ""
    if found is None or form not in _FORMS:
        return Assertion(text, "judged", negated=_SHOULD_NOT.match(text) is not None)
    kind, is_negated = _FORMS[form]
    value = found["value"].strip()
    if not value:
        raise AssertionProblem(f"{form}: says nothing to look for.", "Write it behind the colon.")
    return Assertion(text, kind, _value(kind, value), is_negated != (found["negation"] is not None))


def oddity(assertion: Assertion) -> tuple[str, str] | None:
    """What about a judged assertion looks like a slip, and what to do: it would go to the model."""
    found = _FORM.fullmatch(assertion.text) if assertion.kind == "judged" else None
    meant = did_you_mean(found["form"], _FORMS) if found is not None else ""
    return (f"This is judged by a model.{meant}", f"Known forms are: {', '.join(_FORMS)}.") if meant else None


def pattern_of(value: tuple[str, str]) -> Any:
    """The compiled pattern of a ``regex`` assertion, to be searched with a ``timeout``."""
    pattern, flags = value
    return compile_javascript(pattern, flags)


def _value(kind: AssertionKind, text: str) -> Any:
    match kind:
        case "regex":
            return _regex(text)
        case "length_between":
            return _bounds(text)
        case "max_latency":
            return _seconds(text)
        case "max_turns":
            if not text.isdecimal():
                raise AssertionProblem(f"max_turns: {text} is not a number of turns.", "Write a whole number.")
            return int(text)
        case _:
            return text


def _regex(text: str) -> tuple[str, str]:
    """Between slashes with flags as JavaScript writes it, or the bare pattern."""
    slashed = _SLASHED.fullmatch(text)
    value = (slashed["pattern"], slashed["flags"]) if slashed is not None else (text, "")
    try:
        pattern_of(value)
    except BrokenPattern as broken:
        raise AssertionProblem(f"regex: {text} is no regular expression: {broken}.", "Correct it.") from None
    except UnsupportedPattern:
        raise AssertionProblem(f"regex: {text} uses what is not supported here.", "Write it more simply.") from None
    return value


def _bounds(text: str) -> tuple[int, int]:
    try:
        read = loads(text)
    except JsonError:
        read = None
    match read:
        case [int(low), int(high)] if 0 <= low <= high:
            return low, high
        case _:
            remedy = "Write the least and the greatest number of characters, for example [20, 400]."
            raise AssertionProblem(f"length_between: {text} is no range.", remedy)


def _seconds(text: str) -> float:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise AssertionProblem(
            f"max_latency: {text} is no time.", "Write milliseconds (2000), or a number with ms, s or m (2 s)."
        )
    return float(found["number"]) * _UNITS[found["unit"]]
