"""What commands of a repository may run: one digest over every file that may be a program, or be read by one.

Wider than the revision, which is over what handlers are made of: a command starts whatever lies in the repository.
Files whose suffix is one of data do not count unless they may be executed, so that what commands write takes no trust
away; nor do installed packages, environments, and folders whose name starts with a dot.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runtime_core.repo.revision import COUNT_LIMIT, FILE_LIMIT, TooLarge

TOTAL_LIMIT: Final = 512 * 1024 * 1024
SETTLED_S: Final = 2.0
"""A file that was changed less than that ago may change once more at what its clock takes for the same moment."""

_SKIPPED: Final = frozenset({"node_modules", "__pycache__"})
_DATA: Final = re.compile(
    r"\.(avif?|bak|bmp|bz2|csv|(db|sqlite3?)(-journal|-shm|-wal)?|docx?|eml|feather|gif|gz|html?|ico|ics|jpe?g|jsonl?|"
    r"lock|log|markdown|md|mov|mp[34]|ndjson|od[st]|out|parquet|pdf|pid|png|pptx|rst|rtf|svg|swp|tar|tmp|tsv|txt|vcf|"
    r"wav|web[mp]|xlsx?|xml|xz|zip|zst)\Z",
    re.IGNORECASE,
)
_ALWAYS: Final = frozenset({"composer.json", "deno.json", "package.json", "requirements.txt", "tsconfig.json"})
_NEVER: Final = frozenset({".coverage", ".DS_Store", "Thumbs.db"})


@dataclass(frozen=True, slots=True)
class Programs:
    digest: str
    count: int


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    size: int
    stamp: tuple[int, ...]
    changed_ns: int
    link: str | None = None


_known: dict[str, tuple[tuple[_File, ...], Programs]] = {}
_lock = threading.Lock()


def programs_of(root: Path) -> Programs:
    """Reads contents only if names, sizes or times have changed since the last time. Raises `TooLarge`."""
    home = os.path.realpath(root)
    files = tuple(_bounded(home))
    with _lock:
        known = _known.get(home)
    if known is not None and known[0] == files:
        return known[1]
    total = hashlib.sha256()
    for file in files:
        is_run = "x" if file.stamp[0] & 0o111 else "-"
        total.update(f"{file.name}\0{is_run}\0{file.link}\0".encode(errors="surrogateescape") + _content(home, file))
    found = Programs(total.hexdigest(), len(files))
    if all(time.time_ns() - file.changed_ns > SETTLED_S * 1e9 for file in files):
        with _lock:
            _known[home] = (files, found)
    return found


def _bounded(home: str) -> Iterator[_File]:
    count = size = 0
    for file in sorted(_files(home), key=lambda file: file.name):
        count, size = count + 1, size + file.size
        if file.size > FILE_LIMIT:
            raise TooLarge(file.name, f"The file has {file.size:,} bytes; at most {FILE_LIMIT:,} are read.")
        if count > COUNT_LIMIT:
            raise TooLarge(".", f"It has more than {COUNT_LIMIT:,} files that commands may run.")
        if size > TOTAL_LIMIT:
            raise TooLarge(".", f"The files that commands may run have more than {TOTAL_LIMIT:,} bytes in all.")
        yield file


def _files(home: str) -> Iterator[_File]:
    """Those that count. Not sorted, at most one more than may be; a folder behind a link is only a name."""
    waiting, count = [""], 0
    while waiting:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(os.path.join(home, folder)))
        except OSError:  # nor can a command of the same user look into it
            continue
        if folder and any(entry.name == "pyvenv.cfg" for entry in entries):
            continue
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED and not entry.name.startswith("."):
                    waiting.append(name)
            elif (file := _file(entry, name)) is not None:
                yield file
                count += 1
                if count > COUNT_LIMIT:
                    return


def _file(entry: os.DirEntry[str], name: str) -> _File | None:
    try:
        link = os.readlink(entry.path) if entry.is_symlink() else None
        found = entry.stat()
    except OSError:  # gone by now, or a link to nothing
        return None
    if link is not None and stat.S_ISDIR(found.st_mode):
        return _File(name, 0, (0,), 0, link)
    if not stat.S_ISREG(found.st_mode) or not _counts(entry.name, found.st_mode):
        return None
    stamp = (found.st_mode, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
    return _File(name, found.st_size, stamp, max(found.st_mtime_ns, found.st_ctime_ns), link)


def _counts(name: str, mode: int) -> bool:
    if name in _ALWAYS or mode & 0o111:
        return True
    return name not in _NEVER and not name.startswith(".env") and _DATA.search(name) is None


def _content(home: str, file: _File) -> bytes:
    if file.stamp == (0,):
        return b"folder"
    try:
        with open(os.path.join(home, file.name), "rb") as opened:
            return hashlib.file_digest(opened, "sha256").digest()
    except OSError:
        return b"unreadable"
