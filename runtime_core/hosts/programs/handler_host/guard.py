"""What Python handlers may not do. A guard against accidents, not a border: C code walks past an audit hook.

On Linux the process is in a Landlock box as well; elsewhere Python handlers run with the user's rights.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_DENIED = {
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn"),
    *("os.startfile", "os.kill", "os.killpg", "signal.pthread_kill", "ctypes.dlopen", "ctypes.dlsym"),
    *("socket.__new__", "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"),
    *("socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo", "webbrowser.open", "urllib.Request"),
    *("os.symlink", "os.link", "os.chmod", "os.chown", "os.truncate", "os.remove", "os.rmdir", "os.utime"),
    *("shutil.rmtree", "shutil.move", "sqlite3.connect"),
}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Guard:
    """An audit hook; ``cache`` is the only folder the interpreter itself writes to."""

    def __init__(self, readable: list[str], cache: str | None) -> None:
        self._readable = [os.path.realpath(path) for path in readable]
        self._cache = os.path.realpath(cache) if cache else None

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            self._open(args[0], args[2])
        elif event in _DENIED:
            raise PermissionError(f"a handler may not use {event}; do it in a declared tool or with a ctx member")
        elif event in {"os.listdir", "os.scandir"}:
            self._read(args[0] if args[0] is not None else os.getcwd())
        elif event in {"os.mkdir", "os.rename"}:
            self._write(args[0])

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
        real = os.path.realpath(os.fsdecode(path)) if not isinstance(path, int) else ""
        if real != os.devnull and not (self._cache is not None and _is_below(real, self._cache)):
            raise PermissionError(f"a handler may not write {path}")


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip(os.sep) + os.sep)


def install(readable: list[str]) -> None:
    sys.addaudithook(Guard(readable, sys.pycache_prefix))
