"""The operations that a connection's OpenAPI document describes, as tools (contract 1.6 and 5.2).

``<connection>__discover`` finds operations, ``<connection>__<operationId>`` sends the request of one; how an
operationId becomes a name says `connections.naming`.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

from runtime_core.connections.client import Connections, RequestFailed
from runtime_core.connections.naming import split
from runtime_core.connections.openapi import DISCOVER, PLACES, Document, Entry, Operation
from runtime_core.connections.openapi_request import BadParameter, request_of
from runtime_core.connections.openapi_source import DocumentUnavailable, OpenApiDocuments, source_of, with_server
from runtime_core.connections.openapi_text import BadDocument
from runtime_core.connections.policy import judge, restricted
from runtime_core.connections.request import Request
from runtime_core.repo.bundle import Bundle, Connection
from runtime_core.repo.policy import Verdict
from runtime_core.tools.base import ASK_S, Caller, ReadyTool, ToolFailed
from runtime_core.wire.json import JsonText, dumps, loads

SHOWN: Final = 10
"""Operations that one search returns."""
SCHEMA_LIMIT: Final = 8_000
"""Characters of an operation's schema in the result of a search; of a larger one only the names are shown."""
TEXT_LIMIT: Final = 500

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ANYTHING: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {**{place: {"type": "object"} for place in PLACES}, "body": {}},
    "additionalProperties": False,
}
_QUERY: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "What the operation should do, in a few words."}},
    "required": ["query"],
    "additionalProperties": False,
}


class OpenApiTools:
    """The tools of all connections that name a document."""

    def __init__(self, documents: OpenApiDocuments, connections: Connections) -> None:
        self._documents = documents
        self._connections = connections

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        parts = split(name, _described(bundle))
        if parts is None:
            return None
        connection, rest = bundle.connections[parts[0]], parts[1]
        if connection.unavailable is not None:
            return _failing(name, f'The connection "{connection.name}" cannot be used: {connection.unavailable}')
        if rest == DISCOVER:
            return self._discover(name, connection)
        try:
            document = self._documents.known(bundle, connection)
        except DocumentUnavailable as unavailable:
            return _failing(name, str(unavailable))
        if document is None:
            return self._unread(name, rest, connection)
        entry = document.entry(rest)
        return None if entry is None else self._operation(name, document, entry, connection)

    def names(self, bundle: Bundle) -> Sequence[str]:
        found: list[str] = []
        for owner in _described(bundle):
            connection = bundle.connections[owner]
            found.append(f"{owner}__{DISCOVER}")
            try:
                document = self._documents.known(bundle, connection) if connection.unavailable is None else None
            except DocumentUnavailable:
                continue
            found += [f"{owner}__{name}" for name in (document.entries if document is not None else ())]
        return found

    async def ask(self, bundle: Bundle, sources: Sequence[str]) -> None:
        connections = [bundle.connections[owner] for owner in _described(bundle) if owner in sources]
        usable = [connection for connection in connections if connection.unavailable is None]
        await asyncio.gather(*(self._read(bundle, connection) for connection in usable))

    def knows(self, bundle: Bundle, source: str) -> bool:
        if source not in _described(bundle):
            return True
        try:
            return self._documents.known(bundle, bundle.connections[source]) is not None
        except DocumentUnavailable:
            return False

    async def _read(self, bundle: Bundle, connection: Connection) -> None:
        with contextlib.suppress(DocumentUnavailable, TimeoutError):
            async with asyncio.timeout(ASK_S):
                document = await self._documents.get(bundle, connection)
                await asyncio.to_thread(document.prepare)

    def _discover(self, name: str, connection: Connection) -> ReadyTool:
        async def call(params: JsonText, caller: Caller) -> JsonText:
            document = await self._document(caller.bundle, connection)
            query = cast("dict[str, Any]", loads(params))["query"]
            return dumps(_search(document, connection, query))

        return ReadyTool(
            name,
            f"Find operations of {connection.name}: returns their names, to be called as tools, with parameters.",
            _QUERY,
            "connection",
            "read",
            call,
        )

    def _operation(self, name: str, document: Document, entry: Entry, connection: Connection) -> ReadyTool:
        try:
            operation = document.operation(entry, connection.spec.get("baseUrl"))
        except BadDocument as bad:
            return _failing(name, f"{bad}. Its OpenAPI document is {source_of(connection)}.")
        return ReadyTool(
            name,
            entry.summary or entry.description or f"{entry.method} {entry.path} of {connection.name}",
            operation.schema,
            "connection",
            "read" if operation.is_read else "once",
            partial(self._send, operation, self._reachable(document, connection)),
            judge=partial(self._judge, operation, self._reachable(document, connection)),
        )

    def _unread(self, name: str, rest: str, connection: Connection) -> ReadyTool:
        """An operation of a document that was not read so far, which its first call does."""

        async def operation(params: JsonText, bundle: Bundle) -> tuple[Operation, Connection]:
            from runtime_core.repo.params import check_value  # with jsonschema, as everywhere on first use

            document = await self._document(bundle, connection)
            entry = document.entry(rest)
            if entry is None:
                raise ToolFailed(f"{connection.name} has no operation {rest}: look for one with {DISCOVER}.")
            try:
                found = document.operation(entry, connection.spec.get("baseUrl"))
            except BadDocument as bad:
                raise ToolFailed(f"{bad}.") from None
            problem = check_value(found.schema, loads(params), what="the parameters", whose=f"the schema of {name}")
            if problem is not None:
                raise ToolFailed(problem, "invalid-params")
            return found, self._reachable(document, connection)

        async def call(params: JsonText, caller: Caller) -> JsonText:
            return await self._send(*await operation(params, caller.bundle), params, caller)

        async def judged(params: JsonText, caller: Caller) -> Verdict:
            return await self._judge(*await operation(params, caller.bundle), params, caller)

        return ReadyTool(name, f"{rest} of {connection.name}", _ANYTHING, "connection", "once", call, judge=judged)

    async def _document(self, bundle: Bundle, connection: Connection) -> Document:
        try:
            return await self._documents.get(bundle, connection)
        except DocumentUnavailable as unavailable:
            raise ToolFailed(str(unavailable), "connection-unavailable") from None

    def _reachable(self, document: Document, connection: Connection) -> Connection:
        return with_server(document, connection, self._documents.known_source(connection) or "")

    async def _judge(self, operation: Operation, connection: Connection, params: JsonText, caller: Caller) -> Verdict:
        request = self._request(operation, connection, params, caller)
        try:
            shown = await self._connections.shown(connection, request, caller)
        except RequestFailed as failed:
            raise ToolFailed(failed.message, failed.code) from None
        given: Any = cast("dict[str, Any]", loads(params)).get("query")
        return replace(judge(connection.policy, request, given), shown=shown)

    async def _send(self, operation: Operation, connection: Connection, params: JsonText, caller: Caller) -> JsonText:
        request = self._request(operation, connection, params, caller)
        try:
            reply = await self._connections.send(connection, request, caller)
        except RequestFailed as failed:
            message = failed.message
            if failed.reply is not None:
                message = failed.with_answer(await _seen(operation, connection, failed.reply.body, caller))
            raise ToolFailed(message, failed.code) from None
        return await _seen(operation, connection, reply.data, caller)

    def _request(self, operation: Operation, connection: Connection, params: JsonText, caller: Caller) -> Request:
        """What is judged, shown and sent. Raises `ToolFailed`."""
        try:
            request = request_of(operation, cast("dict[str, Any]", loads(params)))
            return self._connections.complete(connection, request, caller)
        except BadParameter as bad:
            raise ToolFailed(str(bad), "invalid-params") from None
        except RequestFailed as failed:
            raise ToolFailed(failed.message, failed.code) from None


async def _seen(operation: Operation, connection: Connection, reply: JsonText, caller: Caller) -> JsonText:
    """What of a reply a model may see."""
    seen, stripped = await asyncio.to_thread(restricted, connection.policy, reply)
    if stripped:
        caller.note("log", f"{operation.name}: left out {', '.join(stripped)}")
    return seen


def _described(bundle: Bundle) -> Sequence[str]:
    return [
        name
        for name, connection in bundle.connections.items()
        if connection.protocol != "mcp" and source_of(connection) is not None
    ]


def _failing(name: str, reason: str) -> ReadyTool:
    async def fail(params: JsonText, caller: Caller) -> Any:
        raise ToolFailed(reason, "connection-unavailable")

    return ReadyTool(name, reason, {}, "connection", "read", fail, judge=fail)


def _search(document: Document, connection: Connection, query: str) -> dict[str, Any]:
    """The operations that fit a question best; all words count, those of the name most."""
    asked = set(_words(query))
    scored = [(_score(entry, asked), -number, entry) for number, entry in enumerate(document.entries.values())]
    fitting = sorted((item for item in scored if item[0] > 0 or not asked), key=lambda item: item[:2], reverse=True)
    shown = [_description(document, connection, entry) for _, _, entry in fitting[:SHOWN]]
    return {"operations": shown, "total": len(fitting)}


def _score(entry: Entry, asked: set[str]) -> float:
    fields = (
        (4, _words(entry.operation_id)),
        (2, _words(entry.path)),
        (2, _words(entry.summary)),
        (1, _words(" ".join(entry.tags))),
        (1, _words(entry.description)),
        (1, [entry.method.lower()]),
    )
    score = sum(weight * _hits(asked, words) for weight, words in fields)
    return score / 2 if entry.is_deprecated else score


def _hits(asked: set[str], words: Sequence[str]) -> float:
    """One for a word that stands there, half for one that begins alike: ``ship`` and ``shipments``."""
    known = set(words)
    return sum(1 if word in known else 0.5 * any(_alike(word, other) for other in known) for word in asked)


def _alike(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= 3 and (one.startswith(other) or other.startswith(one))


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _description(document: Document, connection: Connection, entry: Entry) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": f"{connection.name}__{entry.name}",
        "method": entry.method,
        "path": entry.path,
        "summary": (entry.summary or entry.description)[:TEXT_LIMIT],
    }
    if entry.is_deprecated:
        shown["deprecated"] = True
    try:
        schema = document.operation(entry, connection.spec.get("baseUrl")).schema
    except BadDocument as bad:
        return shown | {"unavailable": str(bad)}
    return shown | {"parameters": schema if len(dumps(schema)) <= SCHEMA_LIMIT else _names_only(schema)}


def _names_only(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with the names of parameters and without what they hold."""
    shown: dict[str, Any] = {}
    for place, given in cast("dict[str, Any]", schema["properties"]).items():
        fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        names: dict[str, Any] = {name: {} for name in fields.get("properties", ())}
        shown[place] = {"properties": names, "required": fields.get("required", [])}
    return {"type": "object", "properties": shown, "required": schema["required"]}
