"""The changes of an embedded runtime as batches, at most one every 50 ms. Lives on the runtime's loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from inbox_app.gateway import translate
from inbox_app.gateway.base import Batch, Call, Pause, Run

if TYPE_CHECKING:
    from runtime_core.runtime import Change, Runtime

Push = Callable[[Batch | None], None]
"""Takes a batch to a watcher's own loop; None says that no more will come."""

COALESCE_S: Final = 0.05
FIRST_PAGE: Final = 100

_log = logging.getLogger(__name__)


class Feed:
    """Collects the runtime's changes and hands them to every watcher."""

    def __init__(self, runtime: Runtime, connection: str, identity: str) -> None:
        self._runtime = runtime
        self._connection = connection
        self._identity = identity
        self._watchers: list[Push] = []
        self._attaching = 0
        self._followed: str | None = None
        self._opened: dict[str, Pause] = {}
        self._closed: dict[str, str] = {}
        self._runs: dict[str, Run] = {}
        self._calls: dict[str, dict[str, Call]] = {}
        self._flush: asyncio.Task[None] | None = None
        self._unsubscribe = runtime.subscribe(self._on_change, who=identity)

    async def attach(self, push: Push) -> None:
        """Start a watcher with everything that waits; what changes while that is read comes after it."""
        self._attaching += 1
        self._watchers.append(push)
        try:
            first = await self._reset()
        finally:
            self._attaching -= 1
        push(first)
        self._schedule()

    def detach(self, push: Push) -> None:
        if push in self._watchers:
            self._watchers.remove(push)

    def follow(self, run_id: str | None) -> None:
        self._followed = run_id

    def close(self) -> None:
        self._unsubscribe()
        if self._flush is not None:
            self._flush.cancel()
        self._push(None)
        self._watchers.clear()

    def _on_change(self, change: Change) -> None:
        if not self._watchers:
            return
        wire = change.wire
        match change.kind:
            case "pause-opened":
                pause = translate.pause(wire, self._connection, self._identity)
                self._closed.pop(pause.id, None)
                self._opened[pause.id] = pause
            case "pause-closed":
                decision = translate.decision(wire)
                self._opened.pop(decision.pause_id, None)
                self._closed[decision.pause_id] = decision.outcome
            case "run":
                self._runs[change.run_id] = translate.run(wire, self._connection)
            case "span":
                if change.run_id != self._followed:
                    return
                call = translate.call(wire)
                self._calls.setdefault(change.run_id, {})[call.id] = call
            case "automation":  # told by the part that knows them
                return
        self._schedule()

    @property
    def _has_changes(self) -> bool:
        return bool(self._opened or self._closed or self._runs or self._calls)

    def _schedule(self) -> None:
        if self._flush is None and self._has_changes and not self._attaching:
            self._flush = asyncio.create_task(self._flush_soon(), name="batch of changes")

    async def _flush_soon(self) -> None:
        await asyncio.sleep(COALESCE_S)
        total = await self._total() if self._opened or self._closed else None
        self._flush = None
        if self._attaching:  # a watcher reads its first page; `attach` schedules again
            return
        batch = Batch(
            opened=tuple(self._opened.values()),
            closed=tuple(self._closed),
            outcomes=self._closed,
            runs=tuple(self._runs.values()),
            calls={run_id: tuple(calls.values()) for run_id, calls in self._calls.items()},
            total=total,
        )
        self._opened, self._closed, self._runs, self._calls = {}, {}, {}, {}
        self._push(batch)

    async def _total(self) -> int:
        page = await self._runtime.pending(who=self._identity, limit=1)
        return page["total"]

    async def _reset(self) -> Batch:
        page = await self._runtime.pending(who=self._identity, limit=FIRST_PAGE)
        opened = tuple(translate.pause(item, self._connection, self._identity) for item in page["approvals"])
        return Batch(opened=opened, reset=True, next_cursor=page["next_cursor"], total=page["total"])

    def _push(self, batch: Batch | None) -> None:
        for push in list(self._watchers):
            try:
                push(batch)
            except RuntimeError:  # the watcher's loop is gone
                self.detach(push)
