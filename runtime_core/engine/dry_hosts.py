"""Handler processes for dry replays, apart from those of the runs: a replay that hangs takes nobody with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from runtime_core.engine.rehearsal import Ending
from runtime_core.hosts.base import Hosts

AT_ONCE: Final = 4
LINGER_S: Final = 10.0
"""How long processes are kept for the next replay."""


class DryHosts:
    """``make`` starts a set of processes. Each set serves one replay at a time, and ends with one that cannot tell."""

    def __init__(self, make: Callable[[], Hosts]) -> None:
        self._make = make
        self._room = asyncio.Semaphore(AT_ONCE)
        self._all: set[Hosts] = set()
        self._idle: list[Hosts] = []
        self._timer: asyncio.TimerHandle | None = None
        self._leaving: set[asyncio.Task[None]] = set()

    @property
    def processes(self) -> int:
        """How many sets there are, at work or idle."""
        return len(self._all)

    async def play(self, replay: Callable[[Hosts], Awaitable[Ending]]) -> Ending:
        """Do one replay as soon as there is room for it."""
        async with self._room:
            hosts = self._take()
            is_sound = False
            try:
                ending = await replay(hosts)
                is_sound = ending.kind != "unknown"
                return ending
            finally:
                if is_sound:
                    self._keep(hosts)
                else:
                    await self._end(hosts)

    async def close(self) -> None:
        """End all processes; replays that go on cannot tell any more."""
        if self._timer is not None:
            self._timer.cancel()
        self._idle.clear()
        await asyncio.gather(*(self._end(hosts) for hosts in list(self._all)), *self._leaving)

    def _take(self) -> Hosts:
        if self._idle:
            return self._idle.pop()
        hosts = self._make()
        self._all.add(hosts)
        return hosts

    def _keep(self, hosts: Hosts) -> None:
        if hosts not in self._all:  # closed meanwhile
            return
        self._idle.append(hosts)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(LINGER_S, self._let_go)

    def _let_go(self) -> None:
        idle, self._idle = self._idle, []
        for hosts in idle:
            task = asyncio.get_running_loop().create_task(self._end(hosts))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def _end(self, hosts: Hosts) -> None:
        self._all.discard(hosts)
        await hosts.close()
