"""A module nobody can hold in mind is two modules."""

from __future__ import annotations

import pytest

from tests.architecture.lints import ROOT

LIMIT = 600  # lines


@pytest.mark.parametrize("folder", ["inbox_app", "runtime_core", "packaging", "tests"])
def test_modules_are_short(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    assert lengths
    too_long = {name: lines for name, lines in lengths.items() if lines > LIMIT}
    assert not too_long, f"split these modules (limit {LIMIT} lines): {too_long}"
