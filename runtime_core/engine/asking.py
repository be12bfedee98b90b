"""A question to code of a repository that belongs to no run: a predicate of an agent, or a hook."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from runtime_core.engine.failures import broken_off
from runtime_core.engine.frames import Outcome
from runtime_core.engine.losses import started
from runtime_core.hosts.base import (
    Divergence,
    HandlerCall,
    HandlerFailure,
    HandlerJob,
    HostRepo,
    Hosts,
    HostUnavailable,
    Leg,
    NoteKind,
)
from runtime_core.wire.json import JsonText

log = logging.getLogger(__name__)

WHOLE_S: Final = 20.0
"""How long an answer may take with everything that is read for it, which the time limit of a job does not count."""

Note = Callable[[NoteKind, Any], None]
Serve = Callable[[HandlerCall], Awaitable[Outcome]]


async def ask(
    hosts: Hosts, repo: HostRepo, job: HandlerJob, note: Note, serve: Serve | None = None
) -> JsonText | HandlerFailure:
    """What the code returns, or why it returns nothing. ``serve`` answers the calls that it may make."""
    asked = _Asked(note, serve)
    try:
        leg = await started(job.entry, lambda: hosts.start(repo, job, asked))
    except HostUnavailable as error:
        return HandlerFailure("HostUnavailable", str(error), error.code, begun=False)
    asked.leg.set_result(leg)
    try:
        async with asyncio.timeout(WHOLE_S):
            return await asked.answer
    except TimeoutError:
        leg.drop()
        return HandlerFailure("Error", f"it took longer than {WHOLE_S:g} s with what it read", "deadline")
    except asyncio.CancelledError:
        leg.drop()
        raise
    finally:
        asked.stop()


class _Asked:
    """`LegEvents` of code that is asked."""

    def __init__(self, note: Note, serve: Serve | None) -> None:
        self._note = note
        self._serve = serve
        self._serving: set[asyncio.Task[None]] = set()
        loop = asyncio.get_running_loop()
        self.leg: asyncio.Future[Leg] = loop.create_future()
        self.answer: asyncio.Future[JsonText | HandlerFailure] = loop.create_future()

    def stop(self) -> None:
        for task in self._serving:
            task.cancel()

    def called(self, call: HandlerCall) -> None:
        assert self._serve is not None, "it has nothing to call"
        task = asyncio.get_running_loop().create_task(self._deliver(call, self._serve))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _deliver(self, call: HandlerCall, serve: Serve) -> None:
        try:
            ok, value = await serve(call)
        except Exception as error:  # whatever it is: the code would wait for ever
            log.warning("ctx.%s.%s of code that was asked failed", call.kind, call.name, exc_info=error)
            ok, value = False, broken_off(call.kind, call.name, error)
        (await self.leg).deliver(call.seq, ok, value, 0)

    def noted(self, kind: NoteKind, value: Any) -> None:
        self._note(kind, value)

    def returned(self, value: JsonText, warnings: Sequence[str]) -> None:
        self._end(value)

    def failed(self, failure: HandlerFailure) -> None:
        self._end(failure)

    def diverged(self, divergence: Divergence) -> None:
        raise AssertionError("it is not journaled")

    def given_up(self, seq: int) -> None:
        """What it asked for is of no use then, and does no harm."""

    def replayed(self) -> None:
        raise AssertionError("it is not journaled")

    def settled(self) -> None:
        """If it waits for something that never comes, its time ends that."""

    def _end(self, answer: JsonText | HandlerFailure) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)
