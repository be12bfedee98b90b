"""What a repository may only do after a person has said that its code is trusted (contract decision 28)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

COMMANDS: Final = (
    "shell commands (ctx.exec), which may read what you may read, use the network, "
    "and write in the repository and in a temporary folder"
)
_DEFAULT_MS: Final = 30_000


def shell_exec(manifest: Mapping[str, Any]) -> bool:
    """Whether the manifest asks for shell commands (``sandbox.shellExec``)."""
    return _sandbox(manifest).get("shellExec") is True


def command_limit_s(manifest: Mapping[str, Any]) -> float:
    """The time that a command has, in seconds (``sandbox.maxTimeout``, in milliseconds)."""
    return _sandbox(manifest).get("maxTimeout", _DEFAULT_MS) / 1000


def needs(manifest: Mapping[str, Any], *, local: bool = False) -> Sequence[str]:
    """What a person has to agree to; ``local``: shell commands are switched on in the settings."""
    return [COMMANDS] if shell_exec(manifest) or local else []


def _sandbox(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return manifest.get("sandbox") or {}
