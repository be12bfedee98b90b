"""Symbolic links that lead out of a repository are refused: the sandbox of TypeScript handlers follows them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from runtime_core.repo.report import INVALID, Report
from runtime_core.repo.revision import FOLDERS, is_inside


def check_links(root: Path, report: Report) -> None:
    """Report every link below ``root`` that leads out of it, also one that only another link leads to.

    What starts with a dot at the top (``.git``, ``.venv``) and Python environments beside the code are passed over,
    unless a link leads there.
    """
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


def _links(home: str) -> Iterator[str]:
    """A folder is looked into once: under its own name first, under that of a link if there is no other way to it."""
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
                elif entry.is_dir() and not _is_environment(name, entry.path):
                    waiting.append(name)


def _is_environment(name: str, path: str) -> bool:
    return name.split("/", 1)[0] not in FOLDERS and os.path.exists(os.path.join(path, "pyvenv.cfg"))
