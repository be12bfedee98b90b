"""What the OpenAPI documents of a repository hold, and what is wrong with them, for whoever checks it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from runtime_core.connections.naming import split
from runtime_core.connections.openapi import DISCOVER, Document
from runtime_core.connections.openapi_source import (
    DocumentUnavailable,
    OpenApiDocuments,
    SourceRefused,
    is_address,
    server_of,
    source_of,
)
from runtime_core.connections.openapi_text import BadDocument
from runtime_core.connections.secrets import Secrets
from runtime_core.repo.bundle import Bundle, Connection, Problem
from runtime_core.repo.report import INVALID, READ_FAILED, did_you_mean

_VALIDATED: Final = 400
"""Operations of a document that is compared with the specification; a larger one takes too long."""
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Described:
    """``operations`` by connection, each with ``name``, ``method``, ``path`` and, if it cannot be called, why."""

    operations: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict[str, Any])
    problems: Sequence[Problem] = ()


def described(bundle: Bundle, secrets: Secrets) -> Described:
    """Documents of other systems are left out: nothing is fetched."""
    documents = OpenApiDocuments(bundle.root, secrets)
    operations: dict[str, Any] = {}
    problems: list[Problem] = []
    for connection in bundle.connections.values():
        source = source_of(connection)
        if connection.protocol == "mcp" or connection.unavailable is not None or source is None:
            continue
        file = posixpath.normpath(f"{connection.folder}/{source}")
        try:
            found_at = documents.source(connection)
            if is_address(found_at):
                continue
            document = documents.read(bundle, connection)
        except DocumentUnavailable as unavailable:
            remedy = "Correct it: until then its operations cannot be called."
            place: Any = {"file": file}
            if isinstance(unavailable, SourceRefused):
                key = "openapi.source" if "openapi" in connection.spec else "specUrl"
                place = {"file": f"{connection.folder}/spec.json", "key": key}
            problems.append(Problem("warning", READ_FAILED, message=str(unavailable), remedy=remedy, **place))
            continue
        if document is not None:
            found = operations[connection.name] = list(_operations(document, connection))
            problems += _departures(document, file)
            problems += _without_server(document, connection, found_at)
            problems += _uncalled(found, file)
            problems += _unknown(bundle, connection, document)
    return Described(operations, problems)


def _operations(document: Document, connection: Connection) -> Iterator[dict[str, Any]]:
    for entry in document.entries.values():
        shown = {"name": entry.name, "method": entry.method, "path": entry.path}
        try:
            document.operation(entry, connection.spec.get("baseUrl"))
        except BadDocument as bad:
            shown["unavailable"] = str(bad)
        yield shown


def _without_server(document: Document, connection: Connection, source: str) -> Iterator[Problem]:
    if not connection.spec.get("baseUrl"):
        try:
            server_of(document, source)
        except ValueError as error:
            file, remedy = f"{connection.folder}/spec.json", "Give the address that paths are added to."
            yield Problem("warning", INVALID, file, f"baseUrl is missing, and {error}.", remedy, key="baseUrl")


def _uncalled(operations: Sequence[Mapping[str, Any]], file: str) -> Iterator[Problem]:
    reasons = [operation["unavailable"] for operation in operations if "unavailable" in operation]
    if reasons:
        more = f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
        yield Problem("warning", INVALID, file, f"{'; '.join(reasons[:_SHOWN])}{more}.", "The others can be called.")


def _departures(document: Document, file: str) -> Iterator[Problem]:
    """Where a document departs from the specification: it is used as far as it can be understood."""
    if len(document.entries) > _VALIDATED:
        return
    found = [_sentence(error) for error in _errors(document)]
    if found:
        more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        message = f"The document departs from OpenAPI {document.version}: {'; '.join(found[:_SHOWN])}{more}."
        yield Problem("warning", INVALID, file, message, "Correct it where operations are missing or refused.")


def _errors(document: Document) -> Iterator[Any]:
    from jsonschema_path import SchemaPath
    from openapi_spec_validator import OpenAPIV2SpecValidator, OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

    validators = {"2": OpenAPIV2SpecValidator, "3.0": OpenAPIV30SpecValidator}
    kind = document.version[: 1 if document.version.startswith("2") else 3]
    validator: Any = validators.get(kind, OpenAPIV31SpecValidator)
    paths: Any = SchemaPath
    try:
        yield from validator(paths.from_dict(document.content, handlers=_NoRetrieval())).iter_errors()
    except Exception:  # noqa: BLE001 (it raises for references that lead nowhere, which operations say themselves)
        return


class _NoRetrieval(dict[str, Any]):
    """Handlers for the addresses of every scheme, none of which reads anything."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __missing__(self, scheme: str) -> Any:
        raise LookupError(scheme)


def _sentence(error: Any) -> str:
    where = "/".join(str(part) for part in getattr(error, "absolute_path", ()))
    return f"{where}: {error.message:.200}" if where else f"{error.message:.200}"


def _unknown(bundle: Bundle, connection: Connection, document: Document) -> Iterator[Problem]:
    """Operations that tools declare and that are not there."""
    for tool in bundle.tools.values():
        for name in tool.tools:
            parts = split(name, bundle.connections)
            if parts is None or parts[0] != connection.name or parts[1] == DISCOVER or document.entry(parts[1]):
                continue
            hint = did_you_mean(name, [f"{connection.name}__{known}" for known in document.entries])
            message = f'"{name}": the OpenAPI document of the connection "{connection.name}" has no such operation.'
            file = f"{tool.entry.rpartition('/')[0]}/tool.json" if tool.layout == "json" else tool.entry
            yield Problem("warning", INVALID, file, message, f"Correct the name.{hint}", key="uses.tools")
