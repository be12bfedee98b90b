"""Time limits that do not count the time in which a person is waited for."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar


class _Limit:
    def __init__(self, seconds: float | None) -> None:
        self.timeout = asyncio.timeout(seconds)
        self.is_over = False
        self._waits = 0
        self._left: float | None = None

    @property
    def left(self) -> float:
        at = self.timeout.when()
        return math.inf if at is None else max(0.0, at - asyncio.get_running_loop().time())

    def stop(self) -> None:
        self._waits += 1
        at = self.timeout.when()
        if self._waits == 1 and at is not None and not self.timeout.expired():
            self._left = at - asyncio.get_running_loop().time()
            self.timeout.reschedule(None)

    def go(self) -> None:
        self._waits -= 1
        if self._waits == 0 and self._left is not None and not (self.is_over or self.timeout.expired()):
            self.timeout.reschedule(asyncio.get_running_loop().time() + self._left)


_limits: ContextVar[tuple[_Limit, ...]] = ContextVar("limits", default=())


@asynccontextmanager
async def limit(seconds: float | None) -> AsyncGenerator[asyncio.Timeout]:
    """As ``asyncio.timeout``, but the clock stands still inside `standing_still`, also for all limits around it."""
    one = _Limit(seconds)
    token = _limits.set((*_limits.get(), one))
    try:
        async with one.timeout:
            yield one.timeout
    finally:
        one.is_over = True
        _limits.reset(token)


def left() -> float:
    """The seconds until the first of the limits around this is over; infinite without one."""
    return min((one.left for one in _limits.get()), default=math.inf)


@contextmanager
def standing_still() -> Generator[None]:
    """A person is waited for: no limit of this task counts."""
    limits = _limits.get()
    for one in limits:
        one.stop()
    try:
        yield
    finally:
        for one in limits:
            one.go()
