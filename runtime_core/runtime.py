"""The composition root: one durable runtime on one data folder, living on whatever asyncio loop opens it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from runtime_core.agents.models import Models, absolute
from runtime_core.approvals.answering import judge, recorded
from runtime_core.automations.book import Automations
from runtime_core.automations.conversation import have_turn
from runtime_core.automations.scheduler import Scheduler
from runtime_core.automations.starting import Starter
from runtime_core.chat.chats import Chats
from runtime_core.connections.client import Connections
from runtime_core.connections.mcp import McpServers
from runtime_core.connections.openapi_source import OpenApiDocuments
from runtime_core.connections.secrets import EnvironmentSecrets, Secrets, trouble
from runtime_core.deploys.builds import Builds
from runtime_core.deploys.local import Workshop
from runtime_core.deploys.switching import LocalSwitches, PlatformSwitches
from runtime_core.dispatch.changes import Change, Changes, Listener
from runtime_core.dispatch.executor import Executor
from runtime_core.dispatch.lock import ExecutorLock
from runtime_core.dispatch.upkeep import Upkeep
from runtime_core.engine import outcomes
from runtime_core.engine.attachments import check_attachments
from runtime_core.engine.catalog import Catalog
from runtime_core.engine.definitions import Definitions
from runtime_core.engine.dry_hosts import DryHosts
from runtime_core.engine.dry_runs import DryRuns, ReplayVerdict
from runtime_core.engine.engine import Engine, Launch
from runtime_core.engine.faults import Faults
from runtime_core.engine.gating import Gates
from runtime_core.engine.hooks import Hooks
from runtime_core.engine.notes import HandlerLog
from runtime_core.engine.quota import check_answer, check_value
from runtime_core.engine.reading import Reading
from runtime_core.engine.watch import CodeWatch
from runtime_core.evals.stage import Setting
from runtime_core.evals.suite import Evals
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.journal.base import Answer
from runtime_core.journal.folder import prepare
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.repo.bundle import Bundle, Tool
from runtime_core.repo.trust import Shown, needs
from runtime_core.repo.versions import Versions
from runtime_core.tools.base import Toolbox, ToolFailed
from runtime_core.tools.chat import ChatTools
from runtime_core.tools.documents import DEFAULT_LIMIT, Documents, asked_for, known, prepared
from runtime_core.tools.knowledge import KnowledgeTools
from runtime_core.tools.mail import MailTools
from runtime_core.tools.mcp import McpTools
from runtime_core.tools.memory import MemoryTools
from runtime_core.tools.openapi import OpenApiTools
from runtime_core.tools.request import Requests
from runtime_core.tools.stores import StoreTools
from runtime_core.tools.switches import StoredSwitches
from runtime_core.tools.web import WebTools
from runtime_core.wire.codes import RuntimeFault, no_session
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.runs import PauseRow, RunRow
from runtime_core.wire.settings import Settings

log = logging.getLogger(__name__)

__all__ = ["Change", "Lane", "Runtime"]

Lane = Literal["direct", "invoke"]

STOP_GRACE_S: Final = 3.0
GATE_REST_S: Final = 1.0
WAITING_CHECKED: Final = 100
"""Waiting runs that a reload replays."""


class Runtime:
    """A durable runtime; every coroutine belongs to the loop that called `open`.

    ``execute`` True: must be the one that executes runs; False: never is; None: is it if nobody else holds the data
    folder's lock, and takes over when that becomes free. ``model`` overrides the models of all repositories.
    ``secrets``: where ``env:NAME`` is looked up. ``caches``: what installed packages and compiled code are kept in,
    ``data/hosts`` unless another runtime shares its own. ``faults``: calls that are to go wrong.
    ``keeps_schedules``: it is there to stay, and starts automations that are due while it executes.
    """

    def __init__(
        self,
        data: Path,
        *,
        execute: bool | None = None,
        model: str | None = None,
        settings: Settings | None = None,
        secrets: Secrets | None = None,
        caches: Path | None = None,
        faults: Faults | None = None,
        keeps_schedules: bool = False,
    ) -> None:
        self._keeps_schedules = keeps_schedules
        self._faults = faults or {}
        self._caches = caches or data / "hosts"
        self._secrets = secrets or EnvironmentSecrets()
        self._data = data
        self._execute = execute
        self._model = model
        self._settings = settings or Settings()
        self._lock = ExecutorLock(data / "executor.lock", "" if model is None else absolute(model, Path.cwd()))

    async def open(self) -> None:
        """Raises `RuntimeFault` data_folder_unusable, or data_folder_busy if ``execute`` is True and somebody does."""
        await asyncio.to_thread(prepare, self._data)
        if self._execute is not False and not await self._lock.acquire_at_start() and self._execute:
            raise RuntimeFault(
                "data_folder_busy",
                f"Another process already executes the runs of {self._data}. Close it, or use another data folder.",
            )
        try:
            journal = await SqliteJournal.open(self._data / "runtime.db", durability=self._settings.durability)
        except BaseException:
            self._lock.release()
            raise
        try:
            await self._compose(journal)
        except BaseException:
            await journal.close()
            self._lock.release()
            raise

    async def _compose(self, journal: SqliteJournal) -> None:
        self._journal = journal
        self._handler_log = HandlerLog(self._data / "logs" / "handlers.log", lambda: self.executes)
        self._hosts = self._new_hosts()
        if self.executes:
            await self._hosts.sweep()
        self._changes = Changes(self._journal, self._is_code_changed)
        await self._changes.start()
        self._definitions = Definitions(self._new_hosts(), self._secrets)
        self._documents = Documents(self._journal)
        store_tools = StoreTools(self._documents)
        self._connections = Connections(self._secrets)
        requests = Requests(self._connections)
        mail_tools = MailTools(self._secrets, self._data)
        self._openapi = OpenApiDocuments(self._data / "openapi", self._secrets)
        self._mcp = McpServers(self._secrets, self._is_trusted_with, self._data / "mcp")
        if self.executes:
            await asyncio.to_thread(self._mcp.sweep)
        far_tools = (OpenApiTools(self._openapi, self._connections), McpTools(self._mcp))
        self._hooks = Hooks(self._new_hosts(), self._documents)
        self.models = Models(self._model, self._settings.models, self._secrets.get, partial(trouble, self._secrets))
        own_tools = (ChatTools(), KnowledgeTools(), MemoryTools(self._journal))
        families = (*own_tools, store_tools, WebTools(self._secrets), requests, mail_tools, *far_tools)
        toolbox = Toolbox(families, StoredSwitches(self._journal))
        self._gates = Gates(
            self._journal,
            self._settings.confirmations.wait_s,
            advance=lambda run_id: self._executor.advance(run_id, None),
            withdraw=self._withdraw,
            rest=lambda: self._executor.pulse.wait(GATE_REST_S),
        )
        self._engine = Engine(
            self._journal,
            self._hosts,
            models=self.models,
            publish=self._changes.span,
            handler_log=self._handler_log,
            finish_run=lambda row: self._finish_run(row, None),
            settings=self._settings,
            versions=Versions(self._data / "versions"),
            definitions=self._definitions,
            hooks=self._hooks,
            gates=self._gates,
            command_homes=self._hosts.command_homes,
            toolbox=toolbox,
            members={"store": store_tools.member, "request": requests.member},
            environment=self._secrets.get,
            faults=self._faults,
        )
        shelf = self._engine.shelf
        self.catalog = Catalog(shelf, self._trust_of)
        self.chats = Chats(self._journal, self._engine, self._settings, lambda: self.executes)
        self.evals = Evals(self._journal, shelf.bundle, self._stage, self.trusted)
        self._reading = Reading(self._journal, shelf)
        self._dry_runs = DryRuns(
            self._journal,
            DryHosts(self._new_hosts),
            lambda run: shelf.next_code(run, keep=False),
            self._judge,
            self._handler_log,
            self._settings,
            toolbox,
        )
        workshop = Workshop(
            shelf, self._new_hosts, lambda bundle: self._dry_runs.check_all(bundle, WAITING_CHECKED, is_touched=True)
        )
        self.builds = Builds(self._journal, workshop, self._secrets, self._settings.platform)
        self.switches = LocalSwitches(self._journal, shelf, toolbox)
        self.platform_switches = PlatformSwitches(self._secrets, self._settings.platform)
        self._starter = starter = Starter(self._journal, shelf, partial(have_turn, self.chats), self._kick)
        self.automations = Automations(
            self._journal,
            shelf,
            starter,
            self._settings,
            executes=lambda: self.executes,
            advance=lambda run_id: self._executor.advance(run_id, None),
        )
        self._scheduler = Scheduler(self._journal, starter, self.automations.reread)
        self._executor = Executor(
            self._journal,
            self._engine,
            self._lock,
            self._changes,
            CodeWatch(self._journal, shelf, self._changes.tell_again),
            Upkeep(self._journal, self._settings.retention, shelf.versions, lambda: self._engine.revisions),
            takes_over=self._execute is None,
            timekeeper=self._scheduler.nudge if self._keeps_schedules else None,
        )
        self._executor.start()

    @asynccontextmanager
    async def _stage(self, data: Path, setting: Setting) -> AsyncGenerator[Runtime]:
        """A runtime for evals, with the settings, secrets and caches of this one."""
        is_strict = setting.strict
        settings = replace(self._settings, durability="relaxed", strict=is_strict, replay_twice=is_strict)
        stage = Runtime(
            data,
            execute=True,
            model=setting.model or self._model,
            settings=settings,
            secrets=self._secrets,
            caches=self._caches,
            faults=setting.faults,
        )
        await stage.open()
        try:
            yield stage
        finally:
            await stage.close(grace_s=0)

    async def _withdraw(self, gate_id: str) -> None:
        if await self._journal.withdraw(gate_id):
            self._engine.cancel(gate_id)
            self._kick()

    def _kick(self) -> None:
        self._executor.pulse.kick()

    def _new_hosts(self) -> HandlerHosts:
        return HandlerHosts(self._caches, self._handler_log.stray, self._is_trusted)

    async def _is_trusted(self, root: Path, revision: str) -> bool:
        return bool(await self._journal.trusted(str(root), revision))

    async def _is_trusted_with(self, root: Path, revision: str, need: str) -> bool:
        return any(agreed.startswith(need) for agreed in await self._journal.trusted(str(root), revision))

    async def close(self, *, grace_s: float = STOP_GRACE_S) -> None:
        """Stop advancing runs, which go on from their journals later, and let go of the data folder.

        A call that is being executed gets ``grace_s`` seconds to end; one that is cut off has an unknown outcome.
        """
        async with AsyncExitStack() as stack:  # all of it, from the last to the first, whatever one of them raises
            stack.callback(self._lock.release)
            stack.callback(self._handler_log.close)
            stack.push_async_callback(self._journal.close)
            stack.push_async_callback(self._close_parts)
            stack.push_async_callback(self._dry_runs.close)
            stack.push_async_callback(self._hosts.cleaned_up, grace_s)
            stack.push_async_callback(self._executor.stop, grace_s)
            stack.push_async_callback(self._starter.stop)
            stack.push_async_callback(self.chats.close)
            stack.push_async_callback(self._scheduler.stop)

    async def _close_parts(self) -> None:
        parts = (self._hosts, self._definitions, self._hooks, self._connections, self._openapi, self._mcp, self.models)
        for problem in await asyncio.gather(*(part.close() for part in parts), return_exceptions=True):
            if problem is not None:
                log.error("a part of the runtime could not be closed", exc_info=problem)

    @property
    def executes(self) -> bool:
        return self._lock.held

    @property
    def working(self) -> Sequence[str]:
        """The tools of the runs that this process advances right now, and the agents whose turn of a conversation goes
        on; may be asked from any thread."""
        return (*self._engine.working, *self.chats.working)

    @property
    def bundles(self) -> Sequence[Bundle]:
        return self._engine.shelf.bundles

    async def add_repository(self, root: Path) -> Bundle:
        """Load a repository, or load it again if its files changed. Raises `BundleError`."""
        bundle = await self._engine.shelf.bundle(root)
        self.catalog.add(bundle.root)
        return bundle

    async def trust(self, root: Path, *, who: str, shown: Shown | None = None) -> Sequence[str]:
        """Let the code of a repository, as it is now, do what needs trust (decision 28); returns what that is.

        Raises `BundleError`, and `RuntimeFault` content_changed if it is not what was shown.
        """
        bundle = await self.add_repository(root)
        needed, _ = await self._trust_of(bundle)
        if shown is not None and (shown.revision, [*shown.needs]) != (bundle.revision, [*needed]):
            text = f"The code of {bundle.root} has changed. Read what it needs now, then trust it."
            raise RuntimeFault("content_changed", text)
        if needed:
            await self._journal.trust(str(bundle.root), bundle.revision, dumps(needed), who)
        return needed

    async def trusted(self, root: Path) -> bool:
        """Whether a repository needs no trust, or has it for its code as it is now. Raises `BundleError`."""
        return (await self._trust_of(await self.add_repository(root)))[1]

    async def _trust_of(self, bundle: Bundle) -> tuple[Sequence[str], bool]:
        needed = await asyncio.to_thread(needs, bundle, local=self._settings.shell_exec)
        agreed = await self._journal.trusted(str(bundle.root), bundle.revision) if needed else ()
        return needed, set(needed) <= {*agreed}

    async def recover(self, wait_s: float = 30) -> int:
        """Resume the runs a dead process left and wait until they park or end; how many there were."""
        return await self._executor.recover(wait_s)

    async def run_tool(
        self,
        root: Path | None,
        tool: str,
        input: JsonText,
        *,
        who: str,
        scope: str = "",
        context: JsonText | None = None,
        lane: Lane = "direct",
        wait_s: float | None = None,
        attachments: JsonText | None = None,
    ) -> dict[str, Any]:
        """Run a tool until it ends, parks or ``wait_s`` have passed (contract 6.4).

        ``attachments``: files for a tool that is not durable, an array of ``{"filename", "mimeType", "data"}``.

        Raises `RuntimeFault` tool_not_found, VALIDATION_ERROR and, in the ``invoke`` lane, tool_not_invocable and
        tool_not_durable; `BundleError` if the repository cannot be used.
        """
        bundle, found = await self._engine.shelf.tool(root, tool)
        if lane == "invoke":
            _check_lane(found)
        check_value("input", input, self._settings.limits)
        if context is not None:
            check_value("context", context, self._settings.limits)
        if attachments is not None:
            check_attachments(attachments, durable=found.durable)
        if not found.durable:
            if self.executes:
                bundle = await self._engine.shelf.kept(bundle.root)
            launch = Launch(bundle, found, input, who, scope, context, attachments=attachments)
            return await self._engine.run_inline(launch)
        self._check_model("Nothing was started.")
        run = await self._finish_run(Launch(bundle, found, input, who, scope, context).row(), wait_s)
        return await self._reply(run, who)

    async def answer(self, answer: Answer, *, wait_s: float = 30) -> dict[str, Any]:
        """Store one answer and wait until the run ends or parks again (decisions 3 and 4). Raises `RuntimeFault`.

        An answer to a question that takes more people gets that question back, with who has answered in ``votes``. A
        run that is on its way with another of its questions still open is waited for, not refused.
        """
        self._check_model("The answer does not count; the question is still open.")
        deadline = time.monotonic() + wait_s
        await self._gates.sweep()
        while True:
            try:
                pause, _ = await self._journal.answer(answer, self._judge, recorded)
                break
            except RuntimeFault as fault:
                if time.monotonic() >= deadline or not await self._is_passing(fault, answer):
                    log.warning("%r: an answer of %r was refused: %s", answer.run_id, answer.who, fault.code)
                    raise
            await self._journal.wake_due(time.time())
            await self._executor.advance(answer.run_id, deadline - time.monotonic())
        run = await self._executor.advance(answer.run_id, deadline - time.monotonic())
        return await self._reply(run, answer.who, pause.id)

    def _judge(self, run: RunRow, pauses: Sequence[PauseRow], answer: Answer) -> PauseRow:
        check_answer(answer, self._settings.limits)
        return judge(run, pauses, answer)

    async def expire(self, until: float) -> None:
        """Let the deadlines of questions pass that are before ``until``, as if it was that time already (for evals)."""
        await self._journal.expire_due(until, recorded)
        self._executor.pulse.kick()

    async def cancel(self, run_id: str, *, who: str) -> dict[str, Any]:
        """End an unfinished run (decision 24). Raises `RuntimeFault`."""
        run = await self._journal.cancel(run_id, who)
        self._engine.cancel(run_id)
        self._executor.pulse.kick()
        await self._gates.tidy(run_id)
        return await self._reply(run, who)

    async def resume(self, run_id: str, revision: str | None = None, *, who: str, wait_s: float = 30) -> dict[str, Any]:
        """Let a run that stopped as ``diverged`` go on, and wait until it ends, parks or stops again (decision 12).

        ``revision``: the code it goes on with from now on; None: the newest. Raises `RuntimeFault` NOT_FOUND,
        not_diverged and, with the revisions there are, revision_not_stored.
        """
        self._check_model("The run was not resumed.")
        if revision is not None:
            await self._check_stored(run_id, revision)
        run = await self._journal.resume(run_id, revision, who)
        return await self._reply(await self._executor.advance(run.id, wait_s), who)

    def _check_model(self, outcome: str) -> None:
        """Refuse what would be done with another model than the one that was asked for."""
        if self._model is None or self.executes or self._lock.holders_note == absolute(self._model, Path.cwd()):
            return
        raise RuntimeFault(
            "model_not_used",
            f"{outcome} Another process executes the runs of {self._data}, and it was started without --model "
            f"{self._model}. Close it, or start it with this model; without --model, what it was started with is used.",
            model=self._model,
        )

    async def _check_stored(self, run_id: str, revision: str) -> None:
        await self._row(run_id)
        versions = self._engine.shelf.versions
        if await asyncio.to_thread(versions.find, revision) is None:
            stored = versions.stored()
            raise RuntimeFault(
                "revision_not_stored",
                f"There is no stored code {revision} to go on with. Stored are: {', '.join(stored) or 'none'}.",
                revisions=stored,
            )

    async def preview(self, answer: Answer) -> dict[str, Any]:
        """What a run would do next if it got this answer (decision 18); as `DryRuns.preview`."""
        return await self._dry_runs.preview(answer)

    async def replay_check(self, root: Path, limit: int | None = None) -> AsyncGenerator[ReplayVerdict]:
        """Replay the stored runs of a repository against its present code, latest first. Raises `BundleError`."""
        async for verdict in self._dry_runs.check_all(await self._engine.shelf.seen(root), limit):
            yield verdict

    async def pending(self, *, who: str, limit: int = 100, cursor: str | None = None) -> dict[str, Any]:
        """Open pauses, oldest first (decision 1), each with ``eligible`` and ``reason`` for ``who``."""
        return await self._reading.pending(who, limit, cursor)

    async def runs(self, *, finished: bool | None, limit: int = 100, cursor: str | None = None) -> dict[str, Any]:
        """Ended runs by the time they ended, others or (None) all by the time they began, latest first."""
        return await self._reading.runs(finished, limit, cursor)

    async def run(self, run_id: str, *, who: str) -> dict[str, Any]:
        """One run with its open pauses, its decisions and its call tree. Raises `RuntimeFault` NOT_FOUND.

        ``run.revisions``: the code it ran on, oldest first, each ``{"revision", "leg", "at", "stored", "old"}``,
        ``old`` for that which recorded its last call: to go on with if the present code does not fit.
        """
        return await self._reading.detail(await self._row(run_id), who)

    async def stores(self, root: Path, *, scope: str = "") -> dict[str, Any]:
        """``{"stores": [...]}``, each with ``documentCount`` (contract 6.8). Raises `BundleError`."""
        bundle = await self._engine.shelf.bundle(root)
        return {"stores": await self._documents.overview(bundle, scope)}

    async def documents(
        self,
        root: Path,
        store: str,
        *,
        filter: JsonText | None = None,
        sort: str | None = None,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
        scope: str = "",
    ) -> Any:
        """``{"documents", "total", "hasMore"}``, the one saved last first; ``filter`` is a JSON object of equal values,
        ``sort`` a field, ``-field`` for the other way round. Raises `RuntimeFault` NOT_FOUND and VALIDATION_ERROR.
        """
        bundle = await self._engine.shelf.bundle(root)
        with _as_faults():
            found = known(bundle, store)
            query = asked_for(found, filter, sort, limit, offset)
            return loads(await self._documents.page(bundle, scope, found, query))

    async def document(self, root: Path, store: str, key: str, *, scope: str = "") -> dict[str, Any]:
        """``{"document", "history"}``. Raises `RuntimeFault` NOT_FOUND."""
        bundle = await self._engine.shelf.bundle(root)
        with _as_faults():
            found = await self._documents.document(bundle, scope, known(bundle, store), key)
        if found is None:
            raise RuntimeFault("NOT_FOUND", f'Document "{key}" not found in store "{store}".')
        return {"document": loads(found), "history": []}

    async def put_document(self, root: Path, store: str, payload: JsonText, *, scope: str = "") -> Any:
        """Write the document that has the key of its payload; ``{"stored", "key", "version"}``.

        Raises `RuntimeFault` NOT_FOUND and VALIDATION_ERROR.
        """
        bundle = await self._engine.shelf.bundle(root)
        check_value("payload", payload, self._settings.limits)
        with _as_faults():
            write = prepared(bundle, scope, known(bundle, store), loads(payload))
        return loads(await self._documents.write(write))

    def subscribe(self, listener: Listener, *, who: str | None = None) -> Callable[[], None]:
        """Be told of every change, on this loop; pauses carry ``eligible`` for ``who``. Returns the way to stop."""
        return self._changes.subscribe(listener, who)

    async def _finish_run(self, row: RunRow, wait_s: float | None) -> RunRow:
        await self._journal.create_run(row)
        return await self._executor.advance(row.id, wait_s)

    async def _is_passing(self, fault: RuntimeFault, answer: Answer) -> bool:
        """True if the answer came while the run moves, or its time had come, and its question is still open."""
        moves = fault.details.get("status") == "running" or "wake_at" in fault.details
        if fault.code != "not_awaiting_input" or not moves:
            return False
        pauses = await self._journal.pauses(answer.run_id)
        return any(pause.outcome is None and answer.pause_id in (None, pause.id) for pause in pauses)

    async def _reply(self, run: RunRow, who: str, pause_id: str | None = None) -> dict[str, Any]:
        """``pause_id``: the question to be shown, if it is still open; else it is the oldest one."""
        waiting = [pause for pause in await self._journal.pauses(run.id) if pause.outcome is None]
        reply = outcomes.of_run(run, sorted(waiting, key=lambda pause: pause.id != pause_id), who)
        if reply["outcome"]["kind"] == "running" and (why := self._executor.hindrances.get(run.id)):
            reply["outcome"]["reason"] = why
        return reply

    async def _is_code_changed(self, run: RunRow) -> bool:
        return await self._reading.is_code_changed(run)

    async def _row(self, run_id: str) -> RunRow:
        run = await self._journal.run(run_id)
        if run is None:
            raise no_session(run_id)
        return run


@contextmanager
def _as_faults() -> Generator[None]:
    """What a tool says of stores and documents, in the codes of a route."""
    try:
        yield
    except ToolFailed as failed:
        code = "NOT_FOUND" if failed.code == "unknown-store" else "VALIDATION_ERROR"
        raise RuntimeFault(code, failed.message) from None


def _check_lane(tool: Tool) -> None:
    if not tool.invocable:
        raise RuntimeFault(
            "tool_not_invocable",
            f'Tool "{tool.name}" has no invoke trigger: add {{"kind": "invoke"}} to triggers in its tool.json.',
        )
    if not tool.durable:
        raise RuntimeFault(
            "tool_not_durable",
            f'Tool "{tool.name}" is not durable: add "execution": "durable" to its tool.json.',
        )
