"""What a repository may only do after a person has said that its code is trusted (contract decision 28)."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from runtime_core.repo.bundle import Bundle, BundleError, McpServer, Problem
from runtime_core.repo.programs import programs_of
from runtime_core.repo.revision import TooLarge, is_inside

COMMANDS: Final = (
    "shell commands (ctx.exec), which may read what you may read, use the network, "
    "and write in the repository and in a temporary folder"
)
_DEFAULT_MS: Final = 30_000
_COMMAND_LIMIT: Final = 300


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person agrees to: a revision of the code, and what it needs."""

    revision: str
    needs: Sequence[str]


def shell_exec(manifest: Mapping[str, Any]) -> bool:
    """Whether the manifest asks for shell commands (``sandbox.shellExec``)."""
    return _sandbox(manifest).get("shellExec") is True


def command_limit_s(manifest: Mapping[str, Any]) -> float:
    """The time that a command has, in seconds (``sandbox.maxTimeout``, in milliseconds)."""
    return _sandbox(manifest).get("maxTimeout", _DEFAULT_MS) / 1000


def needs(bundle: Bundle, *, local: bool = False) -> Sequence[str]:
    """What a person has to agree to; ``local``: shell commands are switched on in the settings.

    What is named is what is agreed to: code is only trusted with what stood in this list when it was. Reads the files
    that commands may run. Raises `BundleError` if that is more than can be looked through.
    """
    try:
        shell = [shell_need(bundle.root)] if shell_exec(bundle.manifest) or local else []
        servers = [server_need(bundle.root, server) for server in bundle.servers.values() if server.command]
    except TooLarge as error:
        message = f"It cannot be trusted with commands, which may run any of its files. {error.reason}"
        remedy = "Move what is no program out of the repository, or into a folder whose name starts with a dot."
        problem = Problem("error", "CONFIG_VALIDATION_FAILED", error.file, message, remedy)
        raise BundleError(bundle.root, [problem]) from error
    return [*shell, *_packages(bundle), *servers]


def shell_need(root: Path) -> str:
    """That of shell commands, with the files of the repository that they may run as they are now. Raises `TooLarge`."""
    return f"{COMMANDS}; {_programs(root)}"


def _programs(root: Path) -> str:
    found = programs_of(root)
    return f"its programs and other files that are no data ({found.count:,}) have the SHA-256 {found.digest}"


def server_command(server: McpServer) -> str:
    """How what has to be agreed to for the command of an MCP server begins: with what its environment gets."""
    command = shlex.join(server.command)[:_COMMAND_LIMIT]
    given = ", ".join(f"{name}={value}" for name, value in server.env.items())[:_COMMAND_LIMIT]
    settings = f"; with {given}" if given else ""
    return f"the MCP server {server.name}, a command that may do whatever you may do: {command}{settings}"


def server_need(root: Path, server: McpServer) -> str:
    """All of it: if the command names files of the repository, with these and all that they may run as they are now.

    Raises `TooLarge`.
    """
    words = (*server.command, *server.env.values())
    named = "".join(f"; {file} with the SHA-256 {digest}" for file, digest in _named_files(root, words))
    return server_command(server) + (f"{named}; {_programs(root)}" if named else "")


def _named_files(root: Path, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Those below the root, where commands are run, also as ``--option=FILE``; each with its digest."""
    home = os.path.realpath(root)
    texts = dict.fromkeys(text for part in words for text in (part, part.partition("=")[2]) if text)
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
