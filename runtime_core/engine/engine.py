"""The engine: everything needed to advance runs and to run inline tools, given a journal and handler hosts."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from runtime_core.agents.models import Models
from runtime_core.agents.turns import Model
from runtime_core.engine import outcomes
from runtime_core.engine.calls import Calls, ModelOf
from runtime_core.engine.conclusion import Stuck
from runtime_core.engine.definitions import Definitions
from runtime_core.engine.driver import RunDriver
from runtime_core.engine.ears import Ears, Tally
from runtime_core.engine.failures import CallFailed, HandlerFailed, error_text, place_of
from runtime_core.engine.faults import Faults
from runtime_core.engine.frames import Origin, Place
from runtime_core.engine.gate import Order
from runtime_core.engine.gating import Gates, gate_place, root_place
from runtime_core.engine.hooks import Hooks, Source
from runtime_core.engine.ids import new_run_id
from runtime_core.engine.notes import HandlerLog
from runtime_core.engine.pauses import stuck_run
from runtime_core.engine.quota import excess
from runtime_core.engine.shelf import Shelf
from runtime_core.engine.shell import AT_ONCE, Shell
from runtime_core.engine.surface import Surface
from runtime_core.engine.talk import CHAT_TOOL, Talk, TalkRequest, talk_of
from runtime_core.hosts.base import HostRepo, Hosts
from runtime_core.journal.base import Claim, Fenced, Journal
from runtime_core.repo.bundle import Agent, Bundle, BundleError, Tool
from runtime_core.repo.revision import revision_of
from runtime_core.repo.trust import COMMANDS, shell_need
from runtime_core.repo.versions import Versions
from runtime_core.spans.book import SpanBook
from runtime_core.tools.base import Member, Toolbox
from runtime_core.wire.json import JsonText, loads
from runtime_core.wire.runs import FINISHED, RunRow, Span
from runtime_core.wire.settings import Settings

log = logging.getLogger(__name__)

Publish = Callable[[Span, bool], None]
"""Told of every span that changed, and whether it was replayed in this leg."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A durable run to create."""

    bundle: Bundle
    tool: Tool
    params: JsonText
    who: str
    scope: str = ""
    context: JsonText | None = None
    parent: str | None = None
    attachments: JsonText | None = None
    """Files for a tool that is not durable."""
    source: Source = "chat"
    human_present: bool = True
    model: str | None = None
    """The one that was chosen for the conversation which launched it, as ``provider:name``."""

    def row(self) -> RunRow:
        now = time.time()
        return RunRow(
            id=new_run_id(now),
            tool=self.tool.name,
            repo=str(self.bundle.root),
            revision=self.bundle.revision,
            status="runnable",
            epoch=0,
            params=self.params,
            created_by=self.who,
            created_at=now,
            updated_at=now,
            scope=self.scope,
            parent_session=self.parent,
            context=self.context,
            seed=secrets.token_hex(16),
        )


@dataclass(frozen=True, slots=True)
class _Nested:
    """Where a run of its own stands that a handler waits for, and how that one launched it, with its own code."""

    launch: Launch
    place: Place


class Engine:
    """Advances claimed runs of one executor. ``finish_run`` creates a run and waits until it ends or parks."""

    def __init__(
        self,
        journal: Journal,
        hosts: Hosts,
        *,
        models: Models,
        publish: Publish,
        handler_log: HandlerLog,
        finish_run: Callable[[RunRow], Any],
        settings: Settings,
        versions: Versions,
        definitions: Definitions,
        hooks: Hooks,
        gates: Gates,
        command_homes: Path,
        toolbox: Toolbox,
        members: Mapping[str, Member],
        environment: Callable[[str], str | None],
        faults: Faults,
    ) -> None:
        self._faults = faults
        self._environment = environment
        self._toolbox = toolbox
        self._members = members
        self._command_homes = command_homes
        self.shelf = Shelf(versions, definitions, self._retire)
        self._definitions = definitions
        self._hooks = hooks
        self._gates = gates
        self._journal = journal
        self._hosts = hosts
        self._models = models
        self._publish = publish
        self._handler_log = handler_log
        self._finish_run = finish_run
        self._settings = settings
        self._commands = asyncio.Semaphore(AT_ONCE)
        self._owner = f"{os.getpid()}.{secrets.token_hex(4)}"
        self._drivers: dict[str, RunDriver] = {}
        self._stopped = False
        self._nested: dict[str, _Nested] = {}
        self._claimed: set[str] = set()
        self._cancelled: set[str] = set()

    async def advance(self, run_id: str) -> None:
        """Claim a run and drive it until it parks or ends; nothing if it is not runnable.

        Raises what stopped the journal; the run can then be advanced again.
        """
        claim = await self._journal.claim(run_id, self._claimant(run_id))
        if claim is None or self._stopped:
            return
        self._claimed.add(run_id)
        try:
            await self._drive(claim)
        except Fenced:
            log.info("%s was taken away while it was opened", run_id)
        finally:
            self._cancelled.discard(run_id)
        self._claimed.discard(run_id)

    async def run_inline(self, launch: Launch) -> dict[str, Any]:
        """Run a tool without a session and reply in the shape of a run."""
        tool = launch.tool
        seed = secrets.token_hex(16)
        calls = self._calls(launch, self._origin(launch, None, seed), SpanBook("", 0))
        try:
            place = Place(tool, names=(tool.name,), attachments=launch.attachments or "[]")
            return outcomes.inline_result(await calls.inline(place, launch.params))
        except HandlerFailed as failed:
            return outcomes.inline_failure(tool.name, failed.failure, place_of(failed.failure, launch.bundle.root))

    async def talk(self, request: TalkRequest) -> Talk:
        """What one turn of a conversation is served with. Raises what stopped the journal."""
        launch = Launch(
            bundle=request.bundle,
            tool=CHAT_TOOL,
            params=JsonText("{}"),
            who=request.who,
            scope=request.scope,
            context=request.context,
            source=request.source,
            human_present=request.human_present,
            model=request.model,
        )
        origin = replace(
            self._origin(launch, None, secrets.token_hex(16)),
            chat_id=request.session_id,
            turn=request.turn,
            ears=request.ears,
        )
        limit = self._settings.limits.value
        spans = SpanBook(request.session_id, request.turn, request.on_span, limit=limit)
        calls = self._calls(launch, origin, spans)
        notes = await self._journal.notes(str(request.bundle.root), request.scope)
        return await talk_of(request, notes, calls)

    @property
    def revisions(self) -> Set[str]:
        """The code that this process uses."""
        return {bundle.revision for bundle in self.shelf.bundles} | {one.revision for one in self._drivers.values()}

    @property
    def working(self) -> Sequence[str]:
        """The tools of the runs that are being advanced; may be asked from any thread."""
        return [driver.tool for driver in list(self._drivers.values())]

    def is_asking(self, run_id: str) -> bool:
        """Whether a model of the run waits for a person."""
        return self._gates.is_asking(run_id)

    async def tidy(self, parent: str) -> None:
        """Cancel what was asked for a run or a conversation that is over."""
        await self._gates.tidy(parent)

    async def sweep(self) -> None:
        """Cancel what models of processes that are gone have asked."""
        await self._gates.sweep()

    def cancel(self, run_id: str) -> None:
        """Abort the leg of a run that was cancelled in the journal."""
        driver = self._drivers.get(run_id)
        if driver is not None:
            driver.cancel()
        elif run_id in self._claimed:
            self._cancelled.add(run_id)

    async def stop(self, grace_s: float) -> None:
        """Let go of all runs; they go on from their journals under the next executor.

        Calls that are being executed get ``grace_s`` seconds to end, none begins.
        """
        self._stopped = self._gates.is_stopped = True
        await asyncio.gather(*(driver.stop(grace_s) for driver in self._drivers.values()))
        await self._gates.stop()

    async def _model_of(self, session: str, launch: Launch, agent: Agent) -> Model | None:
        """The model of an agent in one run or conversation. Raises `ModelUnusable`."""
        bundle = launch.bundle
        return await self._models.choose(session, bundle.manifest, bundle.root, agent.model_tier, launch.model)

    def _claimant(self, run_id: str) -> str:
        """A leg that broke off left its claim behind: another name takes it over."""
        return f"{self._owner}.{secrets.token_hex(4)}" if run_id in self._claimed else self._owner

    async def _drive(self, claim: Claim) -> None:
        run = claim.run
        try:
            above = self._nested.get(run.id)
            bundle = above.launch.bundle if above is not None else await self.shelf.next_code(run, keep=True)
        except BundleError as error:
            await self._hold(claim, "repository-unavailable", f"its repository cannot be opened. {_problems(error)}")
            return
        root = root_place(run, bundle)
        if root is None:
            lacks = "is not a durable tool any more" if run.tool in bundle.tools else "is not there any more"
            await self._hold(claim, "tool-unavailable", f'the tool "{run.tool}" of {run.repo} {lacks}.')
            return
        await self._toolbox.look(bundle)
        if run.id in self._cancelled:
            return
        if above is not None:
            root = replace(above.place, tool=root.tool, path="")
        spans = SpanBook(run.id, claim.epoch, lambda span: self._publish(span, span.leg < claim.epoch))
        launch = Launch(bundle, root.tool, run.params, run.created_by, run.scope, run.context)
        if above is not None:
            now = above.launch
            launch = replace(launch, source=now.source, human_present=now.human_present, model=now.model)
        tally = Tally()
        calls = self._calls(launch, replace(self._origin(launch, run.id, run.seed), ears=tally), spans)
        limits, twice = self._settings.limits, self._settings.replay_twice
        claim = replace(claim, revision=bundle.revision)
        driver = RunDriver(claim, self._journal, calls, root, tally, limits, twice=twice)
        self._drivers[run.id] = driver
        try:
            await driver.drive()
        except Stuck as stuck:
            spans.rest()
            await self._hold(claim, stuck.code, str(stuck), spans.take())
        finally:
            del self._drivers[run.id]
        if bundle.agents:
            await self._gates.tidy(run.id)

    def _origin(self, launch: Launch, run_id: str | None, seed: str) -> Origin:
        return Origin(
            launch.bundle,
            self._hosts,
            run_id,
            launch.scope,
            seed,
            self._environment,
            self._handler_log,
            self._toolbox,
            strict=self._settings.strict,
        )

    def _calls(self, launch: Launch, origin: Origin, spans: SpanBook) -> Calls:
        """What executes the calls of a run or a turn that was launched so."""
        bundle, run_id, ears = launch.bundle, origin.session_id, origin.ears
        model: ModelOf = partial(self._model_of, origin.session, launch)

        async def own_run(place: Place, params: JsonText, is_selected: bool) -> JsonText:
            child = replace(launch, tool=place.tool, params=params, parent=origin.session, attachments=None)
            return await self._own_run(place, child, ears, is_selected=is_selected)

        async def gate(order: Order) -> JsonText:
            def new(order: Order) -> RunRow:
                tool, parent = gate_place(order).tool, run_id or origin.chat_id
                asking = replace(launch, tool=tool, params=order.to_json(), parent=parent)
                return replace(asking.row(), gate=order.kind)

            problem = excess(f'What tool "{order.tool}" was called with', order.to_json(), self._settings.limits)
            if problem is not None:
                raise CallFailed("invalid-params", f"{problem} Pass less.", tool=order.tool)
            return await self._gates.ask(order, run_id, new, ears)

        async def trusted() -> bool:
            """The code that runs, with commands; and what these may start, with the code that is there now."""
            root = bundle.root
            need, present = await asyncio.to_thread(lambda: (shell_need(root), revision_of(root)))
            ours, todays = [await self._journal.trusted(str(root), code) for code in (bundle.revision, present)]
            return any(text.startswith(COMMANDS) for text in ours) and need in todays

        shell = Shell(bundle, self._settings.shell_exec, trusted, self._commands, self._command_homes)
        surface = Surface(self._definitions, origin, launch.who, launch.context, launch.human_present, launch.source)
        return Calls(origin, spans, model, own_run, gate, shell, surface, self._hooks, self._members, self._faults)

    async def _own_run(self, place: Place, launch: Launch, ears: Ears, *, is_selected: bool) -> JsonText:
        """A durable tool called from code that is not journaled (decision 10), or selected by a model."""
        problem = excess(f'What tool "{launch.tool.name}" was called with', launch.params, self._settings.limits)
        if problem is not None:
            raise CallFailed("invalid-params", f"{problem} Pass less.", tool=launch.tool.name)
        row = launch.row()
        name = launch.tool.name
        self._nested[row.id] = _Nested(launch, replace(place, names=place.names[-1:]))
        try:
            await ears.became(place.path, row.id)
            run: RunRow = await self._finish_run(row)
        finally:
            del self._nested[row.id]
        if run.status == "completed":
            return run.result or "null"
        error: Any = loads(run.error) if run.error is not None else None
        if run.status in ("failed", "expired"):
            error.pop("at", None)  # the caller may be recorded, and lines move
            raise CallFailed("execution-failed", f'Tool "{name}" failed: {error["message"]}', tool=name, cause=error)
        if is_selected and run.status not in FINISHED:
            return outcomes.told_to_model(run, await self._journal.pauses(run.id))
        raise CallFailed(
            "execution-failed",
            f'Tool "{name}" failed: it is durable and did not finish but is {run.shown_status} as run {run.id}, and a '
            "tool that is not durable itself cannot wait for that. "
            f'Make the calling tool durable ("execution": "durable"), or call a tool that does not pause.',
            tool=name,
            cause={"name": "Error", "message": f"run {run.id} is {run.shown_status}"},
        )

    async def _hold(self, claim: Claim, code: str, reason: str, spans: Sequence[Span] = ()) -> None:
        """Park a run that cannot go on here, with its reason and the question whether to try again."""
        log.warning("%s: %s", claim.run.id, reason)
        asked = await self._journal.pauses(claim.run.id)
        waiting = [pause for pause in asked if pause.outcome is None and not pause.slot.startswith("-")]
        pause, entry = stuck_run(claim, reason, time.time())
        await self._journal.park(
            claim,
            "needs-attention",
            pauses=[*waiting, pause],
            entries=[entry],
            error=error_text(code, reason),
            spans=spans,
        )

    async def _retire(self, bundle: Bundle) -> None:
        """Called when files changed: processes of the old code end with their legs, its copy stays a while."""
        await self._hosts.retire(HostRepo(bundle.root, bundle.revision, bundle.code))
        await self._definitions.retire(bundle)
        await self._hooks.retire(bundle)
        await asyncio.to_thread(self.shelf.versions.find, bundle.revision)


def _problems(error: BundleError) -> str:
    errors = [problem for problem in error.problems if problem.severity == "error"]
    return " ".join(f"{error.root / problem.file}: {problem.message} {problem.remedy}" for problem in errors)
