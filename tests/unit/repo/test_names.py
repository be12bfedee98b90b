"""Names in `uses` and in agents resolve, or the message says what to do (contract 2.4)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runtime_core.repo.bundle import Agent, Bundle, no_agent
from runtime_core.repo.definitions import Description
from runtime_core.repo.loader import load_bundle
from tests.unit.repo.building import HANDLER, Repository

DOCS = {"docs": {"command": "docs-server"}}


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


def test_what_comes_with_the_runtime_resolves(repository: Repository) -> None:
    repository.write(
        "amodal.json", {"name": "x", "version": "1", "memory": {"enabled": True}, "mcp": {"servers": DOCS}}
    )
    repository.store("parcels", deletable=True)
    repository.connection("crm")
    repository.connection("post", protocol="gmail")
    stores = [f"store__parcels__{verb}" for verb in ("get", "set", "query", "list", "remove")]
    ready = ["request", "load_knowledge", "memory", "ask_choice", "present", "stop_execution", "call_subagent"]
    others = ["crm__discover", "crm__list_orders", "docs__search", "read_messages", "send_message"]
    repository.tool("ship", execution="durable", uses={"tools": [*stores, *ready, *others]})
    repository.agent("default", tools=[*stores, *ready, *others], stores={"parcels": "rw"}, connections=["crm"])
    assert load_bundle(repository.root).problems == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("store__parcel__get", 'Did you mean "store__parcels__get"?'),
        ("store__parcels__remove", '"deletable": true'),
        ("store__parcels__put", "a store has no tool"),
        ("crm__list_orders", 'no connection or MCP server "crm"'),
        ("send_message", '"protocol": "gmail"'),
        ("exec", 'There is no tool "exec"'),
    ],
)
def test_a_name_whose_part_is_not_declared_is_an_error(repository: Repository, name: str, words: str) -> None:
    repository.store("parcels")
    repository.tool("ship", uses={"tools": [name]})
    problem = repository.only_error()
    assert problem.key == "uses.tools[0]"
    assert words in str(problem)


def test_what_is_declared_and_out_of_order_still_resolves(repository: Repository) -> None:
    """The call fails when it is made; everything else of the tool works (decision 31)."""
    repository.connection("crm", auth={"type": "bearer", "token": "env:NOT_SET_HERE"})
    servers = {
        "off": {"command": "x", "env": {"A": "env:NOT_SET_HERE"}},
        "broken": {"command": 7},
        "open": {"command": "x", "env": {"TOKEN": "sk-77"}},
    }
    repository.write("amodal.json", {"name": "x", "version": "1", "mcp": {"servers": servers}})
    calls = ["crm__list_orders", "web_search", "memory", "off__x", "broken__x", "open__x"]
    repository.tool("ship", uses={"tools": calls})
    bundle = load_bundle(repository.root)
    assert {problem.severity for problem in bundle.problems} == {"warning"}
    found = [problem for problem in bundle.problems if problem.file.endswith("ship/tool.json")]
    assert [problem.key for problem in found] == [f"uses.tools[{number}]" for number in range(len(calls))]
    assert [bool(bundle.servers[name].command) for name in servers] == [True, False, False]
    assert all(server.problem for server in bundle.servers.values())


def test_a_broken_store_is_not_reported_again_by_those_that_use_it(repository: Repository) -> None:
    repository.store("parcels", key="{nothing}")
    repository.tool("ship", uses={"tools": ["store__parcels__get"]})
    assert repository.only_error().file == "amodal/stores/parcels.json"


@pytest.mark.parametrize("name", ["memory", "crm__discover", "store__parcels__set"])
def test_a_tool_of_the_repository_replaces_one_that_comes_with_the_runtime(repository: Repository, name: str) -> None:
    repository.store("parcels")
    repository.connection("crm")
    repository.tool(name)
    repository.tool("ship", uses={"tools": [name]})
    assert "replaces the one" in repository.only_warning().message


def test_what_an_agent_lists_and_does_not_exist_is_warned_about(repository: Repository) -> None:
    repository.agent("default", stores={"parcels": "rw"}, connections=["crm"], skills=["triage"], mcp=["docs"])
    problems = load_bundle(repository.root).problems
    assert [problem.key for problem in problems] == ["stores.parcels", "connections[0]", "skills[0]", "mcp[0]"]
    assert all(problem.severity == "warning" and problem.remedy for problem in problems)


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


def test_tools_may_use_each_other_and_themselves_with_a_warning(repository: Repository) -> None:
    repository.tool("ship", uses={"tools": ["sail"]})
    repository.tool("sail", uses={"tools": ["ship"]})
    assert load_bundle(repository.root).problems == ()
    repository.tool("ship", uses={"tools": ["sail", "ship"]})
    assert repository.only_warning().key == "uses.tools[1]"


@pytest.mark.parametrize("kind", ["tools", "subagents"])
def test_a_name_that_is_listed_twice_is_said(repository: Repository, kind: str) -> None:
    repository.tool("sail")
    repository.agent("sail")
    repository.tool("ship", uses={kind: ["sail", "sail"]})
    warning = repository.only_warning()
    assert (warning.file, warning.key, warning.line) == ("amodal/tools/ship/tool.json", f"uses.{kind}[1]", 6)


@pytest.mark.parametrize("name", ["request", "crm__list", "docs__search", "send_message", "guarded"])
def test_a_call_that_always_fails_in_a_tool_that_is_not_durable_is_said(repository: Repository, name: str) -> None:
    repository.write("amodal.json", {"name": "x", "version": "1", "mcp": {"servers": DOCS}})
    repository.connection("crm")
    repository.connection("post", protocol="gmail")
    repository.write("amodal/tools/guarded/tool.ts", "")
    guarded = {"id": "guarded", "exposure": {"kind": "requires-confirmation"}, "base": {}}
    described = {"amodal/tools/guarded/tool.ts": Description(guarded)}
    for execution in ({}, {"execution": "durable"}):
        repository.tool("ship", uses={"tools": ["crm__discover", name]}, **execution)
        problems = [one for one in repository.problems(described) if one.file == "amodal/tools/ship/tool.json"]
        assert [(one.severity, one.key) for one in problems] == ([] if execution else [("warning", "uses.tools[1]")])


@pytest.mark.parametrize("form", ["agent.json", "AGENT.md", "agent.ts"])
def test_a_reference_of_an_agent_is_found_where_it_is_written(repository: Repository, form: str) -> None:
    file = f"agents/checker/{form}"
    repository.agent("checker", "---\ntimeout: 5\ntools: [nope]\n---\nCheck." if form == "AGENT.md" else "Check.")
    if form == "agent.json":
        repository.write(file, {"timeout": 5, "tools": ["nope"]})
    elif form == "agent.ts":
        repository.write(file, "")
    (problem,) = repository.problems({file: Description({"tools": ["nope"]})})
    line = {"agent.json": 4, "AGENT.md": 3, "agent.ts": None}[form]
    assert (problem.file, problem.key, problem.line) == (file, "tools[0]", line)


def test_a_wrong_value_of_front_matter_is_found_in_its_line(repository: Repository) -> None:
    repository.agent("checker", "---\nname: x\ntimeout: soon\n---\nCheck.")
    problem = repository.only_error()
    assert (problem.file, problem.key, problem.line, problem.column) == ("agents/checker/AGENT.md", "timeout", 3, None)


def test_what_a_model_would_be_offered_is_only_warned_about(repository: Repository) -> None:
    repository.tool("ship")
    repository.agent("checker", tools=["ship", "shop"], subagents=["nobody"])
    problems = load_bundle(repository.root).problems
    assert [(problem.severity, problem.key) for problem in problems] == [
        ("warning", "tools[1]"),
        ("warning", "subagents[0]"),
    ]


def test_a_store_tool_beyond_the_grants_of_its_agent_is_warned_about(repository: Repository) -> None:
    repository.store("parcels")
    repository.agent("clerk", tools=["store__parcels__get", "store__parcels__set"], stores={"parcels": "read"})
    warning = repository.only_warning()
    assert warning.key == "tools[1]"
    assert '"parcels": "rw"' in warning.remedy


@pytest.mark.parametrize(
    ("file", "right"),
    [
        ("amodal/tools/ship/Tool.json", "tool.json"),
        ("agents/checker/agent.md", "AGENT.md"),
        ("skills/loading/skill.md", "SKILL.md"),
        ("hooks/guard/Hook.json", "hook.json"),
    ],
)
def test_a_name_in_the_wrong_case_is_named(repository: Repository, file: str, right: str) -> None:
    folder = file.rpartition("/")[0]
    repository.write("hooks/guard/index.mjs" if "hooks" in file else f"{folder}/handler.ts", HANDLER)
    repository.write(file, "{}")
    (problem,) = repository.problems()
    assert problem.file == f"{folder}/{right}"
    assert problem.remedy == f"Rename {file.rpartition('/')[2]} to {right}: upper and lower case count."


def test_names_that_differ_in_case_only_are_said(repository: Repository) -> None:
    for name in ("Upper", "upper"):
        repository.agent(name)
        repository.write(f"knowledge/{name}.md", "# Words")
    assert {one.file for one in load_bundle(repository.root).problems} == {"agents/upper", "knowledge/upper.md"}


def test_a_store_tool_without_a_verb_is_named(repository: Repository) -> None:
    repository.store("parcels")
    repository.tool("ship", uses={"tools": ["store__parcels"]})
    assert "store__NAME__get" in repository.only_error().remedy


def test_who_names_an_agent_that_is_not_there_is_told_which_there_are_or_how_one_is_made(tmp_path: Path) -> None:
    alone = Bundle(tmp_path, "bench", "1", "r1", {}, {}, {})
    assert no_agent(alone, "default").endswith("It has none: write its prompt in agents/default/AGENT.md.")
    some = replace(alone, agents={"clerk": Agent("clerk", "", "", "")})
    assert no_agent(some, "default").endswith('has no agent "default". Its agents are: clerk.')
