"""The table of the contract's rows: none without a test, none that was lost, no test that is not there."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
TABLE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("rows.toml").read_text())
ROWS: Sequence[tuple[str, Mapping[str, Any]]] = [(name, row) for name, part in TABLE.items() for row in part["row"]]
COUNTS = {
    "1.1": 21, "1.2": 19, "1.3": 23, "1.4": 14, "1.5": 5, "1.6": 17,
    "2.1": 5, "2.2": 3, "2.3": 16, "2.4": 9, "2.5": 3, "2.6": 9, "2.7": 4,
    "3.1": 21, "3.2": 24, "3.3": 9, "4": 13, "5.1": 6, "5.2": 16, "9.1": 15, "9.2": 16,
}  # fmt: skip
"""How many rows the contract has in each section."""


@cache
def found_in(file: str) -> frozenset[str]:
    path = TESTS / file
    if not path.is_file():
        return frozenset()
    body = ast.parse(path.read_text()).body
    return frozenset(item.name for item in body if isinstance(item, ast.FunctionDef) and item.name.startswith("test_"))


def missing(name: str) -> bool:
    file, _, test = name.partition("::")
    return test not in found_in(file)


def test_every_row_of_the_contract_stands_in_the_table_once() -> None:
    assert {name: len(part["row"]) for name, part in TABLE.items()} == COUNTS
    titles = [(name, row["title"]) for name, row in ROWS]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("section", COUNTS)
def test_every_row_has_a_test_in_each_language_that_it_concerns(section: str) -> None:
    for name, row in ROWS:
        if name != section:
            continue
        named = {key: row.get(key, []) for key in ("tests", "both", "ts", "py")}
        assert any(named.values()), f"{section}, {row['title']}: no test"
        assert bool(named["ts"]) == bool(named["py"]), f"{section}, {row['title']}: one language only"
        gone = [test for tests in named.values() for test in tests if missing(test)]
        assert gone == [], f"{section}, {row['title']}: these tests are not there"


def test_every_test_of_this_folder_stands_for_a_row_or_a_harm() -> None:
    named = {test for _, row in ROWS for key in ("tests", "both", "ts", "py") for test in row.get(key, [])}
    files = [path.relative_to(TESTS).as_posix() for path in sorted(Path(__file__).parent.glob("test_*.py"))]
    own = {f"{file}::{test}" for file in files for test in found_in(file)}
    assert {test.partition("::")[0] for test in named & own} >= set(files) - {"compat/test_rows.py"}
