"""The program around one shell command: it ends the command, and all it has started, when its input ends.

The other end of that input is with whoever wants the result; it closes when they give up, and when they die.
On Linux that includes what has left the group of the command: what loses its parent becomes a child of this program.
"""

import os
import signal
import sys
import threading

_PR_SET_CHILD_SUBREAPER = 36


def main(command: str) -> int:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execv("/bin/sh", ["/bin/sh", "-c", command])
    threading.Thread(target=_end_with_input, args=(child,), daemon=True).start()
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # its number stays taken until its group has ended
    _end_group(child)
    _, status = os.waitpid(child, 0)
    if sys.platform == "linux":
        _end_orphans()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _end_with_input(child: int) -> None:
    while os.read(0, 1):
        pass
    _end_group(child)


def _end_group(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # it has no group of its own yet, or nothing of it is left
        os.kill(child, signal.SIGKILL)


def _end_orphans() -> None:
    while orphans := [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _parent(pid) == os.getpid()]:
        for pid in orphans:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


if __name__ == "__main__":
    os._exit(main(sys.argv[1]))
