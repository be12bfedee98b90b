"""Symbolic links that lead out of a repository are refused: the sandbox of TypeScript handlers follows them."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator, Set
from pathlib import Path

from runtime_core.repo.report import INVALID, Report
from runtime_core.repo.revision import FOLDERS, is_inside


def check_links(root: Path, report: Report) -> None:
    """Report every link below ``root`` that leads out of it, also one that only another link leads to.

    What starts with a dot at the top (``.git``, ``.venv``) and Python environments beside the code are passed over,
    unless a link leads there.
    """
    home = os.path.realpath(root)
    secret = _linked_secrets(home)
    for name in _entries(home, secret):
        if secret and not os.path.islink(os.path.join(home, name)):
            message = "This is a hard link to a file with settings (.env) of the repository."
            report.error(INVALID, name, message, "Remove it: handlers may not read those settings.")
            continue
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


def _linked_secrets(home: str) -> Set[tuple[int, int]]:
    """Device and number of the `.env` files at the top that have another name somewhere."""
    with os.scandir(home) as entries:
        found = [entry.stat(follow_symlinks=False) for entry in entries if entry.name.startswith(".env")]
    return {(one.st_dev, one.st_ino) for one in found if one.st_nlink > 1 and stat.S_ISREG(one.st_mode)}


def _entries(home: str, secret: Set[tuple[int, int]]) -> Iterator[str]:
    """Links, and files that are among ``secret``.

    A folder is looked into once: under its own name first, under that of a link if there is no other way to it.
    """
    waiting, linked, seen = deque([""]), deque[str](), set[str]()
    while waiting or linked:
        folder = waiting.popleft() if waiting else linked.popleft()
        real = os.path.realpath(os.path.join(home, folder))
        if real in seen or not is_inside(real, home):
            continue
        seen.add(real)
        with os.scandir(os.path.join(home, folder)) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                name = f"{folder}/{entry.name}" if folder else entry.name
                if not folder and entry.name.startswith("."):
                    continue
                if entry.is_symlink():
                    yield name
                    if os.path.isdir(entry.path):
                        linked.append(name)
                elif entry.is_dir():
                    if not _is_environment(name, entry.path):
                        waiting.append(name)
                elif secret and _identity(entry) in secret:
                    yield name


def _identity(entry: os.DirEntry[str]) -> tuple[int, int]:
    found = entry.stat(follow_symlinks=False)
    return found.st_dev, found.st_ino


def _is_environment(name: str, path: str) -> bool:
    return name.split("/", 1)[0] not in FOLDERS and os.path.exists(os.path.join(path, "pyvenv.cfg"))
