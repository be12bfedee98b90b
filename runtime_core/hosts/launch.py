"""How a handler process is started: its command line, environment and what it may read (hosts.md section 6)."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runtime_core.hosts.source import Source

PROGRAMS: Final = Path(__file__).parent / "programs"
CODE_FOLDERS: Final = ("amodal", "hooks", "agents", "tools", "node_modules", "package.json", "tsconfig.json")
"""What handlers may read of their repository; everything else of it is out of their reach."""

SYSTEM_FILES: Final = (
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ssl",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/proc/self",
    "/proc/meminfo",
    "/proc/cpuinfo",
    "/sys/fs/cgroup",
    "/dev/urandom",
)


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line, the folder it starts in, its whole environment, and the paths its guard lets it read."""

    command: list[str]
    folder: Path
    env: dict[str, str]
    readable: list[str]


def code_paths(source: Source) -> list[str]:
    homes = [source.root] if source.code is None else [source.root, source.code]
    return [str(home / name) for home in homes for name in CODE_FOLDERS if (home / name).exists()]


def package_paths(source: Source) -> list[str]:
    return [] if source.packages is None else [str(source.packages)]


def start_folder(source: Source) -> Path:
    """The repository, or its code if it is gone."""
    return source.root if source.code is None or source.root.is_dir() else source.code


def environment(**extra: str) -> dict[str, str]:
    """Nothing of the application's own environment: a process finds its system and no secret."""
    env = {"PATH": os.defpath, "LANG": "C.UTF-8", **extra}
    if sys.platform == "win32":
        env |= {name: os.environ[name] for name in ("SYSTEMROOT", "SYSTEMDRIVE") if name in os.environ}
    return env
