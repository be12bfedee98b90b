"""Sends requests of connections from tests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from runtime_core.connections.client import Connections, Reply, RequestFailed
from runtime_core.connections.request import Request
from runtime_core.repo.bundle import Connection

T = TypeVar("T")


@dataclass
class Kept:
    """Secrets out of a dictionary; ``asked`` says for which names."""

    values: Mapping[str, str] = field(default_factory=dict[str, str])
    asked: list[str] = field(default_factory=list[str])

    def get(self, name: str) -> str | None:
        self.asked.append(name)
        return self.values.get(name)


@dataclass(frozen=True)
class Someone:
    scope: str = ""
    call_id: str | None = None
    context: str | None = None

    def check_allowed(self, shown: Any) -> None:
        """Nobody has allowed anything."""


def connection(url: str, name: str = "support-api", **spec: Any) -> Connection:
    return Connection(name, f"connections/{name}", "rest", {"baseUrl": url, **spec})


def send(
    chosen: Connection,
    request: Request,
    sender: Someone | None = None,
    secrets: Mapping[str, str] | None = None,
) -> Reply:
    return with_connections(lambda found: found.send(chosen, request, sender or Someone()), secrets)


def failure(*args: Any, **more: Any) -> RequestFailed:
    """As `send`, for a request that fails."""
    with pytest.raises(RequestFailed) as caught:
        send(*args, **more)
    return caught.value


def with_connections(work: Callable[[Connections], Awaitable[T]], secrets: Mapping[str, str] | None = None) -> T:
    async def session() -> T:
        connections = Connections(Kept(secrets or {}))
        try:
            return await work(connections)
        finally:
            await connections.close()

    return asyncio.run(session())
