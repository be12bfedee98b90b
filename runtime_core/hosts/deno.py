"""The process for TypeScript and JavaScript handlers: Deno with no right but to read the repository's code."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from runtime_core.hosts.base import HostUnavailable
from runtime_core.hosts.launch import PROGRAMS, SYSTEM_FILES, Launch, code_paths, environment
from runtime_core.hosts.sandbox import boxed

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


def launch(root: Path, cache_dir: Path) -> Launch:
    deno = os.path.realpath(find_deno())
    deno_dir = cache_dir / "deno"
    deno_dir.mkdir(parents=True, exist_ok=True)
    code = code_paths(root)
    secrets = env_files(code)
    command = [
        deno,
        "run",
        *("--quiet", "--no-prompt", "--no-remote", "--no-npm", "--no-lock", "--no-config", "--no-check"),
        f"--allow-read={_paths(root, [*code, str(PROGRAMS)])}",
        *([f"--deny-read={_paths(root, secrets)}"] if secrets else []),
        *("--allow-env", "--deny-net", "--deny-run", "--deny-write", "--deny-ffi", "--deny-sys"),
        f"--v8-flags=--max-old-space-size={HEAP_MB}",
        str(PROGRAMS / "host.mjs"),
    ]
    readable = [*code, str(PROGRAMS), os.path.dirname(deno), *SYSTEM_FILES]
    return Launch(
        boxed(command, readable, [str(deno_dir), "/dev/null"], interpreter=[sys.executable, "-I", "-S"]),
        environment(DENO_DIR=str(deno_dir), NO_COLOR="1", DENO_NO_UPDATE_CHECK="1"),
        readable,
    )


def env_files(code: list[str]) -> list[str]:
    """The ``.env`` files inside what may be read, outside of installed packages."""
    found: list[str] = []
    for top in code:
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if name != "node_modules"]
            if os.path.basename(folder) != "node_modules":
                found += [os.path.join(folder, name) for name in files if name.lower().startswith(".env")]
    return sorted(found)


def _paths(root: Path, paths: list[str]) -> str:
    """For a flag of a process that starts in ``root``: the flag cannot hold a comma, the path of the root may."""
    relative = [os.path.relpath(path, root) for path in paths]
    for path in relative:
        if "," in path:
            raise HostUnavailable(f"{path} in {root} contains a comma, which Deno cannot take. Rename it.")
    return ",".join(relative)
