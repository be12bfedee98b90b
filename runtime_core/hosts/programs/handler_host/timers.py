"""In a durable run every timer is a journaled call and the loop's time is the run's clock.

``sleep``, ``timeout`` and ``wait_for`` all end in ``call_at``, so replacing that one covers them.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any, cast

from .run import Run
from .turns import current_run, durable_run


class _JournaledTimer(asyncio.TimerHandle):
    def __init__(
        self,
        run: Run,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: contextvars.Context | None,
    ) -> None:
        super().__init__(when, callback, args, loop, context or contextvars.copy_context())
        delay = max(0.0, round(when * 1000 - run.clock, 3))
        self._call = run.call("timer", "", int(delay) if delay.is_integer() else delay)
        self._call.add_done_callback(self._on_due)

    def cancel(self) -> None:
        super().cancel()
        self._call.cancel()

    def _on_due(self, call: asyncio.Future[Any]) -> None:
        if not self.cancelled() and not call.cancelled() and call.exception() is None:
            cast("Any", self)._run()


def replace_timers(loop: asyncio.AbstractEventLoop) -> None:
    real_call_at, real_time = loop.call_at, loop.time

    def time() -> float:
        run = durable_run()
        return run.clock / 1000 if run is not None else real_time()

    def call_at(
        when: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        durable = durable_run()
        if durable is not None:
            return _JournaledTimer(durable, when, callback, args, loop, context)
        run = current_run.get()
        if run is None:
            return real_call_at(when, callback, *args, context=context)
        return real_call_at(when, _unless_dead, run, callback, args, context=context)

    patched = cast("Any", loop)
    patched.call_at, patched.time = call_at, time


def _unless_dead(run: Run, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
    if not run.is_dead:
        run.enter_turn()
        callback(*args)
