"""The journal of one claimed run in memory, and the one queue through which its leg writes.

A result is handed to the handler only after the transaction that holds it, in the order in which it was stored.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

from runtime_core.engine.ears import Tally
from runtime_core.journal.base import Claim, Journal
from runtime_core.spans.book import SpanBook
from runtime_core.wire.json import JsonText
from runtime_core.wire.runs import Entry, PauseRow, RunStatus, RunWarning, SlotPath

EntryKey = tuple[SlotPath, int]

SPANS_S: Final = 0.5
"""How long a change of the call tree waits for an entry to be stored with, at most."""

After = Callable[[Entry], None]
"""Gets an entry as it was stored."""


def _nothing(_: Entry) -> None:
    pass


class Ledger:
    """Entries of one run. ``broken`` is called once with what stopped the writing (`Fenced` or a storage fault)."""

    def __init__(
        self,
        journal: Journal,
        claim: Claim,
        spans: SpanBook,
        tally: Tally,
        *,
        idle: Callable[[], None],
        broken: Callable[[Exception], None],
    ) -> None:
        self._journal = journal
        self._claim = claim
        self._spans = spans
        self._tally = tally
        self._idle = idle
        self._broken = broken
        self._finished: dict[EntryKey, Entry] = {}
        self._by_path: dict[SlotPath, list[Entry]] = {}
        self._started: dict[EntryKey, Entry] = {}
        self._queue: list[tuple[Entry, After, PauseRow | None]] = []
        self._warned: set[str] = set()
        self._warnings: list[RunWarning] = []
        self._spans_only = False
        self._has_spent = False
        self._spans_due: asyncio.TimerHandle | None = None
        self._writer: asyncio.Task[None] | None = None
        spans.changed = self._save_spans_soon
        tally.changed = self._save_spent

    def load(self, entries: Sequence[Entry], warnings: Sequence[RunWarning]) -> None:
        """Take over what earlier legs stored; entries that are not calls of a handler have negative numbers."""
        self._warned.update(warning.kind for warning in warnings)
        for entry in entries:
            if entry.n >= 0:
                self._keep(entry)

    @property
    def busy(self) -> bool:
        return self._writer is not None

    @property
    def size(self) -> int:
        return len(self._finished) + len(self._started)

    @property
    def finished_entries(self) -> dict[EntryKey, Entry]:
        return self._finished

    @property
    def started_entries(self) -> Sequence[Entry]:
        return list(self._started.values())

    def finished(self, path: SlotPath) -> Sequence[Entry]:
        """Finished calls of one handler, in the order their results were handed out."""
        return self._by_path.get(path, ())

    def started(self, path: SlotPath) -> Sequence[Entry]:
        return [entry for entry in self._started.values() if entry.path == path]

    def result(self, key: EntryKey) -> Entry | None:
        return self._finished.get(key)

    def intent(self, key: EntryKey) -> Entry | None:
        """The entry of a call that was started and has no result."""
        return self._started.get(key)

    def record(self, entry: Entry, after: After = _nothing, expired: PauseRow | None = None) -> None:
        """Store an entry; ``after`` runs once it is safe. Entries are stored in the order of these calls.

        ``expired``: the question whose call this entry is, closed in the same transaction.
        """
        self._queue.append((entry, after, expired))
        self._wake()

    def save_spans(self) -> None:
        """Store the spans without waiting for the next entry."""
        self._spans_only = True
        self._wake()

    def close(self) -> None:
        """Store nothing by itself any more."""
        self._spans.changed = self._tally.changed = None
        if self._spans_due is not None:
            self._spans_due.cancel()

    def _save_spent(self) -> None:
        self._has_spent = True
        self._wake()

    def _save_spans_soon(self) -> None:
        """What an agent does has no entries of its own, and it may wait for a person for days."""
        if self._spans_due is None:
            self._spans_due = asyncio.get_running_loop().call_later(SPANS_S, self._on_spans_due)

    def _on_spans_due(self) -> None:
        self._spans_due = None
        if self._spans.is_unsaved:
            self.save_spans()

    def warn(self, kind: str, text: str) -> bool:
        """Store a warning on the run; False if it has one of this kind."""
        if kind in self._warned:
            return False
        self._warned.add(kind)
        self._warnings.append(RunWarning(kind, text, time.time()))
        self._wake()
        return True

    def _wake(self) -> None:
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write())

    async def record_intent(self, entry: Entry) -> None:
        """Store a ``started`` entry and wait until it is safe."""
        safe = asyncio.Event()
        self.record(entry, lambda _: safe.set())
        await safe.wait()

    async def drained(self) -> None:
        """Wait until everything is stored, or the writing broke off."""
        while self._writer is not None and not self._writer.done():
            await asyncio.wait({self._writer})

    async def flush(self) -> None:
        """Store everything, also the spans that would wait for the next entry."""
        await self.drained()
        await self._journal.append(self._claim, [], self._spans.take())

    async def park(
        self,
        status: RunStatus,
        pauses: Sequence[PauseRow],
        *,
        entries: Sequence[Entry] = (),
        wake_at: float | None = None,
        error: JsonText | None = None,
    ) -> None:
        """Let the run wait, with everything that was recorded before."""
        await self.drained()
        self._spans.rest()
        await self._journal.park(
            self._claim,
            status,
            pauses=pauses,
            entries=entries,
            wake_at=wake_at,
            error=error,
            spans=self._spans.take(),
        )

    async def finish(self, status: RunStatus, result: JsonText | None, error: JsonText | None) -> None:
        """End the run, with everything that was recorded before."""
        await self.drained()
        self._spans.finish("", error is None, result or error or "null")
        self._spans.close()
        await self._journal.finish(self._claim, status, result=result, error=error, spans=self._spans.take())

    async def _write(self) -> None:
        try:
            while self._queue or self._spans_only or self._warnings or self._has_spent:
                await self._write_batch()
            self._writer = None
            self._idle()
        except Exception as error:  # noqa: BLE001 - whatever it is, this leg cannot go on
            self._broken(error)

    async def _write_batch(self) -> None:
        self._spans_only = False
        batch, self._queue = self._queue, []
        warnings, self._warnings = self._warnings, []
        if warnings:
            await self._journal.warn(self._claim.run.id, warnings)
        if self._has_spent:
            self._has_spent = False
            await self._journal.spend(self._claim.run.id, self._tally.take().to_wire())
        expired = [pause for _, _, pause in batch if pause is not None]
        entries = [entry for entry, _, _ in batch]
        stored = await self._journal.append(self._claim, entries, self._spans.take(), expired)
        for entry, (_, after, _) in zip(stored, batch, strict=True):
            self._keep(entry)
            after(entry)

    def _keep(self, entry: Entry) -> None:
        key = (entry.path, entry.n)
        if entry.state == "started":
            self._started[key] = entry
        else:
            self._started.pop(key, None)
            self._finished[key] = entry
            self._by_path.setdefault(entry.path, []).append(entry)
