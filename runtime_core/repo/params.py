"""Parameter schemas of tools: checked once when a repository loads, applied to every call (contract decision 26).

Numbers are compared as they are written, not as floats. A schema never makes anything fetch a remote document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Final, Protocol, cast

from jsonschema import Draft202012Validator, ValidationError, exceptions, validators
from jsonschema_specifications import REGISTRY as SPECIFICATIONS
from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource, Unresolvable
from referencing.jsonschema import DRAFT202012, SchemaRegistry

from runtime_core.repo.keywords import as_written, show, with_exact_numbers, within
from runtime_core.repo.position import show_key
from runtime_core.repo.regex import BrokenPattern, UnsupportedPattern, compile_schema_pattern
from runtime_core.wire.json import JsonError, JsonText, JsonValue, loads

Key = tuple[str | int, ...]

CHECK_S: Final = 1.0
"""How long checking one value may take: whoever waits for that does nothing else meanwhile."""
SCHEMA_S: Final = 5.0
_CACHE_SIZE: Final = 1024
_PROBLEMS: Final = 50
_MESSAGE_LIMIT: Final = 300
_UNEVALUATED: Final = "unevaluatedProperties"
_DATA_KEYWORDS: Final = frozenset({"enum", "const", "default", "examples"})


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """What is wrong at ``key`` inside a schema; a ``tolerable`` part is left unchecked."""

    key: Key
    message: str
    tolerable: bool = False


@dataclass(frozen=True, slots=True)
class Misfit:
    """What is wrong with the value at ``path``; ``is_missing``: it has to be there and is not."""

    path: Key
    message: str
    is_missing: bool = False


class Described(Protocol):
    """A tool with a schema for its params."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...


def check_params(tool: Described, params: JsonText) -> str | None:
    """Why ``params`` do not fit the tool's schema, as one sentence with the path of the value, or None if they do."""
    if not tool.parameters:
        return None
    try:
        value = loads(params)
    except JsonError as error:
        return f"the parameters are not valid JSON: {error}"
    return check_value(tool.parameters, value, what="the parameters", whose=f"the schema of {tool.name}")


def check_value(schema: Mapping[str, Any], value: JsonValue, *, what: str, whose: str) -> str | None:
    """Why ``value`` does not fit the schema, as one sentence with the path of the value, or None if it does.

    ``what`` and ``whose`` are what the sentence calls the value and the schema.
    """
    try:
        with within(CHECK_S):
            error = next(_compiled(schema).iter_errors(as_written(value)), None)
    except TimeoutError:
        return f"{what} cannot be checked against {whose} within {CHECK_S:g} s"
    except Unresolvable as unresolved:
        return f"{whose} refers to {unresolved.ref}, which does not exist"
    except BaseException as raised:
        if not _is_endless(raised):
            raise
        return f"{what} are nested too deeply to be checked"
    return None if error is None else _sentence(error)


def misfits(schema: Mapping[str, Any], value: JsonValue, *, limit_s: float = CHECK_S) -> list[Misfit]:
    """Everything about ``value`` that does not fit the schema, each at its own place; nothing if that takes too long
    or cannot be told."""
    try:
        with within(limit_s):
            found: list[ValidationError] = list(islice(_compiled(schema).iter_errors(as_written(value)), _PROBLEMS))
            return list(dict.fromkeys(misfit for error in found for misfit in _misfits(error)))
    except (TimeoutError, Unresolvable):
        return []
    except BaseException as raised:
        if not _is_endless(raised):
            raise
        return []


def _is_endless(raised: BaseException) -> bool:
    """A schema that leads back to itself; where the library is Rust, its end comes as a panic."""
    return isinstance(raised, RecursionError) or type(raised).__name__ == "PanicException"


_nearest = cast("Callable[[list[ValidationError]], ValidationError]", exceptions.best_match)


def _misfits(error: ValidationError) -> Iterator[Misfit]:
    """Of what may be one of several things, the reason why it is not the nearest of them."""
    nearest = _nearest([error])
    path = tuple(nearest.absolute_path)
    if nearest.validator == "required" and isinstance(nearest.instance, Mapping):
        there = cast("Mapping[str, Any]", nearest.instance)
        wanted = cast("list[str]", nearest.validator_value)
        yield from (Misfit((*path, name), "is required", True) for name in wanted if name not in there)
    else:
        yield Misfit(path, _sentence(nearest, path=False))


def check_schema(schema: Mapping[str, Any]) -> list[SchemaProblem]:
    """Everything wrong with a schema itself."""
    exact = as_written(schema)
    try:
        checker = _meta_checker(_dialect(exact))
        with within(SCHEMA_S):
            problems = [
                SchemaProblem(tuple(error.absolute_path), _schema_sentence(error))
                for error in islice(checker.iter_errors(exact), _PROBLEMS)
            ]
        return problems or [*_reference_problems(exact), *_pattern_problems(exact)]
    except RecursionError:
        return [SchemaProblem((), "the schema is nested too deeply")]
    except TimeoutError:
        return [SchemaProblem((), f"it is too large to be checked within {SCHEMA_S:g} s")]
    except ValueError as error:  # raised for addresses that are none
        return [SchemaProblem((), f"a $schema, $id or $ref in it is not an address: {error}")]


_compiled_schemas: dict[int, tuple[Mapping[str, Any], Any]] = {}


def _compiled(schema: Mapping[str, Any]) -> Any:
    """The validator of a schema, made once; the entry holds the schema, so its id stays taken."""
    entry = _compiled_schemas.get(id(schema))
    if entry is None:
        exact = as_written(schema)
        keywords = with_exact_numbers(_dialect(exact), without=_unchecked(exact))
        entry = (schema, keywords(exact, registry=_registry(exact)))
        if len(_compiled_schemas) >= _CACHE_SIZE:
            _compiled_schemas.clear()
        _compiled_schemas[id(schema)] = entry
    return entry[1]


# --- the schema itself -------------------------------------------------------------------------------------------


_NEWEST: Any = Draft202012Validator


def _dialect(schema: Mapping[str, Any]) -> Any:
    """The draft a schema names; the newest one if it names none or one nobody knows."""
    named = schema.get("$schema")
    return validators.validator_for(schema, default=_NEWEST) if isinstance(named, str) else _NEWEST


@cache
def _meta_checker(dialect: Any) -> Any:
    return with_exact_numbers(_dialect(dialect.META_SCHEMA))(dialect.META_SCHEMA)


def _no_retrieval(uri: str) -> Any:
    raise NoSuchResource(ref=uri)


def _unchecked(schema: Mapping[str, Any]) -> str | None:
    """The library matches patterns for ``unevaluatedProperties`` without a time limit."""
    words = {str(key[-1]) for key, _ in _members(schema, ())}
    return _UNEVALUATED if {_UNEVALUATED, "patternProperties"} <= words else None


def _registry(schema: Mapping[str, Any]) -> SchemaRegistry:
    empty: SchemaRegistry = Registry(retrieve=_no_retrieval)  # pyright: ignore[reportCallIssue]
    resource = Resource.from_contents(schema, default_specification=DRAFT202012)
    return SPECIFICATIONS.combine(empty).with_resource(resource.id() or "", resource)


def _reference_problems(schema: Mapping[str, Any]) -> Iterator[SchemaProblem]:
    resource = Resource.from_contents(schema, default_specification=DRAFT202012)
    resolver = _registry(schema).resolver(resource.id() or "")
    for key, reference in _members(schema, ()):
        if key[-1] != "$ref" or not isinstance(reference, str):
            continue
        try:
            found: Any = resolver.lookup(reference).contents
            if not isinstance(found, Mapping | bool):
                yield SchemaProblem(key, f"{reference} is no schema")
        except Unresolvable:
            if reference.startswith("#"):
                yield SchemaProblem(key, f"{reference} does not exist in this schema")
            else:
                yield SchemaProblem(key, f"{reference} points outside this file; nothing is fetched")


def _members(node: Any, key: Key) -> Iterator[tuple[Key, Any]]:
    """Every place in a schema with what stands there, values that are only data left out."""
    for part, item in _children(node):
        yield (*key, part), item
        if part not in _DATA_KEYWORDS:
            yield from _members(item, (*key, part))


def _pattern_problems(schema: Mapping[str, Any]) -> Iterator[SchemaProblem]:
    unchecked = _unchecked(schema)
    for key, item in _members(schema, ()):
        if key[-1] == "pattern" and isinstance(item, str):
            yield from _pattern_problem(item, key)
        elif key[-1] == "patternProperties" and isinstance(item, dict):
            for pattern in cast("dict[str, Any]", item):
                yield from _pattern_problem(pattern, (*key, pattern))
        elif key[-1] == unchecked:
            yield SchemaProblem(
                key, "this is not checked in a schema that has patternProperties as well", tolerable=True
            )


def _pattern_problem(pattern: str, key: Key) -> Iterator[SchemaProblem]:
    shown = pattern if len(pattern) <= 80 else pattern[:80] + "…"
    try:
        compile_schema_pattern(pattern)
    except UnsupportedPattern:
        yield SchemaProblem(key, f"the pattern {shown} uses JavaScript that is not checked here", tolerable=True)
    except BrokenPattern as error:
        yield SchemaProblem(key, f"the pattern {shown} is not a regular expression: {error}")


def _children(node: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(node, dict):
        yield from cast("dict[str, Any]", node).items()
    elif isinstance(node, list):
        yield from enumerate(cast("list[Any]", node))


# --- messages ----------------------------------------------------------------------------------------------------


def _schema_sentence(error: ValidationError) -> str:
    if error.absolute_path and error.absolute_path[-1] == "type" and error.validator == "anyOf":
        return f"{show(error.instance)} is no type; use string, number, integer, boolean, object, array or null"
    return _sentence(error, path=False)


def _sentence(error: ValidationError, *, path: bool = True) -> str:
    message = _message(error)
    if len(message) > _MESSAGE_LIMIT:
        message = message[:_MESSAGE_LIMIT] + "…"
    where = show_key(error.absolute_path) if path else None
    return f"{where}: {message}" if where else message


def _message(error: ValidationError) -> str:
    wanted: Any = error.validator_value
    if error.validator == "type":
        kinds = cast("list[str]", wanted) if isinstance(wanted, list) else [str(wanted)]
        return f"{show(error.instance)} should be {' or '.join(kinds)}"
    if error.validator == "enum":
        return f"{show(error.instance)} should be one of {', '.join(map(show, wanted))}"
    if error.validator == "const":
        return f"{show(error.instance)} should be {show(wanted)}"
    return error.message
