"""The automations of a runtime: listed, made, switched, started by hand (contract 1.5 and 8.1).

Those that files of a repository state are listed with it and are off until a person switches them on: nothing starts by
itself because a repository was opened. A person's are on when they are made.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from runtime_core.automations.definition import Definition, definition_of, definition_of_file, problem_in
from runtime_core.automations.starting import Starter
from runtime_core.engine.ids import new_id
from runtime_core.engine.quota import check_value
from runtime_core.engine.shelf import Shelf, absolute
from runtime_core.journal.base import Journal
from runtime_core.repo.bundle import Bundle, BundleError
from runtime_core.wire.automations import AutomationRow, AutomationStart, Firing
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps
from runtime_core.wire.runs import iso
from runtime_core.wire.settings import Settings

LABEL_LIMIT: Final = 200
HISTORY: Final = 100


@dataclass(frozen=True, slots=True)
class Listed:
    """An automation as it is shown. ``problem``: why it cannot be started, "" if it can; ``last``: its last start."""

    row: AutomationRow
    definition: Definition
    problem: str
    last: Firing | None

    def to_wire(self) -> dict[str, Any]:
        definition, row = self.definition, self.row
        target = (
            {"tool": definition.tool, "input": definition.input} if definition.tool else {"agent": definition.agent}
        )
        return {
            "id": row.id,
            "repo": row.repo,
            "name": row.name,
            "label": definition.label or row.name,
            "origin": row.origin,
            "enabled": row.enabled,
            **target,
            **({} if definition.tool else {"prompt": definition.prompt}),
            "scope": definition.scope,
            "schedule": definition.schedule.to_wire(),
            "timezone": definition.schedule.timezone,
            "in_words": definition.schedule.in_words(),
            "next_at": iso(row.next_at),
            "created_by": row.created_by,
            "updated_at": iso(row.updated_at),
            "problem": self.problem,
            "gone": definition.gone,
            "last": firing_wire(self.last) if self.last is not None else None,
        }


def firing_wire(firing: Firing) -> dict[str, Any]:
    return {
        "id": firing.id,
        "automation_id": firing.automation_id,
        "source": firing.source,
        "due_at": iso(firing.due_at),
        "started_at": iso(firing.started_at),
        "ended_at": iso(firing.ended_at),
        "late": firing.late,
        "state": firing.state,
        "session_id": firing.session_id,
        "status": firing.status,
        "error": firing.error,
    }


class Automations:
    """``executes``: whether this process may have agents work. ``advance``: waits until a run ends or parks."""

    def __init__(
        self,
        journal: Journal,
        shelf: Shelf,
        starter: Starter,
        settings: Settings,
        executes: Callable[[], bool],
        advance: Callable[[str], Awaitable[object]],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._journal = journal
        self._shelf = shelf
        self._starter = starter
        self._settings = settings
        self._executes = executes
        self._advance = advance
        self._now = now

    async def listed(self, root: Path | None = None) -> Sequence[Listed]:
        """Of one repository or (None) of all, by name, files read anew. Raises `BundleError` for ``root``."""
        bundles = await self._bundles(root)
        for bundle in bundles.values():
            await self.read_files(bundle)
        latest = await self._journal.latest_firings()
        rows = await self._journal.automations(str(absolute(root)) if root is not None else None)
        return [self._listed(row, bundles.get(row.repo), latest.get(row.id)) for row in rows]

    async def one(self, automation_id: str) -> Listed:
        """Raises `RuntimeFault` NOT_FOUND."""
        row = await self._row(automation_id)
        latest = await self._journal.firings(automation_id, 1)
        return self._listed(row, await self._bundle_of(row), latest[0] if latest else None)

    async def history(self, automation_id: str, limit: int = HISTORY) -> Sequence[Firing]:
        """The latest start first. Raises `RuntimeFault` NOT_FOUND."""
        await self._row(automation_id)
        return await self._journal.firings(automation_id, limit)

    async def of_run(self, run_id: str) -> str:
        """The automation whose last start this run is; "" if it is of none."""
        latest = (await self._journal.latest_firings()).values()
        return next((firing.automation_id for firing in latest if firing.session_id == run_id), "")

    async def add(self, root: Path, definition: Definition, *, who: str, enabled: bool = True) -> Listed:
        """Raises `RuntimeFault` VALIDATION_ERROR and `BundleError`."""
        bundle = await self._shelf.bundle(root)
        self._check(definition, bundle)
        now = self._now()
        identity = new_id("auto", now)
        row = AutomationRow(
            identity, str(bundle.root), identity, "person", definition.to_body(), enabled, who, now, now
        )
        row = replace(row, next_at=self._next_of(row, definition))
        await self._journal.add_automation(row)
        self._starter.kick()
        return await self.one(identity)

    async def edit(self, automation_id: str, definition: Definition, *, who: str) -> Listed:
        """Put another definition in place of a person's. Raises `RuntimeFault` and `BundleError`."""
        row = await self._row(automation_id)
        if row.origin == "file":
            raise RuntimeFault(
                "VALIDATION_ERROR",
                f"{row.name} is stated by a file of {row.repo}. Change the file, or add another one.",
            )
        self._check(definition, await self._shelf.bundle(Path(row.repo)))
        now = self._now()

        def changed(row: AutomationRow) -> AutomationRow:
            return self._stated(replace(row, created_by=who), definition, now, is_on=row.enabled)

        await self._change(automation_id, changed)
        return await self.one(automation_id)

    async def switch(self, automation_id: str, *, is_on: bool, who: str) -> Listed:
        """On or off. What a file states starts on behalf of the one who switched it on. Raises `RuntimeFault`."""
        row = await self._row(automation_id)
        if is_on:
            listed = self._listed(row, await self._bundle_of(row), None)
            if listed.problem:
                raise RuntimeFault("VALIDATION_ERROR", f"{_called(listed)} cannot be switched on. {listed.problem}")
            self._check_schedule(listed.definition)
        now = self._now()

        def changed(row: AutomationRow) -> AutomationRow:
            if row.enabled == is_on:
                return row
            by = who if is_on and row.origin == "file" else row.created_by
            new = replace(row, enabled=is_on, created_by=by, updated_at=now, next_at=None)
            return replace(new, next_at=self._next_of(new, definition_of(new.body)))

        await self._change(automation_id, changed)
        return await self.one(automation_id)

    async def remove(self, automation_id: str) -> None:
        """With its history; an agent that works for it is stopped.

        Raises `RuntimeFault` NOT_FOUND, and VALIDATION_ERROR where a file states it.
        """
        row = await self._row(automation_id)
        if row.origin == "file" and not definition_of(row.body).gone:
            raise RuntimeFault(
                "VALIDATION_ERROR", f"{row.name} is stated by a file of {row.repo}. Switch it off, or remove the file."
            )
        await self._journal.remove_automation(automation_id)
        await self._starter.stop_removed()

    async def start(self, automation_id: str, *, who: str) -> Firing:
        """Start it now, whether it is on or off. Raises `RuntimeFault` VALIDATION_ERROR and not_executing.

        ``skipped`` if its last start has not ended.
        """
        row = replace(await self._row(automation_id), created_by=who)
        ready = await self._starter.ready(row)
        if ready.problem:
            raise RuntimeFault("VALIDATION_ERROR", f"{ready.definition.label or row.name}: {ready.problem}")
        if ready.run is None and not self._executes():
            raise RuntimeFault(
                "not_executing",
                "Another process works with this data folder, and only that one can have agents work. Start it there, "
                "or close it and try again.",
            )
        if self._executes():
            await self._starter.settle()
        now = self._now()
        firing = await self._journal.start_automation(AutomationStart(row.id, "manual", now, now, run=ready.run))
        if firing is None:
            raise _unknown(automation_id)
        await self._starter.go(ready, firing)
        return firing

    async def finished(self, firing: Firing) -> Firing:
        """Wait until a start of this process ends, or its run parks; how it stands then."""
        await self._starter.wait(firing.id)
        if firing.status is not None and firing.session_id is not None:
            await self._advance(firing.session_id)
        await self._starter.note_ends()
        found = [one for one in await self._journal.firings(firing.automation_id, HISTORY) if one.id == firing.id]
        return found[0] if found else firing

    async def reread(self, repo: str | None = None) -> None:
        """Take over what files state, of one repository or (None) of all of which something is on."""
        rows = await self._journal.automations(repo)
        for root in sorted({row.repo for row in rows if row.origin == "file" and row.enabled}):
            bundle = await self._bundle(root)
            if bundle is not None:
                await self.read_files(bundle)

    async def read_files(self, bundle: Bundle) -> None:
        """Take over what the files of a repository state: new ones off, changed ones with their new schedule."""
        known = {row.name: row for row in await self._journal.automations(str(bundle.root)) if row.origin == "file"}
        now = self._now()
        for name, file in bundle.automations.items():
            definition = definition_of_file(file)
            row = known.pop(name, None)
            if row is None:
                identity = new_id("auto", now)
                body = definition.to_body()
                new = AutomationRow(identity, str(bundle.root), name, "file", body, False, file.file, now, now)
                await self._journal.add_automation(new)
            elif row.body != definition.to_body():
                await self._change(row.id, self._restated(definition, now))
        for row in known.values():
            stated = definition_of(row.body)
            if not stated.gone:
                await self._change(row.id, self._restated(replace(stated, gone=True), now))

    def _restated(self, definition: Definition, now: float) -> Callable[[AutomationRow], AutomationRow]:
        """What a file states now: on only if it was, and still can be."""
        can_be_on = not (definition.gone or definition.problem or definition.schedule.is_empty)
        return lambda row: self._stated(row, definition, now, is_on=row.enabled and can_be_on)

    def _stated(self, row: AutomationRow, definition: Definition, now: float, *, is_on: bool) -> AutomationRow:
        """With another definition. What is due stays so as long as the schedule is the same."""
        new = replace(row, body=definition.to_body(), enabled=is_on)
        if is_on and definition.schedule == definition_of(row.body).schedule:
            return new
        new = replace(new, updated_at=now, next_at=None)
        return replace(new, next_at=self._next_of(new, definition))

    def _next_of(self, row: AutomationRow, definition: Definition) -> float | None:
        return definition.schedule.next_after(self._now(), row.updated_at) if row.enabled else None

    def _check(self, definition: Definition, bundle: Bundle) -> None:
        problem = problem_in(definition, bundle)
        if problem:
            raise RuntimeFault("VALIDATION_ERROR", problem)
        if len(definition.label) > LABEL_LIMIT:
            raise RuntimeFault("VALIDATION_ERROR", f"label: at most {LABEL_LIMIT} characters.", key="label")
        check_value("input", definition.input, self._settings.limits)
        check_value("prompt", dumps(definition.prompt), self._settings.limits)
        self._check_schedule(definition)

    def _check_schedule(self, definition: Definition) -> None:
        schedule = definition.schedule
        if schedule.is_empty:
            say = "only a call from outside or a person starts it" if definition.webhook else "it has no schedule"
            raise RuntimeFault("VALIDATION_ERROR", f"Nothing is to be switched on: {say}. It can be started by hand.")
        if schedule.next_after(self._now(), self._now()) is None:
            raise RuntimeFault("VALIDATION_ERROR", f"{schedule.at} has passed.", key="at")

    def _listed(self, row: AutomationRow, bundle: Bundle | None, last: Firing | None) -> Listed:
        definition = definition_of(row.body)
        problem = problem_in(definition, bundle) if bundle is not None else f"{row.repo} cannot be used."
        return Listed(row, definition, problem, last)

    async def _bundles(self, root: Path | None) -> dict[str, Bundle]:
        if root is not None:
            bundle = await self._shelf.bundle(root)
            return {str(bundle.root): bundle}
        known = {row.repo for row in await self._journal.automations()}
        roots = sorted({*known, *(str(bundle.root) for bundle in self._shelf.bundles)})
        found = [await self._bundle(repo) for repo in roots]
        return {str(bundle.root): bundle for bundle in found if bundle is not None}

    async def _bundle_of(self, row: AutomationRow) -> Bundle | None:
        return await self._bundle(row.repo)

    async def _bundle(self, repo: str) -> Bundle | None:
        try:
            return await self._shelf.bundle(Path(repo))
        except BundleError:
            return None

    async def _change(self, automation_id: str, changed: Callable[[AutomationRow], AutomationRow]) -> None:
        if await self._journal.change_automation(automation_id, changed) is None:
            raise _unknown(automation_id)
        self._starter.kick()

    async def _row(self, automation_id: str) -> AutomationRow:
        row = await self._journal.automation(automation_id)
        if row is None:
            raise _unknown(automation_id)
        return row


def _called(listed: Listed) -> str:
    return listed.definition.label or listed.row.name


def _unknown(automation_id: str) -> RuntimeFault:
    return RuntimeFault(
        "NOT_FOUND", f"There is no automation {automation_id}. See all with: operator-inbox automations list"
    )
