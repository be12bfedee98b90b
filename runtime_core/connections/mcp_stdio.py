"""An MCP server as a child process: one message a line over its standard input and output.

The SDK's own transport keeps a line of any length in memory; here a server that writes too long a line is ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from runtime_core.hosts.remains import Remains

LINE_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of one message."""
STOP_S: Final = 2.0
_KEPT: Final = 2_000


class _Exit(SubprocessStreamProtocol):
    """Says that a process is gone also while others hold its pipes open."""

    def __init__(self, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit, loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class StdioServer:
    """A process, and how it ended. ``last_words`` are the end of what it wrote to its standard error."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], folder: Path, remains: Remains) -> None:
        self._command = command
        self._remains = remains
        self._env = env
        self._folder = folder
        self._errors = bytearray()
        self._process: Process | None = None
        self._exit = asyncio.Event()
        self.is_too_long = False
        self.ended = asyncio.Event()

    @property
    def end(self) -> str:
        """How it ended, as the end of a sentence."""
        if self.is_too_long:
            return f"wrote a message above {LINE_LIMIT // 1024 // 1024} MB and was ended"
        code = self._process.returncode if self._process is not None else None
        how = "ended" if code is None else f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        words = " ".join(self._errors.decode("utf-8", "replace").split()[-60:])
        return f"{how}: {words}" if words else how

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[Any]:
        """Start it, and give the streams of an MCP transport. Raises `OSError`."""
        import anyio
        from mcp.shared.message import SessionMessage

        options: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.subprocess_exec(
            lambda: _Exit(LINE_LIMIT, loop),
            *self._command,
            env=dict(self._env),
            cwd=self._folder,
            **options,
        )
        self._remains.note(transport.get_pid())
        self._exit = protocol.exited
        process = self._process = Process(transport, protocol, loop)
        heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, process, heard)
                tasks.start_soon(self._write, process, said, heard)
                tasks.start_soon(self._keep_errors, process)
                try:
                    yield incoming, outgoing
                finally:
                    with anyio.CancelScope(shield=True):
                        await self._stop(process)
                    tasks.cancel_scope.cancel()
        finally:
            self._remains.forget(transport.get_pid())
            transport.close()
            for stream in (heard, incoming, outgoing, said):
                stream.close()

    async def _read(self, process: Process, heard: Any) -> None:
        """Lines that are no message are left out: some servers print."""
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        assert process.stdout is not None
        with heard, contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            while line := await self._line(process.stdout):
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    continue
                await heard.send(SessionMessage(message))
        await self._end(process)  # without its output it is of no use

    async def _line(self, output: asyncio.StreamReader) -> bytes:
        try:
            return await output.readline()
        except ValueError:
            self.is_too_long = True
            return b""

    async def _write(self, process: Process, said: Any, heard: Any) -> None:
        assert process.stdin is not None
        with said:
            try:
                async for message in said:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    process.stdin.write(text.encode() + b"\n")
                    await process.stdin.drain()
            except OSError:
                heard.close()

    async def _keep_errors(self, process: Process) -> None:
        assert process.stderr is not None
        while data := await process.stderr.read(65536):
            self._errors = (self._errors + data)[-_KEPT:]

    async def _stop(self, process: Process) -> None:
        """It may end by itself once its input is closed; then the whole group is ended."""
        assert process.stdin is not None
        process.stdin.close()
        await self._end(process)

    async def _end(self, process: Process) -> None:
        """By itself if it is about to, else by force, together with the processes it has started."""
        for patience_s in (0 if self.is_too_long else STOP_S, STOP_S):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience_s):
                    await self._exit.wait()
            self._kill(process)
        self.ended.set()

    def _kill(self, process: Process) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
