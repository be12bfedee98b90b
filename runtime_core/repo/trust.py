"""What a repository may only do after a person has said that its code is trusted (contract decision 28)."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from runtime_core.repo.bundle import Bundle, McpServer
from runtime_core.repo.revision import is_inside

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
    """What a person has to agree to; ``local``: shell commands are switched on in the settings.

    What is named is what is agreed to: code is only trusted with what stood in this list when it was. Reads the files
    that commands name.
    """
    shell = [COMMANDS] if shell_exec(bundle.manifest) or local else []
    servers = [server_need(bundle.root, server) for server in bundle.servers.values() if server.command]
    return [*shell, *_packages(bundle), *servers]


def server_need(root: Path, server: McpServer) -> str:
    """That of the command of an MCP server, with the files of the repository that it names as they are now."""
    command = shlex.join(server.command)
    named = "".join(f"; {file} with the SHA-256 {digest}" for file, digest in _named_files(root, server.command))
    return f"the MCP server {server.name}, a command that may do whatever you may do: {command[:_COMMAND_LIMIT]}{named}"


def _named_files(root: Path, command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Those below the root, where commands are run, also as ``--option=FILE``; each with its digest."""
    home = os.path.realpath(root)
    texts = dict.fromkeys(text for part in command for text in (part, part.partition("=")[2]) if text)
    for text in texts:
        path = os.path.realpath(os.path.join(home, text))
        if is_inside(path, home) and os.path.isfile(path):
            yield os.path.relpath(path, home), _digest(path)


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"that cannot be told ({error.strerror})"


def _packages(bundle: Bundle) -> Iterator[str]:
    """Code of others, fetched from a registry. pip builds what comes as source, which runs code with your rights."""
    for file in bundle.packages:
        kind = "npm" if file.endswith(".json") else "Python"
        yield f"{kind} packages that are fetched from the network and installed: {file}"


def _sandbox(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return manifest.get("sandbox") or {}
