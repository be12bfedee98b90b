"""The one thread that writes: it commits everything that is waiting in one transaction (engines.md 4.5)."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from runtime_core.journal.driver import Connection, DriverError, fault, rollback
from runtime_core.wire.codes import RuntimeFault

T = TypeVar("T")

BATCH: Final = 256
IDLE_S: Final = 1.0


class _Job:
    """One piece of work on its way to the thread and its result on the way back."""

    __slots__ = ("error", "future", "loop", "result", "work", "writes")

    def __init__(self, work: Callable[[Connection], Any], loop: asyncio.AbstractEventLoop, writes: bool) -> None:
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.writes = writes
        self.result: Any = None
        self.error: Exception | None = None


class Writer:
    """Owns the writing connection. Calls may come from any loop; their order is the order of commits."""

    def __init__(self, db: Connection, path: Path) -> None:
        self._db = db
        self._path = path
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name=f"journal writer {path.name}", daemon=True)
        self._thread.start()

    def write(self, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Run ``work`` in a transaction; done after the commit. What ``work`` raises undoes its own changes only.

        Raises `RuntimeFault` if nothing could be stored.
        """
        return self._submit(work, writes=True)

    def look(self, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Run ``work`` on the writing connection without a transaction, for what only that connection knows."""
        return self._submit(work, writes=False)

    def close(self) -> None:
        """Finish what is waiting, then close the connection. Blocks for as long as that takes."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join()

    def _submit(self, work: Callable[[Connection], T], *, writes: bool) -> asyncio.Future[T]:
        if self._closed:
            raise RuntimeError(f"the journal {self._path} is closed")
        job = _Job(work, asyncio.get_running_loop(), writes)
        self._jobs.put(job)
        return job.future

    def _serve(self) -> None:
        checkpointed = True
        while True:
            try:
                job = self._jobs.get(timeout=None if checkpointed else IDLE_S)
            except queue.Empty:
                checkpointed = True
                with suppress(DriverError):
                    self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                continue
            batch: list[_Job] = []
            while job is not None:
                batch.append(job)
                if len(batch) == BATCH or self._jobs.empty():
                    break
                job = self._jobs.get()
            if self._process(batch):
                checkpointed = False
            if job is None:
                self._db.close()
                self._refuse_late_ones()
                return

    def _refuse_late_ones(self) -> None:
        while not self._jobs.empty():
            late = self._jobs.get()
            if late is not None:
                late.error = RuntimeError(f"the journal {self._path} is closed")
                late.loop.call_soon_threadsafe(_resolve, [late])

    def _process(self, batch: list[_Job]) -> bool:
        """Do the jobs and wake those who wait for them, once for each loop; True if something was written."""
        writing: list[_Job] = []
        for job in batch:
            if job.writes:
                writing.append(job)
            else:
                _attempt(job, self._db, self._path)
        if writing:
            self._commit(writing)
        for loop in {job.loop for job in batch}:
            with suppress(RuntimeError):  # a loop that was closed waits for nothing
                loop.call_soon_threadsafe(_resolve, [job for job in batch if job.loop is loop])
        return bool(writing)

    def _commit(self, jobs: list[_Job]) -> None:
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            if len(jobs) == 1:
                _attempt(jobs[0], db, self._path)
                if jobs[0].error:
                    rollback(db)
                else:
                    db.execute("COMMIT")
            else:
                for job in jobs:
                    self._attempt_in_savepoint(job)
                db.execute("COMMIT")
        except DriverError as error:
            with suppress(DriverError):
                rollback(db)
            for job in jobs:
                job.error = job.error or fault(self._path, error)

    def _attempt_in_savepoint(self, job: _Job) -> None:
        db = self._db
        db.execute("SAVEPOINT job")
        _attempt(job, db, self._path)
        if job.error:
            db.execute("ROLLBACK TO job")  # fails if the error has already undone everything: then all jobs fail
        db.execute("RELEASE job")


def _attempt(job: _Job, db: Connection, path: Path) -> None:
    try:
        job.result = job.work(db)
    except DriverError as error:
        job.error = fault(path, error)
        job.error.__cause__ = error
    except UnicodeEncodeError as error:
        job.error = RuntimeFault(
            "VALIDATION_ERROR", f"A text holds half of a surrogate pair at position {error.start}. Remove it."
        )
    except Exception as error:  # noqa: BLE001 - it belongs to the caller, on the other side of the future
        job.error = error


def _resolve(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.done():  # cancelled while it waited
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
