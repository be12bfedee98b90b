"""`hooks/<name>/`: contract 9.2."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_core.repo.loader import load_bundle
from tests.unit.repo.building import Repository


def test_hooks_in_the_order_in_which_they_are_asked(repository: Repository) -> None:
    repository.hook("late", priority=10, label="Late")
    repository.hook("early", priority=-1.5, points=["preInput", "postTurn"], failPolicy="closed")
    repository.write("hooks/middle/hook.json", {"points": ["preToolUse"], "config": {"guarded": ["a"]}})
    repository.write("hooks/middle/hook.py", "def create_hook(config): ...\n")
    bundle = load_bundle(repository.root)
    assert not bundle.problems
    early, middle, late = bundle.hooks
    assert (early.name, early.entry, early.language) == ("early", "hooks/early/index.mjs", "typescript")
    assert (early.points, early.is_closed, early.priority) == ({"preInput", "postTurn"}, True, -1.5)
    assert (middle.name, middle.entry, middle.language) == ("middle", "hooks/middle/hook.py", "python")
    assert (middle.is_closed, middle.priority, middle.config) == (False, 0, {"guarded": ["a"]})
    assert (late.name, late.label) == ("late", "Late")


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"points": []}, "points"),
        ({"points": ["beforeTool"]}, "points[0]"),
        ({"failPolicy": "shut"}, "failPolicy"),
        ({"priority": "first"}, "priority"),
        ({"config": []}, "config"),
    ],
)
def test_a_guard_that_is_not_understood_stops_the_bundle(
    repository: Repository, fields: dict[str, Any], key: str
) -> None:
    repository.hook("guard", **fields)
    problem = repository.only_error()
    assert (problem.file, problem.key) == ("hooks/guard/hook.json", key)


@pytest.mark.parametrize("file", ["hook.json", "index.mjs"])
def test_half_a_hook_stops_the_bundle(repository: Repository, file: str) -> None:
    repository.hook("guard")
    (repository.root / "hooks" / "guard" / file).unlink()
    problem = repository.only_error()
    assert (problem.code, problem.file) == ("CONFIG_NOT_FOUND", "hooks/guard/hook.json")


def test_a_hook_in_two_languages_stops_the_bundle(repository: Repository) -> None:
    repository.hook("guard")
    repository.write("hooks/guard/hook.py", "")
    assert "written twice" in repository.only_error().message


def test_capabilities_nobody_knows_are_only_warned_about(repository: Repository) -> None:
    repository.hook("guard", capabilities=["store:read", "store:write"])
    assert repository.only_warning().key == "capabilities[1]"


def test_hooks_below_amodal_are_not_read_and_that_is_said(repository: Repository) -> None:
    repository.write("amodal/hooks/guard/hook.json", "broken")
    bundle = load_bundle(repository.root)
    assert bundle.hooks == ()
    assert ("amodal/hooks/", "hooks are read only from hooks/") in {(one.path, one.reason) for one in bundle.ignored}


def test_a_file_where_the_hooks_belong_stops_the_bundle(repository: Repository) -> None:
    repository.write("hooks", "preToolUse")
    assert repository.only_error().file == "hooks"


def test_no_point_at_all_is_said_in_plain_words(repository: Repository) -> None:
    repository.hook("guard", points=[])
    assert repository.only_error().message == "This should not be empty."
