"""Where the items of a kind are: `amodal/X` before `X`, and what beside them is none (contract 1.1)."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from runtime_core.repo.report import INVALID, Report
from runtime_core.repo.revision import is_inside, is_test

NESTED: Final = "amodal"
AT_BOTH: Final = ("automations", "connections", "knowledge", "skills", "stores", "tools")
AT_ROOT: Final = ("agents", "evals", "hooks")
_UNUSED: Final[Mapping[str, str]] = {
    "intents": "intents are not used: give a tool a regex trigger instead",
    "pages": "pages are not used",
    "channels": "messaging channels are not used",
}
_TOOL_FILES: Final = frozenset({"package.json", "package-lock.json", "requirements.txt"})
_CODE: Final = (".ts", ".tsx", ".mts", ".js", ".mjs", ".cjs", ".json", ".py")
_KNOWN_FILES: Final = frozenset({"amodal.json"})
_HELPERS: Final = frozenset({"_lib", "_types"})
_PATH_LIMIT: Final = 1000

Items = Mapping[str, str]
"""Paths relative to the root by the name of the item."""


def folders_of(root: Path, kind: str, report: Report) -> Items:
    """One folder for each item of a kind, sorted by place and name. Raises `OSError`."""
    return _items(root, kind, report, lambda entry: entry.name if _is_dir(entry) else None, "a folder for each item")


def files_of_kind(root: Path, kind: str, suffixes: tuple[str, ...], report: Report) -> Items:
    """One file for each item of a kind. Raises `OSError`."""

    def name(entry: os.DirEntry[str]) -> str | None:
        stem, suffix = os.path.splitext(entry.name)
        return stem if suffix in suffixes and not _is_dir(entry) else None

    return _items(root, kind, report, name, f"files that end with {' or '.join(suffixes)}")


def _items(
    root: Path, kind: str, report: Report, name_of: Callable[[os.DirEntry[str]], str | None], expected: str
) -> Items:
    found: dict[str, str] = {}
    folded: dict[str, str] = {}
    for place in _places(kind):
        if (root / place).is_file():
            _note_file(kind, place, report)
        for entry in _entries(root, place):
            path = f"{place}/{entry.name}"
            name = name_of(entry)
            if is_left_out(entry, path, report):
                continue
            if name is None:
                report.ignore(_shown(entry, path), f"{kind}/ holds {expected}")
            elif name in found:
                report.warning(INVALID, path, f'"{name}" is there twice; {found[name]} is used.', f"Remove {path}.")
            else:
                if (other := folded.setdefault(name.casefold(), name)) != name:
                    text = f"Its name differs from that of {found[other]} in upper and lower case only."
                    report.warning(INVALID, path, text, "Rename one: on other systems they are the same file.")
                found[name] = path
    return found


def _note_file(kind: str, place: str, report: Report) -> None:
    if kind == "hooks":
        message = "This is a file, and a folder belongs here: its hooks would be missing."
        report.error(INVALID, place, message, "Put a folder for each hook there, or remove it.")
    else:
        report.ignore(place, f"it is a file, and a folder with {kind} belongs there")


def misnamed(root: Path, path: str) -> str:
    """What to do if a file is there under a name in another case, nothing if it is not."""
    folder, _, name = path.rpartition("/")
    for entry in _entries(root, folder):
        if entry.name != name and entry.name.casefold() == name.casefold():
            return f"Rename {entry.name} to {name}: upper and lower case count."
    return ""


def is_left_out(entry: os.DirEntry[str], path: str, report: Report) -> bool:
    """Whether an entry is no item by its name, which is noted."""
    reason = None
    if entry.name.startswith(("_", ".")):
        reason = f"its name starts with {entry.name[0]}"
    elif is_test(entry.name):
        reason = "it is a test"
    elif entry.name in ("__pycache__", "node_modules"):
        reason = "it is a cache or holds installed packages"
    if reason is not None:
        report.ignore(_shown(entry, path), reason)
    return reason is not None


def note_extra(root: Path, folder: str, report: Report) -> None:
    """What in the folder of a tool neither defines it nor can be imported by its handler. Raises `OSError`."""
    for entry in _entries(root, folder):
        path = f"{folder}/{entry.name}"
        if is_left_out(entry, path, report) or _is_dir(entry) or entry.name in _TOOL_FILES:
            continue
        if not entry.name.endswith(_CODE):
            report.ignore(path, "it is no part of a tool")


def note_ignored(root: Path, report: Report, named: Iterable[str] = ()) -> None:
    """What stands at the root and in `amodal/` and belongs to no kind. Raises `OSError`.

    ``named``: paths that the repository names, as they stand there; they and what leads to them belong to it.
    """
    used = {"/".join(parts[:end]) for parts in map(_parts, named) for end in range(1, len(parts) + 1)}
    kinds = {*AT_BOTH, *AT_ROOT}
    for entry in _entries(root, ""):
        if entry.name.startswith(".") or entry.name in _KNOWN_FILES or entry.name in {*kinds, NESTED, *used}:
            continue
        report.ignore(_shown(entry, entry.name), _UNUSED.get(entry.name, "it is no part of the agent"))
    for entry in _entries(root, NESTED):
        path = f"{NESTED}/{entry.name}"
        if path in used:
            continue
        if entry.name in AT_ROOT:
            report.ignore(_shown(entry, path), f"{entry.name} are read only from {entry.name}/")
        elif entry.name not in _HELPERS and entry.name not in AT_BOTH:
            report.ignore(_shown(entry, path), _UNUSED.get(entry.name, "it is no part of the agent"))


def _parts(path: str) -> list[str]:
    return posixpath.normpath(path[:_PATH_LIMIT]).split("/")


def _places(kind: str) -> tuple[str, ...]:
    return (f"{NESTED}/{kind}", kind) if kind in AT_BOTH else (kind,)


def _entries(root: Path, place: str) -> Iterator[os.DirEntry[str]]:
    """What is in a folder, sorted; nothing if it is none or really lies outside the repository."""
    folder = root / place
    if folder.is_dir() and is_inside(os.path.realpath(folder), os.path.realpath(root)):
        with os.scandir(folder) as entries:
            yield from sorted(entries, key=lambda entry: entry.name)


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself, which `check_links` reports
        return False


def _shown(entry: os.DirEntry[str], path: str) -> str:
    return f"{path}/" if _is_dir(entry) else path
