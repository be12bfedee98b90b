"""Automations as the application knows them. Plain data, as `gateway.base`; times are seconds since the epoch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

FiringState: TypeAlias = Literal["running", "completed", "failed", "skipped", "unknown"]


@dataclass(frozen=True, slots=True)
class When:
    """One of ``cron``, ``every`` (``15m``) and ``at`` (``2026-12-24T18:00``); none of them: only by hand.

    ``timezone``: a name such as ``Europe/Berlin``, "" for the one of the computer of the runtime.
    """

    cron: str = ""
    every: str = ""
    at: str = ""
    timezone: str = ""


@dataclass(frozen=True, slots=True)
class Firing:
    """One start. ``source``: schedule or manual. ``session_id``: the run (``is_run``) or the conversation it began.

    ``status``: that of the run, "" if it is none; a start whose run waits for an answer is still ``running``.
    """

    id: int
    source: str
    due_at: float
    started_at: float
    ended_at: float | None
    late: bool
    state: FiringState
    session_id: str = ""
    status: str = ""
    error: str = ""

    @property
    def is_run(self) -> bool:
        return bool(self.status)


@dataclass(frozen=True, slots=True)
class Automation:
    """``tool`` with ``input`` (JSON text), or ``prompt`` for ``agent``. ``origin``: file or person.

    ``in_words``: its schedule. ``next_at``: when it is due next, None if it is off or no time starts it. ``problem``:
    why it cannot be started, "" if it can. ``gone``: its file is there no more.
    """

    id: str
    repository: str
    name: str
    label: str
    origin: str
    enabled: bool
    when: When
    in_words: str
    next_at: float | None = None
    agent: str = ""
    prompt: str = ""
    tool: str = ""
    input: str = "{}"
    scope: str = ""
    created_by: str = ""
    problem: str = ""
    gone: bool = False
    last: Firing | None = None

    @property
    def is_timed(self) -> bool:
        return bool(self.when.cron or self.when.every or self.when.at)


@dataclass(frozen=True, slots=True)
class AutomationRequest:
    """What is to be started, and when: ``tool`` with ``input``, or ``prompt`` for ``agent`` ("": default)."""

    repository: str
    when: When
    label: str = ""
    agent: str = ""
    prompt: str = ""
    tool: str = ""
    input: str = "{}"
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """A schedule in words and its next times; or ``problem``, a sentence. ``in_zone``: it is one of the time zone."""

    in_words: str = ""
    times: Sequence[float] = ()
    problem: str = ""
    in_zone: bool = False


class AutomationGateway(Protocol):
    """Every coroutine may raise `GatewayError`."""

    async def automations(self, repository: str | None = None) -> Sequence[Automation]:
        """Those of one repository or (None) of all, by name."""
        ...

    async def preview(self, when: When, count: int = 3) -> Preview: ...
    async def add(self, asked: AutomationRequest) -> Automation: ...
    async def edit(self, automation_id: str, asked: AutomationRequest) -> Automation:
        """Only of a person's; its repository stays."""
        ...

    async def switch(self, automation_id: str, *, is_on: bool) -> Automation: ...
    async def remove(self, automation_id: str) -> None:
        """With its history; what it started stays, but an agent that works for it is stopped."""
        ...

    async def start_now(self, automation_id: str) -> Firing:
        """Start it now; ``skipped`` if its last start has not ended."""
        ...

    async def history(self, automation_id: str, limit: int = 100) -> Sequence[Firing]:
        """The latest start first."""
        ...

    def watch(self) -> AsyncIterator[str]:
        """The id of each automation of which something changed, its last run for example, from now on."""
        ...
