"""Starting what an automation names: a durable tool as a run, an agent as a conversation of its own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runtime_core.automations.definition import Definition, definition_of, problem_in
from runtime_core.engine.engine import Launch
from runtime_core.engine.shelf import Shelf
from runtime_core.journal.base import Journal
from runtime_core.repo.bundle import BundleError
from runtime_core.wire.automations import AutomationRow, Firing, FiringState
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText, loads
from runtime_core.wire.runs import RunRow, RunStatus

log = logging.getLogger(__name__)

INTERRUPTED: Final = "The program ended meanwhile. See the conversation for how far it came; start it again if needed."
_ERROR_LIMIT: Final = 2000

_ENDS: Final[Mapping[RunStatus, str]] = {
    "cancelled": "The run was cancelled.",
    "expired": "A question of the run was not answered in time.",
}

Began = Callable[[str], Awaitable[None]]
"""Told the id of the conversation."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What an agent is told by an automation, with nobody there. ``who``: on whose behalf."""

    root: Path
    agent: str
    text: str
    scope: str
    who: str


Talk = Callable[[Prompt, Began], Awaitable[str | None]]
"""Has one turn of a new conversation; returns what went wrong as a sentence, "" if nothing did, None if it was
cut off because the program ends."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What is to be started. ``problem``: why it cannot be; ``run``: the durable run that is to be created."""

    row: AutomationRow
    definition: Definition
    problem: str = ""
    run: RunRow | None = None


class Starter:
    """``kick`` says that this process wrote something: a run is to be advanced, or something is due at another time."""

    def __init__(self, journal: Journal, shelf: Shelf, talk: Talk, kick: Callable[[], None]) -> None:
        self._journal = journal
        self._shelf = shelf
        self._talk = talk
        self.kick = kick
        self._talks: dict[int, tuple[str, asyncio.Task[None]]] = {}
        self._settling = asyncio.Lock()
        self._is_settled = False

    async def ready(self, row: AutomationRow) -> Ready:
        """Look at the repository as it is now. If it cannot be used, that is the problem."""
        definition = definition_of(row.body)
        try:
            bundle = await self._shelf.bundle(Path(row.repo))
        except BundleError as error:
            return Ready(row, definition, f"{row.repo} cannot be used: {error}")
        problem = problem_in(definition, bundle)
        if problem or not definition.tool:
            return Ready(row, definition, problem)
        tool = bundle.tools[definition.tool]
        launch = Launch(bundle, tool, definition.input, row.created_by, definition.scope, source="automation")
        return Ready(row, definition, run=launch.row())

    async def go(self, ready: Ready, firing: Firing) -> None:
        """Start what was noted as ``firing``."""
        self.kick()
        if firing.state != "running":
            return
        if ready.problem:
            await self._journal.end_automation(firing.id, "failed", time.time(), ready.problem[:_ERROR_LIMIT])
        elif ready.run is None:
            talk = asyncio.get_running_loop().create_task(
                self._have_turn(ready, firing), name=f"automation {firing.id}"
            )
            self._talks[firing.id] = firing.automation_id, talk
            talk.add_done_callback(lambda _: self._talks.pop(firing.id, None))
        self.kick()

    async def settle(self) -> None:
        """Note of the turns of agents that a dead process had begun that nobody can tell how they ended.

        Of the process that executes, before it starts the first one itself.
        """
        async with self._settling:
            if self._is_settled:
                return
            for firing in await self._journal.open_firings():
                if firing.status is None:
                    await self._journal.end_automation(firing.id, "unknown", time.time(), INTERRUPTED)
            self._is_settled = True

    async def note_ends(self) -> None:
        """Note how the starts ended whose durable runs have."""
        for firing in await self._journal.open_firings(ended=True):
            run = await self._journal.run(firing.session_id or "")
            if run is not None:
                state: FiringState = "completed" if run.status == "completed" else "failed"
                error = None if state == "completed" else _ENDS.get(run.status) or _message(run.error)[:_ERROR_LIMIT]
                await self._journal.end_automation(firing.id, state, run.finished_at or time.time(), error)
                self.kick()

    async def wait(self, firing_id: int) -> None:
        """Until the turn of an agent that was started here is over."""
        if firing_id in self._talks:
            _, talk = self._talks[firing_id]
            await asyncio.wait({talk})

    async def stop_removed(self) -> None:
        """End the turns of agents whose automations are there no more: nothing else tells that they work."""
        for automation_id, talk in list(self._talks.values()):
            if await self._journal.automation(automation_id) is None:
                talk.cancel()

    async def stop(self) -> None:
        """End the turns that go on, noting that nobody knows how far they came."""
        talks = [talk for _, talk in self._talks.values()]
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)

    async def _have_turn(self, ready: Ready, firing: Firing) -> None:
        definition, row = ready.definition, ready.row
        prompt = Prompt(Path(row.repo), definition.agent, definition.prompt, definition.scope, row.created_by)

        async def began(session_id: str) -> None:
            await self._journal.automation_began(firing.id, session_id)
            self.kick()

        try:
            problem = await self._talk(prompt, began)
        except asyncio.CancelledError:
            await self._journal.end_automation(firing.id, "unknown", time.time(), INTERRUPTED)
            raise
        except (RuntimeFault, BundleError) as error:
            problem = str(error)
        except Exception as error:
            log.exception("automation %s failed", row.id)
            problem = f"{type(error).__name__}: {error}"
        if problem is None:
            await self._journal.end_automation(firing.id, "unknown", time.time(), INTERRUPTED)
        else:
            state = "failed" if problem else "completed"
            await self._journal.end_automation(firing.id, state, time.time(), problem[:_ERROR_LIMIT] or None)
        self.kick()


def _message(error: JsonText | None) -> str:
    said = loads(error) if error is not None else None
    return str(said.get("message", "")) if isinstance(said, dict) else ""
