"""Puts values of a run's context into its requests, as a connection's ``contextInjection`` says (contract 1.6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, cast
from urllib.parse import quote

from runtime_core.connections.addresses import without
from runtime_core.connections.credentials import Settings
from runtime_core.connections.request import Request
from runtime_core.wire.json import JsonText, dumps, loads

_PLACES: Final = ("header", "query", "path", "body")


@dataclass(frozen=True, slots=True)
class _Value:
    """What the rule ``key`` of spec.json puts into the field ``name`` at ``place``; never null."""

    key: str
    place: str
    name: str
    value: Any
    is_required: bool

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else dumps(self.value)


def injected(request: Request, settings: Settings, context: JsonText | None) -> Request:
    """The request with the values, which replace what its sender gave under the same name; doing so again changes
    nothing. The context is what the run was started with, unverified (decision 29).

    Raises `Unusable`, also if a required value is not there.
    """
    for one in _values(settings, context):
        if one.place == "body":
            request = _into_body(request, settings, one)
        elif one.place == "header":
            others = {name: text for name, text in request.headers.items() if name.lower() != one.name.lower()}
            request = replace(request, headers={**others, one.name: one.text})
        elif one.place == "query":
            request = _into_query(request, one)
        else:
            request = replace(request, endpoint=_into_path(request.endpoint, settings, one))
    return request


def based(base_url: str, settings: Settings, context: JsonText | None) -> str:
    """The base URL with the values that belong into its path. Raises `Unusable`."""
    for one in _values(settings, context):
        if one.place == "path":
            scheme, slashes, rest = base_url.partition("://")
            host, slash, path = rest.partition("/")
            if f"{{{one.name}}}" in host:
                reason = f"{{{one.name}}} stands in the host of baseUrl, and only a path may hold one."
                raise settings.wrong(one.key, reason)
            base_url = f"{scheme}{slashes}{host}{slash}{_into_path(path, settings, one)}"
    return base_url


def _values(settings: Settings, context: JsonText | None) -> Iterator[_Value]:
    rules: Any = settings.connection.spec.get("contextInjection")
    if not rules:
        return
    if not isinstance(rules, dict):
        raise settings.wrong("contextInjection", "it has to be an object of {in, field, required?}.")
    found: Any = loads(context) if context is not None else {}
    given = cast("dict[str, Any]", found if isinstance(found, dict) else {})
    for entry, rule in cast("dict[str, Any]", rules).items():
        key = f"contextInjection.{entry}"
        if not isinstance(rule, dict):
            raise settings.wrong(key, "it has to be an object of {in, field, required?}.")
        said = cast("dict[str, Any]", rule)
        place, name, is_required = said.get("in"), said.get("field"), bool(said.get("required"))
        if place not in _PLACES or not isinstance(name, str) or not name:
            raise settings.wrong(key, f'"in" has to be one of {", ".join(_PLACES)}, and "field" a name.')
        if given.get(entry) is not None:
            yield _Value(key, place, name, given[entry], is_required)
        elif is_required:
            raise settings.wrong(
                key,
                f"the context of the run lacks {entry!r}, and nothing is sent without it. "
                "Start the run with it (--context).",
            )


def _into_query(request: Request, one: _Value) -> Request:
    path, mark, query = request.endpoint.partition("?")
    others = {name: value for name, value in request.params.items() if name.casefold() != one.name.casefold()}
    return replace(request, endpoint=f"{path}{mark}{without(query, [one.name])}", params={**others, one.name: one.text})


def _into_body(request: Request, settings: Settings, one: _Value) -> Request:
    if isinstance(request.data, dict):
        return replace(request, data={**cast("dict[str, Any]", request.data), one.name: one.value})
    if request.data is None and not one.is_required:
        return request
    raise settings.wrong(one.key, "it belongs into the body, and the body of this request is no object.")


def _into_path(path: str, settings: Settings, one: _Value) -> str:
    if one.text in ("", ".", ".."):
        raise settings.wrong(one.key, "the value in the context of the run cannot be a part of a path.")
    return path.replace(f"{{{one.name}}}", quote(one.text, safe="", errors="replace"))
