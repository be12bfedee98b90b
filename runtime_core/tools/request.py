"""``ctx.request`` of handlers, and the tool ``request`` of models and durable tools (contract 3.2 and 5.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from runtime_core.connections.client import Connections, RequestFailed, beginning
from runtime_core.connections.policy import judge, may_write, restricted
from runtime_core.connections.request import Request
from runtime_core.repo.builtins import REQUEST, rest_connections
from runtime_core.repo.bundle import Bundle, Connection, Effect
from runtime_core.repo.policy import METHODS, Verdict
from runtime_core.tools.base import Caller, MemberCall, MemberRefused, ReadyTool, ToolFailed
from runtime_core.wire.json import JsonText, dumps, loads

_WRITES: Final = ("write", "confirmed_write")
_OPTIONS: Final = ("method", "data", "params", "intent", "headers", "timeout")
_MEANT: Final = {"body": "data", "json": "data", "query": "params"}
_MAX_TIMEOUT_MS: Final = 300_000
_DEFAULT_TIMEOUT_MS: Final = 30_000
_GRACE_S: Final = 5.0


class _Refused(Exception):  # noqa: N818
    """A call that is not made; nothing has left the machine."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request as a handler or a model writes it."""

    connection: Connection
    request: Request
    intent: str | None

    @property
    def is_write(self) -> bool:
        return self.intent in _WRITES or may_write(self.request)


class Requests:
    """`Provider` of the tool ``request``; `member` is ``ctx.request``."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def names(self, bundle: Bundle) -> Sequence[str]:
        return [REQUEST] if rest_connections(bundle) else []

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        """It is there in any case, and says which connection is not."""
        if name != REQUEST:
            return None
        known = ", ".join(rest_connections(bundle)) or "none"
        return ReadyTool(
            name=REQUEST,
            description=f"Send an HTTP request through a connection. Connections: {known}.",
            parameters=_PARAMETERS,
            category="connection",
            effect=_effect,
            call=self._call,
            judge=self._judge,
            timeout_s=_MAX_TIMEOUT_MS / 1000 + _GRACE_S,
        )

    async def member(self, args: JsonText, call: MemberCall) -> JsonText:
        """The parsed body, or ``{"text", "status"}``. Raises `MemberRefused`."""
        given = cast("list[Any]", loads(args))
        try:
            asked = _of_handler(call.caller, given)
            if asked.is_write and not call.may_write:
                raise _may_not_write(call.tool, asked)
            return (await self._connections.send(asked.connection, asked.request, call.caller)).data
        except _Refused as refused:
            raise MemberRefused(_error(refused.code, refused.message)) from None
        except RequestFailed as failed:
            raise MemberRefused(_error_of(failed)) from None

    async def _call(self, params: JsonText, caller: Caller) -> JsonText:
        """``{"status", "data", "fields_stripped"?}``, whatever the status; ``{"error"}`` for what is refused."""
        try:
            asked = _of_tool(caller, params)
        except _Refused as refused:
            return dumps({"error": refused.message})
        try:
            reply = await self._connections.send(asked.connection, asked.request, caller)
        except RequestFailed as failed:
            if failed.reply is None:
                raise ToolFailed(failed.message, failed.code) from None
            reply = failed.reply
        data, stripped = await asyncio.to_thread(restricted, asked.connection.policy, reply.body)
        more = f',"fields_stripped":{dumps(stripped)}' if stripped else ""
        return JsonText(f'{{"status":{reply.status},"data":{data}{more}}}')

    async def _judge(self, params: JsonText, caller: Caller) -> Verdict:
        try:
            asked = _of_tool(caller, params)
            request = self._connections.complete(asked.connection, asked.request, caller)
            shown = await self._connections.shown(asked.connection, request, caller)
        except _Refused as refused:
            if caller.allowed is None:
                return Verdict("allow")  # it is not made, which its result says
            raise ToolFailed(refused.message, refused.code) from None
        except RequestFailed as failed:
            raise ToolFailed(failed.message, failed.code) from None
        return replace(judge(asked.connection.policy, request), shown=shown)


_PARAMETERS: Final = {
    "type": "object",
    "required": ["connection", "endpoint"],
    "properties": {
        "connection": {"type": "string", "description": "The name of the connection."},
        "method": {"type": "string", "enum": ["GET", "POST", "PUT", "PATCH", "DELETE"], "default": "GET"},
        "endpoint": {"type": "string", "description": "The path below the base URL of the connection."},
        "params": {"type": ["object", "null"], "description": "The query."},
        "data": {"description": "The body, sent as JSON."},
        "headers": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
        "intent": {"enum": ["read", *_WRITES, None], "description": "read: the POST changes nothing."},
        "timeout": {"type": ["number", "null"], "description": "In milliseconds."},
    },
    "additionalProperties": False,
}


def _effect(params: JsonText) -> Effect:
    given = cast("dict[str, Any]", loads(params))
    request = Request(
        endpoint=str(given.get("endpoint")),
        method=str(given.get("method") or "GET").upper(),
        params=_object(given, "params"),
        data=given.get("data"),
        headers=_object(given, "headers"),
        is_read=given.get("intent") == "read",
    )
    return "once" if given.get("intent") in _WRITES or may_write(request) else "read"


def _check_agent(caller: Caller, connection: Connection) -> None:
    agent = caller.agent
    if agent is not None and agent.connections and connection.name not in agent.connections:
        raise _Refused(
            "undeclared",
            f'The agent "{agent.name}" may not use the connection "{connection.name}": '
            f"its connections are {', '.join(agent.connections)}.",
        )


def _of_tool(caller: Caller, params: JsonText) -> _Asked:
    given = cast("dict[str, Any]", loads(params))
    options = {name: value for name, value in given.items() if name not in ("connection", "endpoint")}
    asked = _asked(caller.bundle, given.get("connection"), given.get("endpoint"), options)
    _check_agent(caller, asked.connection)
    return asked


def _of_handler(caller: Caller, given: Sequence[Any]) -> _Asked:
    name, endpoint, *rest = [*given, None, None][: max(2, len(given))]
    options: dict[str, Any] = {}
    for part in rest:
        if part is not None and not isinstance(part, dict):
            raise _wrong("the options have to be an object with method, data, params, intent and headers")
        options |= cast("dict[str, Any]", part or {})
    for option in sorted(options.keys() - set(_OPTIONS)):
        if option in _MEANT:
            raise _wrong(f'the option "{option}" is called "{_MEANT[option]}" here')
        caller.note("warning", f'ctx.request: the option "{option}" is not known and was left out.')
    return _asked(caller.bundle, name, endpoint, options)


def _asked(bundle: Bundle, name: Any, endpoint: Any, options: Mapping[str, Any]) -> _Asked:
    if not isinstance(name, str) or not isinstance(endpoint, str):
        raise _wrong("it takes the name of a connection and an endpoint, for example ctx.request('crm', '/tickets')")
    connection = bundle.connections.get(name)
    if connection is None:
        known = ", ".join(rest_connections(bundle)) or "none"
        raise _Refused(
            "connection-unknown",
            f'The repository {bundle.name} has no connection "{name}"; it has: {known}. '
            f"Add connections/{name}/spec.json, or correct the name.",
        )
    if connection.protocol != "rest":
        raise _wrong(f'the connection "{name}" speaks {connection.protocol}, which has tools of its own')
    method, intent = options.get("method") or "GET", options.get("intent")
    if not isinstance(method, str) or method.upper() not in METHODS:
        raise _wrong(f"method has to be one of {', '.join(METHODS)}")
    if intent not in (None, "read", *_WRITES):
        raise _wrong('intent has to be "read" or "write"')
    request = Request(
        endpoint=endpoint,
        method=method.upper(),
        params=_object(options, "params"),
        data=options.get("data"),
        headers={header: _header(header, value) for header, value in _object(options, "headers").items()},
        is_read=intent == "read",
        timeout_s=_timeout_s(options.get("timeout")),
    )
    return _Asked(connection, request, intent)


def _object(options: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = options.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong(f"{key} has to be an object")
    return cast("dict[str, Any]", value)


def _header(name: str, value: Any) -> str:
    if isinstance(value, dict | list) or value is None:
        raise _wrong(f'the header "{name}" has to be a text')
    return value if isinstance(value, str) else dumps(value)


def _timeout_s(timeout: Any) -> float:
    if timeout is None:
        timeout = _DEFAULT_TIMEOUT_MS
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= _MAX_TIMEOUT_MS:
        raise _wrong(f"timeout has to be a number of milliseconds above 0 and up to {_MAX_TIMEOUT_MS:,}")
    return timeout / 1000


def _may_not_write(tool: str, asked: _Asked) -> _Refused:
    request, path = asked.request, asked.request.endpoint.partition("?")[0]
    return _Refused(
        "write-refused",
        f'Tool "{tool}" may only read, and {request.method} {path} of the connection "{asked.connection.name}" writes; '
        'nothing was sent. If it shall write, give it exposure: { kind: "requires-confirmation" } in tool.ts or '
        'tool.py, or "confirm": true in tool.json. If a POST only reads, pass intent: "read".',
    )


def _wrong(reason: str) -> _Refused:
    return _Refused("invalid-params", f"The request was not sent: {reason}.")


def _error_of(failed: RequestFailed) -> JsonText:
    if failed.reply is None:
        return _error(failed.code, failed.message)
    body = failed.reply.body
    return _error(failed.code, failed.with_answer(body), status=failed.reply.status, body=beginning(body))


def _error(code: str, message: str, **more: Any) -> JsonText:
    return dumps({"name": "RequestError", "code": code, "message": message, **more})
