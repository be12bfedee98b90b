"""Which MCP servers a repository names: ``mcp.servers`` in its manifest, and connections of the protocol ``mcp``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from runtime_core.connections.secrets import NotSet, Secrets, looked_up
from runtime_core.repo.bundle import Bundle

Transport = Literal["stdio", "http", "sse"]

_TRANSPORTS: Final[Mapping[str, Transport]] = {"stdio": "stdio", "http": "http", "sse": "sse"}
CALL_S: Final = 60.0


class McpUnavailable(Exception):  # noqa: N818
    """A server that cannot be used; the message names it and says why, without any secret."""


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server as its entry states it: values such as ``env:NAME`` are looked up when it is started.

    ``problem`` says why the entry is of no use. ``is_trusted``: what the server says about the effects of its tools
    is believed (``trust`` in the entry).
    """

    name: str
    where: str
    transport: Transport = "stdio"
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    call_s: float = CALL_S
    is_trusted: bool = False
    problem: str | None = None


def servers_of(bundle: Bundle) -> Mapping[str, McpServer]:
    """All servers by name; connections go before the manifest."""
    declared = _object(_object(bundle.manifest.get("mcp")).get("servers"))
    found = {name: _server(name, f"mcp.servers.{name} in amodal.json", entry) for name, entry in declared.items()}
    for name, connection in bundle.connections.items():
        if connection.protocol == "mcp":
            where = f"{connection.folder}/spec.json"
            reason = connection.unavailable
            found[name] = _server(name, where, connection.spec) if reason is None else _broken(name, where, reason)
    return found


def filled(server: McpServer, key: str, value: str, secrets: Secrets) -> str:
    """A value of an entry with its ``env:NAME`` looked up. Raises `McpUnavailable`."""
    if value.startswith("scope:"):
        raise McpUnavailable(f"{server.where}: {key} is a secret of a scope, and all scopes share a server; use env:.")
    try:
        return looked_up(value, secrets)
    except NotSet as missing:
        raise McpUnavailable(
            f"{server.where}: {key} needs {missing.name}, which is not set. Set it, or remove the server."
        ) from None


def _server(name: str, where: str, entry: Any) -> McpServer:
    given = _object(entry)
    command, url = _list(given.get("command")) + _list(given.get("args")), given.get("url")
    asked = given.get("transport") or ("http" if url is not None and not command else "stdio")
    transport = _TRANSPORTS.get(str(asked))
    env, headers = _object(given.get("env")), _object(given.get("headers"))
    limit: Any = given.get("timeoutMs")
    if transport is None:
        return _broken(name, where, f'"transport" is {asked!r:.60}; use "stdio", "http" or "sse"')
    if transport == "stdio" and not (command and all(map(_is_text, command))):
        return _broken(name, where, '"command" has to be a text and "args" a list of texts')
    if transport != "stdio" and not (isinstance(url, str) and url.startswith(("http://", "https://", "env:"))):
        return _broken(name, where, '"url" has to be an address that begins with http:// or https://')
    if not all(map(_is_text, [*env.values(), *headers.values()])):
        return _broken(name, where, 'the values in "env" and "headers" have to be texts')
    return McpServer(
        name=name,
        where=where,
        transport=transport,
        command=tuple(command),
        env=env,
        url=url or "",
        headers=headers,
        call_s=limit / 1000 if isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0 else CALL_S,
        is_trusted=given.get("trust") is True,
    )


def _broken(name: str, where: str, problem: str) -> McpServer:
    return McpServer(name, where, problem=problem)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _list(value: Any) -> list[Any]:
    """A list, or what stands alone in place of one."""
    return cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [value]


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
