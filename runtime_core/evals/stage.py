"""The runtime in which evals happen: one of its own, on a data folder of its own, so that nobody is asked anything."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from runtime_core.agents.models import Models
from runtime_core.chat.chats import Chats
from runtime_core.dispatch.changes import Listener
from runtime_core.engine.dry_runs import ReplayVerdict
from runtime_core.engine.faults import Faults
from runtime_core.journal.base import Answer
from runtime_core.repo.bundle import Bundle
from runtime_core.wire.json import JsonText


@dataclass(frozen=True, slots=True)
class Setting:
    """How a stage is set: the ``model`` it uses in place of the repository's, and what goes wrong in it.

    ``strict``: changed parameters of a recorded call stop the run,
    and every leg is replayed and compared.
    """

    model: str | None = None
    faults: Faults | None = None
    strict: bool = False


class Stage(Protocol):
    """What evals need of `Runtime`."""

    @property
    def chats(self) -> Chats: ...
    @property
    def models(self) -> Models: ...
    async def add_repository(self, root: Path) -> Bundle: ...
    async def trust(self, root: Path, *, who: str) -> object: ...
    async def run_tool(
        self, root: Path | None, tool: str, input: JsonText, *, who: str, wait_s: float | None = None
    ) -> dict[str, Any]: ...
    async def answer(self, answer: Answer, *, wait_s: float = 30) -> dict[str, Any]: ...
    async def expire(self, until: float) -> None: ...
    async def cancel(self, run_id: str, *, who: str) -> dict[str, Any]: ...
    async def pending(self, *, who: str, limit: int = 100, cursor: str | None = None) -> dict[str, Any]: ...
    async def runs(self, *, finished: bool | None, limit: int = 100, cursor: str | None = None) -> dict[str, Any]: ...
    async def run(self, run_id: str, *, who: str) -> dict[str, Any]: ...
    def replay_check(self, root: Path, limit: int | None = None) -> AsyncGenerator[ReplayVerdict]: ...
    def subscribe(self, listener: Listener, *, who: str | None = None) -> Callable[[], None]: ...


OpenStage = Callable[[Path, Setting], AbstractAsyncContextManager[Stage]]
"""Opens a stage on a data folder. Raises `RuntimeFault`."""
