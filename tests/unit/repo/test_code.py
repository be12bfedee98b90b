"""Tools and agents that are defined in code: what is made of what a host read from their files (contract 1.3, 2.6)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_core.repo.bundle import Bundle, BundleError, Condition, Problem
from runtime_core.repo.definitions import CodeFile, Description, code_files
from runtime_core.repo.loader import load_bundle
from tests.unit.repo.building import Repository

FILE = "amodal/tools/access-math/tool.ts"
AGENT = "agents/helper/agent.ts"
FUNCTION = {"$fn": "f"}
SCHEMA = {"type": "object", "required": ["n"]}
TOOL: dict[str, Any] = {
    "id": "access_math",
    "exposure": {"kind": "open"},
    "base": {"name": "access_math", "description": "Calculates.", "parametersJsonSchema": SCHEMA},
    "handle": FUNCTION,
}


def load(repository: Repository, described: dict[str, Description]) -> Bundle:
    """Load with what these files define; files that are not there are written."""
    for name in described:
        if not (repository.root / name).exists():
            repository.write(name, "// read by a host\n")
        if name.startswith("agents/") and not (repository.root / name).with_name("AGENT.md").exists():
            repository.agent(name.split("/")[1])
    return load_bundle(repository.root, described)


def tool(repository: Repository, file: str = FILE, **fields: Any) -> Bundle:
    return load(repository, {file: Description(TOOL | fields)})


def agent(repository: Repository, value: Any, file: str = AGENT) -> Bundle:
    return load(repository, {file: Description(value)})


def error_of(repository: Repository, described: dict[str, Description]) -> Problem:
    with pytest.raises(BundleError) as caught:
        load(repository, described)
    (error,) = [problem for problem in caught.value.problems if problem.severity == "error"]
    assert error.remedy
    return error


def test_files_that_define_something_are_found(repository: Repository) -> None:
    repository.tool("ship")
    repository.agent("plain")
    assert code_files(repository.root) == []
    names = [FILE, "amodal/tools/b/tool.py", "tools/old/tool.ts", "agents/a/agent.py", "agents/b/agent.ts"]
    for name in [*names, "amodal/tools/_lib/tool.ts", "amodal/tools/.old/tool.ts", "amodal/tools/ship/tool.test.ts"]:
        repository.write(name, "x")
    forms = ("tool", "tool", "tool", "agent", "agent")
    assert code_files(repository.root) == [CodeFile(name, form) for name, form in zip(names, forms, strict=True)]


def test_a_tool_is_called_by_its_id_whatever_its_folder_is_called(repository: Repository) -> None:
    bundle = tool(repository, effect="read", timeout=60000, runningLabel="Counting", title="Math", llm_callable=False)
    assert bundle.problems == ()
    found = bundle.tools["access_math"]
    assert (found.entry, found.language, found.layout, found.durable) == (FILE, "typescript", "code", False)
    assert (found.description, found.parameters, found.effect) == ("Calculates.", SCHEMA, "read")
    assert (found.timeout_s, found.running_label, found.title) == (60.0, "Counting", "Math")
    assert (found.exposure, found.llm_callable, found.invocable) == ("open", False, False)


def test_python_spells_fields_its_way_or_the_other(repository: Repository) -> None:
    base = {"name": "access_math", "description": "Calculates.", "parameters_json_schema": SCHEMA}
    found = tool(repository, "amodal/tools/math/tool.py", base=base, running_label="Counting").tools["access_math"]
    assert (found.language, found.parameters, found.running_label) == ("python", SCHEMA, "Counting")


def test_a_confirmation_is_kept_with_its_prompt_and_keeps_nobody_away(repository: Repository) -> None:
    found = tool(repository, exposure={"kind": "requires-confirmation", "prompt": "Sure?"}).tools["access_math"]
    assert (found.exposure, found.prompt, found.llm_callable) == ("requires-confirmation", "Sure?", True)
    repository.agent("reviewer", tools=["access_math"])
    assert tool(repository, exposure={"kind": "operator-gated"}).problems == ()


def test_a_model_is_not_offered_what_says_that_it_may_not_call_it(repository: Repository) -> None:
    repository.agent("reviewer", tools=["access_math"])
    (warning,) = tool(repository, llm_callable=False).problems
    assert (warning.file, warning.key) == ("agents/reviewer/agent.json", "tools[0]")
    assert "no model" in warning.message


def test_missing_words_load_with_a_warning_each(repository: Repository) -> None:
    bundle = tool(repository, base={})
    keys = {problem.key for problem in bundle.problems}
    assert keys == {"base.name", "base.description", "base.parametersJsonSchema"}
    assert {(problem.severity, problem.file) for problem in bundle.problems} == {("warning", FILE)}
    assert bundle.tools["access_math"].description == "access_math"
    (warning,) = tool(repository, base=TOOL["base"] | {"name": "other"}).problems
    assert '"access_math"' in warning.message


def test_what_a_tool_in_code_cannot_have_is_warned_about(repository: Repository) -> None:
    bundle = tool(repository, uses={"tools": ["ship"]}, execution="durable", triggers=[], env=["HOME"], confirm=True)
    assert [problem.key for problem in bundle.problems] == ["confirm", "uses", "execution", "triggers", "env"]
    found = bundle.tools["access_math"]
    assert (found.durable, found.has_uses, found.tools, found.env) == (False, False, (), ())


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (TOOL | {"id": "access-math"}, "id"),
        (TOOL | {"id": 5}, "id"),
        ({key: value for key, value in TOOL.items() if key != "id"}, "id"),
        (TOOL | {"exposure": {"kind": "requires_confirmation"}}, "exposure.kind"),
        (TOOL | {"exposure": "open"}, "exposure"),
        (TOOL | {"llm_callable": "no"}, "llm_callable"),
        (TOOL | {"llmCallable": 0}, "llmCallable"),
        (TOOL | {"enabled": "false"}, "enabled"),
        (TOOL | {"timeout": -1}, "timeout"),
        (TOOL | {"effect": "twice"}, "effect"),
        (TOOL | {"base": {"description": FUNCTION}}, "base.description"),
        (
            TOOL | {"base": TOOL["base"] | {"parametersJsonSchema": {"type": "objekt"}}},
            "base.parametersJsonSchema.type",
        ),
        (None, None),
        ([TOOL], None),
    ],
)
def test_a_wrong_field_is_an_error_that_names_it(repository: Repository, value: Any, key: str | None) -> None:
    problem = error_of(repository, {FILE: Description(value)})
    assert (problem.file, problem.key, problem.line) == (FILE, key, None)


def test_a_tool_without_a_function_to_call_is_an_error(repository: Repository) -> None:
    problem = error_of(repository, {FILE: Description(TOOL, unusable="handle is not a function")})
    assert (problem.file, problem.key) == (FILE, "handle")
    assert "handle is not a function" in problem.message


def test_a_tool_that_is_not_enabled_is_not_there(repository: Repository) -> None:
    assert tool(repository, enabled=False).tools == {}
    assert tool(repository, enabled=False).problems == ()
    repository.tool("ship", uses={"tools": ["access_math"]})
    problem = error_of(repository, {FILE: Description(TOOL | {"enabled": False})})
    assert (problem.file, problem.key) == ("amodal/tools/ship/tool.json", "uses.tools[0]")
    assert "not enabled" in problem.message


def test_what_cannot_be_read_leaves_out_its_tool_and_names_the_place(repository: Repository) -> None:
    repository.tool("ship")
    unread = Description(unread=f"SyntaxError: Unexpected token at {FILE}:3:7")
    bundle = load(repository, {FILE: unread})
    assert set(bundle.tools) == {"ship"}
    (warning,) = bundle.problems
    assert (warning.severity, warning.file, warning.line, warning.column) == ("warning", FILE, 3, 7)
    assert not bundle.passing
    assert load(repository, {FILE: Description(unread="no Deno", passing=True)}).passing


def test_a_definition_that_nobody_read_is_left_out(repository: Repository) -> None:
    repository.tool("ship")
    repository.write(FILE, "export default {}")
    assert repository.only_warning().file == FILE
    assert set(load_bundle(repository.root).tools) == {"ship"}


@pytest.mark.parametrize("declared", ["access_math", "access-math", "real_id"])
def test_an_unreadable_tool_that_is_needed_is_an_error(repository: Repository, declared: str) -> None:
    repository.write(FILE, "export default {\n  id: 'real_id',\n")
    repository.tool("ship", uses={"tools": [declared]})
    problem = repository.only_error()
    assert (problem.file, problem.key) == ("amodal/tools/ship/tool.json", "uses.tools[0]")
    assert FILE in problem.message


def test_the_code_wins_over_the_definition_beside_it(repository: Repository) -> None:
    repository.tool("access_math", execution="durable", uses={"tools": []})
    file = "amodal/tools/access_math/tool.ts"
    bundle = tool(repository, file)
    assert (bundle.tools["access_math"].entry, bundle.tools["access_math"].durable) == (file, False)
    (warning,) = bundle.problems
    assert "precedence" in warning.message


def test_one_name_belongs_to_one_tool(repository: Repository) -> None:
    repository.tool("access_math")
    problem = error_of(repository, {FILE: Description(TOOL)})
    assert "amodal/tools/access-math" in problem.message
    assert problem.file == "amodal/tools/access_math"


def test_the_newer_place_wins_by_id(repository: Repository) -> None:
    old, new = "tools/access_math/tool.ts", FILE
    bundle = load(repository, {old: Description(TOOL), new: Description(TOOL)})
    assert bundle.tools["access_math"].entry == new
    (warning,) = bundle.problems
    assert warning.file == "tools/access_math"


def test_an_agent_in_code_keeps_its_predicates_as_places(repository: Repository) -> None:
    repository.store("parcels")
    repository.store("secrets")
    repository.tool("ship")
    repository.tool("sail")
    bundle = agent(
        repository,
        {
            "description": "Helps.",
            "tools": ["ship", {"name": "sail", "conditional": FUNCTION}],
            "subagents": [{"name": "helper", "conditional": FUNCTION}],
            "stores": {"parcels": "read", "secrets": {"mode": "rw", "conditional": FUNCTION}},
            "timeout": 5,
        },
    )
    assert bundle.problems == ()
    found = bundle.agents["helper"]
    assert (found.entry, found.description, found.timeout_s) == (AGENT, "Helps.", 5.0)
    assert (found.tools, found.subagents) == (("ship", "sail"), ("helper",))
    assert found.conditions == (
        Condition("tools", "sail", ("tools", 1, "conditional")),
        Condition("subagents", "helper", ("subagents", 0, "conditional")),
        Condition("stores", "secrets", ("stores", "secrets", "conditional")),
    )


def test_the_code_of_an_agent_wins_key_by_key(repository: Repository) -> None:
    repository.tool("ship")
    repository.agent("helper", description="From JSON.", tools=[], timeout=9)
    bundle = agent(repository, {"tools": ["ship"], "max_tool_calls": 3}, "agents/helper/agent.py")
    found = bundle.agents["helper"]
    assert (found.description, found.tools, found.timeout_s) == ("From JSON.", ("ship",), 9.0)
    assert found.max_tool_calls == 3
    (warning,) = bundle.problems
    assert (warning.file, warning.key) == ("agents/helper/agent.py", "tools")


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ({"tools": [{"name": "ship", "conditional": True}]}, "tools[0].conditional"),
        ({"stores": {"a": {"mode": "rw", "conditional": "x"}}}, "stores.a.conditional"),
        ({"stores": {"a": {"mode": "all", "conditional": FUNCTION}}}, "stores.a"),
        ({"tools": [{"conditional": FUNCTION}]}, "tools[0]"),
        ({"timeout": 0}, "timeout"),
        ("x", None),
    ],
)
def test_a_wrong_field_of_an_agent_is_an_error(repository: Repository, value: Any, key: str | None) -> None:
    problem = error_of(repository, {AGENT: Description(value)})
    assert (problem.file, problem.key) == (AGENT, key)


def test_an_agent_that_cannot_be_read_is_never_there_with_less_than_it_says(repository: Repository) -> None:
    repository.agent("helper", tools=[])
    unread = {AGENT: Description(unread=f"ReferenceError: x is not defined at {AGENT}:2:1")}
    bundle = load(repository, unread)
    assert bundle.agents == {}
    (warning,) = bundle.problems
    assert (warning.file, warning.line) == (AGENT, 2)
    repository.tool("ship", uses={"subagents": ["helper"]})
    problem = error_of(repository, unread)
    assert (problem.file, problem.key) == ("amodal/tools/ship/tool.json", "uses.subagents[0]")


def test_two_definitions_in_code_are_an_error(repository: Repository) -> None:
    repository.write("agents/helper/agent.py", "agent = {}")
    problem = error_of(repository, {AGENT: Description({})})
    assert problem.file == "agents/helper"
