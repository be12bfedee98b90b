"""The tools of MCP servers: ``<server>__<tool>`` (contract 1.2 and 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from runtime_core.connections.mcp import McpServers
from runtime_core.connections.mcp_config import McpUnavailable
from runtime_core.connections.mcp_session import START_S, McpFailed, McpTool
from runtime_core.connections.naming import split
from runtime_core.repo.bundle import Bundle, Effect, McpServer
from runtime_core.tools.base import ASK_S, Caller, ReadyTool, ToolFailed
from runtime_core.wire.json import JsonText, loads


class McpTools:
    """The tools of all servers. What they are is known once a server was asked; until then every name is one."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        servers = bundle.servers
        parts = split(name, servers)
        if parts is None:
            return None
        server = servers[parts[0]]
        tool = _named(self._servers.known(bundle, server).values(), parts[1])

        async def call(params: JsonText, caller: Caller) -> JsonText:
            try:
                found = await self._tool(caller.bundle, server, parts[1])
                return await self._servers.call(caller.bundle, server, found, _arguments(found, params))
            except McpUnavailable as unavailable:
                raise ToolFailed(str(unavailable), "mcp-unavailable") from None
            except McpFailed as failed:
                raise ToolFailed(str(failed)) from None

        return ReadyTool(
            name,
            tool.description if tool is not None else f"{parts[1]} of the MCP server {server.name}",
            tool.schema if tool is not None else {},
            "connection",
            _effect(tool),
            call,
            timeout_s=START_S + server.call_s + 15,
        )

    def names(self, bundle: Bundle) -> Sequence[str]:
        servers = bundle.servers.values()
        return [f"{server.name}__{name}" for server in servers for name in self._servers.known(bundle, server)]

    def knows(self, bundle: Bundle, source: str) -> bool:
        server = bundle.servers.get(source)
        return server is None or bool(self._servers.known(bundle, server))

    async def ask(self, bundle: Bundle, sources: Sequence[str]) -> None:
        servers = [server for server in bundle.servers.values() if server.name in sources]
        await self._servers.ask(bundle, servers, ASK_S)

    async def _tool(self, bundle: Bundle, server: McpServer, name: str) -> McpTool:
        tools = await self._servers.tools(bundle, server)
        found = _named(tools.values(), name)
        if found is None:
            shown = ", ".join(list(tools)[:20]) or "none"
            raise ToolFailed(f'The MCP server "{server.name}" has no tool "{name}". It has: {shown}.', "unknown-tool")
        return found


def _named(tools: Any, name: str) -> McpTool | None:
    """By its name or, as the server spells it, its original one."""
    given: list[McpTool] = list(tools)
    return next((tool for tool in given if tool.name == name), None) or next(
        (tool for tool in given if tool.original == name), None
    )


def _arguments(tool: McpTool, params: JsonText) -> dict[str, Any]:
    from runtime_core.repo.params import check_value  # with jsonschema, as everywhere on first use

    value: Any = loads(params)
    problem = check_value(tool.schema, value, what="the parameters", whose=f"the schema of {tool.original}")
    if problem is not None:
        raise ToolFailed(problem, "invalid-params")
    if value is not None and not isinstance(value, dict):
        raise ToolFailed("the parameters have to be an object", "invalid-params")
    return cast("dict[str, Any]", value or {})


def _effect(tool: McpTool | None) -> Effect:
    if tool is None:
        return "once"
    return "read" if tool.is_read else "idempotent" if tool.is_idempotent else "once"
