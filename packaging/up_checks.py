"""The checks of a checkout, each a named stage with its time; a person and the build machine run the same."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import up_environment
from up_say import SetupError, say

# Arguments of the environment's Python.
CHECKS: Mapping[str, Sequence[str]] = {
    "ruff check": ("-m", "ruff", "check", "."),
    "ruff format": ("-m", "ruff", "format", "--check", "."),
    "basedpyright": ("-m", "basedpyright"),
    "import-linter": ("-c", "from importlinter.cli import lint_imports_command as run; run()"),
    "vulture": ("packaging/unused.py",),
}
PYTEST = ("-m", "pytest")
# Tests of one file share what it sets up, so they stay in one process.
IN_PARALLEL = ("-n", "auto", "--maxprocesses", "8", "--dist", "loadfile")


def run_tests(python: Path, root: Path, arguments: Sequence[str]) -> int:
    """Every check and test; with ``arguments`` only pytest with them. 0 if all passed, 1 if not."""
    if arguments:
        return _run_stages(python, root, {"pytest": (*PYTEST, *arguments)})
    return _run_stages(python, root, {**CHECKS, "pytest": (*PYTEST, *IN_PARALLEL)})


def run_benchmarks(python: Path, root: Path, words: Sequence[str]) -> int:
    """The benchmarks whose name contains one of ``words``; all without words."""
    found = sorted(path.stem for path in (root / "tests/benchmarks").glob("bench_*.py"))
    chosen = [name for name in found if not words or any(word in name for word in words)]
    if not chosen:
        raise SetupError(f"no benchmark is named {' or '.join(words)}; there are: {', '.join(found) or 'none'}")
    return _run_stages(python, root, {name: ("-m", f"tests.benchmarks.{name}") for name in chosen})


def _run_stages(python: Path, root: Path, stages: Mapping[str, Sequence[str]]) -> int:
    environment = {**up_environment.clean_environment(), "QT_QPA_PLATFORM": "offscreen", "PYTHONUNBUFFERED": "1"}
    environment["PATH"] = f"{python.parent}{os.pathsep}{environment.get('PATH', '')}"
    lines: list[str] = []
    passed = True
    for name, arguments in stages.items():
        say(f"== {name}")
        started = time.monotonic()
        code = subprocess.call([str(python), *arguments], cwd=root, env=environment)
        passed = passed and code == 0
        lines.append(
            f"{name:<16}{'passed' if code == 0 else f'FAILED ({code})':<14}{time.monotonic() - started:6.1f} s"
        )
    say("")
    for line in lines:
        say(line)
    return 0 if passed else 1
