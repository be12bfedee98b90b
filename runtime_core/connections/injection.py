"""Puts values of a run's context into its requests, as a connection's ``contextInjection`` says (contract 1.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast
from urllib.parse import quote

from runtime_core.connections.credentials import Settings
from runtime_core.wire.json import JsonText, dumps, loads

_PLACES: Final = ("header", "query", "path", "body")


@dataclass(frozen=True, slots=True)
class Target:
    """What values are put into: they replace what a handler gave under the same name."""

    base_url: str
    endpoint: str
    data: Any
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    query: Mapping[str, str] = field(default_factory=dict[str, str])


def injected(target: Target, settings: Settings, context: JsonText | None) -> Target:
    """The request with the values. The context is what the run was started with, unverified (decision 29).

    Raises `Unusable`, also if a required value is not there.
    """
    rules: Any = settings.connection.spec.get("contextInjection")
    if not rules:
        return target
    if not isinstance(rules, dict):
        raise settings.wrong("contextInjection", "it has to be an object of {in, field, required?}.")
    given: Any = loads(context) if context is not None else {}
    for name, rule in cast("dict[str, Any]", rules).items():
        key = f"contextInjection.{name}"
        if not isinstance(rule, dict):
            raise settings.wrong(key, "it has to be an object of {in, field, required?}.")
        value = cast("dict[str, Any]", given).get(name) if isinstance(given, dict) else None
        target = _put(target, settings, key, cast("dict[str, Any]", rule), value)
    return target


def _put(target: Target, settings: Settings, key: str, rule: Mapping[str, Any], value: Any) -> Target:
    place, name = rule.get("in"), rule.get("field")
    if place not in _PLACES or not isinstance(name, str) or not name:
        raise settings.wrong(key, f'"in" has to be one of {", ".join(_PLACES)}, and "field" a name.')
    if value is None:
        if rule.get("required"):
            raise settings.wrong(
                key,
                f"the context of the run lacks {key.partition('.')[2]!r}, and nothing is sent without it. "
                "Start the run with it (--context).",
            )
        return target
    if place == "body":
        if not isinstance(target.data, dict):
            if target.data is None and not rule.get("required"):
                return target
            raise settings.wrong(key, "it belongs into the body, and the body of this request is no object.")
        return replace(target, data={**cast("dict[str, Any]", target.data), name: value})
    text = value if isinstance(value, str) else dumps(value)
    if place == "header":
        return replace(target, headers={**target.headers, name: text})
    if place == "query":
        return replace(target, query={**target.query, name: text})
    return _into_path(target, settings, key, f"{{{name}}}", text)


def _into_path(target: Target, settings: Settings, key: str, mark: str, text: str) -> Target:
    if text in ("", ".", ".."):
        raise settings.wrong(key, "the value in the context of the run cannot be a part of a path.")
    coded = quote(text, safe="", errors="replace")
    scheme, slashes, rest = target.base_url.partition("://")
    host, slash, path = rest.partition("/")
    if mark in host:
        raise settings.wrong(key, f"{mark} stands in the host of baseUrl, and only a path may hold one.")
    if mark not in path and mark not in target.endpoint:
        return target
    base_url = f"{scheme}{slashes}{host}{slash}{path.replace(mark, coded)}"
    return replace(target, base_url=base_url, endpoint=target.endpoint.replace(mark, coded))
