"""One safeguard is taken away at a time, from a copy of the sources: the tests named for it have to fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from tests.proof.options import options
from tests.proof.safeguards import MUTANTS, Mutant

ROOT: Final = Path(__file__).parents[2]
_LEFT_OUT: Final = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis")
_PASSED, _FAILED = 0, 1

Verdict = Literal["killed", "survived", "broken"]
"""``broken``: the tests could not be run, which proves nothing."""


def copy(folder: Path) -> Path:
    """The sources and tests, to be changed at will."""
    return Path(shutil.copytree(ROOT, folder / "tree", ignore=_LEFT_OUT))


def check(tree: Path, mutant: Mutant) -> tuple[Verdict, str]:
    """What the named tests say without the safeguard, and the first test that failed. Raises `ValueError` if stale."""
    with _cut(tree, mutant):
        done = run(tree, mutant.tests)
    if done.returncode == _FAILED:
        return "killed", next((line for line in done.stdout.splitlines() if line.startswith("FAILED")), "")
    return ("survived", "") if done.returncode == _PASSED else ("broken", done.stdout[-2000:] + done.stderr[-2000:])


def run(tree: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    names = [f"tests/{test}" for test in tests if (tree / "tests" / test.partition("::")[0]).exists()]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", *names]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


@contextmanager
def _cut(tree: Path, mutant: Mutant) -> Generator[None]:
    before = {cut.file: (tree / cut.file).read_text(encoding="utf-8") for cut in mutant.cuts}
    changed = dict(before)
    for cut in mutant.cuts:
        found = changed[cut.file].count(cut.old)
        if found != 1:
            raise ValueError(f"{cut.file} holds this {found} times instead of once: {cut.old!r}")
        changed[cut.file] = changed[cut.file].replace(cut.old, cut.new)
    try:
        for name, text in changed.items():
            (tree / name).write_text(text, encoding="utf-8")
        yield
    finally:
        for name, text in before.items():
            (tree / name).write_text(text, encoding="utf-8")


def main(argv: Sequence[str]) -> None:
    """``--rounds``: how many of the mutants are tried, from the first."""
    given = options("mutants", argv, short=len(MUTANTS), long=len(MUTANTS))
    bad: list[str] = []
    with TemporaryDirectory() as folder:
        tree = copy(Path(folder))
        whole = run(tree, sorted({test for mutant in MUTANTS.values() for test in mutant.tests}))
        if whole.returncode != _PASSED:
            raise SystemExit(
                f"with all safeguards in place the tests fail, which proves nothing:\n{whole.stdout[-1000:]}"
            )
        for name, mutant in list(MUTANTS.items())[: given.rounds]:
            began = time.monotonic()
            try:
                verdict, why = check(tree, mutant)
            except ValueError as stale:
                verdict, why = "broken", str(stale)
            print(
                f"{verdict:8}  {time.monotonic() - began:5.1f} s  {name}: {mutant.promise}\n          {why}", flush=True
            )
            if verdict != "killed":
                bad.append(name)
    print(f"mutants: {given.rounds - len(bad)} of {given.rounds} killed" + (f"; not: {', '.join(bad)}" if bad else ""))
    if bad:
        raise SystemExit(1)
