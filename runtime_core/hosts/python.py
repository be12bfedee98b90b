"""The process for Python handlers: the application's own interpreter, isolated.

It keeps no byte code: what one repository could write there, another would run.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

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

_INTERPRETER = [sys.executable, "-s", "-P", "-B"]
"""Isolated as by ``-I``, since its whole environment is ours, but told to hash texts alike in every process: a handler
that goes through a set of them makes its calls in the same order when it is replayed."""


def launch(source: Source, _: Path) -> Launch:
    code, listable = kernel_grants(source, closed_paths(source))
    others = [*_interpreter_paths(), str(PROGRAMS), *package_paths(source), *SYSTEM_FILES, "/usr/share/zoneinfo"]
    return Launch(
        boxed(
            [str(PROGRAMS / "host.py")],
            [*code, *others, __file__],
            [os.devnull],
            interpreter=_INTERPRETER,
            listable=listable,
        ),
        start_folder(source),
        environment(PYTHONHASHSEED="0"),
        [path for path in (*code_paths(source), *others, os.devnull) if path != "/proc/self"],
    )


def _interpreter_paths() -> list[str]:
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, os.path.dirname(os.__file__)}
    return sorted({os.path.realpath(place) for place in places} | {os.path.realpath(sys.executable)})
