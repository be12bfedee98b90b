"""What ``ctx.fs.readRepoFile`` may read: text files below the repository's root, no secrets, nothing outside."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from runtime_core.hosts.protocol import VALUE_LIMIT
from runtime_core.hosts.source import Source
from runtime_core.wire.json import JsonText, dumps

_PATH_LIMIT: Final = 4096
"""Characters; no file system has longer ones."""


def read_repo_file(source: Source, path: str) -> tuple[bool, JsonText]:
    """(True, the text) or (False, the error object), both as JSON text."""
    if len(path) > _PATH_LIMIT:
        return _refused(f"{path[:80]}…", f"the path has more than {_PATH_LIMIT:,} characters")
    if not path or path.startswith(("/", "\\")) or Path(path).is_absolute() or "\0" in path:
        return _refused(path, "the path has to be relative to the repository's root")
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts:
        return _refused(path, "the path may not contain '..'")
    root = source.home("/".join(parts))
    try:
        real = Path(os.path.realpath(root.joinpath(*parts), strict=True))
    except FileNotFoundError:
        return _error("ENOENT", path, "there is no such file in the repository")
    except OSError as error:
        return _error("EIO", path, error.strerror or str(error))
    if not real.is_relative_to(root):
        return _refused(path, "it is a link that leaves the repository")
    if any(part.startswith(".") for part in (*parts, *real.relative_to(root).parts)):
        return _refused(path, "names that begin with a dot, such as .env and .git, are closed to handlers")
    if real.is_dir():
        return _error("EISDIR", path, "it is a folder")
    if not real.is_file():
        return _refused(path, "it is not a regular file")
    return _read(real, path)


def _read(real: Path, path: str) -> tuple[bool, JsonText]:
    try:
        if real.stat().st_size > VALUE_LIMIT:
            return _error("EFBIG", path, f"it is larger than {VALUE_LIMIT // 1024 // 1024} MB")
        return True, dumps(real.read_bytes().decode("utf-8", "replace"))
    except OSError as error:
        return _error("EIO", path, error.strerror or str(error))


def _refused(path: str, reason: str) -> tuple[bool, JsonText]:
    return _error("EACCES", path, reason)


def _error(code: str, path: str, reason: str) -> tuple[bool, JsonText]:
    return False, dumps({"name": "Error", "message": f"{code}: cannot read {path!r}: {reason}", "code": code})
