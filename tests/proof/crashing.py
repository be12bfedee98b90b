"""A runtime whose executor is interrupted at a chosen write, with handler processes that outlive it.

Nothing is written after the interruption: what the next runtime finds is what a dead process would have left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest import mock

from runtime_core import runtime as composition
from runtime_core.hosts.base import HandlerJob, HostRepo, Leg, LegEvents
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.runtime import Runtime
from runtime_core.wire.json import loads
from runtime_core.wire.runs import RunRow

WRITES: Final = frozenset(
    {"create_run", "claim", "append", "park", "finish", "answer", "cancel", "wake_due", "expire_due"}
)


class Crashed(Exception):  # noqa: N818
    """The write did not come about, or nobody learned that it did."""


@dataclass(slots=True)
class Fuse:
    """Blows at write number ``at`` (from 1; 0 never), ``before`` it is committed or after that."""

    at: int = 0
    before: bool = False
    blown: bool = False
    writes: int = 0
    names: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Effect:
    """An inline handler that was started: the call it was made for, and what it was told."""

    call_id: str
    entry: str
    params: Any


class Stage:
    """A data folder whose runtimes come and go, and what happened on it."""

    def __init__(self, data: Path, hosts: HandlerHosts) -> None:
        self.data = data
        self.fuse = Fuse()
        self.effects: list[Effect] = []
        self.created: list[str] = []
        self._hosts = hosts
        self.journal: SqliteJournal

    async def close(self) -> None:
        """End the handler processes."""
        await self._hosts.close()

    def begin(self, effect: Effect) -> None:
        self.effects.append(effect)

    @asynccontextmanager
    async def runtime(self) -> AsyncGenerator[Runtime]:
        """A runtime that executes. The fuse, if it blew, is new."""
        self.fuse = Fuse() if self.fuse.blown else self.fuse
        runtime = Runtime(self.data, execute=True)
        with (
            mock.patch.object(composition, "HandlerHosts", return_value=_Hosts(self, self._hosts)),
            mock.patch.object(composition, "SqliteJournal", _Opening(self)),
        ):
            await runtime.open()
        try:
            yield runtime
        finally:
            await runtime.close(grace_s=0)


class _Opening:
    """Stands for the class of the journal while a runtime opens one."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def open(self, *args: Any, **named: Any) -> Any:
        self._stage.journal = await SqliteJournal.open(*args, **named)
        return _Journal(self._stage, self._stage.journal)


class _Journal:
    def __init__(self, stage: Stage, journal: SqliteJournal) -> None:
        self._stage = stage
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        work = getattr(self._journal, name)
        if name not in WRITES:
            return work

        async def write(*args: Any, **named: Any) -> Any:
            fuse = self._stage.fuse
            fuse.writes += 1
            fuse.names.append(name)
            fuse.blown = fuse.blown or (fuse.before and fuse.writes == fuse.at)
            if fuse.blown:
                raise Crashed(name)
            if isinstance(args[0], RunRow):
                self._stage.created.append(args[0].id)
            result = await work(*args, **named)
            fuse.blown = fuse.blown or fuse.writes >= fuse.at > 0
            if fuse.blown:
                raise Crashed(name)
            return result

        return write


class _Hosts:
    """Passes everything on, and writes down which effects were begun."""

    def __init__(self, stage: Stage, hosts: HandlerHosts) -> None:
        self._stage = stage
        self._hosts = hosts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hosts, name)

    async def start(self, repo: HostRepo, job: HandlerJob, events: LegEvents) -> Leg:
        if not job.durable:
            self._stage.begin(Effect(job.call_id or "", job.entry, loads(job.params)))
        return await self._hosts.start(repo, job, events)

    async def close(self) -> None:
        """They outlive this runtime."""


def counted(effects: Sequence[Effect]) -> Counter[str]:
    return Counter(effect.call_id for effect in effects)
