"""What Python handlers may not do. A guard against accidents, not a border: C code walks past an audit hook.

On Linux the process is in a Landlock box as well; elsewhere Python handlers run with the user's rights.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_GUARDED = frozenset(
    {
        *("os", "resource", "signal", "socket", "subprocess", "pty", "fcntl", "ctypes", "sqlite3", "syslog"),
        *("shutil", "webbrowser", "urllib", "winreg", "msvcrt", "_winapi"),
    }
)
"""What events begin with that are refused unless they are among the harmless ones."""

_HARMLESS = frozenset(
    {
        *("os.walk", "os.fwalk", "os.putenv", "os.unsetenv", "os.chdir", "os.fchdir", "os.lockf", "socket.gethostname"),
        *("shutil.copyfile", "shutil.copymode", "shutil.copystat", "shutil.copytree"),  # they open what they copy
    }
)
_READS = frozenset({"os.listdir", "os.scandir", "os.getxattr", "os.listxattr"})
_OTHERS = frozenset({"sys.remote_exec", "cpython.remote_debugger_script"})
_DOORS = frozenset(
    {
        *("_posixsubprocess", "_ctypes", "_interpreters", "_xxsubinterpreters", "_testcapi", "_testinternalcapi"),
        *("_interpchannels", "_interpqueues", "_xxinterpchannels"),
    }
)
"""Modules below the functions that raise events, or whose code runs where this guard is not."""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Guard:
    """An audit hook."""

    def __init__(self, readable: list[str]) -> None:
        self._readable = [os.path.realpath(path) for path in readable]

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            self._open(args[0], args[2])
        elif event in _READS:
            self._read(args[0] if args[0] is not None else os.getcwd())
        elif event == "import":
            if args[0] in _DOORS:
                raise ImportError(f"a handler may not import {args[0]}", name=args[0])
        elif event in _OTHERS or (event.partition(".")[0] in _GUARDED and event not in _HARMLESS):
            raise PermissionError(f"a handler may not use {event}; do it in a declared tool or with a ctx member")

    def _open(self, path: Any, flags: int | None) -> None:
        if isinstance(path, int):
            return
        if (flags or 0) & _WRITES:
            self._write(path)
        else:
            self._read(path)

    def _read(self, path: Any) -> None:
        if isinstance(path, int):
            return
        real = os.path.realpath(os.fsdecode(path))
        is_secret = any(part.lower().startswith(".env") for part in real.split(os.sep))
        if is_secret or not any(_is_below(real, top) for top in self._readable):
            raise PermissionError(f"a handler may not read {path}; ctx.fs.read_repo_file reads files of the repository")

    def _write(self, path: Any) -> None:
        if os.path.realpath(os.fsdecode(path)) != os.devnull:
            raise PermissionError(f"a handler may not write {path}")


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip(os.sep) + os.sep)


def install(readable: list[str]) -> None:
    for name in _DOORS:
        sys.modules.pop(name, None)
    sys.addaudithook(Guard(readable))
