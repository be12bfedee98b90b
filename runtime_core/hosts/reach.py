"""What handlers could reach through the files they may read: looked at again at every start of a process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from runtime_core.hosts.base import HostUnavailable
from runtime_core.hosts.launch import code_paths
from runtime_core.hosts.sandbox import landlock_version
from runtime_core.hosts.source import Source

PIECES: Final = 1000
"""Names in a folder with an environment file up to which the kernel closes it as well: each is on a command line."""


def closed_paths(source: Source) -> list[str]:
    """Environment files among the code, and links to what handlers may not read.

    Raises `HostUnavailable` for a link that leads out of the repository and is none of installed packages, and for any
    link in a copy of its code.
    """
    granted = [os.path.realpath(path) for path in code_paths(source)]
    found: list[str] = []
    for top in code_paths(source):
        for path, is_link in _below(top):
            target = os.path.realpath(path) if is_link else path
            if is_link and "node_modules" not in Path(os.path.relpath(path, Path(top).parent)).parts[:-1]:
                _check_link(source, path, target)
            if _is_secret(path) or _is_secret(target) or (is_link and not _is_below(target, granted)):
                found.append(path)
    return sorted(found)


def kernel_grants(source: Source, closed: Sequence[str]) -> tuple[list[str], list[str]]:
    """(what is readable with all below it, folders whose names only are): the code without its environment files.

    The kernel's rules can open but not close: a folder with such a file is opened piece by piece. What is put there
    later is closed to a process that runs already.
    """
    secrets = [path for path in closed if _is_secret(path) and not os.path.islink(path)]
    readable: list[str] = []
    listable: list[str] = []
    waiting = code_paths(source)
    while waiting:
        path = waiting.pop()
        if path in secrets:
            continue
        pieces = [entry.path for entry in os.scandir(path)] if any(_is_below(one, [path]) for one in secrets) else []
        if 0 < len(pieces) <= PIECES:
            listable.append(path)
            waiting.extend(pieces)
        else:
            readable.append(path)
    return readable, listable


def _check_link(source: Source, path: str, target: str) -> None:
    home = source.root if _is_below(path, [str(source.root)]) else source.code
    if home is not source.root or not _is_below(target, [str(home)]):
        raise HostUnavailable(
            f"{os.path.relpath(path, home)} in {home} is a link that leads out of it, to {target}. "
            "Replace it by a copy of what it points to: handlers may read nothing outside the repository."
        )


def _below(top: str) -> Iterator[tuple[str, bool]]:
    """Every file and link, and whether it is a link.

    Installed packages are left out where the kernel itself refuses what a link in them leads to.
    """
    if os.path.islink(top):
        yield top, True
    skipped = {"node_modules", "__pycache__"} if landlock_version() else set[str]()
    for folder, folders, files in os.walk(top):
        if os.path.basename(folder) in skipped:
            folders.clear()
            continue
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            is_link = os.path.islink(path)
            if is_link or name in files:
                yield path, is_link


def _is_secret(path: str) -> bool:
    return os.path.basename(path).lower().startswith(".env")


def _is_below(path: str, tops: list[str]) -> bool:
    return any(Path(path).is_relative_to(top) for top in tops)
