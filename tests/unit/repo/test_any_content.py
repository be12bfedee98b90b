"""Whatever stands in a definition file, loading ends with a bundle or with problems, never with another exception."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_core.repo.bundle import Tool
from runtime_core.repo.definitions import Described, Description
from runtime_core.repo.params import check_params, check_schema
from runtime_core.wire.json import dumps
from tests.unit.repo.building import Repository

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
SCHEMA_WORDS = ["type", "properties", "$ref", "$id", "$schema", "$defs", "pattern", "items", "enum", "minimum"]
SCHEMAS = st.recursive(
    ANY | st.sampled_from(["string", "object", "#", "#/$defs/a", "http://example.invalid/", "http://[", "([", "^a$"]),
    lambda inner: st.dictionaries(st.sampled_from(SCHEMA_WORDS), inner, max_size=4),
    max_leaves=10,
)
TOOLS = st.fixed_dictionaries(
    {"description": st.just("x") | ANY},
    optional={
        **dict.fromkeys(("name", "execution", "uses", "triggers", "confirm", "timeout", "env", "effect"), ANY),
        "parameters": SCHEMAS,
    },
)
AGENTS = st.dictionaries(st.sampled_from(["name", "tools", "subagents", "timeout", "maxToolCalls", "stores"]), ANY)
MANIFEST_KEYS = ("name", "version", "models", "webTools", "stores", "mcp", "memory", "sandbox", "platform")
SERVERS = st.fixed_dictionaries({"servers": st.dictionaries(st.text(max_size=8), ANY, max_size=2) | ANY})
MANIFESTS = st.dictionaries(st.sampled_from(MANIFEST_KEYS), ANY | SERVERS)
FIELD_WORDS = ("type", "nullable", "values", "item", "fields", "store", "min")
FIELDS = st.recursive(
    ANY | st.sampled_from(["string", "enum", "array", "object", "ref"]),
    lambda inner: st.dictionaries(st.sampled_from(FIELD_WORDS), inner, max_size=4),
    max_leaves=10,
)
STORES = st.dictionaries(
    st.sampled_from(["name", "key", "schema", "entity", "indexed", "deletable", "ttl"]),
    ANY | st.dictionaries(st.text(max_size=4), FIELDS, max_size=3) | st.sampled_from(["{a}", "{", "x"]),
)
SPECS = st.dictionaries(
    st.sampled_from(["protocol", "baseUrl", "headers", "auth", "contextInjection", "env", "args", "command", "token"]),
    ANY | st.dictionaries(st.sampled_from(["type", "token", "x", "in"]), ANY | st.just("env:A"), max_size=3),
)
HOOKS = st.dictionaries(st.sampled_from(["points", "capabilities", "failPolicy", "priority", "config", "name"]), ANY)


SLOT = st.just({"$fn": "f"})
CODE_TOOLS = st.fixed_dictionaries(
    {"id": st.just("math") | ANY, "handle": SLOT},
    optional={
        **dict.fromkeys(("enabled", "llm_callable", "effect", "timeout", "title", "uses"), ANY | SLOT),
        "exposure": ANY | st.fixed_dictionaries({"kind": ANY | st.just("open")}),
        "base": ANY | st.fixed_dictionaries({"name": ANY, "description": ANY, "parametersJsonSchema": SCHEMAS}),
    },
)
ENTRIES = st.fixed_dictionaries({}, optional={"name": ANY, "mode": ANY, "conditional": ANY | SLOT})
CODE_AGENTS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("tools", "subagents"), st.lists(ENTRIES | ANY, max_size=3) | ANY),
        "stores": st.dictionaries(st.text(max_size=8), ENTRIES | ANY, max_size=3),
        "timeout": ANY,
    },
)


def load(files: dict[str, Any], described: Described | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(Path(folder))
        repository.tool("ship")
        repository.agent("checker")
        for name, content in files.items():
            repository.write(name, content if isinstance(content, bytes) else dumps(content))
        for problem in repository.problems(described or {}):
            assert problem.file
            assert problem.message
            assert str(problem).encode()


@settings(deadline=None, max_examples=60)
@given(SCHEMAS.filter(lambda schema: isinstance(schema, dict)), ANY)
def test_any_schema_that_passes_can_be_applied_to_anything(schema: Any, value: Any) -> None:
    problems = check_schema(schema)
    if all(problem.tolerable for problem in problems):
        found = check_params(Tool("ship", "Ships.", schema, "handler.ts", "typescript"), dumps(value))
        assert found is None or found


@settings(deadline=None, max_examples=30)
@given(TOOLS, AGENTS, MANIFESTS)
def test_any_definition(tool: dict[str, Any], agent: dict[str, Any], manifest: dict[str, Any]) -> None:
    load(
        {
            "amodal/tools/ship/tool.json": tool,
            "agents/checker/agent.json": agent,
            "amodal.json": {"name": "x", "version": "1", **manifest},
        }
    )


@settings(deadline=None, max_examples=40)
@given(STORES | ANY, SPECS | ANY, HOOKS | ANY, ANY, AGENTS)
def test_any_definition_of_anything_else(store: Any, spec: Any, hook: Any, other: Any, agent: dict[str, Any]) -> None:
    load(
        {
            "amodal/stores/parcels.json": store,
            "connections/crm/spec.json": spec,
            "connections/crm/policy.json": other,
            "hooks/guard/hook.json": hook,
            "hooks/guard/index.mjs": b"",
            "automations/morning.json": other,
            "agents/checker/agent.json": {**agent, "stores": {"parcels": "rw"}, "connections": ["crm"]},
            "amodal/tools/ship/tool.json": {"description": "x", "uses": {"tools": ["store__parcels__set", "crm__a"]}},
        }
    )


@settings(deadline=None, max_examples=40)
@given(st.text(alphabet="#-: \nATSabcst", max_size=60))
def test_any_text(text: str) -> None:
    files = ("knowledge/a.md", "skills/a/SKILL.md", "automations/a.md", "evals/a.md", "agents/checker/AGENT.md")
    load(dict.fromkeys(files, text.encode()))


@settings(deadline=None, max_examples=40)
@given(CODE_TOOLS | ANY, CODE_AGENTS | ANY)
def test_any_definition_in_code(tool: Any, agent: Any) -> None:
    files = ("amodal/tools/math/tool.ts", "agents/checker/agent.py")
    load(dict.fromkeys(files, b""), dict(zip(files, map(Description, (tool, agent)), strict=True)))


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(["amodal.json", "amodal/tools/ship/tool.json", "agents/checker/AGENT.md"]), st.binary())
def test_any_bytes(name: str, content: bytes) -> None:
    load({name: content})


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet="-:#[]'\" \nab1", max_size=60))
def test_any_front_matter(text: str) -> None:
    load({"agents/checker/AGENT.md": f"---\n{text}".encode()})
