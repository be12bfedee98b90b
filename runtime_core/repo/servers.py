"""The MCP servers of a repository: ``mcp.servers`` in its manifest, and connections of the protocol ``mcp``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from runtime_core.repo.bundle import Connection, McpServer
from runtime_core.repo.fields import Fields

CALL_MS: Final = 60_000.0
_ADDRESSES: Final = ("http://", "https://", "env:")


class McpEntry(Fields):
    """What a manifest or a spec.json says of a server."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)
    also = frozenset({"auth", "baseUrl", "contextInjection", "filter", "protocol", "sync", "test"})

    transport: Literal["stdio", "sse", "http"] | None = Field(None, description='Write "stdio", "sse" or "http".')
    command: str | None = Field(None, description="Give the program as a text.")
    args: list[str] = Field([], description="List the arguments as texts.")
    env: dict[str, str] = Field({}, description="Map the names of environment variables to texts.")
    url: str | None = Field(None, description="Give the address of the server.")
    headers: dict[str, str] = Field({}, description="Map the names of headers to texts.")
    timeout_ms: float = Field(CALL_MS, alias="timeoutMs", gt=0, description="Give a number of milliseconds above 0.")
    trust: bool = Field(False, description="Write true or false, or leave it out.")

    @property
    def way(self) -> Literal["stdio", "sse", "http"]:
        return self.transport or ("http" if self.url and not self.command else "stdio")

    @model_validator(mode="after")
    def _can_be_reached(self) -> McpEntry:
        if not self.command and not self.url:
            raise ValueError("Neither command nor url is given")
        if self.way == "stdio" and not self.command:
            raise ValueError("The transport stdio needs a command")
        if self.way != "stdio" and not (self.url or "").startswith(_ADDRESSES):
            raise ValueError("The url has to begin with http:// or https://")
        if "\0" in "".join((self.command or "", *self.args, *self.env, *self.env.values())):
            raise ValueError("A command and its environment cannot hold the character NUL")
        return self


def server_of(name: str, where: str, given: Any, problem: str | None = None) -> McpServer:
    """The server of an entry; with ``problem``, one that cannot be used, as far as can be told what it would be."""
    try:
        entry = McpEntry.model_validate(given)
    except ValidationError as error:
        return McpServer(name, where, problem=problem or error.errors()[0]["msg"])
    return McpServer(
        name=name,
        where=where,
        transport=entry.way,
        command=(entry.command or "", *entry.args) if entry.way == "stdio" else (),
        env=entry.env,
        url=entry.url or "",
        headers=entry.headers,
        call_s=entry.timeout_ms / 1000,
        is_trusted=entry.trust,
        problem=problem,
    )


def connected(connections: Mapping[str, Connection]) -> dict[str, McpServer]:
    """Those that are connections."""
    return {
        name: server_of(name, f"{connection.folder}/spec.json", connection.spec, connection.unavailable)
        for name, connection in connections.items()
        if connection.protocol == "mcp"
    }
