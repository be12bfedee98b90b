"""The tool folders: contract 2.1 to 2.5 and decision 30."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from runtime_core.repo.loader import load_bundle
from tests.unit.repo.building import HANDLER, Repository


def test_a_tool_with_every_field(repository: Repository) -> None:
    repository.tool("child")
    repository.agent("checker")
    repository.tool(
        "ship",
        handler="handler.py",
        name="ship",
        title="Ship it",
        parameters={"type": "object"},
        execution="durable",
        uses={"tools": ["child"], "subagents": ["checker"]},
        triggers=[{"kind": "invoke"}, {"kind": "regex", "pattern": "^x$", "continueToLLM": True}],
        confirm="review",
        effect="read",
        timeout=1500,
        env=["REGION"],
        runningLabel="Shipping",
        completedLabel="Shipped",
        internal=True,
        _comment="ignored",
    )
    tool = load_bundle(repository.root).tools["ship"]
    assert (tool.entry, tool.language) == ("amodal/tools/ship/handler.py", "python")
    assert (tool.durable, tool.invocable, tool.has_uses) == (True, True, True)
    assert (tool.tools, tool.subagents) == (("child",), ("checker",))
    assert (tool.confirm, tool.effect, tool.timeout_s, tool.env) == ("review", "read", 1.5, ("REGION",))
    assert (tool.running_label, tool.completed_label, tool.title) == ("Shipping", "Shipped", "Ship it")
    assert tool.triggers[1] == {"kind": "regex", "pattern": "^x$", "continueToLLM": True}


def test_defaults_of_a_small_tool(repository: Repository) -> None:
    repository.tool("small")
    tool = load_bundle(repository.root).tools["small"]
    assert (tool.durable, tool.invocable, tool.has_uses, tool.timeout_s) == (False, False, False, 30.0)
    assert (tool.confirm, tool.effect, tool.parameters, tool.language) == (False, "once", {}, "typescript")


@pytest.mark.parametrize("name", ["Ship", "1ship", "ship-it", "ship it", "shïp"])
def test_a_bad_folder_name_is_an_error(repository: Repository, name: str) -> None:
    repository.tool(name)
    problem = repository.only_error()
    assert (problem.code, problem.file) == ("CONFIG_VALIDATION_FAILED", f"amodal/tools/{name}/tool.json")
    assert "lower-case" in problem.remedy


def test_a_name_that_differs_from_the_folder_is_an_error(repository: Repository) -> None:
    repository.tool("ship", name="sail")
    problem = repository.only_error()
    assert (problem.code, problem.key, problem.line) == ("CONFIG_VALIDATION_FAILED", "name", 3)
    assert '"sail"' in problem.message
    assert '"ship"' in problem.message


def test_a_tool_without_a_handler_is_an_error(repository: Repository) -> None:
    repository.write("amodal/tools/ship/tool.json", {"description": "Ships."})
    problem = repository.only_error()
    assert (problem.code, problem.file) == ("CONFIG_NOT_FOUND", "amodal/tools/ship/tool.json")
    assert "handler.ts or handler.py" in problem.remedy
    repository.write("amodal/tools/ship/handler.js", HANDLER)
    assert "Rename handler.js" in repository.only_error().remedy


@pytest.mark.parametrize(
    "files",
    [("handler.ts", "handler.py"), ("tool.ts", "handler.py"), ("tool.ts", "tool.py"), ("handler.ts", "tool.py")],
)
def test_two_languages_in_one_folder_are_an_error(repository: Repository, files: tuple[str, str]) -> None:
    repository.tool("ship", handler=files[0])
    repository.write(f"amodal/tools/ship/{files[1]}", "x")
    problem = repository.only_error()
    assert (problem.code, problem.file) == ("CONFIG_VALIDATION_FAILED", "amodal/tools/ship")
    assert files[0] in problem.message
    assert files[1] in problem.message


def test_broken_json_of_a_tool_has_line_and_column(repository: Repository) -> None:
    repository.tool("ship")
    repository.write("amodal/tools/ship/tool.json", '{\n  "description" "x"\n}')
    problem = repository.only_error()
    assert (problem.code, problem.file) == ("CONFIG_PARSE_FAILED", "amodal/tools/ship/tool.json")
    assert (problem.line, problem.column) == (2, 17)


def test_a_folder_name_that_is_no_text_can_be_shown(repository: Repository) -> None:
    repository.tool(os.fsdecode(b"ship\xff"), description="Ships.")
    assert "ship?" in str(repository.only_error()).encode().decode()


def test_a_key_that_is_no_text_can_be_shown(repository: Repository) -> None:
    repository.tool("ship", parameters={"properties": {"\ud800": {"type": "strin"}}})
    assert repository.only_error().key == "parameters.properties.?.type"


WRONG = [
    ({"description": 5}, "description"),
    ({"description": ""}, "description"),
    ({"execution": "inline"}, "execution"),
    ({"parameters": []}, "parameters"),
    ({"uses": ["child"]}, "uses"),
    ({"uses": {"tools": "child"}}, "uses.tools"),
    ({"uses": {"tools": ["ship", 5]}}, "uses.tools[1]"),
    ({"triggers": {"kind": "invoke"}}, "triggers"),
    ({"triggers": [{}]}, "triggers[0].kind"),
    ({"triggers": [{"kind": "regex"}]}, "triggers[0]"),
    ({"confirm": "yes"}, "confirm"),
    ({"confirm": 1}, "confirm"),
    ({"effect": "maybe"}, "effect"),
    ({"timeout": 0}, "timeout"),
    ({"timeout": "30000"}, "timeout"),
    ({"timeout": True}, "timeout"),
    ({"env": "REGION"}, "env"),
    ({"runningLabel": 1}, "runningLabel"),
]


@pytest.mark.parametrize(("fields", "key"), WRONG, ids=[f"{key}-{fields}" for fields, key in WRONG])
def test_a_wrong_field_is_named(repository: Repository, fields: dict[str, Any], key: str) -> None:
    repository.tool("ship", **fields)
    problem = repository.only_error()
    assert (problem.code, problem.file) == ("CONFIG_VALIDATION_FAILED", "amodal/tools/ship/tool.json")
    assert problem.key == key


def test_an_infinite_timeout_is_refused(repository: Repository) -> None:
    repository.tool("ship")
    repository.write("amodal/tools/ship/tool.json", '{"description": "x", "timeout": 1E400}')
    assert repository.only_error().key == "timeout"


def test_a_missing_description_is_named(repository: Repository) -> None:
    repository.tool("ship")
    repository.write("amodal/tools/ship/tool.json", "{}")
    problem = repository.only_error()
    assert problem.key == "description"
    assert "required" in problem.message


def test_a_timeout_that_looks_like_seconds_is_pointed_out(repository: Repository) -> None:
    repository.tool("ship", timeout=4)
    repository.tool("send", timeout=4000)
    bundle = load_bundle(repository.root)
    [warning] = [problem for problem in bundle.problems if problem.key == "timeout"]
    assert (warning.severity, warning.file) == ("warning", "amodal/tools/ship/tool.json")
    assert "milliseconds" in warning.message
    assert bundle.tools["ship"].timeout_s == 0.004


def test_confirm_never_leaves_the_tool_out_with_a_warning(repository: Repository) -> None:
    repository.tool("ship", confirm="never")
    assert "ship" not in load_bundle(repository.root).tools
    assert repository.only_warning().key == "confirm"


def test_fields_that_protect_nothing_are_warned_about(repository: Repository) -> None:
    repository.tool("ship", enabled=False)
    assert repository.only_warning().key == "enabled"
    assert "ship" in load_bundle(repository.root).tools


@pytest.mark.parametrize(
    ("trigger", "key"),
    [
        ({"pattern": "^release (?<id"}, "triggers[0].pattern"),
        ({"pattern": "/^release$/i"}, None),
        ({"pattern": "^a$", "flags": "iq"}, "triggers[0].flags"),
        ({"pattern": "^\\p{L}+$", "flags": "u"}, None),
        ({"pattern": "^[a-z--b]+$", "flags": "v"}, "triggers[0].pattern"),
        ({"pattern": "^release\\s+(?<parcel_id>p_[0-9]+)$", "flags": "i"}, None),
    ],
)
def test_patterns_of_triggers_are_read(repository: Repository, trigger: dict[str, str], key: str | None) -> None:
    repository.tool("ship", triggers=[{"kind": "regex", **trigger}])
    problems = load_bundle(repository.root).problems
    assert [(problem.severity, problem.key) for problem in problems] == ([("warning", key)] if key else [])


def test_what_older_tools_say_beside_is_tolerated(repository: Repository) -> None:
    repository.tool(
        "ship", internal=True, responseShaping={"path": "a"}, sandbox={"language": "typescript"}, type="http"
    )
    assert load_bundle(repository.root).problems == ()


def test_triggers_that_never_fire_are_warned_about(repository: Repository) -> None:
    repository.tool("ship", triggers=[{"kind": "schedule", "cron": "0 8 * * *"}])
    assert "automation" in repository.only_warning().remedy
    repository.tool("ship", triggers=[{"kind": "moon"}])
    assert '"moon"' in repository.only_warning().message


def test_hidden_folders_and_extra_files_are_no_tools(repository: Repository) -> None:
    repository.tool("ship")
    repository.write("amodal/tools/ship/handler.test.ts", "x")
    repository.write("amodal/tools/ship/notes.md", "x")
    repository.write("amodal/tools/_shared/helper.ts", "x")
    repository.write("amodal/tools/.cache/tool.json", "broken")
    repository.write("amodal/tools/README.md", "x")
    bundle = load_bundle(repository.root)
    assert set(bundle.tools) == {"ship"}
    assert bundle.problems == ()


def test_a_folder_that_holds_no_tool_is_warned_about_only_where_tools_live(repository: Repository) -> None:
    repository.write("tools/build/script.sh", "x")
    assert load_bundle(repository.root).problems == ()
    repository.write("amodal/tools/empty/notes.md", "x")
    assert repository.only_warning().file == "amodal/tools/empty/tool.json"
    repository.write("amodal/tools/empty/handler.ts", HANDLER)
    assert "without a tool.json" in repository.only_warning().message


def test_tools_of_the_older_place_load_and_the_newer_place_wins(repository: Repository) -> None:
    repository.tool("old", folder="tools")
    repository.tool("both", folder="tools", description="old")
    repository.tool("both", description="new")
    bundle = load_bundle(repository.root)
    assert bundle.tools["old"].entry == "tools/old/handler.ts"
    assert bundle.tools["both"].description == "new"
    assert repository.only_warning().file == "tools/both"


@pytest.mark.parametrize(
    ("schema", "key"),
    [
        ({"type": "strin"}, "parameters.type"),
        ({"properties": {"a": {"type": "strin"}}}, "parameters.properties.a.type"),
        ({"properties": {"a": {"minimum": "1"}}}, "parameters.properties.a.minimum"),
        ({"required": "a"}, "parameters.required"),
        ({"properties": {"a": {"pattern": "([a"}}}, "parameters.properties.a.pattern"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "parameters.properties.a.$ref"),
        ({"properties": {"a": {"$ref": "https://example.invalid/a.json"}}}, "parameters.properties.a.$ref"),
        ({"properties": {"a": {"$ref": "other.json"}}}, "parameters.properties.a.$ref"),
        ({"required": ["a"], "properties": {"a": {"$ref": "#/required"}}}, "parameters.properties.a.$ref"),
        ({"$schema": {}}, "parameters.$schema"),
        ({"$schema": "http://["}, "parameters"),
        ({"properties": {"a": {"$ref": "http://["}}}, "parameters.properties.a.$ref"),
    ],
)
def test_a_bad_schema_is_named_with_the_place_inside_it(
    repository: Repository, schema: dict[str, object], key: str
) -> None:
    repository.tool("ship", parameters=schema)
    problem = repository.only_error()
    assert (problem.code, problem.key) == ("CONFIG_VALIDATION_FAILED", key)
    line = problem.line
    assert line is not None
    text = (repository.root / "amodal/tools/ship/tool.json").read_text().splitlines()[line - 1]
    assert json.dumps(key.rpartition(".")[2]) in text


def test_a_pattern_only_javascript_understands_is_a_warning(repository: Repository) -> None:
    repository.tool("ship", parameters={"properties": {"a": {"pattern": r"^(?<a$>x)$"}}})
    assert repository.only_warning().key == "parameters.properties.a.pattern"


def test_all_problems_are_reported_at_once(repository: Repository) -> None:
    repository.write("amodal.json", {"version": "1"})
    repository.tool("one", execution="sometimes")
    repository.tool("two", uses={"tools": ["nothing"]})
    repository.write("amodal/tools/three/tool.json", "{")
    repository.write("amodal/tools/three/handler.ts", HANDLER)
    repository.write("amodal/tools/four/tool.json", {"description": "x"})
    repository.tool("Five")
    repository.write("agents/six/agent.json", {})
    repository.tool("seven", confirm="never")
    found = {(problem.file, problem.severity) for problem in repository.problems()}
    assert found == {
        ("amodal.json", "error"),
        ("amodal/tools/one/tool.json", "error"),
        ("amodal/tools/two/tool.json", "error"),
        ("amodal/tools/three/tool.json", "error"),
        ("amodal/tools/four/tool.json", "error"),
        ("amodal/tools/Five/tool.json", "error"),
        ("agents/six/AGENT.md", "error"),
        ("amodal/tools/seven/tool.json", "warning"),
    }


@pytest.mark.parametrize("key", ["enabled", "exposure", "llm_callable", "llmCallable"])
def test_what_means_something_in_code_only_is_said(repository: Repository, key: str) -> None:
    fields: dict[str, Any] = {key: {}}
    repository.tool("ship", **fields)
    warning = repository.only_warning()
    assert (warning.file, warning.key) == ("amodal/tools/ship/tool.json", key)
    assert "protects nothing" in warning.message


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"env": ["API_HOST", "1 bad"]}, "env[1]"),
        ({"env": [""]}, "env[0]"),
        ({"env": ["env:HOME"]}, "env[0]"),
        ({"env": ["API_HOST"], "execution": "durable"}, "env"),
    ],
)
def test_variables_that_no_handler_gets_are_said(repository: Repository, fields: dict[str, Any], key: str) -> None:
    repository.tool("ship", **fields)
    assert repository.only_warning().key == key


@pytest.mark.parametrize(("handler", "other"), [("handler.ts", "requirements.txt"), ("handler.py", "package.json")])
def test_packages_for_the_other_language_are_ignored(repository: Repository, handler: str, other: str) -> None:
    repository.tool("ship", handler)
    repository.write(f"amodal/tools/ship/{other}", "{}")
    assert [one.path for one in load_bundle(repository.root).ignored] == [f"amodal/tools/ship/{other}"]
