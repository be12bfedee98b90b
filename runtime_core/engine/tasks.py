"""What goes on for one run in this moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Tasks:
    """True while something goes on. ``ended`` is called after each task, ``failed`` instead with what one raised."""

    def __init__(self, ended: Callable[[], None], failed: Callable[[Exception], None]) -> None:
        self._ended = ended
        self._failed = failed
        self._tasks: set[asyncio.Task[None]] = set()

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def wait(self, limit_s: float | None = None) -> None:
        """Until those that go on now have ended, at most so long; none is cancelled."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=limit_s)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            assert isinstance(error, Exception)
            self._failed(error)
        else:
            self._ended()
