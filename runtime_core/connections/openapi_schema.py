"""Schemas of an OpenAPI document as JSON Schema 2020-12 that stands alone.

OpenAPI 3.0 and Swagger 2 have a dialect of their own (``nullable``, ``exclusiveMinimum: true``); references lead
through the whole document and may go round in circles. What an operation needs is copied below ``$defs``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from runtime_core.connections.openapi_text import BadDocument
from runtime_core.repo.regex import BrokenPattern, UnsupportedPattern, compile_schema_pattern

DEFS_LIMIT: Final = 300
NODE_LIMIT: Final = 20_000
DEPTH_LIMIT: Final = 60
CHAIN_LIMIT: Final = 20
"""References that lead from one to the next."""

_SCHEMAS: Final = frozenset(
    {
        *("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


class References:
    """Finds what a local reference names."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        from referencing import Registry, Resource
        from referencing.jsonschema import DRAFT202012

        resource: Any = Resource(contents=document, specification=DRAFT202012)
        self._resolver: Any = cast("Any", Registry)().with_resource("", resource).resolver()

    def find(self, reference: Any) -> Any:
        """Raises `BadDocument`."""
        from referencing.exceptions import Unresolvable

        if not isinstance(reference, str) or not reference.startswith("#"):
            raise BadDocument(
                f"the reference {reference!r:.200} points outside of the document; put everything into one file"
            )
        try:
            return self._resolver.lookup(reference).contents
        except (Unresolvable, ValueError, TypeError, AttributeError):
            raise BadDocument(f"the reference {reference:.200} leads to nothing in the document") from None

    def followed(self, node: Any) -> Any:
        """What a node stands for, if it is a reference. Raises `BadDocument`."""
        for _ in range(CHAIN_LIMIT):
            if not isinstance(node, Mapping) or "$ref" not in node:
                return cast("Any", node)
            node = self.find(cast("Mapping[str, Any]", node)["$ref"])
        raise BadDocument(f"references lead from one to the next more than {CHAIN_LIMIT} times, or in a circle")


class SchemaCopy:
    """Copies the schemas of one operation. Raises `BadDocument`."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._names: dict[str, str] = {}
        self._nodes = 0
        self._defs: dict[str, Any] = {}
        self._pending: list[tuple[str, Any]] = []

    def definitions(self) -> dict[str, Any]:
        """Everything that the copied schemas refer to."""
        while self._pending:
            name, schema = self._pending.pop()
            self._defs[name] = self.copy(schema)
        return self._defs

    def copy(self, schema: Any, depth: int = 0) -> Any:
        self._nodes += 1
        if self._nodes > NODE_LIMIT or depth > DEPTH_LIMIT:
            raise BadDocument("its schemas are too large or nested too deeply")
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            raise BadDocument(f"{schema!r:.80} is no schema")
        given = cast("Mapping[str, Any]", schema)
        copied = self._members(given, depth)
        if "$ref" in given:
            copied |= {"$ref": self._definition(given["$ref"])}
        return _nullable(copied) if given.get("nullable") is True or given.get("x-nullable") is True else copied

    def _members(self, given: Mapping[str, Any], depth: int) -> dict[str, Any]:
        copied: dict[str, Any] = {}
        for key, value in given.items():
            if key in _SHAPES or (key in _ANNOTATIONS and _ANNOTATIONS[key](value)):
                copied[key] = value
            elif key in _SCHEMAS:
                copied[key] = self.copy(value, depth + 1)
            elif key in _LISTS and isinstance(value, list) and value:
                copied[key] = [self.copy(item, depth + 1) for item in cast("list[Any]", value)]
            elif key in _MAPS and isinstance(value, Mapping):
                members = cast("Mapping[str, Any]", value).items()
                if key == "patternProperties" and not all(map(_is_pattern, cast("Mapping[str, Any]", value))):
                    raise BadDocument("one of its patternProperties is no pattern")
                copied[key] = {name: self.copy(item, depth + 1) for name, item in members}
        _modernize(copied)
        for key, value in copied.items():
            if key in _SHAPES and not _SHAPES[key](value):
                raise BadDocument(f"{value!r:.80} is no {key} of a schema")
        return copied

    def _definition(self, reference: Any) -> str:
        name = self._names.get(reference) if isinstance(reference, str) else None
        if name is None:
            found = self._references.followed(self._references.find(reference))
            if len(self._defs) >= DEFS_LIMIT:
                raise BadDocument(f"its schemas refer to more than {DEFS_LIMIT} others")
            last = "".join(part if part.isalnum() else "_" for part in reference.rpartition("/")[2]) or "root"
            name = last if last not in self._defs else f"{last}_{len(self._defs) + 1}"
            self._names[reference] = name
            self._defs[name] = True
            self._pending.append((name, found))
        return f"#/$defs/{name}"


def _is_type(value: Any) -> bool:
    names = cast("list[Any]", value) if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)


def _is_number(value: Any) -> bool:
    is_float = isinstance(value, float) and math.isfinite(value)
    return is_float or (isinstance(value, int) and not isinstance(value, bool))


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and (isinstance(value, int) or value.is_integer())


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in cast("list[Any]", value))


def _is_names(value: Any) -> bool:
    return _is_texts(value) and len(set(value)) == len(value)


def _is_pattern(value: Any) -> bool:
    """JavaScript that is not checked here is none of the author's faults."""
    try:
        compile_schema_pattern(value)
    except UnsupportedPattern:
        return True
    except (BrokenPattern, TypeError):
        return False
    return True


def _is_dependencies(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_names, cast("dict[str, Any]", value).values()))


_ANNOTATIONS: Final[Mapping[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("title", "description", "format"), lambda value: isinstance(value, str)),
    "default": lambda _: True,
    "examples": lambda value: isinstance(value, list),
    "readOnly": lambda value: isinstance(value, bool),
}
"""What says something to readers; left out where it is something else."""
_SHAPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "type": _is_type,
    "const": lambda _: True,
    "enum": lambda value: isinstance(value, list),
    "required": _is_names,
    "multipleOf": lambda value: _is_number(value) and value > 0,
    "pattern": _is_pattern,
    "uniqueItems": lambda value: isinstance(value, bool),
    "dependentRequired": _is_dependencies,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties"), _is_count),
}
"""What a keyword has to be. The meta schema says the same, a hundred times slower."""


def _modernize(copied: dict[str, Any]) -> None:
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(copied.get(exclusive), bool) and copied.pop(exclusive) and bound in copied:
            copied[exclusive] = copied.pop(bound)
    if copied.get("type") == "file":
        copied["type"] = "string"
    required = copied.get("required")
    if isinstance(required, bool):
        del copied["required"]
    elif isinstance(required, list):  # what only the other side sets is nothing to send
        given: Any = copied.get("properties") or {}
        names = _once(cast("list[Any]", required))
        copied["required"] = [name for name in names if not (isinstance(name, str) and _is_read_only(given.get(name)))]
    types: Any = copied.get("type")
    if isinstance(types, list):
        copied["type"] = _once(cast("list[Any]", types))


def _once(names: list[Any]) -> list[Any]:
    """Without repetitions, if they are texts."""
    return list(dict.fromkeys(names)) if _is_texts(names) else names


def _is_read_only(schema: Any) -> bool:
    return isinstance(schema, dict) and cast("dict[str, Any]", schema).get("readOnly") is True


def _nullable(copied: dict[str, Any]) -> dict[str, Any]:
    if isinstance(copied.get("type"), str) and "const" not in copied:
        enum = copied.get("enum")
        more = {"enum": [*cast("list[Any]", enum), None]} if isinstance(enum, list) and None not in enum else {}
        return {**copied, "type": [copied["type"], "null"], **more}
    return {"anyOf": [copied, {"type": "null"}]}
