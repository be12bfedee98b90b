"""The box around a handler process: bounded processor time, on Linux bounded memory, death with its parent, Landlock.

The parent puts `boxed` in front of a command; the child runs this very file, which closes the box around itself and
becomes the command. On Windows, and where the kernel has no Landlock, the command runs with what there is. The file
is a program of its own: standard library only, and nothing that is slow to import.
"""

from __future__ import annotations

import os
import sys

MEMORY_LIMIT = 1536 * 1024 * 1024  # of private data; V8 does not start below 640 MB
CPU_LIMIT = 3600  # seconds, for one that nobody watches any more; a process is replaced long before

NO_LANDLOCK = (
    "This system has no Landlock, so what keeps Python handlers from other files and from the network is a guard "
    "that code can get around (see resources/docs/sandbox.md)."
)

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_SIGKILL = 9

_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_FILE_ONLY = _EXECUTE | 1 << 1 | _READ_FILE | 1 << 14 | 1 << 15
_RIGHTS_OF_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}


def boxed(
    command: list[str],
    readable: list[str],
    writable: list[str],
    *,
    interpreter: list[str],
    is_trusted: bool = False,
) -> list[str]:
    """The command inside the box; ``interpreter`` is the Python command line that runs this file.

    A command that is a Python file is run by that interpreter itself, everything else is executed in its place.
    ``is_trusted``: it may use the network, and as much memory and time as it needs.
    """
    if sys.platform == "win32":
        return [*interpreter, *command] if command[0].endswith(".py") else command
    grants = [f"r{path}" for path in readable] + [f"w{path}" for path in writable]
    kind = "trusted" if is_trusted else "handler"
    return [*interpreter, __file__, str(os.getpid()), kind, *grants, "--", *command]


def landlock_version() -> int:
    """0 where the kernel has no Landlock, or keeps it from us."""
    if sys.platform != "linux":
        return 0
    import ctypes

    return max(0, ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def _die_with(parent: int) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _limit_use() -> None:
    import resource

    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, CPU_LIMIT)]
    if sys.platform == "linux":  # elsewhere it does not count what a process maps
        limits.append((resource.RLIMIT_DATA, MEMORY_LIMIT))
    for kind, limit in limits:
        _, hard = resource.getrlimit(kind)
        allowed = limit if hard == resource.RLIM_INFINITY else min(hard, limit)
        resource.setrlimit(kind, (allowed, allowed))


def _landlock(readable: list[str], writable: list[str], has_network: bool) -> None:
    """Reads only below ``readable``, writes only below ``writable``, no signals to the outside, TCP if allowed."""
    import ctypes
    import struct

    abi = landlock_version()
    if abi < 1:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    size_t = ctypes.c_size_t
    rights = _RIGHTS_OF_ABI[max(known for known in _RIGHTS_OF_ABI if known <= abi)]
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    attributes = struct.pack("QQQ", rights, 3 if abi >= 4 and not has_network else 0, 3 if abi >= 6 else 0)[:size]
    ruleset = libc.syscall(_CREATE_RULESET, attributes, size_t(size), 0)
    if ruleset < 0:
        return
    for paths, wanted in ((readable, _READ), (writable, rights)):
        for path in paths:
            try:
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            granted = wanted & rights if os.path.isdir(path) else wanted & rights & _FILE_ONLY
            libc.syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", granted, handle), 0)
            os.close(handle)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _enter(arguments: list[str]) -> None:
    parent, kind, *rest = arguments
    split = rest.index("--")
    grants, command = rest[:split], rest[split + 1 :]
    is_trusted = kind == "trusted"
    readable = [path[1:] for path in grants if path[0] == "r"]
    writable = [path[1:] for path in grants if path[0] == "w"]
    if sys.platform == "linux" and not is_trusted:  # a trusted one has to end first what it has started
        _die_with(int(parent))
    try:
        if not is_trusted:
            _limit_use()
        _landlock(readable, writable, is_trusted)
    except OSError:
        pass  # a kernel that refuses leaves the process as open as on other systems
    if command[0].endswith(".py"):
        sys.argv = command
        with open(command[0], "rb") as program:
            exec(compile(program.read(), command[0], "exec"), {"__name__": "__main__", "__file__": command[0]})
    else:
        os.execv(command[0], command)


if __name__ == "__main__":
    _enter(sys.argv[1:])
