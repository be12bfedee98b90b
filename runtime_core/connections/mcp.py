"""The MCP servers of one runtime: started when a tool of theirs is first used, kept, closed with the runtime."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from runtime_core.connections.mcp_config import McpUnavailable
from runtime_core.connections.mcp_session import McpFailed, McpForgotten, McpSession, McpTool
from runtime_core.connections.secrets import Secrets
from runtime_core.hosts.remains import Remains
from runtime_core.repo.bundle import Bundle, McpServer
from runtime_core.repo.revision import TooLarge, revision_of
from runtime_core.repo.trust import server_command, server_need
from runtime_core.wire.json import JsonText, dumps

RESULT_LIMIT: Final = 1024 * 1024
"""Characters of one result."""
ERROR_LIMIT: Final = 10_000

AGAIN_S: Final = 60.0

_Key = tuple[Path, str, str]

Trusted = Callable[[Path, str, str], Awaitable[bool]]
"""Whether a person has trusted a revision of a repository with something that it needs, or that begins so."""


class McpServers:
    """``is_trusted`` is asked before a command is started. ``folder`` notes their processes."""

    def __init__(self, secrets: Secrets, is_trusted: Trusted, folder: Path) -> None:
        self._secrets = secrets
        self._remains = Remains(folder)
        self._is_trusted = is_trusted
        self._sessions: dict[_Key, McpSession] = {}
        self._ending: set[McpSession] = set()
        self._tools: dict[_Key, Mapping[str, McpTool]] = {}
        self._asking: dict[_Key, asyncio.Task[None]] = {}
        self._silent: dict[_Key, float] = {}

    def known(self, bundle: Bundle, server: McpServer) -> Mapping[str, McpTool]:
        """The tools of a server by their names, as far as it was asked."""
        return self._tools.get(_key(bundle, server), {})

    async def ask(self, bundle: Bundle, servers: Sequence[McpServer], wait_s: float) -> None:
        """Have the tools told of servers that were not asked so far. One that has let somebody wait in vain is asked
        again after a while, and not waited for.
        """
        now = asyncio.get_running_loop().time()
        waiting: dict[asyncio.Task[None], _Key] = {}
        for server in servers:
            key = _key(bundle, server)
            if self.known(bundle, server):
                continue
            if key not in self._asking and now - self._silent.get(key, -AGAIN_S) >= AGAIN_S:
                self._asking[key] = asyncio.create_task(self._meet(bundle, server))
            if key in self._asking and key not in self._silent:
                waiting[self._asking[key]] = key
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=wait_s)
            self._silent.update({waiting[task]: now for task in late})

    async def _meet(self, bundle: Bundle, server: McpServer) -> None:
        key = _key(bundle, server)
        try:
            await self.tools(bundle, server)
            self._silent.pop(key, None)
        except McpUnavailable:
            self._silent[key] = asyncio.get_running_loop().time()
        finally:
            del self._asking[key]

    async def tools(self, bundle: Bundle, server: McpServer) -> Mapping[str, McpTool]:
        """The tools of a server, which is started if need be. Raises `McpUnavailable`."""
        session = await self._session(bundle, server)
        try:
            found = await session.current()
        except McpFailed as failed:
            raise McpUnavailable(f'The MCP server "{server.name}" does not tell its tools: {failed}') from None
        self._tools[_key(bundle, server)] = found
        return found

    async def call(self, bundle: Bundle, server: McpServer, tool: McpTool, arguments: dict[str, Any]) -> JsonText:
        """What a tool returns: its structured content, else its text, else its parts. Raises `McpUnavailable` and,
        also if the tool says that it failed, `McpFailed`.
        """
        session = await self._session(bundle, server)
        try:
            try:
                result = await session.call(tool, arguments)
            except McpForgotten:
                session = await self._session(bundle, server)
                result = await session.call(tool, arguments)
        except McpFailed as failed:
            raise McpFailed(f'The MCP server "{server.name}" failed at {tool.original}: {failed}.') from None
        parts = [_part(block) for block in result.content]
        if result.is_error:
            said = session.without_secrets(_texts(parts))[:ERROR_LIMIT]
            raise McpFailed(said or f"{tool.original} failed and does not say why.")
        try:
            told = await asyncio.to_thread(dumps, _value(result.structured_content, parts))
        except ValueError as error:
            raise McpFailed(f'The MCP server "{server.name}" answered {tool.original} with no JSON: {error}.') from None
        text = session.without_secrets(told)
        if len(text) > RESULT_LIMIT:
            raise McpFailed(f"The result of {tool.original} is larger than {RESULT_LIMIT // 1024} KB; ask for less.")
        return text

    def sweep(self) -> int:
        """End the servers that a killed runtime has left behind; how many there were."""
        return self._remains.sweep()

    async def close(self) -> None:
        asking = [*self._asking.values()]
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await asyncio.gather(*(session.close() for session in (*self._sessions.values(), *self._ending)))
        self._sessions.clear()

    async def _session(self, bundle: Bundle, server: McpServer) -> McpSession:
        if server.problem is not None:
            raise McpUnavailable(f'The MCP server "{server.name}" cannot be used ({server.where}): {server.problem}.')
        key = _key(bundle, server)
        if (session := self._sessions.get(key)) is None or session.is_over:
            await self._check_trust(bundle, server)
        session = self._sessions.get(key)
        if session is not None and session.is_over:
            self._ending = {ending for ending in (*self._ending, session) if not ending.is_gone}
        if session is None or session.is_over:
            session = self._sessions[key] = McpSession(server, self._secrets, bundle.root, self._remains)
        await session.start()
        return session

    async def _check_trust(self, bundle: Bundle, server: McpServer) -> None:
        """A command runs in the repository, whatever its code is by now: that has to be trusted as well."""
        if server.transport != "stdio":
            return
        try:
            need = await asyncio.to_thread(server_need, bundle.root, server)
        except TooLarge as error:
            raise McpUnavailable(f"{bundle.root} cannot be trusted: {error.file}: {error.reason}") from None
        present = await asyncio.to_thread(_present, bundle.root)
        for revision, asked in ((bundle.revision, server_command(server)), (present, need)):
            if not await self._is_trusted(bundle.root, revision, asked):
                raise McpUnavailable(
                    f'The MCP server "{server.name}" is a command, {" ".join(server.command)!r:.200}, and nobody has '
                    f"trusted the code of {bundle.root} ({revision[:12]}) with the files that it names as they are "
                    f"now. See what is needed with: operator-inbox check {bundle.root}. Then give --trust to run, to "
                    "answer, or to the window."
                )


def _present(root: Path) -> str:
    """The revision of the code that is there now. Raises `McpUnavailable`."""
    try:
        return revision_of(root)
    except TooLarge as error:
        raise McpUnavailable(f"{root}/{error.file}: {error.reason}") from None
    except OSError as error:
        raise McpUnavailable(f"The code of {root} cannot be read: {error.strerror}.") from None


def _key(bundle: Bundle, server: McpServer) -> _Key:
    return bundle.root, bundle.revision, server.name


def _part(block: Any) -> dict[str, Any]:
    if block.type == "text":
        return {"type": "text", "text": block.text}
    if block.type in ("image", "audio"):
        return {"type": block.type, "mimeType": block.mime_type, "data": block.data}
    if block.type == "resource":
        held = block.resource
        if (text := getattr(held, "text", None)) is not None:
            return {"type": "text", "text": text}
        return {"type": "resource", "mimeType": held.mime_type, "data": held.blob}
    return {"type": block.type, "mimeType": block.mime_type, "uri": str(block.uri), "name": block.name}


def _texts(parts: list[dict[str, Any]]) -> str:
    return "\n".join(part["text"] for part in parts if part["type"] == "text")


def _value(structured: Any, parts: list[dict[str, Any]]) -> Any:
    if structured is not None:
        return structured
    return _texts(parts) if all(part["type"] == "text" for part in parts) else parts
