"""Three of the safeguards of ``python -m tests.proof mutants`` are taken away; that each of them still stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.mutants import ROOT, check, copy, run
from tests.proof.safeguards import MUTANTS, Cut, Mutant

TRIED = ("fence: epoch", "answer: wake", "append: finished entries stay")


@pytest.mark.parametrize("name", MUTANTS)
def test_every_safeguard_stands_where_it_is_to_be_taken_away(name: str) -> None:
    for cut in MUTANTS[name].cuts:
        assert (ROOT / cut.file).read_text(encoding="utf-8").count(cut.old) == 1, f"stale: {cut.old!r} in {cut.file}"
    for test in MUTANTS[name].tests:
        file, _, function = test.partition("::")
        path = ROOT / "tests" / file
        assert path.exists(), f"there is no {path}"
        assert not function or f"def {function}(" in path.read_text(encoding="utf-8"), f"{file} has no {function}"


@pytest.mark.timeout(180)
def test_tests_miss_a_safeguard(tmp_path: Path) -> None:
    tree = copy(tmp_path)
    tests = [test for name in TRIED for test in MUTANTS[name].tests]
    assert run(tree, tests).returncode == 0
    for name in TRIED:
        assert check(tree, MUTANTS[name])[0] == "killed", name


def test_a_safeguard_that_moved_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nx = 1\n")
    for old in ("x = 1", "y = 1"):
        with pytest.raises(ValueError, match="instead of once"):
            check(tmp_path, Mutant("", (Cut("a.py", old, "x = 2"),), ()))
