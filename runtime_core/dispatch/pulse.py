"""The heartbeat of a runtime: notices what other processes wrote, and when a time has come."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from runtime_core.wire.codes import RuntimeFault

log = logging.getLogger(__name__)

PULSE_S: Final = 0.25
_PAUSE_AFTER_FAULT_S: Final = 1.0


class Pulse:
    """Calls ``beat`` every 250 ms, at once after `kick`, and no later than the time `until` names.

    ``beat`` gets True if something was written since the last time.
    """

    def __init__(
        self,
        version: Callable[[], Awaitable[int]],
        beat: Callable[[bool], Awaitable[None]],
        until: Callable[[], float | None],
    ) -> None:
        self._version = version
        self._beat = beat
        self._until = until
        self._kicked = asyncio.Event()
        self._beaten = asyncio.Event()
        self._seen: int | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="pulse")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def kick(self) -> None:
        """Something was written by this process."""
        self._kicked.set()

    async def wait(self, seconds: float) -> None:
        """Until the next beat is over, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._beaten.wait()
        except TimeoutError:
            pass

    async def _run(self) -> None:
        while True:
            pause = PULSE_S
            try:
                await self._once()
            except RuntimeFault as fault:
                log.warning("the journal cannot be read: %s", fault.message)
                pause = _PAUSE_AFTER_FAULT_S
            except Exception:
                log.exception("a heartbeat failed")
                pause = _PAUSE_AFTER_FAULT_S
            self._beaten.set()
            self._beaten = asyncio.Event()
            await self._rest(pause)

    async def _once(self) -> None:
        kicked = self._kicked.is_set()
        self._kicked.clear()
        version = await self._version()
        changed = kicked or version != self._seen
        self._seen = version
        await self._beat(changed)

    async def _rest(self, pause: float) -> None:
        until = self._until()
        if until is not None:
            pause = max(0.0, min(pause, until))
        try:
            async with asyncio.timeout(pause):
                await self._kicked.wait()
        except TimeoutError:
            pass
