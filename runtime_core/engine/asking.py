"""A question to code of a repository that belongs to no run: a predicate of an agent, or a hook."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

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
        return HandlerFailure("HostUnavailable", str(error))
    asked.leg.set_result(leg)
    try:
        return await asked.answer
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
        ok, value = await serve(call)
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
