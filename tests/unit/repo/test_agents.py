"""`agents/<name>/`: contract 1.3."""

from __future__ import annotations

import pytest

from runtime_core.repo.loader import load_bundle
from tests.unit.repo.building import Repository


def test_a_plain_prompt_with_a_definition_beside_it(repository: Repository) -> None:
    repository.tool("ship")
    prompt = "# You check\n\nNothing else.\n"
    repository.agent(
        "checker", prompt, name="Checker", description="Checks.", tools=["ship"], timeout=5, maxToolCalls=3
    )
    agent = load_bundle(repository.root).agents["checker"]
    assert (agent.prompt, agent.display_name, agent.description) == (prompt, "Checker", "Checks.")
    assert (agent.tools, agent.timeout_s, agent.max_tool_calls) == (("ship",), 5.0, 3)


def test_defaults_and_the_difference_between_no_tools_and_no_list(repository: Repository) -> None:
    repository.agent("plain")
    repository.agent("none", tools=[])
    agents = load_bundle(repository.root).agents
    assert (agents["plain"].tools, agents["none"].tools) == (None, ())
    assert (agents["plain"].display_name, agents["plain"].description) == ("plain", "plain")
    assert (agents["plain"].timeout_s, agents["plain"].max_tool_calls) == (None, None)


def test_front_matter(repository: Repository) -> None:
    repository.tool("ship")
    repository.agent(
        "checker",
        "---\n# who\ndisplayName: The checker\ndescription: 'It''s strict'\ntools: [ship]\n"
        "subagents:\n  - checker\n# a remark\ntimeout: 2.5\nmaxToolCalls: 4\nnote: kept out\n---\n\nYou check.\n",
    )
    agent = load_bundle(repository.root).agents["checker"]
    assert agent.prompt == "You check."
    assert (agent.display_name, agent.description) == ("The checker", "It's strict")
    assert (agent.tools, agent.subagents) == (("ship",), ("checker",))
    assert (agent.timeout_s, agent.max_tool_calls) == (2.5, 4)


def test_a_prompt_that_begins_with_a_rule_is_plain(repository: Repository) -> None:
    prompt = "---\n\nYou check.\n\n---\n"
    repository.agent("checker", prompt)
    assert load_bundle(repository.root).agents["checker"].prompt == prompt


@pytest.mark.parametrize(
    ("prompt", "line", "words"),
    [
        ("---\nname: x\n\nYou check.\n", 1, "not closed"),
        ("---\nname: x\n  nested: {a: 1}\nthis is odd\n---\n", 3, "not understood"),
        ("---\nname: x\nname: y\n---\n", 3, "twice"),
    ],
)
def test_broken_front_matter_is_named_with_its_line(repository: Repository, prompt: str, line: int, words: str) -> None:
    repository.agent("checker", prompt)
    problem = repository.only_error()
    assert (problem.code, problem.file, problem.line) == ("CONFIG_PARSE_FAILED", "agents/checker/AGENT.md", line)
    assert words in problem.message


def test_wrong_values_are_named_in_either_place(repository: Repository) -> None:
    repository.agent("one", maxToolCalls=0, tools="ship")
    repository.agent("two", "---\ntimeout: soon\n---\nYou check.\n")
    assert {(problem.file, problem.key) for problem in repository.problems()} == {
        ("agents/one/agent.json", "maxToolCalls"),
        ("agents/one/agent.json", "tools"),
        ("agents/two/AGENT.md", "timeout"),
    }


def test_an_agent_without_a_prompt_is_an_error(repository: Repository) -> None:
    repository.write("agents/checker/agent.json", {})
    problem = repository.only_error()
    assert (problem.code, problem.file) == ("CONFIG_NOT_FOUND", "agents/checker/AGENT.md")


def test_hidden_folders_and_files_are_no_agents(repository: Repository) -> None:
    repository.agent("checker")
    repository.write("agents/_drafts/notes.md", "x")
    repository.write("agents/.old/agent.json", "broken")
    repository.write("agents/README.md", "x")
    bundle = load_bundle(repository.root)
    assert set(bundle.agents) == {"checker"}
    assert bundle.problems == ()


def test_all_keys(repository: Repository) -> None:
    repository.store("parcels")
    repository.connection("crm")
    repository.write("skills/triage/SKILL.md", "# Skill: Triage\n")
    repository.write(
        "amodal.json", {"name": "x", "version": "1", "mcp": {"servers": {"docs": {"url": "https://d.example"}}}}
    )
    repository.agent(
        "default",
        stores={"parcels": "rw"},
        connections=["crm"],
        skills=["triage"],
        mcp=["docs"],
        maxDepth=3,
        targetOutputMin=50,
        targetOutputMax=2000,
        modelTier="simple",
    )
    bundle = load_bundle(repository.root)
    assert bundle.problems == ()
    agent = bundle.agents["default"]
    assert (agent.stores, agent.connections, agent.skills, agent.mcp) == (
        {"parcels": "rw"},
        ("crm",),
        ("triage",),
        ("docs",),
    )
    assert (agent.max_depth, agent.model_tier) == (3, "simple")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stores", {"parcels": "r"}),
        ("maxDepth", 5),
        ("targetOutputMin", 49),
        ("modelTier", "best"),
        ("mcp", "docs"),
    ],
)
def test_values_out_of_range_are_errors(repository: Repository, field: str, value: object) -> None:
    repository.agent("default", **{field: value})
    assert (repository.only_error().key or "").startswith(field)


def test_the_older_form_with_headings(repository: Repository) -> None:
    repository.tool("ship")
    repository.agent(
        "checker",
        "# Agent: The checker\n\nIt is\nstrict.\n\n## Config\ntools: [ship]\ntimeout: 5\n\n"
        "## Prompt\nYou check.\n\n## How\nSo.\n",
    )
    agent = load_bundle(repository.root).agents["checker"]
    assert (agent.display_name, agent.description) == ("The checker", "It is strict.")
    assert (agent.tools, agent.timeout_s) == (("ship",), 5.0)
    assert agent.prompt == "You check.\n\n## How\nSo."


def test_headings_without_a_prompt_below_one_are_the_prompt(repository: Repository) -> None:
    prompt = "# Agent: The checker\n\nYou check.\n"
    repository.agent("checker", prompt)
    assert load_bundle(repository.root).agents["checker"].prompt == prompt


def test_a_wrong_value_below_a_heading_is_named_with_its_line(repository: Repository) -> None:
    repository.agent("checker", "# Agent: x\n\n## Config\ntools: [a]\nsome: {\nodd line\n## Prompt\nYou.\n")
    assert repository.only_error().line == 6


def test_an_empty_prompt_is_said(repository: Repository) -> None:
    repository.agent("checker", "---\ntimeout: 5\n---\n\n")
    assert repository.only_warning().file == "agents/checker/AGENT.md"


@pytest.mark.parametrize("place", ["agents", "knowledge", "amodal/stores"])
def test_a_file_where_a_folder_belongs_is_told(repository: Repository, place: str) -> None:
    repository.write(place, "words")
    assert place in {one.path for one in load_bundle(repository.root).ignored}
