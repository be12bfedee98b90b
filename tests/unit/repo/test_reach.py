"""What tools and agents get to, what has to be trusted for it, and grants that nobody holds."""

from __future__ import annotations

import pytest

from runtime_core.repo.bundle import Agent
from runtime_core.repo.checks import check_grants
from runtime_core.repo.definitions import Description
from runtime_core.repo.loader import load_bundle
from runtime_core.repo.reach import reach
from runtime_core.repo.report import Report
from runtime_core.repo.trust import needs
from tests.unit.repo.building import Repository


def test_reach_goes_through_uses_subagents_and_grants(repository: Repository) -> None:
    repository.store("parcels")
    repository.connection("crm")
    repository.tool("ship", uses={"tools": ["sail"], "subagents": ["checker"]})
    repository.tool("sail", uses={"tools": ["ship", "store__parcels__set"]})
    repository.agent("checker", tools=["sail"], stores={"parcels": "read"}, connections=["crm"], subagents=["plain"])
    repository.agent("plain")
    bundle = load_bundle(repository.root)
    chat = ["ask_choice", "load_knowledge", "present", "stop_execution"]
    stores = ["store__parcels__get", "store__parcels__list", "store__parcels__query", "store__parcels__set"]
    assert reach("ship", bundle) == sorted(["agent:checker", "agent:plain", "connection:crm", "sail", *chat, *stores])
    assert reach("agent:plain", bundle) == chat
    assert reach("store__parcels__set", bundle) == []


def test_nothing_reaches_what_is_not_there(repository: Repository) -> None:
    repository.connection("crm")
    repository.tool("ship")
    gone = ["nope", "store__nope__get", "far__list"]
    repository.agent(
        "checker", tools=[*gone, "ship", "request", "crm__list"], subagents=["nobody"], connections=["far"], mcp=["far"]
    )
    assert reach("agent:checker", load_bundle(repository.root)) == ["crm__list", "request", "ship"]


@pytest.mark.parametrize(
    ("grants", "warns"),
    [
        ({"default": {"parcels": "rw"}}, False),
        ({"default": {"parcels": "read"}}, True),
        ({"default": {}}, True),
        ({}, False),
    ],
)
def test_stores_that_tools_write_and_no_agent_may(
    repository: Repository, grants: dict[str, dict[str, str]], warns: bool
) -> None:
    repository.store("parcels")
    repository.tool("ship", uses={"tools": ["store__parcels__set", "load_knowledge"]})
    for name, stores in grants.items():
        repository.agent(name, stores=stores)
    bundle = load_bundle(repository.root)
    assert bundle.problems == ()
    report = Report()
    check_grants(bundle.tools, bundle.agents, report)
    assert [(problem.severity, problem.file) for problem in report.problems] == (
        [("warning", "amodal/tools/ship/tool.json")] if warns else []
    )


def test_what_has_to_be_trusted(repository: Repository) -> None:
    servers = {"docs": {"command": "docs-server", "args": ["--all files"]}, "far": {"url": "https://d.example"}}
    sandbox = {"shellExec": True}
    repository.write("amodal.json", {"name": "x", "version": "1", "sandbox": sandbox, "mcp": {"servers": servers}})
    repository.connection("local", protocol="mcp", command="other-server")
    repository.connection("broken", protocol="mcp", command="not-yet-started", env={"A": "env:NOT_SET_HERE"})
    repository.tool("ship")
    repository.write("amodal/tools/ship/package.json", {"dependencies": {"left-pad": "1.3.0"}})
    repository.tool("sail", handler="handler.py")
    repository.write("amodal/tools/sail/requirements.txt", "# none\n\nhumanize==4.9\n")
    needed = "\n".join(needs(load_bundle(repository.root)))
    for words in (
        "shell commands",
        "docs-server '--all files'",
        "other-server",
        "not-yet-started; with A=env:NOT_SET_HERE",
        "ship/package.json",
        "sail/requirements.txt",
    ):
        assert words in needed
    assert "d.example" not in needed


def test_packages_belong_to_tools_of_their_language_that_name_some(repository: Repository) -> None:
    for name, handler in (
        ("one", "handler.ts"),
        ("two", "handler.ts"),
        ("three", "handler.py"),
        ("four", "handler.py"),
    ):
        repository.tool(name, handler=handler)
    repository.write("amodal/tools/one/package.json", {"dependencies": {"left-pad": "1.3.0"}})
    repository.write("amodal/tools/two/package.json", {"type": "module"})
    repository.write("amodal/tools/three/requirements.txt", "# none\n")
    repository.write("amodal/tools/four/package.json", {"dependencies": {"left-pad": "1.3.0"}})
    bundle = load_bundle(repository.root)
    assert {tool.name: tool.dependencies for tool in bundle.tools.values() if tool.dependencies} == {
        "one": "amodal/tools/one/package.json"
    }


def test_a_tool_that_waits_for_its_packages_can_be_trusted(repository: Repository) -> None:
    """Its definition imports them, so it cannot be read before; the rest has to load, or nobody could agree."""
    repository.write("amodal/tools/access-math/tool.ts", "export default { id: 'access_math' };\n")
    repository.write("amodal/tools/access-math/package.json", {"dependencies": {"left-pad": "1.3.0"}})
    repository.tool("ship", uses={"tools": ["access_math"]})
    waiting = {"amodal/tools/access-math/tool.ts": Description(unread="it needs packages", passing=True)}
    bundle = load_bundle(repository.root, waiting)
    assert bundle.packages == ("amodal/tools/access-math/package.json",)
    assert "access-math/package.json" in "\n".join(needs(bundle))
    assert {problem.severity for problem in bundle.problems} == {"warning"}
    repository.write("amodal/tools/access-math/package.json", {"dependencies": {}})
    assert needs(load_bundle(repository.root, waiting)) == []


def test_entries_of_an_agent_are_taken_away_by_list_and_name() -> None:
    agent = Agent(
        name="x",
        prompt="",
        display_name="x",
        description="x",
        tools=("crm", "sail"),
        connections=("crm",),
        subagents=("sail",),
        stores={"crm": "rw", "log": "read"},
    )
    less = agent.without({("tools", "crm"), ("stores", "log"), ("subagents", "sail")})
    assert (less.tools, less.connections, less.subagents, less.stores) == (("sail",), ("crm",), (), {"crm": "rw"})
