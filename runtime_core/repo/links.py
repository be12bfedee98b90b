"""Symbolic links that lead out of a repository are refused: the sandbox of TypeScript handlers follows them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from runtime_core.repo.report import INVALID, Report


def check_links(root: Path, report: Report) -> None:
    """Report every link below ``root`` that leads out of it.

    What starts with a dot at the top (``.git``, ``.venv``) and Python environments are passed over.
    """
    home = os.path.realpath(root)
    for name in _links(root, ""):
        target = os.path.realpath(root / name)
        if target != home and not target.startswith(home + os.sep):
            report.error(
                INVALID,
                name,
                f"This link leads out of the repository, to {target}.",
                "Replace it by a copy of what it points to: handlers may read nothing outside the repository.",
            )


def _links(root: Path, folder: str) -> Iterator[str]:
    with os.scandir(root / folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not folder and entry.name.startswith("."):
                continue
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_symlink():
                yield name
            elif entry.is_dir() and not _is_environment(entry.path):
                yield from _links(root, name)


def _is_environment(path: str) -> bool:
    return os.path.exists(os.path.join(path, "pyvenv.cfg"))
