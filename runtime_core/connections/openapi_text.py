"""The text of an OpenAPI document as values: JSON or YAML, bounded, nothing executed and nothing fetched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from runtime_core.wire.json import MAX_DEPTH, JsonError, loads

SIZE_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of one document."""
NODE_LIMIT: Final = 500_000
_MERGED_LIMIT: Final = 10_000


class BadDocument(Exception):  # noqa: N818
    """A document that cannot be used; the message says why."""


def parsed(data: bytes) -> Mapping[str, Any]:
    """The object that a document is. Raises `BadDocument`."""
    if len(data) > SIZE_LIMIT:
        raise BadDocument(f"it is larger than {SIZE_LIMIT // 1024 // 1024} MB")
    value = _json(data) if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" else _yaml(data)
    if not isinstance(value, dict):
        raise BadDocument("it is no object")
    return cast("Mapping[str, Any]", value)


def _json(data: bytes) -> Any:
    try:
        return loads(data)
    except JsonError as error:
        raise BadDocument(f"it is no valid JSON: {error}") from None


def _yaml(data: bytes) -> Any:
    import yaml

    try:
        return _Plain().value(yaml.load(data.decode("utf-8-sig"), _loader()), 0)
    except UnicodeDecodeError:
        raise BadDocument("it is not UTF-8 text") from None
    except RecursionError:
        raise BadDocument("it is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadDocument(f"it is no valid YAML: {' '.join(str(error).split())}") from None


@cache
def _loader() -> Any:
    """YAML as JSON has it: dates stay texts. What is merged into an object is bounded."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):
        yaml_implicit_resolvers = {  # noqa: RUF012
            first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
            for first, resolvers in base.yaml_implicit_resolvers.items()
        }

        def flatten_mapping(self, node: Any) -> None:
            parent: Any = super()
            parent.flatten_mapping(node)
            if len(node.value) > _MERGED_LIMIT:
                raise BadDocument("it merges too many keys into one object")

    return Loader


class _Plain:
    """Copies what was read as plain data. Aliases may stand for far more than the text holds, so it counts."""

    def __init__(self) -> None:
        self._nodes = 0

    def value(self, value: Any, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > NODE_LIMIT or depth > MAX_DEPTH:
            raise BadDocument("it holds too much, or refers to itself")
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value).items()
            return {_key(key): self.value(item, depth + 1) for key, item in items}
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in cast("list[Any]", value)]
        if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        raise BadDocument(f"it holds {value!r:.40}, which is no JSON value")


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return key if isinstance(key, str) else str(key)
