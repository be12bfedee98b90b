"""Waiting until nothing is ready to run, and telling which run code belongs to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from .run import Run

current_run: ContextVar[Run | None] = ContextVar("current_run", default=None)
in_step: ContextVar[bool] = ContextVar("in_step", default=False)


def durable_run() -> Run | None:
    """The durable run whose time, timers and numbers hold here; none inside of a step."""
    run = current_run.get()
    return run if run is not None and run.durable and not in_step.get() else None


class Turns:
    """One shared watcher: two independent ones would each see the other as work and spin for ever."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ready: list[Any] = cast("Any", loop)._ready
        self._waiting: list[Callable[[], object]] = []
        self._is_watching = False

    def over(self) -> asyncio.Future[None]:
        """Done when everything that was ready has run."""
        future: asyncio.Future[None] = self._loop.create_future()
        self.then(lambda: future.done() or future.set_result(None))
        return future

    def then(self, act: Callable[[], object]) -> None:
        """Call ``act`` when everything that was ready has run."""
        self._waiting.append(act)
        if not self._is_watching:
            self._is_watching = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        if self._ready:
            self._loop.call_soon(self._look)
            return
        waiting, self._waiting = self._waiting, []
        self._is_watching = False
        for act in waiting:
            act()
