"""A file layer under SQLite that keeps a log of what reaches the disk, and what is left of it when power is lost."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import apsw

SECTOR: Final = 512

Loss = Literal["dropped", "torn", "reordered", "kept"]
"""What becomes of that which was written after the last sync: nothing of it is left; the first part, cut in the middle
of a write; any of its sectors; all of it (as when only the process dies)."""

LOSSES: Final[Sequence[Loss]] = ("dropped", "torn", "reordered", "kept")


@dataclass(frozen=True, slots=True)
class Act:
    kind: Literal["create", "write", "truncate", "sync", "delete", "delete and sync"]
    file: str
    at: int = 0
    data: bytes = b""


class DiskLog(apsw.VFS):
    """The VFS ``name``: hands everything on to the system's own and notes what changes a file, in order."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "")
        self.name = name
        self.acts: list[Act] = []
        self._lock = threading.Lock()

    def note(self, act: Act) -> None:
        if not act.file.endswith("-shm"):  # rebuilt by whoever opens the file first
            with self._lock:
                self.acts.append(act)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _LoggedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.note(Act("delete and sync" if syncdir else "delete", Path(filename).name))


class _LoggedFile(apsw.VFSFile):
    def __init__(self, log: DiskLog, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._log = log
        self._name = Path(path).name if path else "temporary-shm"
        is_new = path is not None and not Path(path).exists()
        super().__init__("", name, flags)
        if is_new:
            log.note(Act("create", self._name))

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._log.note(Act("write", self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._log.note(Act("truncate", self._name, newsize))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._log.note(Act("sync", self._name))


@dataclass(slots=True)
class _File:
    """``entered``: the folder names the file for certain; ``gone``: it is deleted, but the folder may still name it."""

    synced: bytearray = field(default_factory=bytearray)
    pending: list[Act] = field(default_factory=list[Act])
    entered: bool = True
    gone: bool = False


class Disk:
    """The disk as it is after the acts that were applied to it so far."""

    def __init__(self, *, lies: bool = False) -> None:
        """``lies``: it says that it has synced and has not."""
        self._files: dict[str, _File] = {}
        self._lies = lies

    def apply(self, act: Act) -> None:
        known = self._files.get(act.file)
        match act.kind:
            case "create":
                if known is None or known.gone:
                    self._files[act.file] = _File(entered=False)
            case "write" | "truncate":
                self._files.setdefault(act.file, _File()).pending.append(act)
            case "sync":
                if not self._lies:
                    self._sync(self._files.setdefault(act.file, _File()))
            case "delete":
                if known is not None:
                    known.gone = True
            case "delete and sync":
                self._files.pop(act.file, None)
                self._sync_folder()

    def after_loss(self, loss: Loss, chance: random.Random) -> Iterator[tuple[str, bytes]]:
        """The files that are left, with what they hold."""
        for name, file in self._files.items():
            if (file.gone or not file.entered) and (loss == "kept" or chance.random() < 0.5):
                if not file.gone:
                    yield name, bytes(_written(file, loss, chance))
            elif file.entered:
                yield name, bytes(_written(file, loss, chance))

    def _sync(self, file: _File) -> None:
        for act in file.pending:
            _write(file.synced, act)
        file.pending.clear()
        if not file.entered:
            self._sync_folder()

    def _sync_folder(self) -> None:
        """As the system's file layer does with the first sync of a new file."""
        self._files = {name: file for name, file in self._files.items() if not file.gone}
        for file in self._files.values():
            file.entered = True


def _written(file: _File, loss: Loss, chance: random.Random) -> bytearray:
    content = bytearray(file.synced)
    if loss == "kept":
        survivors: Sequence[Act] = file.pending
    elif loss == "torn":
        survivors = file.pending[: chance.randint(0, len(file.pending))]
        if survivors and survivors[-1].kind == "write":
            survivors = [*survivors[:-1], _torn(survivors[-1], chance)]
    elif loss == "reordered":
        survivors = [part for act in file.pending for part in _sectors(act) if chance.random() < 0.5]
    else:
        survivors = ()
    for act in survivors:
        _write(content, act)
    return content


def _write(content: bytearray, act: Act) -> None:
    if act.kind == "truncate":
        del content[act.at :]
        return
    if len(content) < act.at:
        content.extend(bytes(act.at - len(content)))
    content[act.at : act.at + len(act.data)] = act.data


def _torn(act: Act, chance: random.Random) -> Act:
    """The first sectors of a write, or half of a short one."""
    whole = len(act.data) // SECTOR
    cut = SECTOR * chance.randrange(whole) if whole else len(act.data) // 2
    return Act("write", act.file, act.at, act.data[:cut])


def _sectors(act: Act) -> Iterator[Act]:
    if act.kind == "truncate":
        yield act
        return
    at, end = act.at, act.at + len(act.data)
    while at < end:
        after = min(end, (at // SECTOR + 1) * SECTOR)
        yield Act("write", act.file, at, act.data[at - act.at : after - act.at])
        at = after
