"""A person who talks to the agent of a repository, and what is seen of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtime_core.chat.chats import ChatRequest
from runtime_core.runtime import Runtime
from tests.unit.engine.workshop import Bench, Repo, bench

Event = dict[str, Any]


class Talker:
    """Talks in one conversation, the one it began first."""

    def __init__(self, desk: Bench) -> None:
        self.desk = desk
        self.session_id: str | None = None

    @property
    def runtime(self) -> Runtime:
        return self.desk.runtime

    def request(self, message: str, **more: Any) -> ChatRequest:
        request = ChatRequest(message, "ann", self.desk.repo.root, self.session_id)
        return replace(request, **more)

    async def events(self, message: str, **more: Any) -> AsyncGenerator[Event]:
        stream = self.runtime.chats.send(self.request(message, **more))
        try:
            async for told in stream:
                if told["type"] == "init":
                    self.session_id = told["session_id"]
                yield told
        finally:
            await stream.aclose()

    async def say(self, message: str, **more: Any) -> list[Event]:
        """Have a whole turn."""
        return [told async for told in self.events(message, **more)]

    async def session(self) -> dict[str, Any]:
        assert self.session_id is not None
        return await self.runtime.chats.session(self.session_id)

    @staticmethod
    def text(told: list[Event]) -> str:
        return "".join(one["content"] for one in told if one["type"] == "text_delta")


@asynccontextmanager
async def talking(repo: Repo, data: Path, model: str | None = None, **more: Any) -> AsyncGenerator[Talker]:
    async with bench(repo, data, model=model, **more) as desk:
        yield Talker(desk)


def of_type(told: list[Event], kind: str) -> list[Event]:
    return [one for one in told if one["type"] == kind]
