"""Our own rules hold in the whole tree, and each rule refuses what it is there for."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.lints import RULES, Rule, problems


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_tree_keeps_the_rule(rule: Rule) -> None:
    found = problems(rule)
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_tells_bad_from_good(rule: Rule) -> None:
    bad = {line for line, _ in rule.check(ast.parse(rule.bad))}
    assert len(bad) == sum(not line.startswith("import ") for line in rule.bad.splitlines())
    assert list(rule.check(ast.parse(rule.good))) == []
