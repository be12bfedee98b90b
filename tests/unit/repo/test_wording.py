"""A wrong field is described in the words of JSON, whatever is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_core.repo.position import show_key
from tests.unit.repo.building import Repository


@pytest.mark.parametrize(
    ("fields", "key", "words"),
    [
        ({"uses": []}, "uses", "This should be an object."),
        ({"uses": {"tools": "a"}}, "uses.tools", "This should be a list."),
        ({"uses": {"tools": [1]}}, "uses.tools[0]", "This should be a text."),
        ({"triggers": [5]}, "triggers[0]", "This should be an object."),
        ({"triggers": [{"kind": "regex"}]}, "triggers[0]", "A regex trigger needs a pattern."),
        ({"parameters": 5}, "parameters", "This should be an object."),
        ({"execution": "slow"}, "execution", "This should be 'durable'."),
        ({"timeout": "soon"}, "timeout", "This should be a number."),
        ({"timeout": 0}, "timeout", "This should be above 0."),
        ({"description": ""}, "description", "This should not be empty."),
        ({"confirm": 5}, "confirm", 'This should be false, true, "review" or "never".'),
    ],
)
def test_a_wrong_field_of_a_tool(repository: Repository, fields: dict[str, Any], key: str, words: str) -> None:
    repository.tool("t", **fields)
    problem = repository.only_error()
    assert (problem.key, problem.message) == (key, words)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"maxDepth": 1.5}, "This should be a whole number."),
        ({"maxDepth": 9}, "This should be at most 4."),
        ({"maxToolCalls": 0}, "This should be at least 1."),
        ({"stores": {"a": "w"}}, "This should be 'read' or 'rw'."),
    ],
)
def test_a_wrong_field_of_an_agent(repository: Repository, fields: dict[str, Any], words: str) -> None:
    repository.agent("a", **fields)
    assert repository.only_error().message == words


def test_a_long_path_is_cut_in_the_middle(repository: Repository) -> None:
    assert show_key(["uses", "tools", 2]) == "uses.tools[2]"
    schema: dict[str, Any] = {"type": 5}
    for _ in range(25):
        schema = {"items": schema}
    repository.tool("deep", parameters=schema)
    problem = repository.only_error()
    assert problem.key is not None
    assert len(problem.key) == 121
    assert problem.key.startswith("parameters.items.items")
    assert problem.key.endswith("items.type")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n  "name": "x", // who\n  "version": "1"\n}', "comment"),
        ('{\n  # who\n  "name": "x"\n}', "comment"),
        ('{\n  /* who */ "name": "x"\n}', "comment"),
        ('{"name": "x", "version": "1",}', "comma"),
        ('{"name": "x", "list": [1, 2,\n]}', "comma"),
        ("{'name': 'x'}", "double quotes"),
        ('{"name": "x"', "Correct the file"),
    ],
)
def test_what_other_formats_allow_is_named(repository: Repository, text: str, words: str) -> None:
    repository.write("amodal.json", text)
    assert words in repository.only_error().remedy
