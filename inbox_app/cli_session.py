"""How a command reaches the runtime, and how it ends: exit codes and error lines (design.md 5)."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from inbox_app.desktop.paths import config_file
from inbox_app.gateway.base import GatewayError

if TYPE_CHECKING:
    from inbox_app.gateway.embedded import EmbeddedGateway
    from runtime_core.runtime import Runtime
    from runtime_core.wire.settings import Settings

T = TypeVar("T")

_log = logging.getLogger(__name__)

DONE: Final = 0
REFUSED: Final = 1
USAGE: Final = 2
PARKED: Final = 3
INTERRUPTED: Final = 130

_CALL_GRACE_S: Final = 60.0
"""A command that found others' runs to go on with waits for the call they are in: cut off, nobody knew its outcome."""
_INTERRUPTED_GRACE_S: Final = 1.0
_LOG_LIMIT: Final = 1_000_000
_EXIT_OF_OUTCOME: Final = {"complete": DONE, "awaiting-input": PARKED, "sleeping": PARKED, "needs-attention": PARKED}


@dataclass(frozen=True, slots=True)
class Options:
    """What every command that reaches a runtime was told."""

    data: Path
    as_json: bool
    identity: str | None = None
    model: str | None = None
    replay_twice: bool = False


def exit_of(kind: str) -> int:
    """The exit code of an outcome: 0 complete, 3 parked, 1 anything else."""
    return _EXIT_OF_OUTCOME.get(kind, REFUSED)


def with_gateway(
    options: Options,
    work: Callable[[EmbeddedGateway], Awaitable[int]],
    *,
    execute: bool | None = None,
    keeps_schedules: bool = False,
) -> int:
    """Do one command's work on the data folder, after everything a dead process left behind has been settled.

    ``execute`` False: nothing is settled, no run is touched. ``keeps_schedules``: what is due meanwhile is started.
    """
    log_to(options.data)
    return _run(_with_gateway(options, work, execute, keeps_schedules))


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Do it until it ends or Ctrl+C or SIGTERM comes, which ends it as a `KeyboardInterrupt` does.

    A job that a script starts in the background ignores Ctrl+C, and goes on doing so; SIGTERM ends it all the same.
    """
    is_deaf = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    if is_deaf:  # asyncio hears it only where nobody has changed what Python does about it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return asyncio.run(_heard(work, is_deaf=is_deaf))


async def _heard(work: Coroutine[Any, Any, T], *, is_deaf: bool) -> T:
    with _signals_wake(), _terminated_as_interrupted(is_deaf=is_deaf):
        return await work


@contextmanager
def _terminated_as_interrupted(*, is_deaf: bool) -> Generator[None]:
    """Let SIGTERM end a command as Ctrl+C does, which takes back what it asks and lets go of its runs.

    ``is_deaf``: Ctrl+C itself is to do nothing.
    """
    before = signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    if is_deaf:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _signals_wake() -> Generator[None]:
    """Let every signal end the wait of the loop, also one that comes just before it or to another thread."""
    if sys.platform == "win32":
        yield
        return
    loop = asyncio.get_running_loop()
    heard, told = socket.socketpair()
    with heard, told:
        heard.setblocking(False)
        told.setblocking(False)
        loop.add_reader(heard, heard.recv, 64)
        before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(heard)


def with_runtime(options: Options, work: Callable[[Runtime], Awaitable[T]]) -> T:
    """Do work beside the runs of the data folder, of which none is touched. Raises `GatewayError`."""
    log_to(options.data)
    return _run(_with_runtime(options, work))


async def _with_runtime(options: Options, work: Callable[[Runtime], Awaitable[T]]) -> T:
    from inbox_app.desktop.secrets import Keychain
    from inbox_app.gateway.embedded import bundle_error
    from runtime_core.repo.bundle import BundleError
    from runtime_core.runtime import Runtime
    from runtime_core.wire.codes import RuntimeFault

    chosen = settings(as_json=options.as_json)
    runtime = Runtime(options.data, execute=False, settings=chosen, secrets=Keychain())
    try:
        await runtime.open()
        try:
            return await work(runtime)
        finally:
            await runtime.close()
    except RuntimeFault as fault:
        raise GatewayError(fault.code, fault.message, fault.details) from fault
    except BundleError as error:
        raise bundle_error([error]) from error


async def _with_gateway(
    options: Options,
    work: Callable[[EmbeddedGateway], Awaitable[int]],
    execute: bool | None,
    keeps_schedules: bool,
) -> int:
    from inbox_app.desktop.secrets import Keychain
    from inbox_app.gateway.embedded import EmbeddedGateway

    chosen = settings(as_json=options.as_json)
    gateway = EmbeddedGateway(
        options.data,
        execute=execute,
        model=options.model,
        identity=options.identity,
        wait_s=None,
        settings=replace(chosen, replay_twice=chosen.replay_twice or options.replay_twice),
        secrets=Keychain(),
        keeps_schedules=keeps_schedules,
    )
    await gateway.open()
    grace_s = _INTERRUPTED_GRACE_S
    try:
        await gateway.recovered()
        code = await work(gateway)
        grace_s = _CALL_GRACE_S
        return code
    finally:
        await gateway.close(grace_s=grace_s)


def settings(*, as_json: bool = False) -> Settings:
    """What the person's ``config.toml`` says; what it says in vain is told on the error stream and in the log."""
    from runtime_core.config import load

    file, is_named = config_file()
    config = load(file, must_exist=is_named)
    for warning in config.warnings:
        _log.warning("%s", warning)
        warn(warning, as_json=as_json)
    return config.settings


def settings_warnings() -> Sequence[str]:
    """What the person's ``config.toml`` says in vain."""
    from runtime_core.config import load

    file, is_named = config_file()
    return load(file, must_exist=is_named).warnings


def log_to(data: Path) -> None:
    """Send what goes wrong inside to ``DATA/logs/commands.log``: the terminal gets one line."""
    logging.raiseExceptions = False
    target = data / "logs" / "commands.log"
    with suppress(OSError):
        if data.is_dir():
            target.parent.mkdir(mode=0o700, exist_ok=True)
            mode = "w" if target.exists() and target.stat().st_size > _LOG_LIMIT else "a"
            handler = logging.FileHandler(target, mode, encoding="utf-8", delay=True)
            handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
            logging.getLogger().addHandler(handler)


def say(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def say_json(value: Any) -> None:
    from runtime_core.wire.json import dumps

    click.echo(dumps(value))


def report(error: GatewayError, *, as_json: bool) -> None:
    """One line on the error stream, or the contract's envelope (decision 4)."""
    if as_json:
        _to_errors(_envelope(error))
    else:
        complain(error.message or error.code)


def warn(message: str, *, as_json: bool) -> None:
    """One line on the error stream: ``{"warning": …}`` for programs."""
    from runtime_core.wire.json import dumps

    if as_json:
        _to_errors(dumps({"warning": message}))
    else:
        complain(f"warning: {message}")


def forget_typed() -> None:
    """Drop what was typed on the terminal and not read yet: it answers no question that is asked now."""
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        import termios

        with suppress(termios.error):
            termios.tcflush(0, termios.TCIFLUSH)


def complain(message: str) -> None:
    """One line on the error stream, with nothing in it that could act on a terminal."""
    from inbox_app.cli_text import visible

    _to_errors(f"operator-inbox: {visible(message)}")


def _to_errors(line: str) -> None:
    with suppress(OSError):  # there is nobody left to tell
        click.echo(line, err=True)


def output_lost(error: OSError, hint: str = "") -> GatewayError:
    return GatewayError("INTERNAL_ERROR", f"The output cannot be written: {error.strerror}.{hint}")


def hold_standard_streams() -> None:
    """Keep a closed standard stream's number from being given to a file of ours, which others would write into."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number


def can_write() -> bool:
    """Whether there is a standard output at all; Python has None for one that was closed."""
    return sys.stdout is not None  # pyright: ignore[reportUnnecessaryComparison]


def is_output(target: Path) -> bool:
    """Whether a file that was named is the standard output."""
    return str(target) in ("-", "/dev/stdout")


def drop_unwritten() -> None:
    """Let go of output that cannot be written, which Python would complain about once more when it ends."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # pyright: ignore[reportUnnecessaryComparison]
            continue
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _envelope(error: GatewayError) -> str:
    from runtime_core.wire.json import dumps

    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details:
        body["details"] = error.details
    return dumps({"error": body})


def has_display() -> bool:
    """Whether a window can be seen by somebody."""
    platform = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0]
    if platform:
        return platform not in {"offscreen", "minimal"}
    if sys.platform != "linux":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def command_line(*arguments: str) -> str:
    """A command of this program as it can be typed into a shell here."""
    beside = Path(sys.executable).parent
    program = shutil.which("operator-inbox", path=str(beside))
    if program is not None and shutil.which("operator-inbox") == program:
        words = ["operator-inbox"]
    else:
        words = [program] if program is not None else [sys.executable, "-m", "inbox_app"]
    return shell([*words, *arguments])


def shell(words: Sequence[str]) -> str:
    """Words as they are typed into a shell here, quoted only where they have to be."""
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
