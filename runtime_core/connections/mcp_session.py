"""One MCP server that is in use: started, asked for its tools, called, and ended again, by the official SDK.

The SDK's task groups have to be entered and left by one task, so a task of its own holds the session from its beginning
to its end; calls come from everywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from runtime_core.connections.masking import masked
from runtime_core.connections.mcp_config import McpUnavailable, filled
from runtime_core.connections.mcp_stdio import StdioServer
from runtime_core.connections.naming import named
from runtime_core.connections.secrets import Secrets
from runtime_core.hosts.remains import Remains
from runtime_core.repo.bundle import McpServer

START_S: Final = 45.0
"""How long a server may take until it has told its tools; some install themselves first."""
ANSWER_S: Final = 20.0
"""For one message while it starts."""
IDLE_S: Final = 600.0
TOOL_LIMIT: Final = 1_000
_PAGES: Final = 100
_SETTLE_S: Final = 3.0
_MESSAGE_LIMIT: Final = 2_000


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool as its server describes it; ``original`` is how the server calls it."""

    name: str
    original: str
    description: str
    schema: Mapping[str, Any]
    is_read: bool
    is_idempotent: bool


class McpFailed(Exception):  # noqa: N818
    """A call that failed; the message says why, without any secret."""


class McpForgotten(McpFailed):
    """The server knows nothing of this session any more, and has not looked at the call."""


class McpSession:
    """``folder`` is where a command runs; its process is noted in ``remains``. Belongs to the loop that starts it."""

    def __init__(self, server: McpServer, secrets: Secrets, folder: Path, remains: Remains) -> None:
        self._server = server
        self._remains = remains
        self._secrets = secrets
        self._folder = folder
        self._hidden: set[str] = set()
        self._values: set[str] = set()
        self._process: StdioServer | None = None
        self._client: Any = None
        self._scope: Any = None
        self._owner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._calls = 0
        self._idle: asyncio.TimerHandle | None = None
        self._is_stale = False
        self.tools: Mapping[str, McpTool] = {}

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    @property
    def is_gone(self) -> bool:
        return self._owner is None or self._owner.done()

    async def start(self) -> None:
        """Raises `McpUnavailable`. May be called by several at once."""
        if self._owner is None:
            self._owner = asyncio.create_task(self._own())
        try:
            async with asyncio.timeout(START_S):
                await asyncio.shield(self._ready)
        except TimeoutError:
            self.stop()
            raise McpUnavailable(
                f'The MCP server "{self._server.name}" was not ready within {START_S:g} s ({self._server.where}).'
            ) from None
        self._rest()

    async def call(self, tool: McpTool, arguments: dict[str, Any]) -> Any:
        """The SDK's result of a call. Raises `McpFailed`."""
        from mcp import MCPError
        from mcp.types import INVALID_REQUEST

        if self._client is None:
            raise McpForgotten("it was stopped")
        self._calls += 1
        self._rest()
        try:
            return await self._client.call_tool(tool.original, arguments, read_timeout_seconds=self._server.call_s)
        except MCPError as error:
            if (error.code, error.message) == (INVALID_REQUEST, "Session terminated"):  # what the SDK makes of a 404
                self.stop()
                raise McpForgotten(error.message) from None
            raise McpFailed(await self._reason(error)) from None
        except Exception as error:  # noqa: BLE001 (whatever a server says may fail somewhere in the SDK)
            raise McpFailed(self._masked(f"its answer cannot be used: {_first(error)}")) from None
        finally:
            self._calls -= 1
            self._rest()

    async def refresh(self) -> None:
        """Ask for the tools again. Raises `McpFailed`."""
        try:
            await self._list()
        except Exception as error:  # noqa: BLE001 (as for a call)
            raise McpFailed(self._masked(_first(error))) from None

    async def current(self) -> Mapping[str, McpTool]:
        """The tools, asked for again if the server said that they have changed. Raises `McpFailed`."""
        if self._is_stale:
            await self.refresh()
        return self.tools

    def stop(self) -> None:
        """Take no further calls, and end."""
        self._over.set()
        if self._scope is not None:
            self._scope.cancel()
        elif self._owner is not None:
            self._owner.cancel()

    async def close(self) -> None:
        self.stop()
        if self._owner is not None:
            await asyncio.wait([self._owner])

    # The task that holds it ------------------------------------------------------------------------------------------

    async def _own(self) -> None:
        import anyio

        failure: McpUnavailable | None = None
        try:
            await asyncio.to_thread(_load)
            with anyio.CancelScope() as self._scope:
                await self._hold()
        except McpUnavailable as unavailable:
            failure = unavailable
        except Exception as error:  # noqa: BLE001 (the SDK passes on whatever its tasks raise)
            failure = McpUnavailable(self._unreachable(error))
        finally:
            self._over.set()
            self._client = None
            if self._idle is not None:
                self._idle.cancel()
            if not self._ready.done():
                ended = McpUnavailable(f'The MCP server "{self._server.name}" was stopped.')
                self._ready.set_exception(failure or ended)
                self._ready.exception()

    async def _hold(self) -> None:
        from mcp import Client

        transport = await asyncio.to_thread(self._transport)  # a keychain may have to be asked
        async with Client(
            transport, read_timeout_seconds=ANSWER_S, cache=None, message_handler=self._hear
        ) as self._client:
            await self._list()
            if not self._ready.done():
                self._ready.set_result(None)
            if self._process is None:
                await asyncio.Event().wait()
            else:
                await self._process.ended.wait()
                self._over.set()

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        server = self._server
        if server.transport == "stdio":
            from mcp.client.stdio import get_default_environment

            own = {name: self._filled(f"env.{name}", value) for name, value in server.env.items()}
            command = [self._filled("command", part) for part in server.command]
            self._process = StdioServer(command, get_default_environment() | own, self._folder, self._remains)
            return self._process.streams()
        from runtime_core.connections.mcp_http import http_streams

        headers = {name: self._filled(f"headers.{name}", value) for name, value in server.headers.items()}
        return http_streams(server.transport, self._filled("url", server.url), headers, server.call_s)

    async def _list(self) -> None:
        self._is_stale = False
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if cursor is None or len(found) > TOOL_LIMIT:
                break
        given = {tool.name: tool for tool in found[:TOOL_LIMIT]}
        self.tools = await asyncio.to_thread(_tools, given, is_trusted=self._server.is_trusted)

    async def _hear(self, message: Any) -> None:
        from mcp.types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._is_stale = True

    # What is told ----------------------------------------------------------------------------------------------------

    async def _reason(self, error: Any) -> str:
        from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT

        if error.code == REQUEST_TIMEOUT:
            if self._calls == 1:
                self.stop()  # it may never answer again; the next call starts it anew
            return f"it did not answer within {self._server.call_s:g} s"
        if error.code != CONNECTION_CLOSED:
            return self._masked(error.message)
        self.stop()
        return self._masked(f"its process {await self._end()}" if self._process is not None else "the connection ended")

    async def _end(self) -> str:
        assert self._process is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_S):
                await self._process.ended.wait()
        return self._process.end

    def _unreachable(self, error: Exception) -> str:
        first = _innermost(error)
        name, where = self._server.name, self._server.where
        if isinstance(first, FileNotFoundError) and self._process is not None:
            return f'The MCP server "{name}" cannot be started: there is no {self._server.command[0]} ({where}).'
        ended = f" Its process {self._process.end}." if self._process is not None else ""
        return self._masked(f'The MCP server "{name}" cannot be reached ({where}): {_first(first)}.{ended}')

    def _filled(self, key: str, value: str) -> str:
        found = filled(self._server, key, value, self._secrets)
        if found != value:
            (self._hidden if key.startswith(("env.", "headers.")) else self._values).add(found)
        return found

    def without_secrets(self, text: str) -> str:
        """What the server said, without the secrets that it was given."""
        return masked(text, self._hidden)

    def _masked(self, text: str) -> str:
        return masked(text, self._hidden | self._values)[:_MESSAGE_LIMIT]

    def _rest(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if not self._calls and not self.is_over:
            self._idle = asyncio.get_running_loop().call_later(IDLE_S, self.stop)


def _load() -> None:
    """In a thread: it takes its time. What servers say, which the SDK logs, is nobody else's business."""
    import mcp  # noqa: F401  # pyright: ignore[reportUnusedImport]

    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    logging.getLogger("httpx2").setLevel(logging.WARNING)


def _tools(given: Mapping[str, Any], *, is_trusted: bool) -> Mapping[str, McpTool]:
    """In a thread: checking schemas takes its time."""
    names = named(given).items()
    return {name: _tool(name, given[original], is_trusted=is_trusted) for name, original in names}


def _tool(name: str, given: Any, *, is_trusted: bool) -> McpTool:
    from runtime_core.repo.params import check_schema  # with jsonschema, as everywhere on first use

    schema: dict[str, Any] = given.input_schema
    hints = given.annotations if is_trusted else None
    return McpTool(
        name=name,
        original=given.name,
        description=given.description or given.title or given.name,
        schema=schema if all(problem.tolerable for problem in check_schema(schema)) else {},
        is_read=hints is not None and hints.read_only_hint is True,
        is_idempotent=hints is not None and hints.idempotent_hint is True,
    )


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _first(error: BaseException) -> str:
    found = _innermost(error)
    text = " ".join(str(found).split())
    return f"{type(found).__name__}: {text}" if text else type(found).__name__
