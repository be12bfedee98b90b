"""Whether a model may make a call of a connection, and what it may see of the result (contract 9.1).

A policy speaks of endpoints, a model writes paths, and there are many ways to write one. So a path is read in every way
in which some server may read it, and the strictest of what the policy says about these readings counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final, cast
from urllib.parse import parse_qsl, unquote

from runtime_core.connections.request import Request
from runtime_core.repo.policy import (
    METHODS,
    READ_METHODS,
    Endpoint,
    FieldRestriction,
    Policy,
    Threshold,
    Tier,
    Verdict,
)
from runtime_core.wire.json import JsonError, JsonText, dumps, loads

REDACTED: Final = "[redacted]"

_OVERRIDES: Final = frozenset({"x-http-method-override", "x-http-method", "x-method-override"})
_METHOD_FIELD: Final = "_method"
_NAMES_METHOD: Final = re.compile("|".join([rf"\b{_METHOD_FIELD}\b", *_OVERRIDES]), re.IGNORECASE)
_ESCAPE: Final = re.compile(r"\\u([0-9A-Fa-f]{4})")
_RANK: Final[Mapping[Tier, int]] = {"allow": 0, "confirm": 1, "review": 2, "never": 3}
_DECODINGS: Final = 8
_ELSEWHERE: Final = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:|[/\\]{2})", re.IGNORECASE)

Segments = tuple[str, ...]


def judge(policy: Policy, request: Request, given: Mapping[str, Any] | None = None) -> Verdict:
    """What the policy says about a request that a model selected. ``given``: the query under the names by which the
    model gave it, where it is sent under others; thresholds look at both.
    """
    method, endpoint, data = request.method.strip().upper(), request.endpoint, request.data
    query = [*request.params.items(), *_in_endpoint(endpoint)]
    methods = _methods(request) - READ_METHODS
    if not methods:
        return Verdict("allow")
    readings = None if _ELSEWHERE.match(endpoint) else _readings(endpoint)
    if readings is None:
        return Verdict("never", f"{endpoint} is no plain path of the connection, such as /orders/7.")
    found = [one for name in sorted(methods) for one in _find(policy, name, readings)]
    if request.is_read and not (found and all(one.is_read for one in found)):
        text = f'{method} {endpoint} may change something: its policy does not declare intent "read" for it.'
        return Verdict("never", text)
    verdicts = [_tier(one, [*query, *(given or {}).items()], data) for one in found]
    tier, reason = max(verdicts, key=lambda verdict: _RANK[verdict[0]], default=("allow", None))
    return Verdict(tier, reason)


def may_write(request: Request) -> bool:
    """Whether a server may take a request for one that changes something. What its sender says counts for POST only:
    there are searches that are written so.
    """
    return not _methods(request) <= READ_METHODS | ({"POST"} if request.is_read else set())


def restrict(policy: Policy, data: Any) -> tuple[Any, Sequence[str]]:
    """A result as a model may see it, and the names of the fields that were taken out or masked
    (``fields_stripped``). A restricted field is looked for at any depth, whatever entity holds it.
    """
    rules = [(tuple(map(_plain, rule.field.split("."))), rule) for rule in policy.restrictions]
    stripped: dict[str, None] = {}
    return _restricted(data, (), rules, stripped) if rules else data, list(stripped)


def restricted(policy: Policy, text: JsonText) -> tuple[JsonText, Sequence[str]]:
    """As `restrict`, for JSON text, which may be large: to be called in a thread."""
    if not policy.restrictions:
        return text, ()
    seen, stripped = restrict(policy, loads(text))
    return dumps(seen), stripped


# Methods and paths ---------------------------------------------------------------------------------------------------


def _methods(request: Request) -> frozenset[str]:
    """The methods a server may take the request for: some take another one from a header, the query or the body."""
    named = [value for name, value in request.headers.items() if _header(name) in _OVERRIDES]
    fields = [*request.params.items(), *_in_endpoint(request.endpoint), *_fields(request.data)]
    named += [value for name, value in fields if _plain(name).partition("[")[0] in (_METHOD_FIELD, *_OVERRIDES)]
    found = {request.method.strip().upper(), *(word for value in named for word in _words(value))}
    if isinstance(request.data, str) and _NAMES_METHOD.search(_decoded(request.data)):
        found |= _words(request.data) & {*METHODS}  # whatever the text is: JSON, a form, parts of one
    return frozenset(found)


def _header(name: str) -> str:
    """As servers that keep headers in variables read it."""
    return name.strip().lower().replace("_", "-")


def _fields(data: object) -> Iterator[tuple[str, object]]:
    """The fields of a body; those of a list are those of its items."""
    if isinstance(data, Mapping):
        yield from cast("Mapping[str, object]", data).items()
    elif isinstance(data, list):
        for item in cast("list[object]", data):
            yield from _fields(item)


def _in_endpoint(endpoint: str) -> list[tuple[str, str]]:
    query = endpoint.partition("?")[2].partition("#")[0]
    return [field for separator in "&;" for field in parse_qsl(query, keep_blank_values=True, separator=separator)]


def _decoded(value: object) -> str:
    """A text in capitals, also one that is encoded as JSON or as a form."""
    text = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), str(value))
    return unicodedata.normalize("NFKC", unquote(text)).upper()


def _words(value: object) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", _decoded(value)))


def _readings(endpoint: str) -> frozenset[tuple[Segments, bool]] | None:
    """The paths an endpoint may be read as, and whether letters are taken as they are; None if it cannot be told."""
    found: set[tuple[Segments, bool]] = set()
    text = endpoint
    for _ in range(_DECODINGS):
        path = re.split(r"[?#]", text, maxsplit=1)[0]
        slashed = path.replace("\\", "/")
        wide = unicodedata.normalize("NFKC", slashed)
        bare = re.sub(r";[^/]*", "", wide)
        undotted = re.sub(r"(?<=[^/.])\.+(?=/|$)", "", bare)  # some servers drop them
        for segments in {_segments(one) for one in (path, slashed, wide, bare, undotted)}:
            for reading in (segments, _resolved(segments), tuple(filter(None, segments))):
                found |= {(reading, True), (tuple(name for one in reading if (name := _plain(one))), False)}
        decoded = unquote(path)
        if decoded == path:
            return frozenset(found)
        text = decoded
    return None


def _segments(path: str) -> Segments:
    return tuple(path.strip("/").split("/"))


def _resolved(segments: Segments) -> Segments:
    """Without empty segments, ``.`` and ``..``."""
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    return tuple(kept)


def _plain(name: str) -> str:
    """A name as it is read by whoever does not look at case, width, spaces and characters that are not shown."""
    letters = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(letter for letter in letters if unicodedata.category(letter)[0] not in "CZ")


def _find(policy: Policy, method: str, readings: frozenset[tuple[Segments, bool]]) -> Iterator[Endpoint]:
    """For each reading the endpoints that fit it best: exact ones before templates, more words before fewer."""
    known = [one for one in policy.endpoints.values() if one.method == method]
    for segments, is_exact in readings:
        fits = [
            (wildness, one)
            for one in known
            if (wildness := _wildness(one.path, segments, is_exact=is_exact)) is not None
        ]
        best = min((wildness for wildness, _ in fits), default=None)
        yield from (one for wildness, one in fits if wildness == best)


def _wildness(template: str, segments: Segments, *, is_exact: bool) -> tuple[int, ...] | None:
    """How much of each segment is a placeholder (0 none, 1 some of it, 2 all); None if the template does not fit."""
    parts = _segments(template)
    if len(parts) != len(segments):
        return None
    wildness: list[int] = []
    for part, segment in zip(parts, segments, strict=True):
        words = re.split(r"\{[^{}]*\}", unquote(part))
        words = words if is_exact else [_plain(word) for word in words]
        if not _has_in_turn(segment, words):
            return None
        wildness.append(0 if len(words) == 1 else 1 if any(words) else 2)
    return tuple(wildness)


def _has_in_turn(segment: str, words: Sequence[str]) -> bool:
    """Whether a segment is these words with anything in between, in a time that grows with its length only."""
    first, *more = words
    if not more:
        return segment == first
    *middle, last = more
    if len(segment) < len(first) + len(last) or not segment.startswith(first) or not segment.endswith(last):
        return False
    at, end = len(first), len(segment) - len(last)
    for word in middle:
        if (found := segment.find(word, at, end)) < 0:
            return False
        at = found + len(word)
    return True


# Thresholds ----------------------------------------------------------------------------------------------------------


def _tier(endpoint: Endpoint, query: Sequence[tuple[str, Any]], data: object) -> tuple[Tier, str | None]:
    tier, reason = endpoint.tier, endpoint.reason
    for limit in endpoint.thresholds:
        if _RANK[limit.escalate] > _RANK[tier] and any(map(_above(limit.above), _values(limit, query, data))):
            tier, reason = limit.escalate, f"{limit.field} is more than {limit.above}, or cannot be compared with it."
    return tier, reason


class _Unreadable:
    """What no path leads into, though what is looked for may be in it."""


def _values(limit: Threshold, query: Sequence[tuple[str, Any]], data: object) -> Iterator[object]:
    first, *rest = parts = limit.field.split(".")
    if first in ("params", "query"):
        yield from _in_query(query, rest)
    elif first in ("body", "data"):
        yield from _leaves(data, rest)
    else:
        yield from _in_query(query, parts)
        yield from _leaves(data, parts)


def _in_query(query: Sequence[tuple[str, Any]], parts: Sequence[str]) -> Iterator[object]:
    for name, value in query:
        yield from _leaves({name: value}, parts)


def _leaves(value: object, parts: Sequence[str]) -> Iterator[object]:
    """Every value the path leads to; lists on the way are gone through, text that is JSON is read."""
    if isinstance(value, list):
        rest = parts[1:] if parts and parts[0].isdigit() else parts
        for item in cast("list[object]", value):
            yield from _leaves(item, rest)
    elif isinstance(value, Mapping) and parts:
        for name, inner in cast("Mapping[str, object]", value).items():
            for depth in range(1, len(parts) + 1):
                if _plain(re.sub(r"\[([^\]]*)\]", r".\1", name)) == _plain(".".join(parts[:depth])):
                    yield from _leaves(inner, parts[depth:])
    elif isinstance(value, str) and parts:
        yield from _leaves(_parsed(value), parts)
    elif isinstance(value, _Unreadable) or not parts:
        yield value


def _parsed(text: str) -> object:
    try:
        value = loads(text)
    except JsonError:
        return _Unreadable()
    return _Unreadable() if isinstance(value, str) else value


_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def _above(limit: Decimal) -> Callable[[object], bool]:
    def is_above(value: object) -> bool:
        text = str(value).strip() if isinstance(value, int | float | str) and not isinstance(value, bool) else ""
        try:
            return _NUMBER.fullmatch(text) is None or Decimal(text) > limit
        except InvalidOperation:
            return True

    return is_above


# Results -------------------------------------------------------------------------------------------------------------


def _restricted(
    value: object, at: Segments, rules: Sequence[tuple[Segments, FieldRestriction]], stripped: dict[str, None]
) -> object:
    if isinstance(value, list):
        items: list[object] = []
        for item in cast("list[object]", value):  # one frame a level: a comprehension would be another
            items.append(_restricted(item, at, rules, stripped))
        return items
    if not isinstance(value, Mapping):
        return value
    kept: dict[str, object] = {}
    for name, inner in cast("Mapping[str, object]", value).items():
        path = (*at, _plain(name))
        met = [rule for field, rule in rules if path[-len(field) :] == field]
        stripped |= {rule.field: None for rule in met}
        if not met:
            kept[name] = _restricted(inner, path, rules, stripped)
        elif all(rule.policy == "retrieve_but_redact" for rule in met):
            kept[name] = REDACTED
    return kept
