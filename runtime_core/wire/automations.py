"""Automations as they are stored: what is started, when, and what became of it (contract 1.5, 7.6 and decision 34)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runtime_core.wire.json import JsonText
from runtime_core.wire.runs import RunRow

Origin = Literal["file", "person"]
"""Whether a file of the repository states it, or a person made it here."""

Source = Literal["schedule", "manual"]
"""What started it. The schedule does so at most once for each of its times."""

FiringState = Literal["running", "completed", "failed", "skipped", "unknown"]
"""``running``: not ended, it may wait for a person. ``skipped``: it was due while the last one had not ended.
``unknown``: the program ended meanwhile, and nothing tells how far it came."""


@dataclass(frozen=True, slots=True)
class AutomationRow:
    """One automation of the repository at the absolute path ``repo``. Times are seconds since the epoch.

    ``body``: target, schedule and so on as one JSON object (`automations.definition`). ``next_at``: when it is due
    next, None if it is off or no time starts it. ``updated_at``: when its schedule was set, or it was switched, last.
    """

    id: str
    repo: str
    name: str
    origin: Origin
    body: JsonText
    enabled: bool
    created_by: str
    created_at: float
    updated_at: float
    next_at: float | None = None


@dataclass(frozen=True, slots=True)
class Firing:
    """One start of an automation, for the time ``due_at``; ``late``: that much later that it is told.

    ``session_id``: the durable run or the conversation. ``status``: of the durable run, None if it is none.
    """

    id: int
    automation_id: str
    source: Source
    due_at: float
    started_at: float
    ended_at: float | None
    late: bool
    state: FiringState
    session_id: str | None = None
    error: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class AutomationStart:
    """A start of an automation that is to be noted. ``seen``: the ``next_at`` because of which; ``next_at``: the one
    after it; ``stays_on`` False: it is switched off with this start. ``run``: the durable run that is created with it.
    """

    automation_id: str
    source: Source
    due_at: float
    at: float
    late: bool = False
    seen: float | None = None
    next_at: float | None = None
    stays_on: bool = True
    run: RunRow | None = None
