"""A runtime in this process, on a plain asyncio loop in a worker thread of its own.

Handlers, SQLite and the journal never touch the loop of the caller: calls go over with `run_coroutine_threadsafe`,
changes come back in batches. The runtime itself is imported in the worker thread when the gateway opens.
"""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
import shlex
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from inbox_app.gateway.base import (
    Answer,
    Batch,
    GatewayError,
    Outcome,
    PausePage,
    Preview,
    RunDetail,
    RunPage,
    Start,
)

if TYPE_CHECKING:
    from inbox_app.gateway.builds import BuildGateway
    from inbox_app.gateway.catalog import Catalog
    from inbox_app.gateway.embedded_automations import EmbeddedAutomations
    from inbox_app.gateway.embedded_chats import EmbeddedChats
    from inbox_app.gateway.embedded_evals import EmbeddedEvals
    from inbox_app.gateway.feed import Feed
    from runtime_core.connections.secrets import Secrets
    from runtime_core.journal import base as journal
    from runtime_core.repo.bundle import BundleError
    from runtime_core.runtime import Runtime
    from runtime_core.wire.settings import Settings

T = TypeVar("T")

ANSWER_WAIT_S: Final = 30.0
"""How long a reply is held (contract decision 3)."""

STOP_GRACE_S: Final = 3.0
CLOSE_LIMIT_S: Final = 5.0
"""A runtime that does not close so long after its grace is left behind: all that counts is in its journal."""

_log = logging.getLogger(__name__)


def local_identity() -> str:
    """The desktop user (contract decision 14)."""
    try:
        return f"local:{getpass.getuser()}"
    except (KeyError, OSError):  # a user id without an entry in the password file
        return f"local:{os.getuid()}"


class EmbeddedGateway:
    """`Gateway` to the runtime of one data folder.

    ``execute`` as `Runtime`: True must be the executor, False never is, None is it if nobody else is. ``wait_s`` is
    how long an answer or a start waits for the run to end or park, in seconds; None waits as long as it takes.
    ``trust``: the code of ``repositories``, as it is when they are opened, may do what needs trust (decision 28).
    ``secrets``: where ``env:NAME`` is looked up; None is the process environment. ``remembered``: repositories that
    are opened as well, and listed with their problems where they cannot be. ``keeps_schedules`` as `Runtime`.
    """

    def __init__(
        self,
        data: Path,
        *,
        repositories: Sequence[Path] = (),
        remembered: Sequence[Path] = (),
        execute: bool | None = None,
        model: str | None = None,
        identity: str | None = None,
        wait_s: float | None = ANSWER_WAIT_S,
        settings: Settings | None = None,
        trust: bool = False,
        secrets: Secrets | None = None,
        keeps_schedules: bool = False,
    ) -> None:
        self._keeps_schedules = keeps_schedules
        self._secrets = secrets
        self._data = data
        self._settings = settings
        self._trust = trust
        self._repositories = tuple(repositories)
        self._remembered = tuple(remembered)
        self._execute = execute
        self._model = model
        self._identity = identity or local_identity()
        self._wait_s = wait_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._runtime: Runtime | None = None
        self._feed: Feed | None = None
        self._recovery: asyncio.Task[int] | None = None

    @property
    def connection(self) -> str:
        return "Built-in"

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def chats(self) -> EmbeddedChats:
        from inbox_app.gateway.embedded_chats import EmbeddedChats

        return EmbeddedChats(self._call, lambda: self._open_runtime, self._identity)

    @property
    def catalog(self) -> Catalog:
        from inbox_app.gateway.embedded_catalog import EmbeddedCatalog

        return EmbeddedCatalog(self._call, lambda: self._open_runtime, self._identity, self._model)

    @property
    def evals(self) -> EmbeddedEvals:
        from inbox_app.gateway.embedded_evals import EmbeddedEvals

        return EmbeddedEvals(self._call, lambda: self._open_runtime)

    @property
    def automations(self) -> EmbeddedAutomations:
        from inbox_app.gateway.embedded_automations import EmbeddedAutomations

        return EmbeddedAutomations(self._call, lambda: self._open_runtime, self._identity)

    @property
    def builds(self) -> BuildGateway:
        from inbox_app.gateway.embedded_builds import EmbeddedBuilds

        return EmbeddedBuilds(self._call, lambda: self._open_runtime, self._identity)

    @property
    def executes(self) -> bool:
        """True if this process runs the handlers, False if it only shares the data folder with one that does."""
        return self._runtime is not None and self._runtime.executes

    @property
    def working(self) -> Sequence[str]:
        return () if self._runtime is None else self._runtime.working

    async def open(self) -> None:
        """Open the data folder and the repositories; interrupted runs go on in the background.

        Raises `GatewayError`: ``data_folder_unusable``, ``data_folder_busy``, or the first ``CONFIG_…`` code with the
        problems of all repositories in ``details["problems"]``.
        """
        self._start_thread()
        try:
            await self._call(self._open())
        except BaseException:
            await self._stop_thread()
            raise

    async def recovered(self) -> int:
        """Wait until the runs that a dead process left behind have parked or ended; how many there were."""
        return await self._call(self._recovered())

    async def close(self, *, grace_s: float = STOP_GRACE_S) -> None:
        """Stop using the runtime; parked runs stay parked. Never raises, and never takes longer than its limit.

        Calls of runs that still go on get ``grace_s`` seconds to end, so that their outcome is known.
        """
        if self._thread is None:
            return
        try:
            await self._call(self._close(grace_s))
        finally:
            await self._stop_thread()

    async def pending(self, limit: int = 100, cursor: str | None = None) -> PausePage:
        return await self._call(self._pending(limit, cursor))

    async def runs(self, *, finished: bool | None, limit: int = 100, cursor: str | None = None) -> RunPage:
        """As `Gateway`; ``finished`` None is all runs, by the time they began, latest first."""
        return await self._call(self._runs(finished, limit, cursor))

    async def run(self, run_id: str) -> RunDetail:
        return await self._call(self._run(run_id))

    async def answer(self, answer: Answer) -> Outcome:
        return await self._call(self._answer(answer))

    async def preview(self, answer: Answer) -> Preview:
        return await self._call(self._preview(answer))

    async def cancel(self, run_id: str) -> Outcome:
        return await self._call(self._cancel(run_id))

    async def resume(self, run_id: str, revision: str | None) -> Outcome:
        return await self._call(self._resume(run_id, revision))

    async def trust(self, root: Path) -> Sequence[str]:
        """Trust the code of a repository as it is now (decision 28); returns what it may do then."""
        return await self._call(self._trusted(root))

    async def start(self, start: Start) -> Outcome:
        return await self._call(self._start(start))

    async def watch(self) -> AsyncIterator[Batch]:
        loop = asyncio.get_running_loop()
        batches: asyncio.Queue[Batch | None] = asyncio.Queue()

        def push(batch: Batch | None) -> None:
            loop.call_soon_threadsafe(batches.put_nowait, batch)

        await self._call(self._attach(push))
        try:
            while (batch := await batches.get()) is not None:
                yield batch
        finally:
            if self._loop is not None and self._feed is not None:
                self._loop.call_soon_threadsafe(self._feed.detach, push)

    def follow(self, run_id: str | None) -> None:
        if self._loop is not None and self._feed is not None:
            self._loop.call_soon_threadsafe(self._feed.follow, run_id)

    # Below here everything runs on the runtime's loop, except what starts and stops it.

    async def _open(self) -> None:
        from inbox_app.gateway.feed import Feed
        from runtime_core.runtime import Runtime

        runtime = Runtime(
            self._data,
            execute=self._execute,
            model=self._model,
            settings=self._settings,
            secrets=self._secrets,
            keeps_schedules=self._keeps_schedules,
        )
        await runtime.open()
        self._runtime = runtime
        try:
            await self._add_repositories(runtime)
        except BaseException:
            await self._close(STOP_GRACE_S)
            raise
        self._feed = Feed(runtime, self.connection, self._identity)
        self._recovery = asyncio.create_task(runtime.recover(), name="recover interrupted runs")

    async def _add_repositories(self, runtime: Runtime) -> None:
        from runtime_core.repo.bundle import BundleError

        refused: list[BundleError] = []
        for root in self._repositories:
            try:
                await (self._trusted(root) if self._trust else runtime.add_repository(root))
            except BundleError as error:
                refused.append(error)
        if refused:
            raise bundle_error(refused)
        for root in self._remembered:
            runtime.catalog.add(root)
        await runtime.catalog.listed()

    async def _trusted(self, root: Path) -> Sequence[str]:
        return await self._open_runtime.trust(root, who=self._identity)

    async def _recovered(self) -> int:
        assert self._recovery is not None
        return await asyncio.shield(self._recovery)

    async def _close(self, grace_s: float) -> None:
        if self._feed is not None:
            self._feed.close()
        if self._recovery is not None:
            self._recovery.cancel()
        runtime, self._runtime = self._runtime, None
        if runtime is None:
            return
        try:
            async with asyncio.timeout(grace_s + CLOSE_LIMIT_S):
                await runtime.close(grace_s=grace_s)
        except Exception:  # noqa: BLE001  # closing goes on whatever happens
            _log.exception("the runtime did not close cleanly; its journal is complete")

    async def _pending(self, limit: int, cursor: str | None) -> PausePage:
        from inbox_app.gateway import translate

        page = await self._open_runtime.pending(who=self._identity, limit=limit, cursor=cursor)
        items = tuple(translate.pause(item, self.connection, self._identity) for item in page["approvals"])
        return PausePage(items, page["total"], page["next_cursor"])

    async def _runs(self, finished: bool | None, limit: int, cursor: str | None) -> RunPage:
        from inbox_app.gateway import translate

        page = await self._open_runtime.runs(finished=finished, limit=limit, cursor=cursor)
        items = tuple(translate.run(item, self.connection) for item in page["runs"])
        return RunPage(items, page["total"], page["next_cursor"])

    async def _run(self, run_id: str) -> RunDetail:
        from inbox_app.gateway import translate

        wire = await self._open_runtime.run(run_id, who=self._identity)
        return translate.detail(wire, self.connection, self._identity)

    async def _answer(self, answer: Answer) -> Outcome:
        wait_s = _FOREVER_S if self._wait_s is None else self._wait_s
        return self._outcome(await self._open_runtime.answer(_posted(answer, self._identity), wait_s=wait_s))

    async def _preview(self, answer: Answer) -> Preview:
        from inbox_app.gateway import translate

        reply = await self._open_runtime.preview(_posted(answer, self._identity))
        return translate.preview(reply, self.connection)

    async def _cancel(self, run_id: str) -> Outcome:
        return self._outcome(await self._open_runtime.cancel(run_id, who=self._identity))

    async def _resume(self, run_id: str, revision: str | None) -> Outcome:
        wait_s = _FOREVER_S if self._wait_s is None else self._wait_s
        reply = await self._open_runtime.resume(run_id, revision, who=self._identity, wait_s=wait_s)
        return self._outcome(reply)

    async def _start(self, start: Start) -> Outcome:
        root = Path(start.repository) if start.repository is not None else None
        reply = await self._open_runtime.run_tool(
            root,
            start.tool,
            start.input,
            who=self._identity,
            scope=start.scope,
            context=start.context,
            lane=start.lane,
            wait_s=self._wait_s,
            attachments=start.attachments,
        )
        return self._outcome(reply)

    async def _attach(self, push: Callable[[Batch | None], None]) -> None:
        assert self._feed is not None
        await self._feed.attach(push)

    def _outcome(self, reply: dict[str, Any]) -> Outcome:
        from inbox_app.gateway import translate

        return translate.outcome(reply, self.connection, self._identity)

    @property
    def _open_runtime(self) -> Runtime:
        if self._runtime is None:
            raise GatewayError("INTERNAL_ERROR", "The built-in runtime is closed. Start the program again.")
        return self._runtime

    async def _call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run one coroutine on the runtime's loop and wait for it on the caller's."""
        if self._loop is None:
            work.close()
            raise GatewayError("INTERNAL_ERROR", "The built-in runtime is not open.")
        was_open = self._runtime is not None
        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_translated(work), self._loop))
        except GatewayError as error:
            if was_open and self._runtime is None and error.code == "INTERNAL_ERROR":
                raise GatewayError("INTERNAL_ERROR", _CLOSED_MEANWHILE) from error
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise GatewayError("INTERNAL_ERROR", _CLOSED_MEANWHILE) from None

    def _start_thread(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_serve, args=(self._loop,), name="runtime", daemon=True)
        self._thread.start()

    async def _stop_thread(self) -> None:
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            await asyncio.to_thread(thread.join, CLOSE_LIMIT_S)


_CLOSED_MEANWHILE: Final = (
    "The built-in runtime was closed before this was done. What it accepted is kept; unfinished runs go on when it is "
    "opened again."
)
_FOREVER_S: Final = 10 * 365 * 86400.0


def _posted(answer: Answer, who: str) -> journal.Answer:
    from runtime_core.journal import base as journal
    from runtime_core.wire.json import dumps

    return journal.Answer(
        run_id=answer.run_id,
        value=dumps(answer.value),
        who=who,
        edits=dumps(answer.edits) if answer.has_edits else None,
        note=answer.note or None,
        pause_id=answer.pause_id,
        fingerprint=answer.fingerprint,
        key=answer.key,
    )


def bundle_error(refused: Sequence[BundleError]) -> GatewayError:
    """One error for all repositories that cannot be used: a line for each, and every problem in the details."""
    problems = [{"repository": str(error.root), **problem.to_wire()} for error in refused for problem in error.problems]
    codes = [problem["code"] for problem in problems if problem["severity"] == "error"]
    lines = "\n".join(map(_refusal, refused))
    return GatewayError(codes[0] if codes else "CONFIG_VALIDATION_FAILED", lines, {"problems": problems})


def _refusal(error: BundleError) -> str:
    errors = [problem for problem in error.problems if problem.severity == "error"]
    first = f"{error.root} cannot be used: {errors[0] if errors else error}"
    if len(errors) <= 1:
        return first
    return f"{first} And {len(errors) - 1} more; see all with: operator-inbox check {shlex.quote(str(error.root))}"


async def _translated(work: Coroutine[Any, Any, T]) -> T:
    """Await the work; whatever goes wrong becomes a `GatewayError`."""
    from runtime_core.repo.bundle import BundleError
    from runtime_core.wire.codes import RuntimeFault

    try:
        return await work
    except GatewayError:
        raise
    except RuntimeFault as fault:
        raise GatewayError(fault.code, fault.message, fault.details) from fault
    except BundleError as error:
        raise bundle_error([error]) from error
    except Exception as error:
        _log.exception("the built-in runtime failed")
        raise GatewayError("INTERNAL_ERROR", f"The built-in runtime failed: {type(error).__name__}: {error}") from error


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """The worker thread: run the loop until it is stopped, then end what is left on it."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        leftover = asyncio.all_tasks(loop)
        for task in leftover:
            task.cancel()
        if leftover:
            loop.run_until_complete(asyncio.wait(leftover, timeout=CLOSE_LIMIT_S))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()
