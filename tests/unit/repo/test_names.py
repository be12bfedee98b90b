"""Names in `uses` and in agents resolve, or the message says what to do (contract 2.4)."""

from __future__ import annotations

import pytest

from runtime_core.repo.loader import load_bundle
from tests.unit.repo.building import Repository


def test_an_unknown_tool_is_an_error_with_the_closest_name(repository: Repository) -> None:
    repository.tool("run_release")
    repository.tool("ship", uses={"tools": ["run_release", "run_relase"]})
    problem = repository.only_error()
    assert (problem.code, problem.file) == ("CONFIG_VALIDATION_FAILED", "amodal/tools/ship/tool.json")
    assert problem.key == "uses.tools[1]"
    assert '"run_relase"' in problem.message
    assert 'Did you mean "run_release"?' in problem.remedy


def test_an_unknown_agent_is_an_error_with_the_closest_name(repository: Repository) -> None:
    repository.agent("policy-reviewer")
    repository.tool("ship", uses={"subagents": ["policy-reviwer"]})
    problem = repository.only_error()
    assert problem.key == "uses.subagents[0]"
    assert 'Did you mean "policy-reviewer"?' in problem.remedy


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("store__parcels__get", "store tool"),
        ("crm__list_orders", "connection tool"),
        ("load_knowledge", "built-in tool"),
        ("request", "built-in tool"),
    ],
)
def test_kinds_this_version_lacks_are_named_plainly(repository: Repository, name: str, kind: str) -> None:
    repository.tool("ship", uses={"tools": [name]})
    problem = repository.only_error()
    assert name in problem.message
    assert kind in problem.message


def test_a_tool_of_the_repository_may_have_a_built_in_name(repository: Repository) -> None:
    repository.tool("memory")
    repository.tool("ship", uses={"tools": ["memory"]})
    assert load_bundle(repository.root).problems == ()


def test_a_tool_that_is_left_out_cannot_be_used(repository: Repository) -> None:
    repository.tool("gone", confirm="never")
    repository.tool("ship", uses={"tools": ["gone"]})
    errors = [problem for problem in repository.problems() if problem.severity == "error"]
    assert ['"confirm": "never"' in error.message for error in errors] == [True]


def test_a_broken_tool_is_not_reported_again_by_those_that_use_it(repository: Repository) -> None:
    repository.tool("broken", timeout=-1)
    repository.tool("ship", uses={"tools": ["broken"]})
    assert repository.only_error().file == "amodal/tools/broken/tool.json"


def test_a_broken_agent_is_not_reported_again_by_those_that_use_it(repository: Repository) -> None:
    repository.agent("checker", timeout=-1)
    repository.tool("ship", uses={"subagents": ["checker"]})
    assert repository.only_error().file == "agents/checker/agent.json"


def test_everything_wrong_with_one_tool_shows_at_once(repository: Repository) -> None:
    repository.tool(
        "ship", description=5, name="sail", parameters={"type": "strin"}, uses={"tools": ["nothing", 5]}, enabled=True
    )
    assert {(problem.severity, problem.key) for problem in repository.problems()} == {
        ("error", "description"),
        ("error", "name"),
        ("error", "parameters.type"),
        ("error", "uses.tools[0]"),
        ("error", "uses.tools[1]"),
        ("warning", "enabled"),
    }


def test_tools_may_use_themselves_and_each_other(repository: Repository) -> None:
    repository.tool("ship", uses={"tools": ["ship", "sail"]})
    repository.tool("sail", uses={"tools": ["ship"]})
    assert load_bundle(repository.root).problems == ()


def test_what_a_model_would_be_offered_is_only_warned_about(repository: Repository) -> None:
    repository.tool("ship")
    repository.agent("checker", tools=["ship", "shop"], subagents=["nobody"])
    problems = load_bundle(repository.root).problems
    assert [(problem.severity, problem.key) for problem in problems] == [
        ("warning", "tools[1]"),
        ("warning", "subagents[0]"),
    ]
