"""What a repository may only do after a person has said that its code is trusted (contract decision 28)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from runtime_core.repo.builtins import mcp_servers
from runtime_core.repo.bundle import Bundle

COMMANDS: Final = (
    "shell commands (ctx.exec), which may read what you may read, use the network, "
    "and write in the repository and in a temporary folder"
)
_DEFAULT_MS: Final = 30_000
_COMMAND_LIMIT: Final = 300


def shell_exec(manifest: Mapping[str, Any]) -> bool:
    """Whether the manifest asks for shell commands (``sandbox.shellExec``)."""
    return _sandbox(manifest).get("shellExec") is True


def command_limit_s(manifest: Mapping[str, Any]) -> float:
    """The time that a command has, in seconds (``sandbox.maxTimeout``, in milliseconds)."""
    return _sandbox(manifest).get("maxTimeout", _DEFAULT_MS) / 1000


def needs(bundle: Bundle, *, local: bool = False) -> Sequence[str]:
    """What a person has to agree to; ``local``: shell commands are switched on in the settings."""
    shell = [COMMANDS] if shell_exec(bundle.manifest) or local else []
    return [*shell, *_packages(bundle), *_server_commands(bundle)]


def _packages(bundle: Bundle) -> Iterator[str]:
    """Code of others, fetched from a registry. pip builds what comes as source, which runs code with your rights."""
    for file in bundle.packages:
        kind = "npm" if file.endswith(".json") else "Python"
        yield f"{kind} packages that are fetched from the network and installed: {file}"


def _server_commands(bundle: Bundle) -> Iterator[str]:
    for name, server in mcp_servers(bundle.manifest, bundle.connections).items():
        if server.get("command") and server.get("transport", "stdio") == "stdio":
            command = shlex.join(map(str, (server["command"], *(server.get("args") or ()))))
            yield f"the MCP server {name}, a command that may do whatever you may do: {command[:_COMMAND_LIMIT]}"


def _sandbox(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return manifest.get("sandbox") or {}
