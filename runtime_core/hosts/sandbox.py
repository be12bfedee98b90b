"""The box around a handler process: bounded processor time, on Linux bounded memory, death with its parent, Landlock,
and a filter of system calls.

The parent puts `boxed` in front of a command; the child runs this very file, which closes the box around itself and
becomes the command. On Windows, and where the kernel has no Landlock, the command runs with what there is. The file
is a program of its own: standard library only, and nothing that is slow to import.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # that of `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Sequence

MEMORY_LIMIT = 1536 * 1024 * 1024  # of private data; V8 does not start below 640 MB
CPU_LIMIT = 3600  # seconds, for one that nobody watches any more; a process is replaced long before

NO_LANDLOCK = (
    "This system has no Landlock, so what keeps Python handlers from other files and from the network is a guard "
    "that code can get around (see resources/docs/sandbox.md)."
)
NO_FILTER = (
    "This system does not filter system calls (seccomp), so C code in handlers can use what Landlock does not cover: "
    "limits and priorities of your other programs, modes and times of your files (see resources/docs/sandbox.md)."
)

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_SIGKILL = 9
_PR_GET_SECCOMP, _PR_SET_SECCOMP = 21, 22

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
    listable: Sequence[str] = (),
    is_trusted: bool = False,
) -> list[str]:
    """The command inside the box; ``interpreter`` is the Python command line that runs this file.

    A command that is a Python file is run by that interpreter itself, everything else is executed in its place.
    ``listable``: folders of which only names may be read. ``is_trusted``: it may use the network, and
    as much memory and time as it needs.
    """
    if sys.platform == "win32":
        return [*interpreter, *command] if command[0].endswith(".py") else command
    paths = {"r": readable, "l": listable, "w": writable}
    grants = [f"{kind}{path}" for kind, some in paths.items() for path in some]
    kind = "trusted" if is_trusted else "handler"
    return [*interpreter, __file__, str(os.getpid()), kind, *grants, "--", *command]


def landlock_version() -> int:
    """0 where the kernel has no Landlock, or keeps it from us."""
    if sys.platform != "linux":
        return 0
    import ctypes

    return max(0, ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def filters_calls() -> bool:
    """Whether the kernel filters system calls, and their numbers are known for this machine."""
    if sys.platform != "linux" or os.uname().machine not in _MACHINES or sys.maxsize < 1 << 32:
        return False
    import ctypes

    return ctypes.CDLL(None).prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0


def missing_borders() -> list[str]:
    """What a Linux kernel lacks, in words. Elsewhere nothing: there is none to miss."""
    if sys.platform != "linux":
        return []
    return [
        text for text, is_there in ((NO_LANDLOCK, landlock_version() > 0), (NO_FILTER, filters_calls())) if not is_there
    ]


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


def _landlock(grants: list[str], has_network: bool) -> None:
    """Reads and writes only what is granted, no signals to the outside, TCP if allowed."""
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
    for kind, path in ((grant[0], grant[1:]) for grant in grants):
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        granted = {"r": _READ, "l": _READ_DIR, "w": rights}[kind] & rights
        granted &= rights if os.path.isdir(path) else _FILE_ONLY
        libc.syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", granted, handle), 0)
        os.close(handle)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
# What no handler needs. After each name its numbers on x86_64 and aarch64, 0 where there is none.
_OF_FILES = """
chmod 90 0  fchmod 91 52  fchmodat 268 53  fchmodat2 452 452  chown 92 0  fchown 93 55  lchown 94 0  fchownat 260 54
utime 132 0  utimes 235 0  futimesat 261 0  utimensat 280 88  setxattr 188 5  lsetxattr 189 6  fsetxattr 190 7
setxattrat 463 463  removexattr 197 14  lremovexattr 198 15  fremovexattr 199 16  removexattrat 466 466
file_setattr 469 469  mknod 133 0  mknodat 259 33  open_by_handle_at 304 265
"""
_OF_OTHERS = """
ptrace 101 117  process_vm_readv 310 270  process_vm_writev 311 271  kcmp 312 272  process_madvise 440 440
process_mrelease 448 448  tkill 200 130  ioprio_set 251 30  pidfd_open 434 434  pidfd_getfd 438 438
pidfd_send_signal 424 424  migrate_pages 256 238  move_pages 279 239  fork 57 0  vfork 58 0  shmget 29 194
shmat 30 196  shmctl 31 195  semget 64 190  semop 65 193  semctl 66 191  semtimedop 220 192  msgget 68 186
msgsnd 69 189  msgrcv 70 188  msgctl 71 187  mq_open 240 180  mq_unlink 241 181  socket 41 198  add_key 248 217
request_key 249 218  keyctl 250 219
"""
_OF_THE_MACHINE = """
sethostname 170 161  setdomainname 171 162  settimeofday 164 170  adjtimex 159 171  clock_settime 227 112
clock_adjtime 305 266  chroot 161 51  pivot_root 155 41  mount 165 40  umount2 166 39  open_tree 428 428
move_mount 429 429  fsopen 430 430  fsconfig 431 431  fsmount 432 432  fspick 433 433  mount_setattr 442 442
open_tree_attr 467 467  unshare 272 97  setns 308 268  bpf 321 280  perf_event_open 298 241  userfaultfd 323 282
fanotify_init 300 262  kexec_load 246 104  kexec_file_load 320 294  init_module 175 105  finit_module 313 273
delete_module 176 106  reboot 169 142  swapon 167 224  swapoff 168 225  acct 163 89  quotactl 179 60
quotactl_fd 443 443  syslog 103 116  vhangup 153 58  iopl 172 0  ioperm 173 0
"""
_UNSEEN = """
io_uring_setup 425 425  io_uring_enter 426 426  io_uring_register 427 427
"""
_START = "execve 59 221  execveat 322 281"
# Their first argument is a process: 0 for the one that calls, or its number.
_CALLER_ONLY = """
prlimit64 302 261  sched_setaffinity 203 122  sched_setscheduler 144 119  sched_setparam 142 118
sched_setattr 314 274
"""
_ITSELF_ONLY = """
kill 62 129  tgkill 234 131  rt_sigqueueinfo 129 138  rt_tgsigqueueinfo 297 240
"""
_SET_PRIORITY, _CLONE, _CLONE3 = (141, 140), (56, 220), (435, 435)
_CLONE_THREAD = 0x10000
_X32 = 0x40000000
_LOAD, _EQUAL, _NOT_BELOW, _HAS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _EPERM, _ENOSYS = 0x7FFF0000, 0x50001, 0x50026


def _filter(may_start: bool) -> bytes:
    """The instructions of the filter: the calls above fail with EPERM, every other one is made."""
    import struct

    index, architecture = _MACHINES[os.uname().machine]
    own = os.getpid()

    def line(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
        return struct.pack("HBBI", code, then, otherwise, value)

    def numbers(table: str) -> list[int]:
        return [int(number) for number in table.split()[1 + index :: 3]]

    def when(number: int, *rest: bytes) -> bytes:
        return line(_EQUAL, number, 0, len(rest)) + b"".join(rest) if number else b""

    def only(number: int, *arguments: tuple[int, int, int]) -> bytes:
        """Allowed if each of (position, comparison, value) holds."""
        checks = [
            step
            for position, comparison, value in arguments
            for step in (line(_LOAD, 16 + 8 * position), line(comparison, value, 1, 0), line(_RETURN, _EPERM))
        ]
        return when(number, *checks, line(_RETURN, _ALLOW))

    refused = _OF_FILES + _OF_OTHERS + _OF_THE_MACHINE + _UNSEEN + ("" if may_start else _START)
    return b"".join(
        [
            line(_LOAD, 4) + line(_EQUAL, architecture, 1, 0) + line(_RETURN, _EPERM) + line(_LOAD, 0),
            line(_NOT_BELOW, _X32, 0, 1) + line(_RETURN, _EPERM),
            *(when(number, line(_RETURN, _EPERM)) for number in numbers(refused)),
            when(_CLONE3[index], line(_RETURN, _ENOSYS)),  # the C library takes the older one then
            only(_CLONE[index], (0, _HAS, _CLONE_THREAD)),
            *(only(number, (0, _EQUAL, 0)) for number in numbers(_CALLER_ONLY)),
            *(only(number, (0, _EQUAL, own)) for number in numbers(_ITSELF_ONLY)),
            only(_SET_PRIORITY[index], (0, _EQUAL, 0), (1, _EQUAL, 0)),
            line(_RETURN, _ALLOW),
        ]
    )


def _filter_calls(may_start: bool) -> None:
    """No process but threads of this one, no call that reaches others or the machine; ``may_start``: one execve."""
    if not filters_calls():
        return
    import ctypes
    import struct

    instructions = _filter(may_start)
    kept = ctypes.create_string_buffer(instructions, len(instructions))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(instructions) // 8, ctypes.addressof(kept)))
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(_PR_SET_SECCOMP, 2, program, 0, 0)


def _enter(arguments: list[str]) -> None:
    parent, kind, *rest = arguments
    split = rest.index("--")
    grants, command = rest[:split], rest[split + 1 :]
    is_trusted = kind == "trusted"
    is_python = command[0].endswith(".py")
    if sys.platform == "linux" and not is_trusted:  # a trusted one has to end first what it has started
        _die_with(int(parent))
    try:
        if not is_trusted:
            _limit_use()
        _landlock(grants, is_trusted)
        if not is_trusted:
            _filter_calls(may_start=not is_python)
    except OSError:
        pass  # a kernel that refuses leaves the process as open as on other systems
    if is_python:
        sys.argv = command
        with open(command[0], "rb") as program:
            exec(compile(program.read(), command[0], "exec"), {"__name__": "__main__", "__file__": command[0]})
    else:
        os.execv(command[0], command)


if __name__ == "__main__":
    _enter(sys.argv[1:])
