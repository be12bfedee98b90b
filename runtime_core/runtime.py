"""The composition root: one durable runtime on one data folder, living on whatever asyncio loop opens it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from runtime_core.approvals.answering import judge, recorded
from runtime_core.dispatch.changes import Change, Changes, Listener
from runtime_core.dispatch.local import LocalDispatcher
from runtime_core.dispatch.lock import ExecutorLock
from runtime_core.dispatch.pulse import PULSE_S, Pulse
from runtime_core.dispatch.upkeep import Upkeep
from runtime_core.engine import outcomes
from runtime_core.engine.definitions import Definitions
from runtime_core.engine.dry_hosts import DryHosts
from runtime_core.engine.dry_runs import DryRuns, Verdict
from runtime_core.engine.engine import Engine, Launch
from runtime_core.engine.notes import HandlerLog
from runtime_core.engine.quota import check_answer, check_value
from runtime_core.engine.reading import Reading
from runtime_core.engine.watch import CodeWatch
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.journal.base import Answer
from runtime_core.journal.folder import prepare
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.repo.bundle import Bundle, Tool
from runtime_core.repo.trust import needs
from runtime_core.repo.versions import Versions
from runtime_core.wire.codes import RuntimeFault, no_session
from runtime_core.wire.json import JsonText, dumps
from runtime_core.wire.runs import PauseRow, RunRow
from runtime_core.wire.settings import Settings

log = logging.getLogger(__name__)

__all__ = ["Change", "Lane", "Runtime"]

Lane = Literal["direct", "invoke"]

_MOVING: Final = frozenset({"runnable", "running"})
STOP_GRACE_S: Final = 3.0
_WAKE_CHECK_S: Final = 60.0
_SWEEP_S: Final = 5.0
_VERSIONS_SWEEP_S: Final = 3600.0
_ORPHAN_S: Final = 1.0
_LEFT_LIMIT: Final = 100_000


class Runtime:
    """A durable runtime; every coroutine belongs to the loop that called `open`.

    ``execute`` True: must be the one that executes runs; False: never is; None: is it if nobody else holds the data
    folder's lock, and takes over when that becomes free. ``model`` overrides the models of all repositories.
    """

    def __init__(
        self,
        data: Path,
        *,
        execute: bool | None = None,
        model: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._data = data
        self._execute = execute
        self._model = model
        self._settings = settings or Settings()
        self._lock = ExecutorLock(data / "executor.lock")
        self._serving = False
        self._willing = False
        self._left: Sequence[str] = []
        self._serve_lock = asyncio.Lock()
        self._wake_at: float | None = None
        self._wake_checked = 0.0
        self._swept = 0.0
        self._versions_swept = -_VERSIONS_SWEEP_S

    async def open(self) -> None:
        """Raises `RuntimeFault` data_folder_unusable, or data_folder_busy if ``execute`` is True and somebody does."""
        await asyncio.to_thread(prepare, self._data)
        if self._execute is not False and not await self._take_lock_at_first() and self._execute:
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
        self._hosts = HandlerHosts(self._data / "hosts", self._handler_log.stray)
        if self.executes:
            await self._hosts.sweep()
        self._changes = Changes(self._journal, self._is_code_changed)
        await self._changes.start()
        self._definitions = Definitions(HandlerHosts(self._data / "hosts", self._handler_log.stray))
        self._engine = Engine(
            self._journal,
            self._hosts,
            model=self._model,
            publish=self._changes.span,
            handler_log=self._handler_log,
            finish_run=lambda row: self._finish_run(row, None),
            settings=self._settings,
            versions=Versions(self._data / "versions"),
            definitions=self._definitions,
        )
        self._reading = Reading(self._journal, self._engine.shelf)
        self._watch = CodeWatch(self._journal, self._engine.shelf, self._changes.tell_again)
        self._dry_runs = DryRuns(
            self._journal,
            DryHosts(lambda: HandlerHosts(self._data / "hosts")),
            lambda run: self._engine.shelf.next_code(run, keep=False),
            self._judge,
            self._handler_log,
            strict=self._settings.strict,
        )
        self._pulse = Pulse(self._journal.data_version, self._beat, self._until_wake)
        self._upkeep = Upkeep(self._journal, self._settings.retention)
        self._dispatcher = LocalDispatcher(self._engine.advance, self._journal.runnable, self._pulse.kick)
        self._pulse.start()

    async def close(self, *, grace_s: float = STOP_GRACE_S) -> None:
        """Stop advancing runs, which go on from their journals later, and let go of the data folder.

        A call that is being executed gets ``grace_s`` seconds to end; one that is cut off has an unknown outcome.
        """
        await self._pulse.stop()
        await self._engine.stop(grace_s)
        await self._dispatcher.stop()
        await self._dry_runs.close()
        await asyncio.gather(self._hosts.close(), self._definitions.close())
        await self._journal.close()
        self._handler_log.close()
        self._lock.release()

    @property
    def executes(self) -> bool:
        return self._lock.held

    @property
    def bundles(self) -> Sequence[Bundle]:
        return self._engine.shelf.bundles

    async def add_repository(self, root: Path) -> Bundle:
        """Load a repository, or load it again if its files changed. Raises `BundleError`."""
        return await self._engine.shelf.bundle(root)

    async def trust(self, root: Path, *, who: str) -> Sequence[str]:
        """Let the code of a repository, as it is now, do what needs trust (decision 28); returns what that is.

        Raises `BundleError`.
        """
        bundle = await self.add_repository(root)
        needed = needs(bundle.manifest, local=self._settings.shell_exec)
        if needed:
            await self._journal.trust(str(bundle.root), bundle.revision, dumps(needed), who)
        return needed

    async def trusted(self, root: Path) -> bool:
        """Whether a repository needs no trust, or has it for its code as it is now. Raises `BundleError`."""
        bundle = await self.add_repository(root)
        if not needs(bundle.manifest, local=self._settings.shell_exec):
            return True
        return await self._journal.is_trusted(str(bundle.root), bundle.revision)

    async def recover(self, wait_s: float = 30) -> int:
        """Resume the runs a dead process left and wait until they park or end; how many there were."""
        self._willing = True
        if not self.executes:
            return 0
        await self._serve()
        left, self._left = self._left, []
        deadline = time.monotonic() + wait_s
        for run_id in left:
            if time.monotonic() >= deadline:
                break
            try:
                await self._settle(run_id, _left(deadline))
            except RuntimeFault as fault:
                log.warning("%s was not resumed: %s", run_id, fault.message)
        return len(left)

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
    ) -> dict[str, Any]:
        """Run a tool until it ends, parks or ``wait_s`` have passed (contract 6.4).

        Raises `RuntimeFault` tool_not_found, VALIDATION_ERROR and, in the ``invoke`` lane, tool_not_invocable and
        tool_not_durable; `BundleError` if the repository cannot be used.
        """
        bundle, found = await self._tool(root, tool)
        if lane == "invoke":
            _check_lane(found)
        check_value("input", input, self._settings.limits)
        if context is not None:
            check_value("context", context, self._settings.limits)
        if not found.durable:
            if self.executes:
                bundle = await self._engine.shelf.kept(bundle.root)
            return await self._engine.run_inline(Launch(bundle, found, input, who, scope, context))
        run = await self._finish_run(Launch(bundle, found, input, who, scope, context).row(), wait_s)
        return await self._reply(run, who)

    async def answer(self, answer: Answer, *, wait_s: float = 30) -> dict[str, Any]:
        """Store one answer and wait until the run ends or parks again (decisions 3 and 4). Raises `RuntimeFault`.

        An answer to a question that takes more people gets that question back, with who has answered in ``votes``. A
        run that is on its way with another of its questions still open is waited for, not refused.
        """
        deadline = time.monotonic() + wait_s
        while True:
            try:
                pause, _ = await self._journal.answer(answer, self._judge, recorded)
                break
            except RuntimeFault as fault:
                if _left(deadline) <= 0 or not await self._is_passing(fault, answer):
                    log.warning("%r: an answer of %r was refused: %s", answer.run_id, answer.who, fault.code)
                    raise
            await self._advance(answer.run_id, _left(deadline))
        return await self._reply(await self._advance(answer.run_id, _left(deadline)), answer.who, pause.id)

    def _judge(self, run: RunRow, pauses: Sequence[PauseRow], answer: Answer) -> PauseRow:
        check_answer(answer, self._settings.limits)
        return judge(run, pauses, answer)

    async def cancel(self, run_id: str, *, who: str) -> dict[str, Any]:
        """End an unfinished run (decision 24). Raises `RuntimeFault`."""
        run = await self._journal.cancel(run_id, who)
        self._engine.cancel(run_id)
        self._pulse.kick()
        return await self._reply(run, who)

    async def resume(self, run_id: str, revision: str | None = None, *, who: str, wait_s: float = 30) -> dict[str, Any]:
        """Let a run that stopped as ``diverged`` go on, and wait until it ends, parks or stops again (decision 12).

        ``revision``: the code it goes on with from now on; None: the newest. Raises `RuntimeFault` NOT_FOUND,
        not_diverged and, with the revisions there are, revision_not_stored.
        """
        if revision is not None:
            await self._check_stored(run_id, revision)
        run = await self._journal.resume(run_id, revision, who)
        return await self._reply(await self._advance(run.id, wait_s), who)

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

    async def replay_check(self, root: Path, limit: int | None = None) -> AsyncGenerator[Verdict]:
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

    def subscribe(self, listener: Listener, *, who: str | None = None) -> Callable[[], None]:
        """Be told of every change, on this loop; pauses carry ``eligible`` for ``who``. Returns the way to stop."""
        return self._changes.subscribe(listener, who)

    # Advancing ---------------------------------------------------------------------------------------------------

    async def _take_lock_at_first(self) -> bool:
        deadline = time.monotonic() + _ORPHAN_S
        while not self._take_lock():
            if not self._lock.is_orphaned or time.monotonic() > deadline:
                return False
            await asyncio.sleep(0.01)
        return True

    def _take_lock(self) -> bool:
        try:
            return self._lock.acquire()
        except OSError as error:
            raise RuntimeFault(
                "data_folder_unusable",
                f"{self._lock.path} cannot be opened: {error.strerror}. Check its permissions, or use another folder.",
                file=str(self._lock.path),
            ) from error

    async def _serve(self) -> None:
        """From now on this process advances every runnable run, also those that a dead process left."""
        async with self._serve_lock:
            if self._serving:
                return
            await self._journal.abandon_claims()
            await self._journal.expire_due(time.time(), recorded)
            self._left = await self._journal.runnable(_LEFT_LIMIT)
            self._serving = True
        self._pulse.kick()

    async def _finish_run(self, row: RunRow, wait_s: float | None) -> RunRow:
        await self._journal.create_run(row)
        return await self._advance(row.id, wait_s)

    async def _advance(self, run_id: str, wait_s: float | None) -> RunRow:
        self._willing = True
        self._pulse.kick()
        return await self._settle(run_id, wait_s)

    async def _is_passing(self, fault: RuntimeFault, answer: Answer) -> bool:
        """True if the answer came while the run moves, and its question is still open."""
        if fault.code != "not_awaiting_input" or fault.details.get("status") != "running":
            return False
        pauses = await self._journal.pauses(answer.run_id)
        return any(pause.outcome is None and answer.pause_id in (None, pause.id) for pause in pauses)

    async def _settle(self, run_id: str, wait_s: float | None) -> RunRow:
        """The run when it moves no more; as it is after ``wait_s``, or when the data folder keeps it from going on."""
        deadline = None if wait_s is None else time.monotonic() + wait_s
        is_held_up = False
        while True:
            if self.executes:
                try:
                    await self._serve()
                    await self._wait_for_task(run_id, deadline)
                except RuntimeFault as fault:
                    if not fault.code.startswith("data_folder"):
                        raise
                    is_held_up = True  # what was asked for is stored, and the run is tried again
            run = await self._row(run_id)
            left = _left(deadline)
            if run.status not in _MOVING or left <= 0 or is_held_up:
                return run
            await self._pulse.wait(min(left, 2 * PULSE_S))

    async def _wait_for_task(self, run_id: str, deadline: float | None) -> None:
        task = self._dispatcher.wake(run_id)
        timeout = None if deadline is None else _left(deadline)
        done, _ = await asyncio.wait({task}, timeout=timeout)
        if task in done and not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, RuntimeFault):
                raise error
            raise RuntimeFault("INTERNAL_ERROR", f"Session {run_id} could not be advanced: {error}") from error

    async def _beat(self, changed: bool) -> None:
        if not self.executes and self._execute is None:
            self._take_lock()
        if changed:
            for run_id in await self._changes.catch_up(executes=self.executes):
                self._engine.cancel(run_id)
        if self._changes.is_heard:
            await self._watch.beat()
        if not self.executes:
            return
        if self._willing:
            await self._serve()
        if self._serving:
            await self._keep_time(changed)
            if changed or self._dispatcher.wants_retry or time.monotonic() - self._swept > _SWEEP_S:
                self._swept = time.monotonic()
                await self._dispatcher.sweep()
            if not changed and self._dispatcher.is_idle:
                await self._upkeep.beat()
                await self._sweep_versions()

    async def _sweep_versions(self) -> None:
        if time.monotonic() - self._versions_swept > _VERSIONS_SWEEP_S:
            self._versions_swept = time.monotonic()
            used = {*await self._journal.named_revisions(), *self._engine.revisions}
            await asyncio.to_thread(self._engine.shelf.versions.sweep, used)

    async def _keep_time(self, changed: bool) -> None:
        """Wake the runs whose time has come and expire questions, by the wall clock, which may jump."""
        if changed or time.monotonic() - self._wake_checked > _WAKE_CHECK_S:
            self._wake_checked = time.monotonic()
            self._wake_at = await self._journal.next_wake()
        if self._wake_at is not None and self._wake_at <= time.time():
            await self._journal.wake_due(time.time())
            await self._journal.expire_due(time.time(), recorded)
            self._wake_at = None
            self._pulse.kick()

    def _until_wake(self) -> float | None:
        return None if self._wake_at is None or not self._serving else self._wake_at - time.time()

    # Reading -----------------------------------------------------------------------------------------------------

    async def _reply(self, run: RunRow, who: str, pause_id: str | None = None) -> dict[str, Any]:
        """``pause_id``: the question to be shown, if it is still open; else it is the oldest one."""
        waiting = [pause for pause in await self._journal.pauses(run.id) if pause.outcome is None]
        return outcomes.of_run(run, sorted(waiting, key=lambda pause: pause.id != pause_id), who)

    async def _is_code_changed(self, run: RunRow) -> bool:
        return await self._reading.is_code_changed(run)

    async def _row(self, run_id: str) -> RunRow:
        run = await self._journal.run(run_id)
        if run is None:
            raise no_session(run_id)
        return run

    async def _open_bundles(self, tool: str) -> Sequence[Bundle]:
        """The open repositories, those that had the tool when they were last looked at as they are now."""
        return [await self.add_repository(one.root) if tool in one.tools else one for one in self.bundles]

    async def _tool(self, root: Path | None, name: str) -> tuple[Bundle, Tool]:
        bundles = [await self.add_repository(root)] if root is not None else await self._open_bundles(name)
        for bundle in bundles:
            tool = bundle.tools.get(name)
            if tool is not None:
                return bundle, tool
        names = sorted(known for bundle in bundles for known in bundle.tools)
        where = bundles[0].root if len(bundles) == 1 else "the open repositories"
        raise RuntimeFault(
            "tool_not_found",
            f'There is no tool "{name}" in {where}. Its tools are: {", ".join(names) or "none"}.',
        )


def _left(deadline: float | None) -> float:
    return float("inf") if deadline is None else deadline - time.monotonic()


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
