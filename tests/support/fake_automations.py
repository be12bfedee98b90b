"""Automations without a runtime: tests say what there is, and what is asked for is remembered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any

from inbox_app.gateway.automations import Automation, AutomationRequest, Firing, Preview, When
from inbox_app.gateway.base import GatewayError
from tests.support.builders import NOW

HOUR, DAY = 3600.0, 86_400.0
MORNING = When(cron="30 9 * * MON-FRI")


def firing(number: int = 1, **changes: Any) -> Firing:
    at = NOW - number * DAY
    made = Firing(number, "schedule", at, at + 1, at + 42, False, "completed", f"dur_{number}", "completed")
    return replace(made, **changes)


def automation(name: str = "late", **changes: Any) -> Automation:
    made = Automation(
        id=f"auto_{name}",
        repository="/agents/release-desk",
        name=name,
        label="Late parcels",
        origin="person",
        enabled=True,
        when=MORNING,
        in_words="At 09:30 on Monday through Friday",
        next_at=NOW + 2 * HOUR,
        agent="default",
        prompt="Which parcels are late? Ask me before you tell a customer.",
        created_by="local:rosa",
        last=firing(),
    )
    return replace(made, **changes)


class FakeAutomations:
    """Implements `AutomationGateway`. `tell` lets watchers hear of a change; edits wait for ``hold``."""

    def __init__(self, *automations: Automation, history: Sequence[Firing] = ()) -> None:
        self.listed = list(automations)
        self.starts = list(history)
        self.switched: list[tuple[str, bool]] = []
        self.started: list[str] = []
        self.removed: list[str] = []
        self.added: list[AutomationRequest] = []
        self.edited: list[tuple[str, AutomationRequest]] = []
        self.previewed: list[When] = []
        self.foresight = Preview("At 09:30 on Monday through Friday", (NOW + HOUR, NOW + DAY, NOW + 2 * DAY))
        self.refuse: GatewayError | None = None
        self.hold = asyncio.Event()
        self.hold.set()
        self._changes: asyncio.Queue[str] = asyncio.Queue()

    def tell(self, automation_id: str) -> None:
        self._changes.put_nowait(automation_id)

    async def automations(self, repository: str | None = None) -> Sequence[Automation]:
        self._refuse()
        return tuple(self.listed)

    async def preview(self, when: When, count: int = 3) -> Preview:
        self.previewed.append(when)
        return self.foresight

    async def add(self, asked: AutomationRequest) -> Automation:
        self._refuse()
        self.added.append(asked)
        made = automation("new", label=asked.label, when=asked.when, last=None)
        self.listed.append(made)
        return made

    async def edit(self, automation_id: str, asked: AutomationRequest) -> Automation:
        self._refuse()
        self.edited.append((automation_id, asked))
        await self.hold.wait()
        self._refuse()
        return self._change(automation_id, label=asked.label, prompt=asked.prompt)

    async def switch(self, automation_id: str, *, is_on: bool) -> Automation:
        self._refuse()
        self.switched.append((automation_id, is_on))
        return self._change(automation_id, enabled=is_on, next_at=NOW + HOUR if is_on else None)

    async def remove(self, automation_id: str) -> None:
        self._refuse()
        self.removed.append(automation_id)
        self.listed = [one for one in self.listed if one.id != automation_id]

    async def start_now(self, automation_id: str) -> Firing:
        self._refuse()
        self.started.append(automation_id)
        made = firing(99, source="manual", started_at=NOW, ended_at=None, state="running", status="running")
        self.starts.insert(0, made)
        return made

    async def history(self, automation_id: str, limit: int = 100) -> Sequence[Firing]:
        return tuple(self.starts)

    async def watch(self) -> AsyncGenerator[str]:
        while True:
            yield await self._changes.get()

    def _change(self, automation_id: str, **changes: Any) -> Automation:
        self.listed = [replace(one, **changes) if one.id == automation_id else one for one in self.listed]
        return next(one for one in self.listed if one.id == automation_id)

    def _refuse(self) -> None:
        if self.refuse is not None:
            raise self.refuse
