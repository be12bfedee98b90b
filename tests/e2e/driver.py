"""Drives the command as a person would: a process, its exit code, what it printed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime_core.wire.json import loads

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = Path(__file__).parent / "fixtures"
LIMIT_S = 45


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on the standard output."""
        return loads(self.out)

    @property
    def error(self) -> Any:
        """``error`` of the envelope on the error stream."""
        body = loads(self.err.splitlines()[-1])
        assert isinstance(body, dict)
        return body["error"]


class Desk:
    """One data folder and the commands that work on it."""

    def __init__(self, home: Path, data: Path | None = None) -> None:
        self.home = home
        self.data = data or home / "data"

    def __call__(self, *arguments: object, stdin: bytes = b"", cwd: Path | None = None) -> Ended:
        """Run one command to its end."""
        done = subprocess.run(
            self.words(*arguments),
            input=stdin,
            cwd=cwd or self.home,
            env=self.environment(),
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *arguments: object) -> subprocess.Popen[bytes]:
        """Begin one command, in a process group of its own."""
        return self.spawn(self.words(*arguments))

    def window(self, repository: Path) -> subprocess.Popen[bytes]:
        """A process that has the data folder open as its executor, as a window has; returns when it is open."""
        process = self.spawn([sys.executable, "-c", _WINDOW, str(self.data), str(repository)])
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == b"open\n", process.stderr.read().decode() if process.stderr is not None else line
        return process

    def spawn(self, words: Sequence[str], **more: str) -> subprocess.Popen[bytes]:
        """Begin a process, with more in its environment."""
        return subprocess.Popen(
            words,
            cwd=self.home,
            env={**self.environment(), **more},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def words(self, *arguments: object) -> list[str]:
        command, *rest = [str(argument) for argument in arguments]
        folder = [] if command == "secret" else ["--data", str(self.data)]
        return [*program(), command, *folder, *rest]

    def environment(self) -> Mapping[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in _FORGOTTEN}
        return {**kept, "HOME": str(self.home), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "COLUMNS": "100"}


_FORGOTTEN = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "XDG_DATA_HOME", "XDG_CONFIG_HOME"}

_WINDOW = """
import asyncio, sys
from pathlib import Path
from inbox_app.gateway.embedded import EmbeddedGateway

async def main():
    gateway = EmbeddedGateway(Path(sys.argv[1]), repositories=[Path(sys.argv[2])], execute=True)
    await gateway.open()
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await gateway.close()

asyncio.run(main())
"""


def program() -> list[str]:
    """The installed command, or the same program started from the checkout."""
    installed = Path(sys.executable).with_name("operator-inbox")
    return [str(installed)] if installed.exists() else [sys.executable, "-c", "from inbox_app.cli import main; main()"]


def until(found: Callable[[], Any]) -> Any:
    """Ask again until the answer is true."""
    end = time.monotonic() + LIMIT_S
    while not (value := found()):
        assert time.monotonic() < end, "it did not happen"
    return value


def kill(process: subprocess.Popen[bytes]) -> None:
    """kill -9, of the process alone: its handler hosts have to notice by themselves."""
    process.kill()
    process.communicate(timeout=LIMIT_S)


def leave(process: subprocess.Popen[bytes]) -> int:
    """Close a `Desk.window`; its exit code."""
    _, err = process.communicate(timeout=LIMIT_S)
    assert err == b"", err.decode()
    return process.returncode
