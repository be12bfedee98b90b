"""Writing runs out as JSON Lines, all in one snapshot and a run at a time."""

from __future__ import annotations

import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from runtime_core.journal.driver import Connection, DriverError, fault
from runtime_core.journal.formats import FORMAT
from runtime_core.journal.look import look
from runtime_core.journal.parts import HELD
from runtime_core.journal.portable import end, header, held_lines, lines_of
from runtime_core.journal.queries import sound_run
from runtime_core.journal.sqlite import open_file
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.runs import iso


@dataclass(frozen=True, slots=True)
class Exported:
    """How many ``runs`` were written, which of them have not ended, and why others were left out, by their id.

    ``held``: what else was written, counted by kind; ``lost`` is what of it could not be read.
    """

    runs: int
    unfinished: Sequence[str]
    damaged: Mapping[str, str]
    held: Mapping[str, int]
    lost: Sequence[str] = ()


def export(journal: Path, runs: Sequence[str], version: str, write: Callable[[str], object]) -> Exported:
    """Write these runs, or for none everything that can be read, line by line. Raises `RuntimeFault`.

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


def _write(db: Connection, runs: Sequence[str], version: str, write: Callable[[str], object]) -> Exported:
    for run_id in runs:
        sound_run(db, run_id)
    write(header(version, iso(time.time()) or "") + "\n")
    count = lines = 0
    unfinished: list[str] = []
    damaged: dict[str, str] = {}
    for run_id in dict.fromkeys(runs) or _all(db):
        try:
            found = list(lines_of(db, run_id))
        except (RuntimeFault, DriverError) as error:
            if runs or getattr(error, "sqlite_errorcode", None) is not None:  # the file as a whole cannot be read
                raise
            damaged[run_id] = str(error)
            continue
        for line in found:
            write(line + "\n")
        lines += len(found)
        count += 1
        if _is_unfinished(db, run_id):
            unfinished.append(run_id)
    held = Counter[str]()
    lost: list[str] = []
    for kind in () if runs else HELD:
        for name, line in held_lines(db, kind, lost):
            if line is None:
                lost.append(name)
            else:
                write(line + "\n")
                held[kind] += 1
    write(end(count, lines + held.total()) + "\n")
    return Exported(count, unfinished, damaged, held, lost)


def _is_unfinished(db: Connection, run_id: str) -> bool:
    return bool(db.execute("SELECT finished_at IS NULL FROM durable_run WHERE id = ?", (run_id,)).fetchone()[0])


def _all(db: Connection) -> Iterator[str]:
    for row in db.execute("SELECT id FROM durable_run ORDER BY id"):
        yield row[0]


@contextmanager
def whole_file(target: Path) -> Generator[IO[str]]:
    """A file that appears, replacing what was there, when all of it is on the disk; a new one is for its owner's eyes.

    Links are followed. What is no file, a device or a pipe, is written into.
    """
    mode = target.stat().st_mode if target.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        with target.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    target = target.resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        if mode is not None:
            part.chmod(stat.S_IMODE(mode))
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
