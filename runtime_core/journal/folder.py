"""Whether a folder can hold a journal: it exists, may be written, and its locks can be trusted."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from runtime_core.wire.codes import RuntimeFault

NETWORK: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "ceph", "glusterfs", "lustre", "fuse.sshfs", "davfs", "ncpfs"}
)


def prepare(folder: Path) -> None:
    """Make ``folder`` if it is missing and refuse it if it cannot hold a journal. Raises `RuntimeFault`."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        if isinstance(error, FileExistsError | NotADirectoryError):
            raise _unusable(folder, "a file is in the way. Choose another data folder") from error
        raise _unusable(folder, f"it cannot be made ({error.strerror}). Choose another data folder") from error
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise _unusable(folder, "it is read-only. Give yourself write permission or choose another data folder")
    kind = file_system(folder)
    if kind in NETWORK:
        raise _unusable(folder, f"it is on a network file system ({kind}). Choose a folder on a local disk")


def _unusable(folder: Path, reason: str) -> RuntimeFault:
    return RuntimeFault("data_folder_unusable", f"{folder}: {reason}; nothing was stored.", file=str(folder))


def file_system(folder: Path) -> str | None:
    """The type of the mount that holds ``folder``, where the system tells (Linux)."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(errors="surrogateescape")
    except OSError:
        return None
    where = folder.resolve()
    best, kind = -1, None
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        point = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), before.split(" ")[4]))
        if where.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), after.split(" ")[0]
    return kind
