"""Follows a log that can only be asked for again and again: tells each line once, waits between looks, ends in time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from runtime_core.deploys.answers import Onward, Piece, Told
from runtime_core.wire.builds import BuildState, Line
from runtime_core.wire.codes import RuntimeFault

Read: TypeAlias = Callable[[Onward | None], AsyncGenerator[Piece]]
"""One request for a log, of its beginning or of what comes next. Raises `Passing` and `RuntimeFault`."""

ONCE_RETRIES = 2
"""Failures in a row that end the reading of a log that is not followed."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a log is followed, in seconds: from ``first_s`` to ``longest_s`` between two looks; after ``quiet_s`` without
    a line it is not known whether the build still goes on. ``retries`` failures in a row end it."""

    first_s: float = 1.0
    longest_s: float = 10.0
    quiet_s: float = 900.0
    retries: int = 6
    settled_looks: int = 3
    """So often a log whose last line says how it ended has to stay as it is."""


class Passing(Exception):  # noqa: N818
    """Reading failed for a reason that may pass; the fault says which. ``is_silence``: nothing came for a while."""

    def __init__(self, fault: RuntimeFault, wait_s: float | None = None, *, is_silence: bool = False) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.wait_s = wait_s
        self.is_silence = is_silence


@dataclass(slots=True)
class _Look:
    """What one request told: a state, that there is more, any lines, and new ones."""

    told: Told | None = None
    onward: Onward | None = None
    has_lines: bool = False
    has_news: bool = False

    @property
    def is_end(self) -> bool:
        return self.told is not None and self.told.is_certain and self.told.state != "running"


async def followed(read: Read, pace: Pace, *, is_live: bool) -> AsyncGenerator[Line | BuildState]:
    """The lines, each once, and the state whenever another one is told; ``is_live``: until the build ends.

    Raises `RuntimeFault`.
    """
    known, onward, state = _Known(), None, None
    failures = settled = 0
    wait_s = pace.first_s
    loop = asyncio.get_running_loop()
    heard = loop.time()
    while True:
        look = _Look()
        known.begin()
        try:
            async for piece in read(onward):
                if isinstance(piece, Onward):
                    look.onward = piece
                elif isinstance(piece, Told):
                    look.told = piece
                else:
                    look.has_lines = True
                    if known.is_new(piece):
                        look.has_news, heard = True, loop.time()
                        yield piece
            failures = 0
        except Passing as passing:
            if not (passing.is_silence and is_live):
                failures = 1 if look.has_news else failures + 1
            if failures > (pace.retries if is_live else ONCE_RETRIES) or loop.time() - heard > pace.quiet_s:
                raise passing.fault from None
            await asyncio.sleep(passing.wait_s if passing.wait_s is not None else wait_s)
            wait_s = min(wait_s * 2, pace.longest_s)
            continue
        if look.told is not None and look.told.state != state:
            state = look.told.state
            yield state
        if look.onward is not None and look.onward != onward:
            onward = look.onward
            known.forget()
            if look.has_lines:
                continue
        if look.is_end or not is_live:
            return
        settled = 0 if look.has_news or state in (None, "running") else settled + 1
        if settled >= pace.settled_looks:
            return
        if loop.time() - heard > pace.quiet_s:
            yield "unknown"
            return
        wait_s = pace.first_s if look.has_news else min(wait_s * 1.5, pace.longest_s)
        await asyncio.sleep(wait_s)


_Key: TypeAlias = tuple[str, str, float | None]


@dataclass(slots=True)
class _Known:
    """Which lines of a log were told: another request tells them again, or the last of them if older ones are gone."""

    _told: Counter[_Key] = field(default_factory=Counter[_Key])
    _left: Counter[_Key] = field(default_factory=Counter[_Key])

    def begin(self) -> None:
        self._left = self._told.copy()

    def forget(self) -> None:
        self._told.clear()

    def is_new(self, line: Line) -> bool:
        at = (line.text, line.stage, line.at)
        if self._left[at] > 0:
            self._left[at] -= 1
            return False
        self._told[at] += 1
        return True
