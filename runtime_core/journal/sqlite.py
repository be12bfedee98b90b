"""The journal on SQLite: one writer thread, two reading connections, safe beside other processes (engines.md 4.5)."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from runtime_core.journal import (
    answers,
    automations,
    builds,
    chats,
    documents,
    evals,
    notes,
    queries,
    switches,
    transactions,
    trust,
)
from runtime_core.journal.base import Answer, Claim, Page, Recorded
from runtime_core.journal.driver import (
    BUSY_MS,
    Connection,
    DriverError,
    connect,
    fault,
    pragma,
    rollback,
)
from runtime_core.journal.folder import prepare
from runtime_core.journal.retention import Housekeeping
from runtime_core.journal.schema import migrate
from runtime_core.journal.writer import Writer
from runtime_core.wire.automations import AutomationRow, AutomationStart, Firing, FiringState
from runtime_core.wire.builds import Build, Switch
from runtime_core.wire.chats import ChatCall, ChatEntry, ChatRow
from runtime_core.wire.evals import EvalRow
from runtime_core.wire.json import JsonText
from runtime_core.wire.memory import Note
from runtime_core.wire.runs import Entry, Event, LegRow, PauseRow, RunRow, RunStatus, RunWarning, Span, Standing
from runtime_core.wire.settings import Durability
from runtime_core.wire.stores import Found, Partition, StoredDocument, StoreQuery, StoreWrite

T = TypeVar("T")

READERS = 2


class SqliteJournal:
    """`Journal` on one SQLite file. Every method may raise `RuntimeFault` data_folder_unusable or data_folder_busy."""

    def __init__(self, path: Path, db: Connection, durability: Durability, busy_ms: int) -> None:
        self.path = path
        self._writer = Writer(db, path)
        self._readers = _Readers(path, durability, busy_ms)
        self._owners: set[str] = set()
        self._told = 0
        self._housekeeping = Housekeeping()

    @classmethod
    async def open(cls, path: Path, *, durability: Durability = "full", busy_ms: int = BUSY_MS) -> SqliteJournal:
        """Open the file, making folder and tables as needed. ``busy_ms`` bounds the wait for another program's lock."""
        db = await asyncio.to_thread(open_file, path, durability, busy_ms)
        return cls(path, db, durability, busy_ms)

    async def close(self) -> None:
        """Store what is waiting and let go of the file."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._readers.close()
        self._writer.close()

    async def create_run(self, run: RunRow) -> None:
        await self._writer.write(lambda db: transactions.create_run(db, run))

    async def claim(self, run_id: str, owner: str) -> Claim | None:
        self._owners.add(owner)
        return await self._writer.write(lambda db: transactions.claim(db, run_id, owner))

    async def load(self, run_id: str) -> list[Entry]:
        return await self._readers.read(lambda db: queries.entries(db, run_id))

    async def append(
        self, claim: Claim, entries: Sequence[Entry], spans: Sequence[Span] = (), expired: Sequence[PauseRow] = ()
    ) -> Sequence[Entry]:
        stored = await self._writer.write(lambda db: transactions.append(db, claim, entries, spans, expired))
        self._told += len(expired)
        return stored

    async def warn(self, run_id: str, warnings: Sequence[RunWarning]) -> None:
        await self._writer.write(lambda db: transactions.warn(db, run_id, warnings))

    async def spend(self, run_id: str, tokens: Mapping[str, int]) -> None:
        await self._writer.write(lambda db: transactions.spend(db, run_id, tokens))

    async def park(
        self,
        claim: Claim,
        status: RunStatus,
        *,
        pauses: Sequence[PauseRow] = (),
        entries: Sequence[Entry] = (),
        wake_at: float | None = None,
        error: JsonText | None = None,
        spans: Sequence[Span] = (),
    ) -> None:
        await self._writer.write(
            lambda db: transactions.park(db, claim, status, pauses, entries, wake_at, error, spans)
        )

    async def finish(
        self,
        claim: Claim,
        status: RunStatus,
        *,
        result: JsonText | None = None,
        error: JsonText | None = None,
        entries: Sequence[Entry] = (),
        spans: Sequence[Span] = (),
    ) -> None:
        await self._writer.write(lambda db: transactions.finish(db, claim, status, result, error, entries, spans))

    async def answer(
        self,
        answer: Answer,
        judge: Callable[[RunRow, Sequence[PauseRow], Answer], PauseRow],
        recorded: Callable[[PauseRow], Recorded],
    ) -> tuple[PauseRow, bool]:
        return await self._writer.write(lambda db: answers.answer(db, answer, judge, recorded))

    async def cancel(self, run_id: str, who: str) -> RunRow:
        return await self._writer.write(lambda db: transactions.cancel(db, run_id, who))

    async def withdraw(self, gate_id: str) -> bool:
        return await self._writer.write(lambda db: transactions.withdraw(db, gate_id))

    async def resume(self, run_id: str, revision: str | None, who: str) -> RunRow:
        return await self._writer.write(lambda db: transactions.resume(db, run_id, revision, who))

    async def wake_due(self, now: float) -> Sequence[str]:
        return await self._writer.write(lambda db: transactions.wake_due(db, now))

    async def expire_due(self, now: float, recorded: Callable[[PauseRow], Recorded]) -> Sequence[str]:
        return await self._writer.write(lambda db: answers.expire_due(db, now, recorded))

    async def trust(self, repo: str, revision: str, needs: JsonText, who: str) -> None:
        await self._writer.write(lambda db: trust.trust(db, repo, revision, needs, who))

    async def trusted(self, repo: str, revision: str) -> Sequence[str]:
        return await self._readers.read(lambda db: trust.trusted(db, repo, revision))

    async def abandon_claims(self) -> Sequence[str]:
        return await self._writer.write(transactions.abandon_claims)

    async def next_wake(self) -> float | None:
        return await self._readers.read(queries.next_wake)

    async def runnable(self, limit: int = 100) -> Sequence[str]:
        """A ``running`` run counts if its claim was not made through this journal."""
        owners = tuple(self._owners)
        return await self._readers.read(lambda db: queries.runnable(db, limit, owners))

    async def run(self, run_id: str) -> RunRow | None:
        return await self._readers.read(lambda db: queries.run(db, run_id))

    async def runs(self, statuses: Sequence[RunStatus], limit: int, cursor: str | None) -> Page[RunRow]:
        return await self._readers.read(lambda db: queries.runs(db, statuses, limit, cursor))

    async def pauses(self, run_id: str) -> Sequence[PauseRow]:
        return await self._readers.read(lambda db: queries.pauses(db, run_id))

    async def pending(self, limit: int, cursor: str | None) -> Page[PauseRow]:
        return await self._readers.read(lambda db: queries.pending(db, limit, cursor))

    async def gates(self, parent: str | None) -> Sequence[RunRow]:
        return await self._readers.read(lambda db: queries.gates(db, parent))

    async def legs(self, run_id: str) -> Sequence[LegRow]:
        return await self._readers.read(lambda db: queries.legs(db, run_id))

    async def warnings(self, run_id: str) -> Sequence[RunWarning]:
        return await self._readers.read(lambda db: queries.warnings(db, run_id))

    async def waiting_in(self, repo: str, limit: int = 1000) -> Sequence[str]:
        return await self._readers.read(lambda db: queries.waiting_in(db, repo, limit))

    async def named_revisions(self) -> Set[str]:
        return await self._readers.read(queries.named_revisions)

    async def standings(self, run_ids: Sequence[str]) -> Mapping[str, Standing]:
        return await self._readers.read(lambda db: queries.standings(db, run_ids))

    async def spans(self, run_id: str) -> Sequence[Span]:
        return await self._readers.read(lambda db: queries.spans(db, run_id))

    async def events(self, after: int, limit: int = 1000) -> Sequence[Event]:
        return await self._readers.read(lambda db: queries.events(db, after, limit))

    async def last_event(self) -> int:
        return await self._readers.read(queries.last_event)

    async def write_documents(self, writes: Sequence[StoreWrite]) -> Sequence[JsonText]:
        return await self._writer.write(lambda db: [documents.write(db, write) for write in writes])

    async def document(self, partition: Partition, key: str) -> StoredDocument | None:
        return await self._readers.read(lambda db: documents.get(db, partition, key))

    async def documents(self, partition: Partition, query: StoreQuery) -> Found:
        names = [name for name in query.where if name in query.indexed]
        if await self._readers.read(lambda db: documents.unbuilt(db, partition, names)):
            while await self._writer.write(lambda db: documents.build(db, partition, names)):
                pass
        return await self._readers.read(lambda db: documents.find(db, partition, query))

    async def document_counts(self, repo: str, scope: str) -> Mapping[str, int]:
        return await self._readers.read(lambda db: documents.counts(db, repo, scope))

    async def add_note(
        self, repo: str, scope: str, text: str, who: str, judge: Callable[[Sequence[Note]], None]
    ) -> Note:
        return await self._writer.write(lambda db: notes.add(db, repo, scope, text, who, judge))

    async def remove_note(self, repo: str, scope: str, note_id: str) -> bool:
        return await self._writer.write(lambda db: notes.remove(db, repo, scope, note_id))

    async def notes(self, repo: str, scope: str, query: str = "") -> Sequence[Note]:
        return await self._readers.read(lambda db: notes.those_of(db, repo, scope, query))

    async def create_chat(self, row: ChatRow) -> None:
        await self._writer.write(lambda db: chats.create(db, row))

    async def record_chat(
        self, row: ChatRow, entries: Sequence[ChatEntry], calls: Sequence[ChatCall], spent: Mapping[str, int]
    ) -> None:
        await self._writer.write(lambda db: chats.record(db, row, entries, calls, spent))

    async def chat(self, session_id: str) -> ChatRow | None:
        return await self._readers.read(lambda db: chats.session(db, session_id))

    async def latest_chat(self, repo: str, agent: str, scope: str) -> ChatRow | None:
        return await self._readers.read(lambda db: chats.latest(db, repo, agent, scope))

    async def chats(self, sources: Sequence[str], limit: int, cursor: str | None) -> Page[ChatRow]:
        return await self._readers.read(lambda db: chats.sessions(db, sources, limit, cursor))

    async def first_words(self, session_ids: Sequence[str]) -> Mapping[str, JsonText]:
        return await self._readers.read(lambda db: chats.first_words(db, session_ids))

    async def chat_entries(self, session_id: str) -> Sequence[ChatEntry]:
        return await self._readers.read(lambda db: chats.entries(db, session_id))

    async def chat_calls(self, session_id: str) -> Sequence[ChatCall]:
        return await self._readers.read(lambda db: chats.calls(db, session_id))

    async def last_chat_turn(self, session_id: str) -> int:
        return await self._readers.read(lambda db: chats.last_turn(db, session_id))

    async def rename_chat(self, session_id: str, title: str | None) -> bool:
        return await self._writer.write(lambda db: chats.rename(db, session_id, title))

    async def delete_chat(self, session_id: str) -> bool:
        return await self._writer.write(lambda db: chats.delete(db, session_id))

    async def save_build(self, build: Build) -> None:
        await self._writer.write(lambda db: builds.save(db, build))

    async def build(self, name: str) -> Build | None:
        return await self._readers.read(lambda db: builds.find(db, name))

    async def builds(self, repo: str | None, limit: int) -> Sequence[Build]:
        return await self._readers.read(lambda db: builds.latest(db, repo, limit))

    async def switch(self, repo: str, tool: str, who: str, *, is_on: bool) -> None:
        await self._writer.write(lambda db: switches.switch(db, repo, tool, who, is_on=is_on))

    async def switches(self, repo: str) -> Sequence[Switch]:
        return await self._readers.read(lambda db: switches.switches(db, repo))

    async def add_eval_result(self, row: EvalRow) -> int:
        return await self._writer.write(lambda db: evals.add(db, row))

    async def eval_results(self, repo: str, name: str, limit: int) -> Sequence[EvalRow]:
        return await self._readers.read(lambda db: evals.of_eval(db, repo, name, limit))

    async def latest_eval_results(self, repo: str) -> Sequence[EvalRow]:
        return await self._readers.read(lambda db: evals.latest(db, repo))

    async def add_automation(self, row: AutomationRow) -> None:
        await self._writer.write(lambda db: automations.add(db, row))

    async def change_automation(
        self, automation_id: str, change: Callable[[AutomationRow], AutomationRow]
    ) -> AutomationRow | None:
        return await self._writer.write(lambda db: automations.change(db, automation_id, change))

    async def postpone_automation(self, automation_id: str, seen: float, next_at: float) -> None:
        await self._writer.write(lambda db: automations.postpone(db, automation_id, seen, next_at))

    async def remove_automation(self, automation_id: str) -> bool:
        return await self._writer.write(lambda db: automations.remove(db, automation_id))

    async def automation(self, automation_id: str) -> AutomationRow | None:
        return await self._readers.read(lambda db: automations.find(db, automation_id))

    async def automations(self, repo: str | None = None) -> Sequence[AutomationRow]:
        return await self._readers.read(lambda db: automations.those_of(db, repo))

    async def due_automations(self, now: float) -> Sequence[AutomationRow]:
        return await self._readers.read(lambda db: automations.due(db, now))

    async def next_automation(self) -> float | None:
        return await self._readers.read(automations.next_due)

    async def start_automation(self, start: AutomationStart) -> Firing | None:
        return await self._writer.write(lambda db: automations.start(db, start))

    async def automation_began(self, firing_id: int, session_id: str) -> None:
        await self._writer.write(lambda db: automations.began(db, firing_id, session_id))

    async def end_automation(
        self, firing_id: int, state: FiringState, at: float, error: str | None = None, session_id: str | None = None
    ) -> bool:
        return await self._writer.write(lambda db: automations.end(db, firing_id, state, at, error, session_id))

    async def open_firings(self, *, ended: bool = False) -> Sequence[Firing]:
        return await self._readers.read(lambda db: automations.open_firings(db, ended=ended))

    async def firings(self, automation_id: str, limit: int) -> Sequence[Firing]:
        return await self._readers.read(lambda db: automations.history(db, automation_id, limit))

    async def latest_firings(self) -> Mapping[str, Firing]:
        return await self._readers.read(automations.latest)

    async def tidy(self, before: float | None) -> bool:
        return await self._writer.write(lambda db: self._housekeeping.step(db, before))

    async def data_version(self) -> int:
        return self._told + await self._writer.look(lambda db: pragma(db, "data_version"))


class _Readers:
    """A few threads, each with a connection of its own that cannot write."""

    def __init__(self, path: Path, durability: Durability, busy_ms: int) -> None:
        self._path = path
        self._open = lambda: connect(path, durability=durability, read_only=True, busy_ms=busy_ms)
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix=f"journal reader {path.name}")
        self._own = threading.local()
        self._all: list[Connection] = []

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, work)

    def close(self) -> None:
        self._threads.shutdown()
        for db in self._all:
            db.close()

    def _read(self, work: Callable[[Connection], T]) -> T:
        db: Connection | None = getattr(self._own, "db", None)
        if db is None:
            db = self._own.db = self._open()
            self._all.append(db)
        try:
            db.execute("BEGIN")  # one snapshot for all that `work` reads
            return work(db)
        except DriverError as error:
            raise fault(self._path, error) from error
        finally:
            with suppress(DriverError):
                rollback(db)


def open_file(path: Path, durability: Durability = "full", busy_ms: int = BUSY_MS) -> Connection:
    """The file as a database of the present format, made if it is missing. Raises `RuntimeFault`."""
    prepare(path.parent)
    with suppress(OSError):  # a new file is for its owner's eyes; an existing one stays as it is
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    db = connect(path, durability=durability, busy_ms=busy_ms)
    try:
        migrate(db, path)
    except BaseException:
        db.close()
        raise
    return db
