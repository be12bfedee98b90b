"""The conversations of the embedded runtime: its events come over to the loop of whoever talks."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.chat_events import ChatReader, session_of, turn_of
from inbox_app.gateway.chats import ChatDetail, ChatEvent, ChatFile, ChatPage, ChatRequest

if TYPE_CHECKING:
    from inbox_app.gateway.embedded_catalog import Call
    from runtime_core.chat import chats
    from runtime_core.runtime import Runtime

Wire = dict[str, Any]


class EmbeddedChats:
    """Implements `ChatGateway`. ``runtime`` gives the open runtime."""

    def __init__(self, call: Call, runtime: Callable[[], Runtime], who: str) -> None:
        self._call = call
        self._runtime = runtime
        self._who = who

    async def send(self, asked: ChatRequest) -> AsyncGenerator[ChatEvent]:
        if asked.session_id is not None:
            await self._call(self._known(asked.session_id))
        reader = ChatReader()
        stream = self.stream(asked)
        try:
            async for told in stream:
                event = reader.read(told)
                if event is not None:
                    yield event
        finally:
            await stream.aclose()

    async def stream(
        self, asked: ChatRequest, *, context: str | None = None, max_tokens: int | None = None
    ) -> AsyncGenerator[Wire]:
        """As `send`, the events as the runtime tells them (contract 7.2)."""
        here = asyncio.get_running_loop()
        told: asyncio.Queue[Wire | None] = asyncio.Queue()
        work = asyncio.create_task(
            self._call(
                self._pump(asked, context, max_tokens, lambda event: here.call_soon_threadsafe(told.put_nowait, event))
            )
        )
        work.add_done_callback(lambda _: told.put_nowait(None))
        session_id = ""
        try:
            while (event := await told.get()) is not None:
                session_id = event.get("session_id", "") if event["type"] == "init" else session_id
                yield event
            await work
        finally:
            if not work.done():
                await self._stop(session_id, work)

    async def sessions(self, limit: int = 100, cursor: str | None = None) -> ChatPage:
        page = await self.raw_sessions(limit, cursor)
        return ChatPage([session_of(one) for one in page["sessions"]], page["total"], page["next_cursor"])

    async def raw_sessions(self, limit: int = 100, cursor: str | None = None) -> Wire:
        """``{"sessions", "total", "next_cursor"}`` with the items of contract 6.8."""
        return await self._call(self._history(limit, cursor))

    async def session(self, session_id: str) -> ChatDetail:
        wire = await self.raw(session_id)
        return ChatDetail(session_of(wire), [turn_of(turn) for turn in wire["turns"]])

    async def raw(self, session_id: str) -> Wire:
        """A conversation as the runtime tells it (contract 6.8)."""
        return await self._call(self._session(session_id))

    async def rename(self, session_id: str, title: str) -> None:
        await self._call(self._rename(session_id, title))

    async def delete(self, session_id: str) -> None:
        await self._call(self._delete(session_id))

    async def stop(self, session_id: str) -> bool:
        """Abort the turn that goes on in a conversation; its events come to their end. False if there is none."""
        return await self._call(self._stopped(session_id))

    async def _stop(self, session_id: str, work: asyncio.Task[None]) -> None:
        """End a turn that nobody listens to any more, and wait until what was said is kept."""
        with suppress(GatewayError):
            if not session_id or not await self.stop(session_id):
                work.cancel()
        with suppress(GatewayError, asyncio.CancelledError):
            await work

    # Below here everything runs on the runtime's loop.

    async def _pump(
        self, asked: ChatRequest, context: str | None, max_tokens: int | None, push: Callable[[Wire], object]
    ) -> None:
        from runtime_core.chat.chats import ChatRequest as Request

        request = Request(
            message=asked.message,
            who=self._who,
            root=Path(asked.repository),
            session_id=asked.session_id,
            agent=(asked.agent or None) if asked.session_id is None else None,
            scope=asked.scope or None,
            context=context,
            attachments=_attachments(asked.files) if asked.files else None,
            model=asked.model,
            max_session_tokens=max_tokens,
            is_choice=asked.is_choice,
        )
        stream = self._chats.send(request)
        try:
            async for event in stream:
                push(event)
        finally:
            await stream.aclose()

    async def _known(self, session_id: str) -> None:
        """The runtime would begin another conversation with what is said."""
        await self._chats.check_known(session_id)

    async def _history(self, limit: int, cursor: str | None) -> Wire:
        return await self._chats.history(limit, cursor)

    async def _session(self, session_id: str) -> Wire:
        return await self._chats.session(session_id)

    async def _rename(self, session_id: str, title: str) -> None:
        await self._chats.rename(session_id, title)

    async def _delete(self, session_id: str) -> None:
        await self._chats.delete(session_id)

    async def _stopped(self, session_id: str) -> bool:
        return await self._chats.stop(session_id)

    @property
    def _chats(self) -> chats.Chats:
        return self._runtime().chats


def _attachments(files: Sequence[ChatFile]) -> str:
    from runtime_core.wire.json import dumps

    return dumps(
        [
            {"filename": file.filename, "mimeType": file.mime_type, "data": base64.b64encode(file.data).decode()}
            for file in files
        ]
    )
