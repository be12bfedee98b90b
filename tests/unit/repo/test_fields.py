"""Keys that are nearly known ones: they vanish without a word otherwise, and a guard with them."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_core.repo.bundle import Problem
from runtime_core.repo.definitions import Description
from tests.unit.repo.building import Repository

MANIFEST = {"name": "test", "version": "1.0.0"}
STORE = {"name": "parcels", "key": "{id}", "schema": {"id": {"type": "string"}}}
SPEC = {"baseUrl": "https://crm.example"}


def about(problems: list[Problem], key: str) -> Problem:
    (found,) = [problem for problem in problems if problem.key == key]
    return found


@pytest.mark.parametrize(
    ("file", "content", "key", "meant"),
    [
        ("amodal.json", {**MANIFEST, "webtools": {}}, "webtools", "webTools"),
        ("amodal.json", {**MANIFEST, "sandbox": {"shellexec": True}}, "sandbox.shellexec", "shellExec"),
        ("amodal/tools/ship/tool.json", {"description": "x", "exection": "durable"}, "exection", "execution"),
        ("amodal/tools/ship/tool.json", {"description": "x", "confrim": "never"}, "confrim", "confirm"),
        ("amodal/tools/ship/tool.json", {"description": "x", "use": {"tools": []}}, "use", "uses"),
        ("amodal/tools/ship/tool.json", {"description": "x", "uses": {"tool": []}}, "uses.tool", "tools"),
        (
            "amodal/tools/ship/tool.json",
            {"description": "x", "triggers": [{"kind": "invoke"}, {"kind": "regex", "pattern": "a", "flag": "i"}]},
            "triggers[1].flag",
            "flags",
        ),
        ("agents/checker/agent.json", {"toolz": []}, "toolz", "tools"),
        ("agents/checker/agent.json", {"max_toolcalls": 3}, "max_toolcalls", "maxToolCalls"),
        ("amodal/stores/parcels.json", {**STORE, "delatable": True}, "delatable", "deletable"),
        (
            "amodal/stores/parcels.json",
            {**STORE, "schema": {"id": {"type": "string", "nulable": True}}},
            "schema.id.nulable",
            "nullable",
        ),
        (
            "amodal/stores/parcels.json",
            {"entity": {"key": "{id}", "schema": STORE["schema"], "indexd": []}},
            "entity.indexd",
            "indexed",
        ),
        ("connections/crm/spec.json", {**SPEC, "atuh": {"type": "none"}}, "atuh", "auth"),
        ("connections/crm/spec.json", {**SPEC, "openApi": {}}, "openApi", "openapi"),
        (
            "connections/crm/spec.json",
            {**SPEC, "contextInjection": {"t": {"in": "header", "field": "X", "requird": True}}},
            "contextInjection.t.requird",
            "required",
        ),
        ("connections/mail/spec.json", {"protocol": "mcp", "command": "x", "arg": []}, "arg", "args"),
    ],
)
def test_a_misspelt_key_is_said_with_the_known_one(
    repository: Repository, file: str, content: dict[str, Any], key: str, meant: str
) -> None:
    repository.tool("ship")
    repository.agent("checker")
    repository.write(file, content)
    problem = about(repository.problems(), key)
    assert (problem.file, problem.severity) == (file, "warning")
    assert f'Write "{meant}"' in problem.remedy
    assert problem.line is not None


@pytest.mark.parametrize(
    "fields", [{"failpolicy": "closed"}, {"fail_policy": "closed"}, {"Points": ["preInput"]}, {"confg": {}}]
)
def test_a_misspelt_key_of_a_hook_stops_the_bundle(repository: Repository, fields: dict[str, Any]) -> None:
    repository.hook("guard", **fields)
    problem = repository.only_error()
    assert (problem.file, problem.key) == ("hooks/guard/hook.json", next(iter(fields)))


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ({"tools": [{"name": "ship", "condition": {"$fn": "a"}}]}, "tools[0].condition"),
        ({"stores": {"parcels": {"mode": "read", "Conditional": {"$fn": "a"}}}}, "stores.parcels.Conditional"),
    ],
)
@pytest.mark.parametrize("file", ["agents/checker/agent.ts", "agents/checker/agent.py"])
def test_a_misspelt_condition_stops_the_bundle(
    repository: Repository, file: str, entry: dict[str, Any], key: str
) -> None:
    repository.tool("ship")
    repository.store("parcels")
    repository.agent("checker")
    repository.write(file, "")
    problem = about(repository.problems({file: Description(entry)}), key)
    assert (problem.file, problem.severity) == (file, "error")


@pytest.mark.parametrize("file", ["amodal/tools/ship/tool.ts", "amodal/tools/ship/tool.py"])
@pytest.mark.parametrize("key", ["exposre", "llmcallable", "Enabled"])
def test_a_misspelt_exposure_stops_the_bundle(repository: Repository, file: str, key: str) -> None:
    repository.write(file, "")
    problem = about(repository.problems({file: Description({"id": "ship", key: False})}), key)
    assert (problem.file, problem.severity) == (file, "error")


def test_keys_that_nobody_knows_are_left_alone(repository: Repository) -> None:
    notes: dict[str, Any] = {
        "_comment_purpose": "x",
        "$schema": "y",
        "owner": "z",
        "version": 2,
        "descriptionLong": "and so on",
    }
    repository.tool("ship", **notes)
    repository.agent("checker", "Check.", **{**notes, "description": "x"})
    repository.store("parcels", **notes)
    repository.hook("guard", **{key: notes[key] for key in ("_comment_purpose", "$schema", "owner")})
    assert repository.problems() == []
