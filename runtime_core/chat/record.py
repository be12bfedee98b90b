"""What is kept of a turn while it goes on: everything that was said, as soon as it was."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from runtime_core.agents.turns import Model, Usage
from runtime_core.journal.base import Journal
from runtime_core.wire.chats import ChatCall, ChatEntry, ChatRole, ChatRow
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText
from runtime_core.wire.runs import SlotPath

PAUSE_S: Final = 0.5
"""What is told in quick succession is stored together."""


class TurnRecord:
    """Takes what is told of one turn, without waiting, and stores it in that order: `flush` at once, `keep` by and by.

    What could not be stored stays, and is stored with the next.
    """

    def __init__(self, journal: Journal, row: ChatRow, turn: int) -> None:
        self.turn = turn
        self.draft: Callable[[], JsonText | None] = lambda: None
        """The body of the message that is being said, if one is."""
        self._has_more = False
        self._journal = journal
        self._row = row
        self._entries: list[ChatEntry] = []
        self._calls: dict[SlotPath, ChatCall] = {}
        self._spent = Usage()
        self._storing = asyncio.Lock()
        self._told = asyncio.Event()

    def add(self, role: ChatRole, body: JsonText) -> None:
        self._entries.append(ChatEntry(self.turn, role, body, time.time()))
        self._told.set()

    def say_more(self) -> None:
        """There is more of the draft."""
        self._has_more = True
        self._told.set()

    def put(self, call: ChatCall) -> None:
        self._calls[call.slot] = call
        self._told.set()

    def spend(self, usage: Usage) -> None:
        self._spent += usage

    def answered_by(self, model: Model) -> None:
        self._row = replace(self._row, provider=model.provider, model=model.name)

    async def flush(self) -> None:
        """Raises `RuntimeFault`: the conversation was deleted, or the data folder does not do its work.

        Whoever gives up waiting for it does not end it: what was begun is stored once.
        """
        await asyncio.shield(asyncio.ensure_future(self._store()))

    async def _store(self) -> None:
        async with self._storing:
            entries, calls, spent = [*self._entries, *self._drafted()], self._calls, self._spent
            if not (entries or calls or spent != Usage()):
                return
            self._entries, self._calls, self._spent = [], {}, Usage()
            row = replace(self._row, updated_at=time.time())
            try:
                await self._journal.record_chat(row, entries, list(calls.values()), _counts(spent))
            except BaseException:
                said = [entry for entry in entries if entry.role != "draft"]
                self._entries, self._calls = said + self._entries, calls | self._calls
                self._spent += spent
                raise

    def _drafted(self) -> Sequence[ChatEntry]:
        body = self.draft() if self._has_more else None
        self._has_more = False
        return () if body is None else (ChatEntry(self.turn, "draft", body, time.time()),)

    async def keep(self) -> None:
        """Store what is told until this is cancelled. Raises `RuntimeFault` NOT_FOUND: the conversation was deleted."""
        while True:
            await self._told.wait()
            self._told.clear()
            try:
                await self.flush()
            except RuntimeFault as fault:
                if fault.code == "NOT_FOUND":
                    raise
                # of what is wrong with the data folder whoever flushes next is told
            await asyncio.sleep(PAUSE_S)


def _counts(usage: Usage) -> Mapping[str, int]:
    counted = usage.to_wire().items()
    return {name: count for name, count in counted if count and name != "total_tokens"}
