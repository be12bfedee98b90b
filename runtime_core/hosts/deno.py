"""The process for TypeScript and JavaScript handlers: Deno with no right but to read the repository's code."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path

from runtime_core.hosts.base import HostUnavailable
from runtime_core.hosts.launch import (
    PROGRAMS,
    SYSTEM_FILES,
    Launch,
    code_paths,
    environment,
    package_paths,
    start_folder,
)
from runtime_core.hosts.reach import closed_paths, kernel_grants
from runtime_core.hosts.sandbox import boxed
from runtime_core.hosts.source import Source

HEAP_MB = 512
INSTALL = "Install it with: pip install 'deno>=2.9,<3' (or put deno 2.9 or newer on PATH)."


def find_deno() -> str:
    """The Deno that was installed with the application, else the one on PATH. Raises `HostUnavailable`."""
    try:
        import deno

        found = Path(deno.find_deno_bin())
        if found.is_file():
            return str(found)
    except (ImportError, FileNotFoundError):
        pass
    if on_path := shutil.which("deno"):
        return on_path
    raise HostUnavailable(f"TypeScript handlers need Deno, and there is none on this machine. {INSTALL}")


def launch(source: Source, cache_dir: Path) -> Launch:
    deno = os.path.realpath(find_deno())
    deno_dir = cache_dir / "deno"
    deno_dir.mkdir(parents=True, exist_ok=True)
    _close_storage(deno_dir / "location_data")
    code = [*code_paths(source), *package_paths(source)]
    folder = start_folder(source)
    closed = closed_paths(source)
    command = [
        deno,
        "run",
        *("--quiet", "--no-prompt", "--no-remote", "--no-npm", "--no-lock", "--no-config", "--no-check"),
        f"--allow-read={_paths(folder, [*code, str(PROGRAMS)])}",
        *([f"--deny-read={_paths(folder, closed)}"] if closed else []),
        *("--allow-env", "--deny-net", "--deny-run", "--deny-write", "--deny-ffi", "--deny-sys"),
        f"--v8-flags=--max-old-space-size={HEAP_MB}",
        str(PROGRAMS / "host.mjs"),
    ]
    open_code, listable = kernel_grants(source, closed)
    others = [str(PROGRAMS), *package_paths(source), os.path.dirname(deno), *SYSTEM_FILES]
    interpreter = [sys.executable, "-I", "-S"]
    return Launch(
        boxed(
            command,
            [*open_code, *others],
            [str(deno_dir), "/dev/null"],
            interpreter=interpreter,
            listable=listable,
        ),
        folder,
        environment(DENO_DIR=str(deno_dir), NO_COLOR="1", DENO_NO_UPDATE_CHECK="1"),
        [*code, *others],
    )


def _close_storage(folder: Path) -> None:
    """A file where Deno would keep ``localStorage``, in one folder for all repositories."""
    if folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.touch(mode=0o400)


def _paths(folder: Path, paths: list[str]) -> str:
    """For a flag of a process that starts in ``folder``: the flag cannot hold a comma, the path of the folder may."""
    relative = [os.path.relpath(path, folder) for path in paths]
    for path in relative:
        if "," in path:
            raise HostUnavailable(f"{path} in {folder} contains a comma, which Deno cannot take. Rename it.")
    return ",".join(relative)
