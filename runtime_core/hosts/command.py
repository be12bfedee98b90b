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


class CommandUnavailable(Exception):  # noqa: N818
    """No command can be started; the message says why."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """``is_cut``: it wrote more than is kept. A command that was ended by a signal has 128 and the signal as code."""

    stdout: str
    stderr: str
    exit_code: int
    is_cut: bool


async def run_command(root: Path, folder: Path, command: str, timeout_s: float) -> CommandResult:
    """Run ``command`` in ``folder``, which is below ``root``. When this is cancelled, the command ends.

    It may read what its user may, and write below ``root`` and in a temporary folder of its own, where the kernel has
    Landlock. Raises `CommandUnavailable`.
    """
    if sys.platform == "win32":
        raise CommandUnavailable("Shell commands are not available on Windows in this version.")
    own = tempfile.mkdtemp(prefix="operator-command-")
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
    pipe = asyncio.subprocess.PIPE
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *line, cwd=folder, env=_environment(own), stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
    )
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _end(await starting)
        raise
    assert process.stdout is not None
    assert process.stderr is not None
    outputs = [asyncio.ensure_future(_read(stream)) for stream in (process.stdout, process.stderr)]
    late = ""
    try:
        async with asyncio.timeout(timeout_s):
            code = await process.wait()
    except TimeoutError:
        code, late = TIMED_OUT, f"The command was ended after {timeout_s:g} s.\n"
    finally:
        await asyncio.shield(_end(process))
    await asyncio.wait(outputs, timeout=_END_S)  # what left its group may hold them open for ever
    for output in outputs:
        output.cancel()
    (stdout, more_out), (stderr, more_err) = [output.result() if output.done() else ("", True) for output in outputs]
    return CommandResult(stdout, stderr + late, code, more_out or more_err)


def _environment(own: str) -> dict[str, str]:
    """No variable of the application but where programs are and what language is spoken."""
    names = ("PATH", "LANG", "LC_ALL", "TZ")
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        **{name: os.environ[name] for name in names if name in os.environ},
        "HOME": own,
        "TMPDIR": own,
    }


async def _read(stream: asyncio.StreamReader) -> tuple[str, bool]:
    """The beginning of an output, and whether there was more."""
    kept = bytearray()
    is_cut = False
    while data := await stream.read(65536):
        is_cut = is_cut or len(kept) + len(data) > OUTPUT_LIMIT
        kept += data[: OUTPUT_LIMIT - len(kept)]
    return kept.decode("utf-8", "replace"), is_cut


async def _end(process: asyncio.subprocess.Process) -> None:
    """End what is left of a command; `programs/shell.py` says how."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(_END_S):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
