"""``ctx.exec``: shell commands for the tools of a trusted repository that are not durable (contract decision 28)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from runtime_core.engine.failures import error_text
from runtime_core.hosts.command import CommandUnavailable, run_command
from runtime_core.repo.bundle import Bundle
from runtime_core.repo.revision import TooLarge
from runtime_core.repo.trust import command_limit_s, shell_exec
from runtime_core.wire.json import JsonText, dumps, loads

AT_ONCE: Final = 8
"""Commands that run at the same time; further ones wait, and their time begins when they do."""


class CommandRefused(Exception):  # noqa: N818
    """A command that was not run; ``error`` is what its handler gets."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.error: JsonText = error_text(code, message)


@dataclass(frozen=True, slots=True)
class Shell:
    """The commands of one repository. ``is_trusted`` is asked before every one; ``is_on``: the settings allow them.

    ``homes`` holds the folders that are theirs while they run.
    """

    bundle: Bundle
    is_on: bool
    is_trusted: Callable[[], Awaitable[bool]]
    turns: asyncio.Semaphore
    homes: Path

    async def run(self, args: JsonText) -> JsonText:
        """``{"stdout", "stderr", "exitCode", "truncated"?}``. Raises `CommandRefused`."""
        command, folder, timeout_s = self._read(args)
        await self._check()
        try:
            async with self.turns:
                result = await run_command(self.bundle.root.resolve(), folder, command, timeout_s, self.homes)
        except CommandUnavailable as error:
            raise CommandRefused("exec-unavailable", str(error)) from error
        found = {"stdout": result.stdout, "stderr": result.stderr, "exitCode": result.exit_code}
        return dumps(found | ({"truncated": True} if result.is_cut else {}))

    async def _check(self) -> None:
        root = self.bundle.root
        if not (self.is_on or shell_exec(self.bundle.manifest)):
            raise CommandRefused(
                "exec-disabled",
                f'The repository {root} does not ask for shell commands: write "sandbox": {{"shellExec": true}} '
                "into its amodal.json. It has to be trusted then.",
            )
        try:
            is_trusted = await self.is_trusted()
        except TooLarge as error:
            raise CommandRefused(
                "untrusted", f"The repository {root} cannot be trusted with commands: {error.file}: {error.reason}"
            ) from error
        except OSError as error:
            raise CommandRefused("untrusted", f"The code of {root} cannot be read: {error.strerror}.") from error
        if not is_trusted:
            raise CommandRefused(
                "untrusted",
                f"The repository {root} wants to run a shell command, and nobody has trusted its code "
                f"({self.bundle.revision[:12]}) with the files that are there now. See what it needs with: "
                f"operator-inbox check {root}. Then give --trust to run, to answer, or to the window; "
                "a change of the code, or of a script, asks again.",
            )

    def _read(self, args: JsonText) -> tuple[str, Path, float]:
        given: Any = loads(args)
        command, options = [*given, None, None][:2]
        if not isinstance(command, str) or not command.strip() or "\0" in command:
            raise _wrong("the command must be a text, for example ctx.exec('ls')")
        if not isinstance(options, dict | None):
            raise _wrong("the options must be an object with cwd and timeout")
        asked = cast("dict[str, Any]", options or {})
        return command, self._folder(asked.get("cwd")), self._timeout_s(asked.get("timeout"))

    def _folder(self, cwd: Any) -> Path:
        root = self.bundle.root.resolve()
        if cwd is None:
            return root
        if not isinstance(cwd, str) or "\0" in cwd or Path(cwd).is_absolute():
            raise _wrong("cwd must be a folder of the repository, relative to its root")
        folder = Path(os.path.realpath(root / cwd))
        if not folder.is_relative_to(root):
            raise _wrong(f"cwd {cwd!r} is outside of the repository {root}")
        if not folder.is_dir():
            raise _wrong(f"cwd {cwd!r} is no folder of the repository {root}")
        return folder

    def _timeout_s(self, timeout: Any) -> float:
        limit = command_limit_s(self.bundle.manifest)
        if timeout is None:
            return limit
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
            raise _wrong("timeout must be a number of milliseconds above 0")
        return min(timeout / 1000, limit)


def _wrong(reason: str) -> CommandRefused:
    return CommandRefused("invalid-params", f"ctx.exec: {reason}.")
