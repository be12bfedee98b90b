"""The values in the entry of an MCP server."""

from __future__ import annotations

from runtime_core.connections.secrets import NotSet, Secrets, looked_up
from runtime_core.repo.bundle import McpServer


class McpUnavailable(Exception):  # noqa: N818
    """A server that cannot be used; the message names it and says why, without any secret."""


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
