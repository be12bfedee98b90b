"""`AutomationGateway` to the runtime in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from inbox_app.gateway.automations import Automation, AutomationRequest, Firing, Preview, When
from inbox_app.gateway.base import GatewayError

if TYPE_CHECKING:
    from inbox_app.gateway.embedded_catalog import Call
    from runtime_core.automations.book import Listed
    from runtime_core.automations.definition import Definition
    from runtime_core.automations.schedule import Schedule
    from runtime_core.runtime import Change, Runtime
    from runtime_core.wire import automations as wire


class EmbeddedAutomations:
    """``runtime`` gives the open runtime, on its loop; ``who`` is on whose behalf things are done."""

    def __init__(self, call: Call, runtime: Callable[[], Runtime], who: str) -> None:
        self._call = call
        self._runtime = runtime
        self._who = who

    async def automations(self, repository: str | None = None) -> Sequence[Automation]:
        return await self._call(self._automations(repository))

    async def preview(self, when: When, count: int = 3) -> Preview:
        return await self._call(self._preview(when, count))

    async def add(self, asked: AutomationRequest, *, enabled: bool = True) -> Automation:
        return await self._call(self._add(asked, enabled))

    async def edit(self, automation_id: str, asked: AutomationRequest) -> Automation:
        return await self._call(self._edit(automation_id, asked))

    async def switch(self, automation_id: str, *, is_on: bool) -> Automation:
        return await self._call(self._switch(automation_id, is_on))

    async def remove(self, automation_id: str) -> None:
        await self._call(self._remove(automation_id))

    async def start_now(self, automation_id: str) -> Firing:
        return (await self._call(self._start(automation_id, wait=False)))[0]

    async def started(self, automation_id: str) -> tuple[Firing, Automation]:
        """Start it now and wait until it ends, or its run parks."""
        return await self._call(self._start(automation_id, wait=True))

    async def history(self, automation_id: str, limit: int = 100) -> Sequence[Firing]:
        return await self._call(self._history(automation_id, limit))

    async def watch(self) -> AsyncGenerator[str]:
        loop = asyncio.get_running_loop()
        changed: asyncio.Queue[Change] = asyncio.Queue()

        def listener(change: Change) -> None:
            if change.kind in ("automation", "run"):
                loop.call_soon_threadsafe(changed.put_nowait, change)

        stop = await self._call(self._subscribe(listener))
        try:
            while True:
                change = await changed.get()
                automation = change.run_id
                if change.kind == "run":
                    automation = await self._call(self._runtime().automations.of_run(change.run_id))
                if automation:
                    yield automation
        finally:
            stop()

    # Below here everything runs on the runtime's loop.

    async def _automations(self, repository: str | None) -> Sequence[Automation]:
        root = Path(repository) if repository is not None else None
        return [_automation(one) for one in await self._runtime().automations.listed(root)]

    async def _preview(self, when: When, count: int) -> Preview:
        from runtime_core.automations.schedule import ScheduleError

        try:
            schedule = _schedule(when)
        except ScheduleError as error:
            return Preview(problem=str(error), in_zone=error.in_zone)
        now = time.time()
        return Preview(schedule.in_words(), tuple(schedule.next_times(now, now, count)))

    async def _add(self, asked: AutomationRequest, enabled: bool) -> Automation:
        book = self._runtime().automations
        return _automation(await book.add(Path(asked.repository), _definition(asked), who=self._who, enabled=enabled))

    async def _edit(self, automation_id: str, asked: AutomationRequest) -> Automation:
        return _automation(await self._runtime().automations.edit(automation_id, _definition(asked), who=self._who))

    async def _switch(self, automation_id: str, is_on: bool) -> Automation:
        return _automation(await self._runtime().automations.switch(automation_id, is_on=is_on, who=self._who))

    async def _remove(self, automation_id: str) -> None:
        await self._runtime().automations.remove(automation_id)

    async def _start(self, automation_id: str, *, wait: bool) -> tuple[Firing, Automation]:
        book = self._runtime().automations
        firing = await book.start(automation_id, who=self._who)
        if wait:
            firing = await book.finished(firing)
        return firing_of(firing), _automation(await book.one(automation_id))

    async def _history(self, automation_id: str, limit: int) -> Sequence[Firing]:
        return [firing_of(one) for one in await self._runtime().automations.history(automation_id, limit)]

    async def _subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        loop = asyncio.get_running_loop()
        stop = self._runtime().subscribe(listener)

        def stop_there() -> None:
            with suppress(RuntimeError):  # the runtime was closed
                loop.call_soon_threadsafe(stop)

        return stop_there


def _schedule(when: When) -> Schedule:
    from runtime_core.automations.schedule import Schedule

    return Schedule(when.cron.strip(), when.every.strip(), when.at.strip(), when.timezone.strip())


def _definition(asked: AutomationRequest) -> Definition:
    from runtime_core.automations.definition import Definition
    from runtime_core.automations.schedule import ScheduleError

    try:
        schedule = _schedule(asked.when)
    except ScheduleError as error:
        raise GatewayError("VALIDATION_ERROR", str(error)) from error
    return Definition(
        label=asked.label.strip(),
        schedule=schedule,
        agent=asked.agent or ("" if asked.tool else "default"),
        prompt=asked.prompt,
        tool=asked.tool,
        input=asked.input,
        scope=asked.scope,
    )


def _automation(listed: Listed) -> Automation:
    row, definition, schedule = listed.row, listed.definition, listed.definition.schedule
    return Automation(
        id=row.id,
        repository=row.repo,
        name=row.name,
        label=definition.label,
        origin=row.origin,
        enabled=row.enabled,
        when=When(schedule.cron, schedule.every, schedule.at, schedule.timezone),
        in_words=schedule.in_words(),
        next_at=row.next_at,
        agent=definition.agent,
        prompt=definition.prompt,
        tool=definition.tool,
        input=definition.input,
        scope=definition.scope,
        created_by=row.created_by,
        problem=listed.problem,
        gone=definition.gone,
        last=firing_of(listed.last) if listed.last is not None else None,
    )


def firing_of(firing: wire.Firing) -> Firing:
    return Firing(
        id=firing.id,
        source=firing.source,
        due_at=firing.due_at,
        started_at=firing.started_at,
        ended_at=firing.ended_at,
        late=firing.late,
        state=firing.state,
        session_id=firing.session_id or "",
        status=firing.status or "",
        error=firing.error or "",
    )
