"""What listings and the detail of a run hold, with what is known about their code (decisions 1, 12, 15 and 21)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, get_args

from runtime_core.approvals.eligibility import pause_wire
from runtime_core.dispatch.changes import span_wire
from runtime_core.engine.divergence import recorded_by
from runtime_core.engine.shelf import Shelf
from runtime_core.journal.base import Journal
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.runs import FINISHED, Entry, LegRow, PauseRow, RunRow, RunStatus, Standing, iso

_UNFINISHED: Final[Sequence[RunStatus]] = [status for status in get_args(RunStatus) if status not in FINISHED]
_FINISHED: Final[Sequence[RunStatus]] = [status for status in get_args(RunStatus) if status in FINISHED]


class Reading:
    """Reads one journal. ``code_changed`` is True on parked runs, and their open pauses, that would go on with other
    code than their last leg had; else it is absent.
    """

    def __init__(self, journal: Journal, shelf: Shelf) -> None:
        self._journal = journal
        self._shelf = shelf

    async def pending(self, who: str, limit: int, cursor: str | None) -> dict[str, Any]:
        page = await self._journal.pending(limit, cursor)
        standings = await self._journal.standings([pause.run_id for pause in page.items])
        approvals = [await self._pause(pause, who, standings.get(pause.run_id)) for pause in page.items]
        return {"approvals": approvals, "total": page.total, "next_cursor": page.next_cursor}

    async def runs(self, finished: bool | None, limit: int, cursor: str | None) -> dict[str, Any]:
        statuses = get_args(RunStatus) if finished is None else _FINISHED if finished else _UNFINISHED
        page = await self._journal.runs(statuses, limit, cursor)
        runs = [run.to_wire() | await self._changed(run.standing) for run in page.items]
        return {"runs": runs, "total": page.total, "next_cursor": page.next_cursor}

    async def detail(self, run: RunRow, who: str) -> dict[str, Any]:
        changed = await self._changed(run.standing)
        pauses = [
            pause_wire(pause, who, status=run.shown_status) | ({} if pause.outcome else changed)
            for pause in await self._journal.pauses(run.id)
        ]
        spans = await self._journal.spans(run.id)
        warnings = [warning.to_wire() for warning in await self._journal.warnings(run.id)]
        return {
            "run": {**run.to_wire(), **changed, "warnings": warnings, "revisions": await self._revisions(run)},
            "pauses": [pause for pause in pauses if "outcome" not in pause],
            "decisions": [pause for pause in pauses if "outcome" in pause],
            "spans": [span_wire(span, span.leg < run.epoch) for span in spans],
        }

    async def is_code_changed(self, run: RunRow) -> bool:
        return await self._shelf.is_changed(run.standing)

    async def _changed(self, run: Standing) -> dict[str, Any]:
        return {"code_changed": True} if await self._shelf.is_changed(run) else {}

    async def _pause(self, pause: PauseRow, who: str, run: Standing | None) -> dict[str, Any]:
        status = "needs-attention" if pause.kind == "attention" else "awaiting-input"
        if run is None:
            return pause_wire(pause, who, status=status)
        status = "diverged" if run.status == "diverged" else status
        return pause_wire(pause, who, status=status) | await self._changed(run)

    async def _revisions(self, run: RunRow) -> Sequence[dict[str, Any]]:
        legs = await self._journal.legs(run.id) or [LegRow(1, run.revision, run.created_at)]
        try:
            last = max((entry for entry in await self._journal.load(run.id) if entry.n >= 0), key=_epoch, default=None)
        except RuntimeFault as fault:  # a damaged run is shown as far as it can be
            if fault.details.get("session_id") != run.id:
                raise
            last = None
        old = recorded_by(legs, last, run)
        stored = self._shelf.versions.stored()
        return [
            {
                "revision": leg.revision,
                "leg": leg.epoch,
                "at": iso(leg.at),
                "stored": leg.revision in stored,
                "old": leg.revision == old,
            }
            for leg in legs
        ]


def _epoch(entry: Entry) -> int:
    return entry.epoch
