"""Writing runs out as JSON Lines, all in one snapshot and a run at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from runtime_core.journal.driver import Connection, DriverError, fault
from runtime_core.journal.look import look
from runtime_core.journal.portable import end, header, lines_of
from runtime_core.journal.queries import known_run
from runtime_core.journal.schema import FORMAT
from runtime_core.journal.sqlite import open_file
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.runs import iso


def export(journal: Path, runs: Sequence[str], version: str, write: Callable[[str], object]) -> int:
    """Write these runs, or all for none, line by line; how many they were. Raises `RuntimeFault`.

    Nothing is changed, except that a file of an older format is brought to the present one first.
    """
    if not journal.exists():
        raise RuntimeFault("NOT_FOUND", f"There is no journal at {journal}. Name the data folder with --data.")
    try:
        with look(journal) as db:
            current = db.execute("PRAGMA user_version").fetchone()[0] == FORMAT
        if not current:
            open_file(journal).close()
        with look(journal) as db:
            return _write(db, runs, version, write)
    except DriverError as error:
        raise fault(journal, error) from error
    except LookupError as error:
        raise RuntimeFault(
            "data_folder_unusable", f"{journal} is damaged: {error}. See: operator-inbox doctor"
        ) from error


def _write(db: Connection, runs: Sequence[str], version: str, write: Callable[[str], object]) -> int:
    for run_id in runs:
        known_run(db, run_id)
    write(header(version, iso(time.time()) or "") + "\n")
    count = lines = 0
    for run_id in dict.fromkeys(runs) or _all(db):
        for line in lines_of(db, run_id):
            write(line + "\n")
            lines += 1
        count += 1
    write(end(count, lines) + "\n")
    return count


def _all(db: Connection) -> Iterator[str]:
    for row in db.execute("SELECT id FROM durable_run ORDER BY id"):
        yield row[0]


@contextmanager
def whole_file(target: Path) -> Generator[IO[str]]:
    """A file for its owner's eyes that appears, replacing what was there, when all of it is on the disk."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        part.replace(target)
        _sync(target.parent)
    finally:
        with suppress(OSError):
            part.unlink()


def _sync(folder: Path) -> None:
    with suppress(OSError):  # Windows opens no folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
