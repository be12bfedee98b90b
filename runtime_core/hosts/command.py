"""One shell command of a trusted repository: in a box of its own, with a deadline, never left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runtime_core.hosts.launch import PROGRAMS
from runtime_core.hosts.sandbox import boxed

OUTPUT_LIMIT: Final = 1024 * 1024
"""Bytes of each stream that are kept; a command may write more."""
TIMED_OUT: Final = 124
"""The exit code of a command that was ended at its deadline, as ``timeout`` of coreutils has it."""
_END_S: Final = 2.0
_REST_S: Final = 0.3


class CommandUnavailable(Exception):  # noqa: N818
    """No command can be started; the message says why."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """``is_cut``: it wrote more than is kept. A command that was ended by a signal has 128 and the signal as code."""

    stdout: str
    stderr: str
    exit_code: int
    is_cut: bool


async def run_command(root: Path, folder: Path, command: str, timeout_s: float, homes: Path) -> CommandResult:
    """Run ``command`` in ``folder``, which is below ``root``. When this is cancelled, the command ends.

    It may read what its user may, and write below ``root`` and in a folder of its own in ``homes``, where the kernel
    has Landlock. Raises `CommandUnavailable`.
    """
    if sys.platform == "win32":
        raise CommandUnavailable("Shell commands are not available on Windows in this version.")
    try:
        own = await asyncio.to_thread(_make_home, homes)
    except OSError as error:
        raise CommandUnavailable(f"The command cannot get a folder in {homes}: {error.strerror}.") from error
    try:
        return await _run(str(root), own, folder, command, timeout_s)
    except OSError as error:
        raise CommandUnavailable(f"The command cannot be started in {folder}: {error.strerror}.") from error
    finally:
        await asyncio.to_thread(shutil.rmtree, own, ignore_errors=True)


async def _run(root: str, own: str, folder: Path, command: str, timeout_s: float) -> CommandResult:
    line = boxed(
        [str(PROGRAMS / "shell.py"), command],
        ["/"],
        [root, own, *("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")],
        interpreter=[sys.executable, "-I", "-S"],
        is_trusted=True,
    )
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(_Command, *line, cwd=folder, env=_environment(own), start_new_session=True)
    )
    try:
        transport, process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        transport, process = await starting
        await _end(transport, process)
        transport.close()
        raise
    late = ""
    try:
        async with asyncio.timeout(timeout_s):
            await process.ended.wait()
    except TimeoutError:
        late = f"The command was ended after {timeout_s:g} s.\n"
    finally:
        await asyncio.shield(_end(transport, process))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REST_S):  # what is out of reach may hold the outputs open for ever
                await process.silent.wait()
        transport.close()
    code = transport.get_returncode()
    code = TIMED_OUT if late or code is None else code
    stdout, stderr = (process.kept[stream].decode("utf-8", "replace") for stream in (1, 2))
    return CommandResult(stdout, stderr + late, code, process.is_cut)


class _Command(asyncio.SubprocessProtocol):
    """Takes what a command writes: it has ``ended`` when its process has, whoever still holds its outputs."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.silent = asyncio.Event()
        self.kept = {1: bytearray(), 2: bytearray()}
        self.is_cut = False
        self._open = {1, 2}

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        kept = self.kept[fd]
        self.is_cut = self.is_cut or len(kept) + len(data) > OUTPUT_LIMIT
        kept += data[: OUTPUT_LIMIT - len(kept)]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self.silent.set()

    def process_exited(self) -> None:
        self.ended.set()


def _make_home(homes: Path) -> str:
    homes.mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.mkdtemp(prefix="operator-command-", dir=homes)


def _environment(own: str) -> dict[str, str]:
    """No variable of the application but where programs are and what language is spoken."""
    names = ("PATH", "LANG", "LC_ALL", "TZ")
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        **{name: os.environ[name] for name in names if name in os.environ},
        "HOME": own,
        "TMPDIR": own,
        "PYTHONPYCACHEPREFIX": own,  # none beside the scripts: byte code is no part of what was trusted
    }


async def _end(transport: asyncio.SubprocessTransport, process: _Command) -> None:
    """End what is left of a command; `programs/shell.py` says how."""
    stdin = transport.get_pipe_transport(0)
    if stdin is not None:
        stdin.close()
    try:
        async with asyncio.timeout(_END_S):
            await process.ended.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(transport.get_pid(), signal.SIGKILL)
