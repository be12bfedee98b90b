"""The revision of a repository: one digest over every file that decides how its tools behave (contract decision 12).

Those are the manifest and all files below the folders of contract 1.1 that handlers import or read. Evals, tests,
installed packages, caches and everything whose name starts with a dot are left out.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FOLDERS: Final = ("agents", "amodal", "automations", "connections", "hooks", "knowledge", "skills", "stores", "tools")
FILES: Final = ("amodal.json", "package.json", "requirements.txt", "tsconfig.json")
FILE_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of one file that counts for the revision."""
COUNT_LIMIT: Final = 20_000

_SKIPPED_FOLDERS: Final = frozenset({"node_modules", "__pycache__"})
_TEST = re.compile(r"(\.(test|spec)\.[cm]?[jt]sx?|_test\.py)$|^test_.*\.py$")


class TooLarge(Exception):  # noqa: N818
    """A file, or the number of files, is beyond what is read; ``file`` is relative to the root."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(reason)
        self.file = file
        self.reason = reason


def is_test(name: str) -> bool:
    return _TEST.search(name) is not None


def revision_of(root: Path) -> str:
    """SHA-256 over names and contents. Raises `TooLarge` and `OSError`."""
    total = hashlib.sha256()
    for name in code_files(root):
        with (root / name).open("rb") as file:
            content = hashlib.file_digest(file, "sha256").digest()
        total.update(name.encode(errors="surrogateescape") + b"\0" + content)
    return total.hexdigest()


def stamp_of(root: Path, *, unsure_s: float = 0) -> str:
    """Changes whenever `revision_of` may have changed; reads no content, only names, sizes and times.

    Empty if a file was written less than ``unsure_s`` ago: it may change once more at what its clock takes for the
    same moment.
    """
    total = hashlib.sha256()
    latest = 0
    for name in code_files(root):
        found = (root / name).stat()
        latest = max(latest, found.st_mtime_ns)
        total.update(f"{name}\0{found.st_size}\0{found.st_mtime_ns}\0".encode(errors="surrogateescape"))
    return "" if 0 <= time.time_ns() - latest < unsure_s * 1e9 else total.hexdigest()


def code_files(root: Path) -> list[str]:
    """Names, relative to the root with ``/``, of all files that count, sorted. Raises `TooLarge` and `OSError`."""
    names = [name for name in FILES if _is_file(root / name)]
    for folder in FOLDERS:
        if (root / folder).is_dir():
            for name in _below(root, folder, frozenset()):
                names.append(name)
                if len(names) > COUNT_LIMIT:
                    raise TooLarge(folder, f"The repository has more than {COUNT_LIMIT:,} definition and code files.")
    return sorted(names)


def _below(root: Path, folder: str, above: frozenset[str]) -> Iterator[str]:
    """Files in a folder and its folders. A link is followed, unless it leads back to a folder on the way."""
    real = os.path.realpath(root / folder)
    if real in above:
        return
    with os.scandir(root / folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            name = f"{folder}/{entry.name}"
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                if entry.name not in _SKIPPED_FOLDERS:
                    yield from _below(root, name, above | {real})
            elif entry.is_file() and not is_test(entry.name):
                _is_file(root / name, name)
                yield name


def _is_file(path: Path, name: str = "") -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    if found.st_size > FILE_LIMIT and stat.S_ISREG(found.st_mode):
        reason = f"The file has {found.st_size:,} bytes; at most {FILE_LIMIT:,} are read."
        raise TooLarge(name or path.name, reason)
    return stat.S_ISREG(found.st_mode)
