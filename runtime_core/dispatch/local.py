"""Wake-ups inside one process: which runs are being advanced, and which of the runnable ones come next."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

log = logging.getLogger(__name__)

CONCURRENT_RUNS: Final = 100
_RETRY_S: Final = 1.0
_RETRY_LIMIT_S: Final = 60.0


class LocalDispatcher:
    """At most one task a run. ``advance`` claims and drives a run, and does nothing if there is nothing to do.

    A run whose advance raised is tried again later, each time after twice the delay.
    """

    def __init__(
        self,
        advance: Callable[[str], Awaitable[None]],
        runnable: Callable[[int], Awaitable[Sequence[str]]],
        ended: Callable[[], None],
    ) -> None:
        self._advance = advance
        self._runnable = runnable
        self._ended = ended
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._retries: dict[str, tuple[float, float]] = {}

    @property
    def is_idle(self) -> bool:
        return not self._tasks

    @property
    def wants_retry(self) -> bool:
        return any(at <= time.monotonic() for at, _ in self._retries.values())

    def wake(self, run_id: str) -> asyncio.Task[None]:
        """Advance a run now; the task that does it already, if there is one."""
        task = self._tasks.get(run_id)
        if task is None:
            task = self._tasks[run_id] = asyncio.get_running_loop().create_task(
                self._run(run_id), name=f"advance {run_id}"
            )
            task.add_done_callback(_seen)
        return task

    async def sweep(self) -> None:
        """Look at the rows, not at what one remembers: start runnable runs as long as there is room."""
        now = time.monotonic()
        for run_id in [run_id for run_id, (at, _) in self._retries.items() if at <= now]:
            self.wake(run_id)
        room = CONCURRENT_RUNS - len(self._tasks)
        if room > 0:
            for run_id in await self._runnable(room + len(self._tasks) + len(self._retries)):
                if run_id not in self._retries and len(self._tasks) < CONCURRENT_RUNS:
                    self.wake(run_id)

    async def stop(self) -> None:
        """Wait for the tasks; whoever advances must have been told to let go."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, run_id: str) -> None:
        try:
            await self._advance(run_id)
        except Exception as error:
            _, delay = self._retries.get(run_id, (0.0, _RETRY_S / 2))
            delay = min(delay * 2, _RETRY_LIMIT_S)
            self._retries[run_id] = (time.monotonic() + delay, delay)
            log.warning("%s: not advanced, next try in %.0f s: %s", run_id, delay, error)
            raise
        else:
            self._retries.pop(run_id, None)
        finally:
            del self._tasks[run_id]
            self._ended()


def _seen(task: asyncio.Task[None]) -> None:
    """Failures are logged and retried; nobody has to wait for a task."""
    if not task.cancelled():
        task.exception()
