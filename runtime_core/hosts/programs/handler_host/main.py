"""The message loop of the process: one message per turn, so that the first one without an ack names who blocks."""

from __future__ import annotations

import asyncio
import builtins
import contextvars
import inspect
import io
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn, cast

from .context import Surface, hook_context, make_context
from .guard import install
from .loading import Handler, Loader, LoadError, definition, unusable
from .output import Console, Output
from .run import Message, Port, Run, enter
from .timers import replace_timers
from .turns import Turns, current_run
from .values import CompositeCallError, HandlerExit, TooLarge, Writer, error_out, loads, to_json

PROTO = 1
STATM = "/proc/self/statm"
_end_process = os._exit
_cpu_s = time.process_time


class Host:
    def __init__(self, init: Message, loop: asyncio.AbstractEventLoop, output: Output) -> None:
        limits = init["limits"]
        self._loop = loop
        self._output = output
        self._send = output.send
        self._runs: dict[int, Run] = {}
        self._frozen: list[Run] = []  # a pause leaves frames behind that must never go on
        self._loader = Loader(init["root"], init["code"], self._say_loading)
        self._inbox: deque[Message] = deque()
        self._draining: asyncio.Task[None] | None = None
        self._handled = 0
        self._turns = Turns(loop)
        self._port = Port(
            loop=loop,
            turns=self._turns,
            send=output.send,
            flush=output.flush,
            forget=self._forget,
            real_call_later=loop.call_later,
            value_limit=limits["value"],
            line_limit=limits["line"],
            stuck_s=limits["stuck"],
        )

    def receive(self, text: str) -> None:
        message = loads(text)
        if message["t"] == "ping":
            used = {"memory": _memory(), "frozen": len(self._frozen), "cpu": _cpu_s()}
            self._send({"t": "pong", "n": message["n"], **used})
            return
        self._inbox.append(message)
        if self._draining is None or self._draining.done():
            self._draining = self._loop.create_task(self._drain(), context=contextvars.Context())

    async def _drain(self) -> None:
        while self._inbox:
            message = self._inbox.popleft()
            run = self._handle(message, self._runs.get(message.get("run", 0)))
            if run is not None:
                run.handled += 1
                run.is_restless = True
            if message["t"] != "result":
                await self._turns.over()
            if run is not None and message["t"] in {"result", "file"}:
                await run.pump(is_quiet=True)
            self._handled += 1
            if run is not None:
                run.settle()
            self._send({"t": "ack", "n": self._handled})

    def _handle(self, message: Message, run: Run | None) -> Run | None:
        match message["t"]:
            case "run":
                return self._start(message)
            case "result" if run is not None:
                run.result(message)
            case "file" if run is not None:
                run.file(message)
            case "go" if run is not None:
                run.go()
            case "abort" if run is not None:
                run.abort(message["reason"])
            case "drop" if run is not None:
                run.end()
            case "describe":
                self._describe(message)
            case "stop" if not self._runs:
                _end_process(0)
            case _:
                pass
        return run

    def _start(self, message: Message) -> Run:
        run = self._runs[message["run"]] = Run(message, self._port)
        run.task = self._loop.create_task(self._perform(run, message), context=enter(run))
        return run

    def _forget(self, run: Run) -> None:
        self._runs.pop(run.id, None)
        if run.has_open_calls:
            self._frozen.append(run)

    async def _perform(self, run: Run, message: Message) -> None:
        try:
            function = contextvars.Context().run(self._function, message)
            run.is_loading = False
            run.stir()
            value = _call(function, run, message)
            if inspect.isawaitable(value):
                value = await value
            if message["form"] == "agent":
                value = bool(value)
            if not run.is_dead:
                self._finish(run, value)
        except asyncio.CancelledError as error:
            if not run.is_dead:
                self._conclude(run, ok=False, error={**error_out(error), "code": "cancelled"})
        except BaseException as error:
            unmade = run.unmade() if run.durable and not run.is_aborted and not run.is_loading else None
            run.is_loading = False
            extra = {"code": "handler-exit"} if issubclass(type(error), SystemExit | KeyboardInterrupt) else {}
            failure = {**error_out(error), **extra}
            if run.is_dead:
                return
            if unmade is None:
                self._conclude(run, ok=False, error=failure)
            else:
                run.diverge(unmade, None, failure)

    def _function(self, message: Message) -> Handler:
        entry, form = message["entry"], message["form"]
        if form == "hook":
            return self._loader.hook(entry, message["params"]["config"])
        return self._loader.function(entry, form, message["path"])

    def _finish(self, run: Run, value: object) -> None:
        writer = Writer()
        text = writer.text(value)
        if len(text) > self._port.value_limit:
            raise TooLarge("result-too-large", "the result", len(text), self._port.value_limit)
        unmade = run.unmade() if run.durable and not run.is_aborted else None
        if unmade is None:
            self._conclude(run, ok=True, value=text, warn=writer.lost)
        else:
            run.diverge(unmade, None)

    def _conclude(self, run: Run, **outcome: Any) -> None:
        run.end()
        self._send({"t": "done", "run": run.id, **outcome})

    def _say_loading(self, entry: str, is_on: bool) -> None:
        self._send({"t": "loading", "entry": entry, "on": is_on})
        self._output.flush()

    def _describe(self, message: Message) -> None:
        form = message["form"]
        try:
            module = self._loader.load(message["entry"])
            if form == "hook":
                self._loader.hook(message["entry"], message["config"])
            value = to_json(None if form == "hook" else _slots(definition(module, form)))
        except Exception as error:
            failure = (
                error if isinstance(error, LoadError) else LoadError(f"{message['entry']} cannot be loaded: {error}")
            )
            self._send({"t": "described", "id": message["id"], "ok": False, "error": error_out(failure)})
            return
        exports = [name for name in vars(module) if not name.startswith("_")]
        problem = None if form in ("agent", "hook") else unusable(module, form, ["handle"] if form == "tool" else [])
        found = {"value": value, "exports": exports, "problem": problem}
        self._send({"t": "described", "id": message["id"], "ok": True, **found})

    def on_unhandled(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        value = error_out(error) if isinstance(error, BaseException) else {"name": "Error", "message": ""}
        if not value["message"]:
            value["message"] = str(context.get("message", ""))
        run = current_run.get()
        self._send({"t": "note", **({"run": run.id} if run else {}), "kind": "unhandled", "value": to_json(value)})


def _call(function: Handler, run: Run, message: Message) -> Any:
    match message["form"]:
        case "handler":
            return function(message["params"], make_context(run, message))
        case "tool":
            return function(make_context(run, message))
        case "hook":
            params = message["params"]
            return function(params["point"], Surface(params["payload"]), hook_context(run, message))
        case _:
            return function(Surface(message["params"]))


def _slots(value: Any) -> Any:
    if callable(value):
        return {"$fn": getattr(value, "__name__", True)}
    if isinstance(value, dict):
        return {key: _slots(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_slots(item) for item in cast("list[Any]", value)]
    return value


def _memory() -> int:
    try:
        with open(STATM, "rb") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return _peak_memory()


def _peak_memory() -> int:
    """Where there is no /proc."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return 0
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(code: object = "") -> NoReturn:
        raise HandlerExit(f"{name}({code}) is not available in a handler; return or raise instead")

    return refuse


def _take_streams() -> tuple[int, int]:
    """What a handler, or a child of it, reads and writes is not the protocol."""
    protocol_in, protocol_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return protocol_in, protocol_out


def _read_lines(handle: int, loop: asyncio.AbstractEventLoop, take: Any) -> None:
    """In a thread of its own: the end of the input ends the process even while a handler spins."""
    parts: list[bytes] = []  # of an unfinished line; no byte is looked at twice
    while data := os.read(handle, 1 << 20):
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            parts.append(data[start:end])
            loop.call_soon_threadsafe(take, b"".join(parts).decode())
            parts.clear()
            start = end + 1
        parts.append(data[start:])
    _end_process(0)


def main() -> None:
    protocol_in, protocol_out = _take_streams()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    host: Host | None = None

    def take(text: str) -> None:
        nonlocal host
        if host is None:
            host = _begin(loads(text), loop, protocol_out)
        else:
            host.receive(text)

    threading.Thread(target=_read_lines, args=(protocol_in, loop, take), daemon=True).start()
    while True:  # a SystemExit in a task of a handler leaves the loop, which then goes on
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt) as error:
            if host is not None:
                host.on_unhandled(loop, {"exception": error, "message": "a task of a handler tried to exit"})


def _add_packages(folder: str) -> None:
    """What was installed for these handlers comes before what the application has, never before Python's own."""
    names = [os.path.basename(path) for path in sys.path]
    places = [names.index(name) for name in ("site-packages", "dist-packages") if name in names]
    sys.path.insert(min(places, default=len(sys.path)), folder)


def _begin(init: Message, loop: asyncio.AbstractEventLoop, handle: int) -> Host:
    if init["proto"] != PROTO:
        _end_process(64)
    limits = init["limits"]
    output = Output(handle, loop, init["nonce"])
    host = Host(init, loop, output)
    loop.set_exception_handler(host.on_unhandled)
    replace_timers(loop)
    sys.setrecursionlimit(3000)  # a value may be nested 500 levels deep
    sys.stdout = Console(output, "stdout", limits["line"], limits["lines"])
    sys.stderr = Console(output, "stderr", limits["line"], limits["lines"])
    sys.stdin = io.StringIO()
    for module, name in ((sys, "exit"), (os, "_exit"), (os, "abort"), (builtins, "exit"), (builtins, "quit")):
        setattr(module, name, _refusal(name))
    builtins.CompositeCallError = CompositeCallError  # pyright: ignore[reportAttributeAccessIssue]
    if init["packages"] is not None:
        _add_packages(os.path.join(init["packages"], "site-packages"))
    install([*init["readable"], STATM])
    output.send({"t": "ready", "proto": PROTO, "engine": "python", "version": sys.version.split()[0]})
    return host
