"""Conversations without a runtime: a test says what is told and when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.catalog import AgentInfo, Repository
from inbox_app.gateway.chats import (
    Began,
    ChatDetail,
    ChatEvent,
    ChatPage,
    ChatRequest,
    ChatSession,
    ChatTurn,
    Ended,
)
from tests.support.builders import NOW

REPOSITORY = "/repositories/support-desk"


def session(number: int, title: str = "", *, agent: str = "default", busy: bool = False, turns: int = 1) -> ChatSession:
    at = NOW - 600.0 * number
    return ChatSession(
        f"chat_{number}", REPOSITORY, agent, title or f"Conversation {number}", at - 60.0, at, turns, busy=busy
    )


def support_desk(*agents: str, model: str = "scripted:") -> Repository:
    names = agents or ("default",)
    infos = [AgentInfo(name, name.replace("-", " ").title(), "", model) for name in names]
    return Repository(REPOSITORY, "support-desk", agents=infos)


class FakeCatalog:
    def __init__(self, *repositories: Repository) -> None:
        self.known = list(repositories)

    async def repositories(self) -> Sequence[Repository]:
        return self.known

    async def open_repository(self, path: str) -> Repository:
        raise GatewayError("NOT_FOUND", f"a fake catalog opens nothing, not {path}")

    async def remove_repository(self, path: str) -> None:
        self.known = [one for one in self.known if one.path != path]

    async def trust(self, shown: Repository) -> None:
        pass


class FakeChats:
    """`tell` sends events into the turn that was asked last; a turn ends with `Ended`."""

    def __init__(self, *details: ChatDetail) -> None:
        self.details = {detail.session.id: detail for detail in details}
        self.asked: list[ChatRequest] = []
        self.aborted: list[str] = []
        self.renamed: list[tuple[str, str]] = []
        self.deleted: list[str] = []
        self.refuse: GatewayError | None = None
        self._turns: list[asyncio.Queue[ChatEvent]] = []

    def tell(self, *events: ChatEvent) -> None:
        for event in events:
            self._turns[-1].put_nowait(event)

    async def send(self, asked: ChatRequest) -> AsyncIterator[ChatEvent]:
        if self.refuse is not None:
            raise self.refuse
        if asked.session_id is not None and asked.session_id not in self.details:
            raise GatewayError("NOT_FOUND", f"There is no conversation {asked.session_id}.")
        self.asked.append(asked)
        queue: asyncio.Queue[ChatEvent] = asyncio.Queue()
        self._turns.append(queue)
        session_id = asked.session_id or f"chat_new_{len(self.asked)}"
        made = ChatSession(session_id, asked.repository, asked.agent, asked.message[:60], NOW, NOW, 1, busy=True)
        if session_id not in self.details:
            self.details[session_id] = ChatDetail(made, ())
        yield Began(session_id)
        try:
            while not isinstance(event := await queue.get(), Ended):
                yield event
            yield event
        except (asyncio.CancelledError, GeneratorExit):
            self.aborted.append(session_id)
            raise
        finally:
            known = self.details.get(session_id)
            if known is not None:
                self.details[session_id] = replace(known, session=replace(known.session, busy=False))

    async def sessions(self, limit: int = 100, cursor: str | None = None) -> ChatPage:
        known = sorted((one.session for one in self.details.values()), key=lambda one: -one.updated_at)
        start = int(cursor or 0)
        end = min(start + limit, len(known))
        return ChatPage(known[start:end], len(known), str(end) if end < len(known) else None)

    async def session(self, session_id: str) -> ChatDetail:
        if session_id not in self.details:
            raise GatewayError("NOT_FOUND", f"There is no conversation {session_id}.")
        return self.details[session_id]

    async def rename(self, session_id: str, title: str) -> None:
        self.renamed.append((session_id, title))
        known = self.details[session_id]
        self.details[session_id] = replace(known, session=replace(known.session, title=title))

    async def delete(self, session_id: str) -> None:
        self.deleted.append(session_id)
        self.details.pop(session_id, None)


def conversation(of: ChatSession, *turns: ChatTurn) -> ChatDetail:
    return ChatDetail(of, turns)
