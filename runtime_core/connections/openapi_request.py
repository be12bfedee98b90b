"""What is sent for one call of an operation: its parameters written as the document says (OpenAPI "Style Values")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast
from urllib.parse import quote

from runtime_core.connections.openapi import JSON, Operation, Parameter, is_json
from runtime_core.connections.request import Request
from runtime_core.wire.json import dumps

_SEPARATORS: Final = {"spaceDelimited": " ", "pipeDelimited": "|"}


class BadParameter(Exception):  # noqa: N818
    """A parameter that cannot be sent; the message says which and why."""


def request_of(operation: Operation, given: Mapping[str, Any]) -> Request:
    """The request of ``{path?, query?, header?, body?}``, which fits the operation's schema. Raises `BadParameter`."""
    path, headers = operation.path, dict[str, str]()
    query: dict[str, list[str]] = {}
    for parameter in operation.parameters:
        value = given.get(parameter.place, {}).get(parameter.name)
        if value is None:
            if parameter.place == "path":
                raise BadParameter(f'path.{parameter.name} is needed for "{operation.path}"')
            continue
        if parameter.place == "query":
            for key, text in _query(parameter, value):
                query.setdefault(key, []).append(text)
        elif parameter.place == "header":
            headers[parameter.name] = _simple(parameter, value)
        else:
            path = path.replace(f"{{{parameter.name}}}", _segment(parameter, value))
    data = given.get("body")
    if "body" in given:
        headers["Content-Type"] = operation.content_type or JSON
        if is_json(headers["Content-Type"]) and (data is None or isinstance(data, str)):
            data = dumps(data)
    return Request(path, operation.method, query, data, headers)


def _segment(parameter: Parameter, value: Any) -> str:
    text = _simple(parameter, value)
    if text in ("", ".", ".."):
        raise BadParameter(f"path.{parameter.name} is {text!r}, which names another path")
    return quote(text, safe="")


def _simple(parameter: Parameter, value: Any) -> str:
    if parameter.style == "json":
        return dumps(value)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return ",".join(f"{key}{'=' if parameter.explode else ','}{_text(item)}" for key, item in members)
    if isinstance(value, list):
        return ",".join(_text(item) for item in cast("list[Any]", value))
    return _text(value)


def _query(parameter: Parameter, value: Any) -> Iterator[tuple[str, str]]:
    name, separator = parameter.name, _SEPARATORS.get(parameter.style, ",")
    if parameter.style == "json":
        yield name, dumps(value)
    elif isinstance(value, list):
        texts = [_text(item) for item in cast("list[Any]", value)]
        yield from ((name, text) for text in texts) if parameter.explode else [(name, separator.join(texts))]
    elif isinstance(value, dict):
        members = [(key, _text(item)) for key, item in cast("dict[str, Any]", value).items()]
        if parameter.style == "deepObject":
            yield from ((f"{name}[{key}]", text) for key, text in members)
        elif parameter.explode:
            yield from members
        else:
            yield name, separator.join(part for member in members for part in member)
    else:
        yield name, _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)
