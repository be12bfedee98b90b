"""The operations of an OpenAPI document: 3.0, 3.1, 3.2 and Swagger 2 (contract 1.6 and 5.2).

Documents of other people are rarely quite valid, so each operation is judged for itself: one that cannot be understood
says why and leaves the others alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from runtime_core.connections.naming import named
from runtime_core.connections.openapi_schema import References, SchemaCopy
from runtime_core.connections.openapi_text import BadDocument
from runtime_core.repo.policy import METHODS, READ_METHODS

COUNT_LIMIT: Final = 5_000
DISCOVER: Final = "discover"
"""The name of the tool that finds operations; an operation of this name is ``discover_2``."""

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"

Place = Literal["path", "query", "header"]
PLACES: Final[tuple[Place, ...]] = ("path", "query", "header")

_UNSENT: Final = ("trace", "query")
"""Methods of operations that are known and cannot be called."""
_OWN_HEADERS: Final = frozenset({"accept", "content-type", "authorization"})
_PARAMETER_KEYS: Final = frozenset({"name", "in", "required", "collectionFormat", "allowEmptyValue"})
_STYLES: Final[Mapping[Place, str]] = {"path": "simple", "query": "form", "header": "simple"}
_COLLECTIONS: Final = {"csv": ("form", False), "ssv": ("spaceDelimited", False), "pipes": ("pipeDelimited", False)}


@dataclass(frozen=True, slots=True)
class Parameter:
    """``style`` and ``explode`` say how a list or an object is written (OpenAPI "Style Values"); ``json`` is JSON."""

    name: str
    place: Place
    style: str
    explode: bool
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """``schema`` is that of ``{path?, query?, header?, body?}``; ``content_type`` that of the body, if there is one."""

    name: str
    method: str
    path: str
    parameters: Sequence[Parameter]
    content_type: str | None
    schema: Mapping[str, Any]

    @property
    def is_read(self) -> bool:
        return self.method in READ_METHODS


@dataclass(frozen=True, slots=True)
class Entry:
    """An operation as it stands in the document. ``shared`` are the parameters of its path, ``servers`` the addresses
    of the servers that it or its path has for itself."""

    name: str
    operation_id: str
    method: str
    path: str
    summary: str
    description: str
    tags: tuple[str, ...]
    is_deprecated: bool
    servers: Sequence[str]
    given: Mapping[str, Any] = field(repr=False)
    shared: Sequence[Any] = field(repr=False)


class Document:
    """A document that was read; its operations are taken out of it when somebody wants them. Raises `BadDocument`."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.version = _version(content)
        self.content = content
        self._references = References(content)
        self._operations: dict[str, Operation | BadDocument] = {}
        self.entries: Mapping[str, Entry] = {entry.name: entry for entry in self._entries()}
        self._by_id = {entry.operation_id: entry for entry in reversed([*self.entries.values()])}

    @property
    def server(self) -> str | None:
        """The address of the system that is described, as it stands in the document: maybe relative to that of the
        document, or with variables."""
        if self.version.startswith("2"):
            host, base, schemes = (self.content.get(key) for key in ("host", "basePath", "schemes"))
            scheme = next((f"{one}:" for one in ("https", *_list(schemes)) if one in _list(schemes)), "")
            path = base if isinstance(base, str) else ""
            return f"{scheme}//{host}{path}" if isinstance(host, str) else path or None
        return next(_addresses(self.content), None)

    def entry(self, name: str) -> Entry | None:
        """That of a name or, as it stands in the document, of an operationId."""
        return self.entries.get(name) or self._by_id.get(name)

    def operation(self, entry: Entry, base_url: str | None = None) -> Operation:
        """Raises `BadDocument` if it cannot be called, also because it is one of another server than that of the
        document, or than ``base_url`` if requests go there."""
        if entry.servers and not {self.server, base_url} & {*entry.servers}:
            where = f"it has a server of its own, {entry.servers[0]}, and requests go to that of the connection"
            raise BadDocument(f"{entry.method} {entry.path} cannot be called: {where}")
        found = self._operations.get(entry.name)
        if found is None:
            try:
                found = _Reader(self._references, self.version).operation(entry)
            except BadDocument as bad:
                found = bad
            except Exception as error:  # noqa: BLE001 - documents hold anything, and the others are left alone
                found = BadDocument(f"it cannot be understood ({type(error).__name__})")
            self._operations[entry.name] = found
        if isinstance(found, BadDocument):
            raise BadDocument(f"{entry.method} {entry.path} cannot be called: {found}")
        return found

    def prepare(self) -> None:
        """Take all operations out now. May be called in any thread."""
        for entry in self.entries.values():
            with contextlib.suppress(BadDocument):
                self.operation(entry)

    def _entries(self) -> Sequence[Entry]:
        found: list[tuple[str, str, str, Mapping[str, Any], Mapping[str, Any]]] = []
        for path, item in _object(self.content.get("paths")).items():
            try:
                methods = _object(self._references.followed(item))
            except BadDocument:
                continue
            for method in (*map(str.lower, METHODS), *_UNSENT):
                given = methods.get(method)
                if isinstance(given, Mapping) and path.startswith("/"):
                    fields = cast("Mapping[str, Any]", given)
                    own: Any = fields.get("operationId")
                    name = own if isinstance(own, str) and own.strip() else f"{method} {path}"
                    found.append((name, method.upper(), path, fields, methods))
        if len(found) > COUNT_LIMIT:
            raise BadDocument(f"it describes more than {COUNT_LIMIT} operations")
        names = named((item[0] for item in found), taken=[DISCOVER])
        return [_entry(name, *item) for name, item in zip(names, found, strict=True)]


class _Reader:
    """Reads one operation."""

    def __init__(self, references: References, version: str) -> None:
        self._references = references
        self._is_swagger = version.startswith("2")
        self._schemas = SchemaCopy(references)

    def operation(self, entry: Entry) -> Operation:
        given = self._parameters(entry)
        parameters: list[Parameter] = []
        schemas: dict[str, Any] = {}
        required: list[str] = []
        for place in PLACES:
            members = {name: item for (where, name), item in given.items() if where == place}
            if not members:
                continue
            own = [_parameter(place, name, item, is_swagger=self._is_swagger) for name, item in members.items()]
            schemas[place] = _object_schema({name: self._value_schema(item) for name, item in members.items()}, own)
            required += [place] if any(parameter.is_required for parameter in own) else []
            parameters += own
        content_type, body, is_needed = self._swagger_body(entry) if self._is_swagger else self._body(entry)
        if body is not None:
            schemas["body"] = body
            required += ["body"] if is_needed else []
        schema = {"type": "object", "properties": schemas, "required": required, "additionalProperties": False}
        if definitions := self._schemas.definitions():
            schema["$defs"] = definitions
        return Operation(entry.name, entry.method, entry.path, parameters, content_type, schema)

    def _parameters(self, entry: Entry) -> dict[tuple[str, str], Mapping[str, Any]]:
        """What is sent in path, query and headers; the operation's own parameters go before those of its path."""
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for item in (*entry.shared, *_list(entry.given.get("parameters"))):
            given = _object(self._references.followed(item))
            place, name = given.get("in"), given.get("name")
            if not isinstance(name, str) or not isinstance(place, str):
                raise BadDocument("one of its parameters has no name or no place")
            if place == "cookie" and given.get("required") is True:
                raise BadDocument(f"it needs the cookie {name}")
            if place in PLACES and not (place == "header" and name.lower() in _OWN_HEADERS):
                found[place, name] = given
        for name in _placeholders(entry.path):
            found.setdefault(("path", name), {"name": name, "in": "path", "required": True, "schema": {}})
        return found

    def _value_schema(self, given: Mapping[str, Any]) -> Any:
        if self._is_swagger:
            return self._schemas.copy({key: item for key, item in given.items() if key not in _PARAMETER_KEYS})
        holder = next((_object(item) for item in _object(given.get("content")).values()), given)
        copied: Any = self._schemas.copy(holder.get("schema", {}))
        description = given.get("description")
        if isinstance(copied, dict) and isinstance(description, str):
            return {"description": description} | cast("dict[str, Any]", copied)
        return cast("Any", copied)

    def _body(self, entry: Entry) -> tuple[str | None, Any, bool]:
        body = _object(self._references.followed(entry.given.get("requestBody")))
        content = _object(body.get("content"))
        if not content:
            return None, None, False
        media = {kind.partition(";")[0].strip().lower(): item for kind, item in content.items()}
        kind = _content_type(media)
        schema: Any = _object(media[kind]).get("schema", {})
        return kind, self._schemas.copy(schema), body.get("required") is True

    def _swagger_body(self, entry: Entry) -> tuple[str | None, Any, bool]:
        fields: dict[str, Mapping[str, Any]] = {}
        for item in (*entry.shared, *_list(entry.given.get("parameters"))):
            given = _object(self._references.followed(item))
            if given.get("in") == "body":
                return JSON, self._schemas.copy(given.get("schema", {})), given.get("required") is True
            if given.get("in") == "formData":
                if given.get("type") == "file":
                    raise BadDocument("it uploads files")
                fields[str(given.get("name"))] = given
        if not fields:
            return None, None, False
        needed = [name for name, given in fields.items() if given.get("required") is True]
        properties = {name: self._value_schema(given) for name, given in fields.items()}
        schema = {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}
        return FORM, schema, bool(needed)


def _addresses(content: Mapping[str, Any]) -> Iterator[str]:
    """Those of the servers of a document, a path or an operation."""
    for server in _list(content.get("servers")):
        url = _object(server).get("url")
        if isinstance(url, str):
            yield url


def _entry(
    name: str, operation_id: str, method: str, path: str, given: Mapping[str, Any], item: Mapping[str, Any]
) -> Entry:
    return Entry(
        name=name,
        operation_id=operation_id,
        method=method,
        path=path,
        summary=_text(given.get("summary")),
        description=_text(given.get("description")),
        tags=tuple(tag for tag in _list(given.get("tags")) if isinstance(tag, str)),
        is_deprecated=given.get("deprecated") is True,
        servers=[*_addresses(given)] or [*_addresses(item)],
        given=given,
        shared=_list(item.get("parameters")),
    )


def _parameter(place: Place, name: str, given: Mapping[str, Any], *, is_swagger: bool) -> Parameter:
    is_required = place == "path" or given.get("required") is True
    if is_swagger:
        collection = given.get("collectionFormat", "csv")
        style, explode = _COLLECTIONS.get(collection, ("form", True)) if place == "query" else ("simple", False)
        return Parameter(name, place, style, explode, is_required)
    if _object(given.get("content")):
        return Parameter(name, place, "json", False, is_required)
    style = given.get("style")
    style = style if isinstance(style, str) else _STYLES[place]
    explode = given.get("explode")
    return Parameter(name, place, style, explode if isinstance(explode, bool) else style == "form", is_required)


def _object_schema(properties: Mapping[str, Any], parameters: Sequence[Parameter]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [parameter.name for parameter in parameters if parameter.is_required],
        "additionalProperties": False,
    }


def _content_type(media: Mapping[str, Any]) -> str:
    fits = (JSON.__eq__, is_json, FORM.__eq__, _is_text, "*/*".__eq__)
    found = next((kind for fitting in fits for kind in media if fitting(kind)), None)
    if found is None:
        raise BadDocument(f"its body would have to be {' or '.join(media)}")
    return JSON if found == "*/*" else found


def is_json(content_type: str) -> bool:
    return content_type == JSON or content_type.endswith("+json")


def _is_text(content_type: str) -> bool:
    return content_type.startswith("text/")


def _version(content: Mapping[str, Any]) -> str:
    version = content.get("openapi", content.get("swagger"))
    if isinstance(version, int | float):  # swagger: 2.0 without quotes
        version = str(version)
    if not isinstance(version, str) or not version.startswith(("2.", "3.")):
        raise BadDocument('it is no OpenAPI document: "openapi" or "swagger" has to be a version from 2.0 to 3.2')
    return version


def _placeholders(path: str) -> Sequence[str]:
    return [part.partition("}")[0] for part in path.split("{")[1:]]


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
