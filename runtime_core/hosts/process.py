"""One handler process: starts it, carries messages, notices when it hangs or goes away."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import secrets
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

from runtime_core.hosts.base import Form, HandlerJob, HandlerLoadError, HostUnavailable, Language, LegEvents, NoteKind
from runtime_core.hosts.files import read_repo_file
from runtime_core.hosts.launch import Launch
from runtime_core.hosts.leg import HostLeg
from runtime_core.hosts.protocol import (
    DEFINITION_LIMIT,
    LINE_LIMIT,
    LINES_PER_SECOND,
    PROTO,
    STUCK_S,
    VALUE_LIMIT,
    Framer,
    Message,
    OversizedMessageError,
    encode,
    run_message,
)
from runtime_core.hosts.source import Source
from runtime_core.hosts.usage import RUNS_PER_LOOK, Usage
from runtime_core.wire.json import JsonError, loads

TICK_S: Final = 0.25
TICKS_PER_PING: Final = 4
HUNG_PINGS: Final = 5
PROOF_S: Final = 1.0
START_S: Final = 20.0
DESCRIBE_S: Final = 10.0
STOP_S: Final = 3.0
IDLE_S: Final = 600.0
MAX_LEGS: Final = 200
MAX_SUSPECTS: Final = 8

Lost: TypeAlias = "Callable[[HostProcess, frozenset[str]], None]"
Stray: TypeAlias = Callable[[NoteKind, Any], None]
"""Told of what a process says while nobody knows for which run."""

log = logging.getLogger("runtime_core.hosts")


class _Gone(Exception):  # noqa: N818
    """The process went away before it could say what a file defines."""


class HostProcess(asyncio.SubprocessProtocol):
    """A running process. ``stray`` takes what belongs to no run.

    ``lost`` is called once when it is gone, with the entries that may have caused it.
    """

    def __init__(self, source: Source, language: Language, lost: Lost, stray: Stray) -> None:
        self._source = source
        self.language = language
        self._lost = lost
        self._stray = stray
        self._loop = asyncio.get_running_loop()
        self._nonce = secrets.token_hex(8)
        self._framer = Framer(self._nonce)
        self._ready: asyncio.Future[Message] = self._loop.create_future()
        self._gone = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._stderr = ""
        self._hung = frozenset[int]()
        self._is_blocked = False
        self._is_closing = False
        self._numbers = itertools.count(1)
        self._legs: dict[int, HostLeg] = {}
        self._leg_ended = asyncio.Event()
        self._described: dict[int, asyncio.Future[Message]] = {}
        self._outbox: list[bytes] = []
        self._sent = 0
        self._turn: int | None = None
        self._unhandled: deque[tuple[int, int, str]] = deque()
        self._usage = Usage()
        self._loading = set[str]()
        self._pings = 0
        self._missed = 0
        self._ticks = 0
        self._awake = asyncio.Event()
        self._awake.set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_retired = False

    @classmethod
    async def launch(
        cls,
        source: Source,
        language: Language,
        launch: Launch,
        lost: Lost,
        stray: Stray,
    ) -> HostProcess:
        """Raises `HostUnavailable` if the process does not come up."""
        loop = asyncio.get_running_loop()
        self = cls(source, language, lost, stray)
        options: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
        try:
            await loop.subprocess_exec(lambda: self, *launch.command, env=launch.env, cwd=launch.folder, **options)
        except OSError as error:
            raise HostUnavailable(f"{launch.command[0]} cannot be started: {error}") from error
        limits: dict[str, object] = {
            "value": VALUE_LIMIT,
            "line": LINE_LIMIT,
            "lines": LINES_PER_SECOND,
            "stuck": STUCK_S,
        }
        hello: dict[str, object] = {"t": "init", "proto": PROTO, "nonce": self._nonce, "limits": limits}
        packages = None if source.packages is None else str(source.packages)
        files = {
            "root": str(source.root),
            "code": source.to_wire(),
            "packages": packages,
            "readable": launch.readable,
        }
        self._send(hello | files)
        try:
            async with asyncio.timeout(START_S):
                await self._ready
        except TimeoutError:
            await self.close()
            raise HostUnavailable(f"The process for {language} handlers did not start within {START_S:g} s.") from None
        except BaseException:
            await self.close()
            raise
        self._rest()
        return self

    @property
    def pid(self) -> int:
        assert self._transport is not None
        return self._transport.get_pid()

    @property
    def takes_more(self) -> bool:
        """False once it is gone, going, full, or so used up that a fresh one is better."""
        is_over = self._gone.is_set() or self._is_retired
        return not (is_over or self._usage.is_tired or len(self._legs) >= MAX_LEGS)

    async def is_awake(self) -> bool:
        """Whether it has answered its last ping, for which it gets a moment: a blocked process begins no leg."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PROOF_S):
                await self._awake.wait()
        return self._awake.is_set()

    def start(self, job: HandlerJob, events: LegEvents) -> HostLeg:
        number = next(self._numbers)
        leg = HostLeg(number, job, events, self._loop.time, self._send, self._on_leg_ended)
        self._legs[number] = leg
        self._usage.runs += 1
        self._send(run_message(number, job))
        self._watch()
        if self._usage.runs % RUNS_PER_LOOK == 0:
            self._ping()
        if self._gone.is_set():
            self._loop.call_soon(self._fail_legs)
        return leg

    async def describe(self, entry: str, form: Form, config: Mapping[str, Any] | None) -> Mapping[str, Any]:
        number = next(self._numbers)
        self._described[number] = answer = self._loop.create_future()
        self._send({"t": "describe", "id": number, "entry": entry, "form": form, "config": config})
        self._watch()
        try:
            async with asyncio.timeout(DESCRIBE_S):
                message = await answer
        except TimeoutError:
            raise HandlerLoadError(f"{entry} cannot be loaded: it was not read within {DESCRIBE_S:g} s") from None
        except _Gone as gone:
            if entry not in self._loading:  # somebody else has brought it down
                raise HostUnavailable(f"The process that was to read {entry} {gone}.") from None
            reason = f"it blocked its process for {HUNG_PINGS} s" if self._is_blocked else f"its process {gone}"
            raise HandlerLoadError(f"{entry} cannot be loaded: {reason}") from None
        finally:
            self._described.pop(number, None)
            self._rest()
        if not message["ok"]:
            raise HandlerLoadError(message["error"]["message"])
        return {"value": _definition(entry, message["value"]), **{key: message[key] for key in ("exports", "problem")}}

    def retire(self) -> None:
        """Take nothing more; end when the last leg has ended."""
        self._is_retired = True
        self._rest()

    async def cleaned_up(self) -> None:
        """Wait until no handler cleans up any more, a few seconds at most."""
        while any(leg.is_aborted for leg in self._legs.values()):
            self._leg_ended.clear()
            await self._leg_ended.wait()

    async def close(self) -> None:
        """End the process now; legs fail as lost."""
        self._is_retired = self._is_closing = True
        self.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await self._gone.wait()

    # ---- the process -----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        if fd == 2:
            text = data.decode("utf-8", "replace")
            self._stderr = (self._stderr + text)[-20_000:]
            self._on_output("stderr", text)
            return
        try:
            for message in self._framer.feed(data):
                if isinstance(message, str):
                    self._on_output("stdout", message)
                else:
                    self._on_message(message)
        except OversizedMessageError:
            self._stderr = "it wrote a message above the limit"
            self._framer = Framer(self._nonce)
            self.kill()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1 and not self._gone.is_set():
            if rest := self._framer.rest():
                self._on_output("stdout", rest)
            self._timer_off()
            self._timer = self._loop.call_later(1, self.kill)  # a process that closed its output is of no use

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_gone()

    def process_exited(self) -> None:
        # A child of the process may hold the pipes open for ever.
        self._loop.call_later(1, self._on_gone)

    def _on_gone(self) -> None:
        if self._gone.is_set():
            return
        self._gone.set()
        self._awake.set()
        self._timer_off()
        if self._transport is not None:
            self._transport.close()
        end = self._how_it_ended()
        if not self._ready.done():
            self._ready.set_exception(HostUnavailable(f"The process for {self.language} handlers {end}."))
            self._ready.exception()
        for answer in self._described.values():
            if not answer.done():
                answer.set_exception(_Gone(end))
        suspects = self._hung or (self._suspects() if self._legs and not self._is_closing else frozenset[int]())
        is_known = bool(self._hung) or len(suspects) <= MAX_SUSPECTS
        self._lost(self, frozenset(self._entry(number) for number in suspects) if is_known else frozenset[str]())
        self._fail_legs("host-hung" if self._hung else "out-of-memory" if self._is_out_of_memory() else "", suspects)

    def _fail_legs(self, code: str = "", suspects: frozenset[int] = frozenset()) -> None:
        """A single suspect is the culprit; with several nobody is blamed before each has run alone."""
        end = self._how_it_ended()
        if self._hung and (names := sorted({self._entry(number) for number in suspects} - {""})):
            end = f"was ended because it was blocked for {HUNG_PINGS} s by {' or '.join(names)}"
        # The process says that it has handled a message while it is at the next one.
        reached = {number for _, number, _ in itertools.islice(self._unhandled, 2)}
        for number, leg in list(self._legs.items()):
            if code == "host-hung" and suspects == frozenset({number}):
                is_loading = leg.job.entry in self._loading
                when = " while it was being loaded" if is_loading else ""
                message = f"{leg.job.entry} blocked its process for {HUNG_PINGS} s{when}, which was ended then."
                leg.fail(code, message, has_begun=not is_loading)
            elif code and suspects == frozenset({number}):
                leg.fail(code, f"{leg.job.entry} used more memory than a handler may; its process ended.")
            else:
                is_reached = number in reached or not leg.is_untouched
                has_begun = is_reached and leg.job.entry not in self._loading
                leg.fail("host-lost", f"The process of {leg.job.entry} {end.rstrip('.')}.", has_begun=has_begun)

    def _how_it_ended(self) -> str:
        code = self._transport.get_returncode() if self._transport is not None else None
        how = "was ended" if code is None else f"ended by signal {-code}" if code < 0 else f"ended with code {code}"
        last = self._stderr.strip().splitlines()[-3:]
        return f"{how}: {' '.join(last)}" if last and code not in {None, -signal.SIGTERM} else how

    def _is_out_of_memory(self) -> bool:
        return self._usage.is_excessive or "out of memory" in self._stderr[-4000:].lower()

    def kill(self) -> None:
        """End the process now."""
        if self._transport is None or self._gone.is_set():
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._transport.kill()
            elif self._transport.get_returncode() is None:
                os.killpg(self._transport.get_pid(), signal.SIGKILL)

    # ---- messages --------------------------------------------------------------------------------------

    def _send(self, message: dict[str, object]) -> None:
        """Everything decided in one turn of the loop leaves in one write."""
        self._sent += 1 if message["t"] not in {"init", "ping"} else 0
        number = message.get("run")
        if isinstance(number, int):
            leg = self._legs.get(number)
            self._unhandled.append((self._sent, number, leg.job.entry if leg else ""))
        if not self._outbox:
            self._loop.call_soon(self._flush)
        self._outbox.append(encode(message))

    def _flush(self) -> None:
        data = b"".join(self._outbox)
        self._outbox.clear()
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(data)

    def _on_message(self, message: Message) -> None:
        match message["t"]:
            case "ack":
                while self._unhandled and self._unhandled[0][0] <= message["n"]:
                    if leg := self._legs.get(self._unhandled.popleft()[1]):
                        leg.handled()
            case "turn":
                self._turn = message["run"]
            case "pong":
                self._on_pong(message)
            case "loading":
                (self._loading.add if message["on"] else self._loading.discard)(message["entry"])
            case "ready":
                if not self._ready.done():
                    self._ready.set_result(message)
            case "described":
                answer = self._described.get(message["id"])
                if answer is not None and not answer.done():
                    answer.set_result(message)
            case _:
                self._on_leg_message(message)

    def _on_pong(self, message: Message) -> None:
        self._missed = 0
        self._usage.memory = message["memory"]
        self._usage.frozen = message["frozen"]
        self._usage.cpu_s = message["cpu"]
        if self._usage.is_excessive:
            self.kill()
        if message["n"] == self._pings:
            self._awake.set()
            self._rest()

    def _on_leg_message(self, message: Message) -> None:
        leg = self._legs.get(message["run"]) if "run" in message else None
        if leg is None:
            if message["t"] == "note":
                value = loads(message["value"])
                self._on_stray_note(message["kind"], value)
            return
        try:
            self._tell(leg, message)
        except Exception as error:  # noqa: BLE001 (a fault of one leg must not take the messages of the others)
            text = f"the runtime could not handle {message['t']!r} of {leg.job.entry}"
            self._loop.call_exception_handler({"message": text, "exception": error})

    def _tell(self, leg: HostLeg, message: Message) -> None:
        leg.touch()
        match message["t"]:
            case "call":
                leg.on_call(message)
            case "waits":
                leg.on_waits(message["n"])
            case "note":
                leg.on_note(message)
            case "done":
                leg.on_done(message)
            case "diverged":
                leg.on_diverged(message)
            case "replayed":
                leg.on_replayed()
            case "cleared":
                leg.on_cleared(message["seq"])
            case "read":
                leg.on_file(message["id"], *read_repo_file(self._source, message["path"]))
            case other:
                log.warning("unknown message %r of a handler process", other)

    def _on_output(self, level: str, text: str) -> None:
        if text.strip():
            self._on_stray_note("console", {"level": level, "text": text[:LINE_LIMIT]})

    def _on_stray_note(self, kind: Any, value: Any) -> None:
        """Output that names no run belongs to the only one there is, else to nobody."""
        if len(self._legs) == 1:
            next(iter(self._legs.values())).on_stray(kind, value)
        else:
            self._stray(kind, value)

    # ---- watching --------------------------------------------------------------------------------------

    def _on_leg_ended(self, leg: HostLeg) -> None:
        self._legs.pop(leg.number, None)
        self._leg_ended.set()
        self._rest()

    def _timer_off(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rest(self) -> None:
        """With nothing to do: end, at once if retired, else after a while."""
        if self._is_watched or self._gone.is_set():
            return
        self._timer_off()
        self._timer = self._loop.call_later(0 if self._is_retired else IDLE_S, self._stop)

    def _stop(self) -> None:
        self._is_retired = True
        self._send({"t": "stop"})
        self._timer = self._loop.call_later(STOP_S, self.kill)

    def _watch(self) -> None:
        if len(self._legs) + len(self._described) == 1:
            self._timer_off()
            self._missed = 0
            self._timer = self._loop.call_later(TICK_S, self._tick)

    @property
    def _is_watched(self) -> bool:
        """Also without a leg, as long as it owes an answer: a leg that was given up may still block it."""
        return bool(self._legs or self._described) or not self._awake.is_set()

    def _ping(self) -> None:
        self._pings += 1
        self._awake.clear()
        self._send({"t": "ping", "n": self._pings})

    def _tick(self) -> None:
        """Counts unanswered pings rather than time: a runtime that was held up itself blames nobody."""
        self._ticks += 1
        if self._ticks % TICKS_PER_PING == 0:
            if self._missed >= HUNG_PINGS:
                self._hung = self._suspects()
                self._is_blocked = True
                self.kill()
                return
            self._missed += 1
            self._ping()
        if self._missed <= 1:
            late = [leg for leg in list(self._legs.values()) if leg.check(self._loading)]
            if late:
                self._ping()
        if self._is_watched:
            self._timer_off()
            self._timer = self._loop.call_later(TICK_S, self._tick)

    def _suspects(self) -> frozenset[int]:
        """Who may block the process: a run that was about to go on, else the one whose message is being handled.

        One message is handled per turn, so that is the first one that was not acknowledged. Runs that are busy
        without a message may be it as well; if nobody is, everybody is.
        """
        if self._turn is not None:
            return frozenset({self._turn})
        found = {number for number, leg in self._legs.items() if leg.is_busy}
        if self._unhandled:
            found.add(self._unhandled[0][1])
        return frozenset(found or self._legs)

    def _entry(self, number: int) -> str:
        leg = self._legs.get(number)
        if leg is not None:
            return leg.job.entry
        return next((entry for _, run, entry in self._unhandled if run == number), "")


def _definition(entry: str, text: str) -> Any:
    if len(text) > DEFINITION_LIMIT:
        raise HandlerLoadError(f"{entry} cannot be loaded: it defines more than {DEFINITION_LIMIT:,} characters")
    try:
        return loads(text)
    except JsonError as error:
        raise HandlerLoadError(f"{entry} cannot be loaded: {error.reason}") from None
