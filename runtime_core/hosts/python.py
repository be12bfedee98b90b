"""The process for Python handlers: the application's own interpreter, isolated, with its byte code kept elsewhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from runtime_core.hosts.launch import PROGRAMS, SYSTEM_FILES, Launch, code_paths, environment, start_folder
from runtime_core.hosts.reach import closed_paths
from runtime_core.hosts.sandbox import boxed
from runtime_core.hosts.source import Source


def launch(source: Source, cache_dir: Path) -> Launch:
    pycache = cache_dir / "pycache"
    pycache.mkdir(parents=True, exist_ok=True)
    closed_paths(source)
    interpreter = [sys.executable, "-I", "-X", f"pycache_prefix={pycache}"]
    readable = [*code_paths(source), *_interpreter_paths(), str(PROGRAMS), *SYSTEM_FILES, "/usr/share/zoneinfo"]
    writable = [str(pycache), "/dev/null"]
    return Launch(
        boxed([str(PROGRAMS / "host.py")], [*readable, __file__], writable, interpreter=interpreter),
        start_folder(source),
        environment(),
        [path for path in (*readable, *writable) if path != "/proc/self"],
    )


def _interpreter_paths() -> list[str]:
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, os.path.dirname(os.__file__)}
    return sorted({os.path.realpath(place) for place in places} | {os.path.realpath(sys.executable)})
