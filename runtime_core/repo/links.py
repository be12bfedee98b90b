"""Symbolic links that lead out of a repository are refused: the sandbox of TypeScript handlers follows them.

Looked for where handlers and the loader read: in the folders that count for the revision, and wherever a link in these
leads to. Installed packages are passed over: the links in them are closed to handlers (`hosts/reach.py`).
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Final

from runtime_core.repo.report import INVALID, Report
from runtime_core.repo.revision import FILES, FOLDERS, is_inside

_PACKAGES: Final = "node_modules"


def check_links(root: Path, report: Report) -> None:
    """Report every link that leads out of ``root``, also one that only another link leads to, and other names of the
    `.env` files at the top, wherever they are: ``ctx.fs.readRepoFile`` reads the whole repository."""
    home = os.path.realpath(root)
    for name in _links(home):
        target = os.path.realpath(os.path.join(home, name))
        if os.path.islink(target):
            report.error(INVALID, name, "This link leads to itself.", "Remove it.")
        elif not is_inside(target, home):
            report.error(
                INVALID,
                name,
                f"This link leads out of the repository, to {target}.",
                "Replace it by a copy of what it points to: handlers may read nothing outside the repository.",
            )
    secrets = _linked_secrets(home)
    for name in _files(home) if secrets else ():
        found = os.stat(os.path.join(home, name), follow_symlinks=False)
        if (found.st_dev, found.st_ino) in secrets:
            message = "This is a hard link to a file with settings (.env) of the repository."
            report.error(INVALID, name, message, "Remove it: handlers may not read those settings.")


def _links(home: str) -> Iterator[str]:
    """A folder is looked into once: under its own name first, under that of a link if there is no other way to it."""
    linked = deque(name for name in (*FOLDERS, *FILES, _PACKAGES) if os.path.islink(os.path.join(home, name)))
    yield from list(linked)
    waiting, seen = deque(name for name in FOLDERS if name not in linked), set[str]()
    while waiting or linked:
        folder = waiting.popleft() if waiting else linked.popleft()
        real = os.path.realpath(os.path.join(home, folder))
        if real in seen or not is_inside(real, home) or not os.path.isdir(real):
            continue
        seen.add(real)
        for entry in _entries(home, folder):
            name = f"{folder}/{entry.name}"
            if entry.is_symlink():
                yield name
                linked.append(name)
            elif entry.is_dir() and entry.name != _PACKAGES:
                waiting.append(name)


def _linked_secrets(home: str) -> Set[tuple[int, int]]:
    """Device and number of the `.env` files at the top that have another name somewhere."""
    found = [entry.stat(follow_symlinks=False) for entry in _entries(home, "") if entry.name.startswith(".env")]
    return {(one.st_dev, one.st_ino) for one in found if one.st_nlink > 1 and stat.S_ISREG(one.st_mode)}


def _files(home: str) -> Iterator[str]:
    """All files that no name with a dot at the top leads to, links left out."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for entry in _entries(home, folder):
            name = f"{folder}/{entry.name}" if folder else entry.name
            if not folder and entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(name)
            elif not entry.is_symlink():
                yield name


def _entries(home: str, folder: str) -> Sequence[os.DirEntry[str]]:
    with os.scandir(os.path.join(home, folder)) as entries:
        return sorted(entries, key=lambda entry: entry.name)
