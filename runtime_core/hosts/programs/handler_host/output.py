"""The way out: protocol lines on a descriptor handlers do not know, everything printed as notes."""

from __future__ import annotations

import asyncio
import io
import os
import threading
import time
from typing import Any

from .turns import current_run
from .values import dumps, to_json, well_formed

Message = dict[str, Any]


class Output:
    """Everything said in one turn leaves in one write. May be used from any thread."""

    def __init__(self, handle: int, loop: asyncio.AbstractEventLoop, nonce: str) -> None:
        self._handle = handle
        self._loop = loop
        self._mark = "\x1e" + nonce
        self._lines: list[str] = []
        self._lock = threading.Lock()
        self._thread = threading.get_ident()

    def send(self, message: Message) -> None:
        line = f"{self._mark}{dumps(message)}\n"
        with self._lock:
            self._lines.append(line)
            is_first = len(self._lines) == 1
        if is_first and threading.get_ident() == self._thread:
            self._loop.call_soon(self.flush)
        elif is_first:
            self._loop.call_soon_threadsafe(self.flush)

    def flush(self) -> None:
        with self._lock:
            data = memoryview("".join(self._lines).encode())
            self._lines.clear()
        while data:
            data = data[os.write(self._handle, data) :]


class Console(io.TextIOBase):
    """``sys.stdout`` and ``sys.stderr`` of handlers: lines become notes of the run that printed them."""

    def __init__(self, output: Output, level: str, line_limit: int, lines_per_second: int) -> None:
        self._output = output
        self._level = level
        self._line_limit = line_limit
        self._lines_per_second = lines_per_second
        self._second = 0
        self._count = 0
        self._rest = ""

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._say(line)
        return len(text)

    def flush(self) -> None:
        if self._rest:
            self._say(self._rest)
            self._rest = ""

    def _say(self, line: str) -> None:
        second = int(time.monotonic())
        if second != self._second:
            dropped = self._count - self._lines_per_second
            self._second, self._count = second, 0
            if dropped > 0:
                self._note({"level": "warn", "text": f"{dropped} lines were dropped"})
        self._count += 1
        if self._count <= self._lines_per_second:
            self._note({"level": self._level, "text": well_formed(line[: self._line_limit])})

    def _note(self, value: Message) -> None:
        run = current_run.get()
        if run is not None:
            run.note("console", value)
        else:
            self._output.send({"t": "note", "kind": "console", "value": to_json(value)})
