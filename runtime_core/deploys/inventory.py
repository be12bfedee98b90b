"""What a repository is made of, so that one build can be compared with the one before."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from runtime_core.repo.bundle import Bundle
from runtime_core.repo.revision import TooLarge, code_files
from runtime_core.wire.builds import Changes

_TOOL: Final = "tool "
_AGENT: Final = "agent "


def inventory(bundle: Bundle) -> Mapping[str, str]:
    """``tool NAME`` and ``agent NAME`` -> digest of the files that stand in its folder. Reads files."""
    home = bundle.code or bundle.root
    try:
        files = code_files(home)
    except (OSError, TooLarge):
        files = []
    folders: dict[str, tuple[str, ...]] = {}
    for tool in bundle.tools.values():
        folders[f"{_TOOL}{tool.name}"] = (f"{posixpath.dirname(tool.entry)}/",)
    for name in bundle.agents:
        folders[f"{_AGENT}{name}"] = (f"agents/{name}/", f"amodal/agents/{name}/")
    return {name: _digest(home, [file for file in files if file.startswith(under)]) for name, under in folders.items()}


def compared(before: Mapping[str, str], now: Mapping[str, str]) -> Changes:
    """What was added, removed and changed from one `inventory` to another."""

    def names(kind: str, found: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(name.removeprefix(kind) for name in found if name.startswith(kind)))

    added = [name for name in now if name not in before]
    removed = [name for name in before if name not in now]
    changed = [name for name in now if name in before and before[name] != now[name]]
    return Changes(
        added=names(_TOOL, added),
        removed=names(_TOOL, removed),
        changed=names(_TOOL, changed),
        agents_added=names(_AGENT, added),
        agents_removed=names(_AGENT, removed),
        agents_changed=names(_AGENT, changed),
    )


def _digest(home: Path, files: Sequence[str]) -> str:
    total = hashlib.sha256()
    for name in files:
        try:
            content = (home / name).read_bytes()
        except OSError:  # it is being written: the next build tells
            content = b""
        total.update(f"{name}\0{len(content)}\0".encode(errors="surrogateescape") + content)
    return total.hexdigest()
