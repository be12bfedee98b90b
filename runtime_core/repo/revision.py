"""The revision of a repository: one digest over every file that decides how its tools behave (contract decision 12).

Those are the manifest and all files below the folders of contract 1.1 that handlers import or read. Evals, tests,
installed packages, caches and everything whose name starts with a dot are left out. A link counts as what it leads
to; one that leads out of the repository, or to a name that starts with a dot, is left out as well.
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


def is_inside(path: str, home: str) -> bool:
    """Whether a real path is that of a folder, or below it."""
    return path == home or path.startswith(home.rstrip(os.sep) + os.sep)


def code_files(root: Path) -> list[str]:
    """Names, relative to the root with ``/``, of all files that count, sorted. Raises `TooLarge` and `OSError`."""
    home = os.path.realpath(root)
    names: list[str] = []
    for count, (name, is_file) in enumerate(_top(home)):
        if count > COUNT_LIMIT:
            raise TooLarge(name, f"The repository has more than {COUNT_LIMIT:,} definition and code files.")
        if is_file and _is_file(Path(home, name), name):
            names.append(name)
    return sorted(names)


def _top(home: str) -> Iterator[tuple[str, bool]]:
    for name in (*FILES, *FOLDERS):
        path = os.path.join(home, name)
        if os.path.isfile(path) and name in FILES and _counts(path, home):
            yield name, True
        elif os.path.isdir(path) and name in FOLDERS and _counts(path, home):
            yield from _below(home, name, frozenset())


def _below(home: str, folder: str, above: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """Folders and files in a folder. A link is followed, unless it leads back to a folder on the way."""
    real = os.path.realpath(os.path.join(home, folder))
    if real in above:
        return
    yield folder, False
    with os.scandir(os.path.join(home, folder)) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            name = f"{folder}/{entry.name}"
            if entry.name.startswith(".") or (entry.is_symlink() and not _counts(entry.path, home)):
                continue
            if entry.is_dir():
                if entry.name not in _SKIPPED_FOLDERS:
                    yield from _below(home, name, above | {real})
            elif entry.is_file() and not is_test(entry.name):
                yield name, True


def _counts(path: str, home: str) -> bool:
    """Whether a path really is below the folder, by names without a dot at their beginning."""
    real = os.path.realpath(path)
    return is_inside(real, home) and not os.path.islink(real) and "/." not in real[len(home) :].replace(os.sep, "/")


def _is_file(path: Path, name: str) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    if found.st_size > FILE_LIMIT and stat.S_ISREG(found.st_mode):
        reason = f"The file has {found.st_size:,} bytes; at most {FILE_LIMIT:,} are read."
        raise TooLarge(name, reason)
    return stat.S_ISREG(found.st_mode)
