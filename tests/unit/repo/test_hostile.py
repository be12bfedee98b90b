"""Repositories that want to hang or fill up whoever loads them: refused, or loaded, and that soon."""

from __future__ import annotations

import os
from typing import Any

import pytest

from runtime_core.repo.loader import load_bundle
from runtime_core.repo.report import PROBLEM_LIMIT
from runtime_core.wire.json import MAX_DEPTH
from tests.unit.repo.building import Repository

FILES = (
    *("amodal.json", "amodal/stores/x.json", "connections/x/spec.json", "connections/x/policy.json"),
    *("hooks/x/hook.json", "agents/x/agent.json", "amodal/tools/x/tool.json", "automations/x.json"),
)


def build(repository: Repository) -> None:
    """One of everything, so that each file is read."""
    repository.store("x")
    repository.connection("x")
    repository.hook("x")
    repository.agent("x")
    repository.tool("x")


@pytest.mark.parametrize("line", ["# a" + " " * 500_000 + "x", "# a" + " #" * 250_000 + "x", "#" * 500_000])
def test_no_heading_takes_long(repository: Repository, line: str) -> None:
    repository.write("knowledge/x.md", f"{line}\n")
    repository.write("skills/x/SKILL.md", f"{line}\n")
    repository.write("automations/x.md", f"{line}\n")
    bundle = load_bundle(repository.root)
    assert [*bundle.knowledge, *bundle.skills, *bundle.automations] == ["x", "x", "x"]


def test_no_address_takes_long(repository: Repository) -> None:
    repository.connection("x", baseUrl="http://" + ":" * 1_000_000)
    assert [*load_bundle(repository.root).connections] == ["x"]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * (MAX_DEPTH + 10) + "1" + "}" * (MAX_DEPTH + 10),
        "[" * 100_000,
        '{"a": "' + "x" * 2_000_000 + '"}',
        '{"n": ' + "9" * 500_000 + "}",
    ],
    ids=["deep", "open", "large", "digits"],
)
def test_no_definition_is_too_much(repository: Repository, file: str, text: str) -> None:
    build(repository)
    repository.write(file, text)
    assert any(problem.file == file for problem in repository.problems()) or "9999" in text


@pytest.mark.parametrize(
    ("file", "definition"),
    [
        ("amodal/tools/x/tool.json", {"description": "x", "uses": {"tools": [f"tool_{n}" for n in range(30_000)]}}),
        ("agents/x/agent.json", {"tools": [f"tool_{n}" for n in range(30_000)]}),
        ("amodal/stores/x.json", {"key": "{id}", "schema": {f"f{n}": {"type": "text"} for n in range(20_000)}}),
        ("amodal/stores/x.json", {"key": "{x}" * 200_000, "schema": {}}),
        ("connections/x/policy.json", {"endpoints": {f"POST /{n}": {"confirm": False} for n in range(20_000)}}),
        ("connections/x/spec.json", {"headers": {f"token-{n}": "literal" for n in range(20_000)}}),
        ("hooks/x/hook.json", {"points": ["never"] * 50_000}),
    ],
)
def test_what_is_wrong_many_times_is_not_listed_without_end(
    repository: Repository, file: str, definition: dict[str, Any]
) -> None:
    build(repository)
    repository.write(file, definition)
    assert 0 < len(repository.problems()) <= 2 * PROBLEM_LIMIT + 1


def test_warnings_beyond_the_limit_are_not_listed_and_stop_nothing(repository: Repository) -> None:
    repository.agent("x", tools=[f"tool_{n}" for n in range(PROBLEM_LIMIT + 25)])
    problems = load_bundle(repository.root).problems
    assert len(problems) == PROBLEM_LIMIT + 1
    assert problems[-1].message == "There are more warnings than are listed."


def test_errors_beyond_the_limit_are_not_looked_for(repository: Repository) -> None:
    repository.tool("x", uses={"tools": [f"tool_{n}" for n in range(PROBLEM_LIMIT + 25)]})
    assert [problem.severity for problem in repository.problems()] == ["error"] * PROBLEM_LIMIT


def test_modules_that_import_each_other_are_harmless(repository: Repository) -> None:
    repository.tool("ship", handler="handler.py", execution="durable")
    repository.write("amodal/tools/ship/handler.py", "from amodal.tools.ship import other\n")
    repository.write("amodal/tools/ship/other.py", "from amodal.tools.ship import handler\n")
    assert load_bundle(repository.root).problems == ()


def test_settings_under_a_second_name_are_refused(repository: Repository) -> None:
    env = repository.write(".env", "CRM_TOKEN=sk-77\n")
    repository.tool("ship")
    assert load_bundle(repository.root).problems == ()
    os.link(env, repository.root / "amodal" / "tools" / "ship" / "notes.txt")
    problem = repository.only_error()
    assert problem.file == "amodal/tools/ship/notes.txt"
    assert "hard link" in problem.message


def test_places_that_lead_out_are_not_looked_into(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "parcels.json").write_text('{"key": "{id}", "schema": {"id": {"type": "string"}}}')
    (repository.root / "stores").symlink_to(outside)
    assert "leads out of the repository" in repository.only_error().message
