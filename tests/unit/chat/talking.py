"""A person who talks to the agent of a repository, and what is seen of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
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
        """Have a whole turn, whose events are sound."""
        told = [told async for told in self.events(message, **more)]
        assert (told[0]["type"], told[-1]["type"]) == ("init", "done")
        check_calls(told)
        return told

    async def session(self) -> dict[str, Any]:
        assert self.session_id is not None
        return await self.runtime.chats.session(self.session_id)

    @staticmethod
    def text(told: Sequence[Event]) -> str:
        return "".join(one["content"] for one in told if one["type"] == "text_delta")


@asynccontextmanager
async def talking(repo: Repo, data: Path, model: str | None = None, **more: Any) -> AsyncGenerator[Talker]:
    async with bench(repo, data, model=model, **more) as desk:
        yield Talker(desk)


def check_calls(told: Sequence[Event]) -> None:
    """Every call begins once, after the one that made it, and ends once, after it began; everything has its time."""
    begun: dict[str, bool] = {}
    for one in told:
        assert one["timestamp"].endswith("Z")
        if one["type"] == "tool_call_start":
            assert one["tool_id"] not in begun
            assert one.get("parent_tool_id") is None or one["parent_tool_id"] in begun
            begun[one["tool_id"]] = True
        elif one["type"] == "tool_call_result":
            assert begun[one["tool_id"]]
            begun[one["tool_id"]] = False
        elif one["type"] == "subagent_event":
            assert one["parent_tool_id"] in begun
    assert not any(begun.values())


def of_type(told: Sequence[Event], kind: str) -> list[Event]:
    return [one for one in told if one["type"] == kind]
