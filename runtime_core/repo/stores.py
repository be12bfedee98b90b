"""Document stores: `stores/<name>.json`, flat or with the older `entity` (contract 1.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, cast

from pydantic import ConfigDict, Field

from runtime_core.repo.bundle import Store
from runtime_core.repo.fields import Fields
from runtime_core.repo.files import JsonFile, Key, items_of, read_json, validate
from runtime_core.repo.items import files_of_kind
from runtime_core.repo.report import INVALID, Report, did_you_mean

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*\Z")
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_FIELDS: Final = ConfigDict(strict=True, allow_inf_nan=False)
FieldType = Literal["string", "number", "boolean", "datetime", "enum", "array", "object", "ref"]
_NO_KEY: Final = frozenset({"array", "object"})
_DEPTH: Final = 50

Stores = Mapping[str, Store | None]
"""Stores by name; None for one that is there and broken."""


class FieldDefinition(Fields):
    model_config = _FIELDS

    type: FieldType = Field(
        description="Write string, number, boolean, datetime, enum, array, object or ref as the type."
    )
    nullable: bool = Field(False, description="Write true or false, or leave it out.")
    values: list[str | float | bool | None] | None = Field(None, description="List the values that the field may have.")
    min: float | None = Field(None, description="Give a number, or leave it out.")
    max: float | None = Field(None, description="Give a number, or leave it out.")
    item: dict[str, Any] | None = Field(None, description='Define the items, for example {"type": "string"}.')
    fields: dict[str, Any] | None = Field(None, description="Map the names of the fields to their definitions.")
    store: str | None = Field(None, description="Name the store that the value is a key of.")


_NEEDED: Final = {
    "enum": ("values", "List the values that the field may have."),
    "array": ("item", 'Define the items, for example {"type": "string"}.'),
    "object": ("fields", "Map the names of the fields to their definitions; {} allows any."),
    "ref": ("store", "Name the store that the value is a key of."),
}


class Entity(Fields):
    model_config = _FIELDS
    also = frozenset({"name", "indexed"})

    key: str = Field(min_length=1, description='Give the key as a template, for example "{parcel_id}".')
    fields: dict[str, Any] = Field(alias="schema", description="Map the names of the fields to their definitions.")


class StoreFile(Fields):
    model_config = _FIELDS
    also = frozenset({"entity", "failure", "history", "key", "schema", "trace", "ttl"})

    name: str | None = Field(None, description="Repeat the name of the file.")
    indexed: list[str] | None = Field(None, description="List the names of fields.")
    deletable: bool = Field(False, description="Write true or false, or leave it out.")
    shared: bool = Field(False, description="Write true or false, or leave it out.")


def load_stores(root: Path, report: Report) -> Stores:
    found = files_of_kind(root, "stores", (".json",), report)
    files = {name: read_json(root, path, report) for name, path in found.items()}
    stores = {name: None if file is None else _load(name, file, report) for name, file in files.items()}
    for name, file in files.items():
        store = stores[name]
        if store is None or file is None:
            continue
        for key, target in _references(store.schema, ("schema",)):
            if target not in stores:
                message = f'The field refers to the store "{target}", which does not exist.'
                remedy = f"Create it, or correct the name.{did_you_mean(target, stores)}"
                inner: Key = ("entity",) if "entity" in file.value else ()
                report.warning(INVALID, store.file, message, remedy, **file.place((*inner, *key)))
    return stores


def _load(name: str, file: JsonFile, report: Report) -> Store | None:
    path = file.name
    before = len(report.problems)
    if not _NAME.match(name):
        remedy = "Rename it: a lower-case letter, then lower-case letters, digits, _ and -."
        report.error(INVALID, path, f'"{name}" cannot be the name of a store.', remedy)
    parsed = validate(StoreFile, file, report)
    if parsed is not None and parsed.name not in (None, name):
        message = f'The name "{parsed.name}" differs from that of the file, "{name}".'
        report.error(INVALID, path, message, f'Write "{name}", or rename the file.', **file.place(("name",)))
    inner: Key = ("entity",) if "entity" in file.value else ()
    if isinstance(file.value.get("ttl"), str | bool):
        message = "Documents are kept for ever: ttl is no number."
        report.warning(INVALID, path, message, "Give a number of seconds.", **file.place(("ttl",)))
    entity = _entity(file, inner, report)
    if entity is None or parsed is None:
        return None
    for field_name, definition in entity.fields.items():
        _check_field(file, (*inner, "schema", field_name), definition, report)
    _check_key(file, (*inner, "key"), entity, report)
    if any(problem.severity == "error" for problem in report.problems[before:]):
        return None
    return Store(
        name=name,
        file=path,
        key=entity.key,
        schema=entity.fields,
        indexed=_indexed(file, inner, entity, report),
        deletable=parsed.deletable,
        shared=parsed.shared,
        ttl_s=_ttl(file.value.get("ttl")),
    )


def _entity(file: JsonFile, inner: Key, report: Report) -> Entity | None:
    if not inner:
        own = {key: file.value[key] for key in Entity.known() if key in file.value}
        return validate(Entity, file.part((), own), report)
    given = file.value["entity"]
    if not isinstance(given, dict):
        report.error(INVALID, file.name, "This should be an object.", "Write key and schema.", **file.place(inner))
        return None
    return validate(Entity, file.part(inner, cast("dict[str, Any]", given)), report)


def _check_field(file: JsonFile, key: Key, definition: object, report: Report) -> None:
    if len(key) > _DEPTH:
        report.error(INVALID, file.name, "The schema is nested too deeply.", "Make it flatter.", **file.place(key))
        return
    if not isinstance(definition, dict):
        remedy = 'Write a definition such as {"type": "string"}.'
        report.error(INVALID, file.name, "This is no definition of a field.", remedy, **file.place(key))
        return
    given = cast("dict[str, Any]", definition)
    parsed = validate(FieldDefinition, file.part(key, given), report)
    if parsed is None:
        return
    needed, remedy = _NEEDED.get(parsed.type, ("", ""))
    if needed and getattr(parsed, needed) in (None, []):
        message = f"A field of the type {parsed.type} needs {needed}."
        report.error(INVALID, file.name, message, remedy, **file.place(key))
    if parsed.min is not None and parsed.max is not None and parsed.min > parsed.max:
        message = f"No value is at least {parsed.min:g} and at most {parsed.max:g}."
        report.error(INVALID, file.name, message, "Correct min or max.", **file.place((*key, "min")))
    if parsed.type == "array" and parsed.item is not None:
        _check_field(file, (*key, "item"), parsed.item, report)
    if parsed.type == "object":
        for name, inner in (parsed.fields or {}).items():
            _check_field(file, (*key, "fields", name), inner, report)


def _check_key(file: JsonFile, key: Key, entity: Entity, report: Report) -> None:
    names = _PLACEHOLDER.findall(entity.key)
    if not names and not re.search(r"[{}]", entity.key):
        field = entity.key if entity.key in entity.fields else next(iter(entity.fields), "id")
        message = f'The key "{entity.key}" is the same for every document, so each would replace the one before.'
        remedy = f'Write "{{{field}}}" for the value of a field.'
        report.error(INVALID, file.name, message, remedy, **file.place(key))
    for name in names:
        definition = entity.fields.get(name)
        if definition is None:
            message = f"The key names {{{name}}}, which is no field of the schema."
            remedy = f"Name a field, or add it to the schema.{did_you_mean(name, entity.fields)}"
            report.error(INVALID, file.name, message, remedy, **file.place(key))
        elif isinstance(definition, dict) and cast("dict[str, Any]", definition).get("type") in _NO_KEY:
            message = f"{{{name}}} is an array or an object, which cannot be part of a key."
            report.error(INVALID, file.name, message, "Name a field with a single value.", **file.place(key))
    if re.search(r"[{}]", _PLACEHOLDER.sub("", entity.key)):
        message = "The braces of the key do not match."
        report.error(INVALID, file.name, message, "Write {field} for the value of a field.", **file.place(key))


def _indexed(file: JsonFile, inner: Key, entity: Entity, report: Report) -> tuple[str, ...]:
    where = (*inner, "indexed") if inner and "indexed" not in file.value else ("indexed",)
    holder: Any = file.value
    for part in where[:-1]:
        holder = holder[part]
    names = list(dict.fromkeys(name for name in items_of(holder.get("indexed")) if isinstance(name, str)))
    for name in names:
        if name not in entity.fields:
            message = f'"{name}" is no field of the schema, so nothing is found by it.'
            remedy = f"Correct the name, or take it out.{did_you_mean(name, entity.fields)}"
            report.warning(INVALID, file.name, message, remedy, **file.place(where))
    return tuple(name for name in names if name in entity.fields)


def _ttl(value: object) -> float | None:
    """Seconds. The older forms say more than one number, which nothing uses."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return None
    return float(value)


def _references(fields: Mapping[str, Any], key: Key) -> Iterator[tuple[Key, str]]:
    for name, definition in fields.items():
        yield from _references_of(definition, (*key, name))


def _references_of(definition: Mapping[str, Any], key: Key) -> Iterator[tuple[Key, str]]:
    if definition["type"] == "ref":
        yield key, str(definition["store"])
    elif definition["type"] == "array":
        yield from _references_of(definition["item"], (*key, "item"))
    elif definition["type"] == "object":
        yield from _references(definition["fields"], (*key, "fields"))
