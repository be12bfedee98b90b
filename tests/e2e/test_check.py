"""``check``, and the same refusals from ``run``: all problems of a repository at once, with file, key and place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.driver import FIXTURES, LIMIT_S, Desk


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A repository with four mistakes in four tools."""
    root = tmp_path / "broken"
    shutil.copytree(FIXTURES / "desk", root)
    tools = root / "amodal" / "tools"
    (tools / "echo" / "tool.json").write_text('{\n  "description": "x",,\n}\n')
    (tools / "py_echo" / "handler.py").unlink()
    (tools / "ask_both" / "handler.py").write_text("async def handler(params, ctx): ...\n")
    definition = tools / "misbehave" / "tool.json"
    definition.write_text(definition.read_text().replace("draw_ticket", "draw_tickets"))
    return root


def test_a_good_repository_is_described(desk: Desk) -> None:
    shown = desk("check", FIXTURES / "seeds")
    assert shown.code == 0, shown.err
    assert shown.err == ""
    for word in ("release_to_environment", "run_release", "durable", "inline", "policy-reviewer", "no problems"):
        assert word in shown.out

    document = desk("check", FIXTURES / "desk", "--json").json
    assert document["ok"] is True
    assert document["problems"] == []
    tools = {tool["name"]: tool for tool in document["tools"]}
    assert tools["ask_name"]["execution"] == "durable"
    assert tools["ask_name"]["invocable"] is True
    assert tools["ask_name"]["reach"] == ["draw_ticket", "pause_here"]
    assert tools["py_echo"]["language"] == "python"
    assert len(document["revision"]) == 64


def test_every_problem_is_named_at_once(desk: Desk, broken: Path) -> None:
    shown = desk("check", broken)
    assert shown.code == 1
    assert "amodal/tools/echo/tool.json:2:" in shown.out
    assert "amodal/tools/py_echo/tool.json" in shown.out
    assert "two languages" in shown.out
    assert '[uses.tools[0]]: There is no tool "draw_tickets"' in shown.out
    assert shown.err.count("\n") == 1
    assert "4 errors" in shown.err

    document = desk("check", broken, "--json")
    assert document.code == 1
    problems = document.json["problems"]
    assert len(problems) == 4
    parse = next(problem for problem in problems if problem["code"] == "CONFIG_PARSE_FAILED")
    assert (parse["file"], parse["line"]) == ("amodal/tools/echo/tool.json", 2)
    assert parse["column"] > 1
    assert parse["remedy"]
    assert len(document.error["details"]["problems"]) == 4


def test_handlers_that_cannot_be_loaded(desk: Desk, tmp_path: Path) -> None:
    root = tmp_path / "desk"
    shutil.copytree(FIXTURES / "desk", root)
    tools = root / "amodal" / "tools"
    (tools / "echo" / "handler.ts").write_text("export default async function (params {\n}\n")
    (tools / "ask_both" / "handler.ts").write_text("export const handler = 1;\n")
    (tools / "py_echo" / "handler.py").write_text("import nothing_like_it\n")
    (tools / "py_misbehave" / "handler.py").write_text("async def handle(params, ctx): ...\n")
    refused = desk("check", root, "--json")
    assert refused.code == 1
    by_file = {problem["file"]: problem["message"] + problem["remedy"] for problem in refused.json["problems"]}
    assert len(by_file) == 4
    assert "handler.ts:1:" in by_file["amodal/tools/echo/handler.ts"]
    assert "export default" in by_file["amodal/tools/ask_both/handler.ts"]
    assert "nothing_like_it" in by_file["amodal/tools/py_echo/handler.py"]
    assert "async def handler" in by_file["amodal/tools/py_misbehave/handler.py"]


def test_the_model_of_each_agent_is_told_and_what_it_lacks(desk: Desk, tmp_path: Path) -> None:
    root = tmp_path / "code"
    shutil.copytree(FIXTURES / "code", root)
    manifest = json.loads((root / "amodal.json").read_text())
    manifest["models"] = {"main": {"provider": "xai", "model": "grok"}}
    (root / "amodal.json").write_text(json.dumps(manifest))
    shown = desk("check", root)
    assert shown.code == 0, shown.out + shown.err
    assert "xai:grok" in shown.out
    (warning,) = (
        line for line in shown.out.splitlines() if line.startswith("warning: xai:grok (amodal.json [models.main])")
    )
    assert "cannot be asked" in warning
    assert "XAI_API_KEY" in warning  # why there is none depends on the keychain of the computer
    assert {tuple(agent["models"]) for agent in desk("check", root, "--json").json["agents"]} == {("xai:grok",)}


def test_definitions_in_code_are_described(desk: Desk) -> None:
    shown = desk("check", FIXTURES / "code")
    assert shown.code == 0, shown.out + shown.err
    for words in ("in code", "by tool.json", "requires-confirmation", "count_words (decided per turn)", "no problems"):
        assert words in shown.out
    document = desk("check", FIXTURES / "code", "--json").json
    tools = {tool["name"]: tool for tool in document["tools"]}
    keys = ("file", "layout", "execution", "exposure", "llm_callable", "language")
    assert [tools["access_math"][key] for key in keys] == [
        *("amodal/tools/access-math/tool.ts", "code", "inline", "open", False, "typescript"),
    ]
    assert [tools["count_words"][key] for key in keys] == [
        *("amodal/tools/count_words/tool.py", "code", "inline", "open", True, "python"),
    ]
    assert tools["close_ticket"]["exposure"] == "requires-confirmation"
    assert tools["triage"]["layout"] == "json"
    agents = {agent["name"]: agent for agent in document["agents"]}
    assert agents["watcher"]["file"] == "agents/watcher/agent.py"
    for agent in agents.values():
        assert agent["decided_per_turn"] == [{"list": "tools", "name": "count_words"}]


def test_a_definition_in_code_that_cannot_be_read_is_an_error_here(desk: Desk, tmp_path: Path) -> None:
    root = tmp_path / "code"
    shutil.copytree(FIXTURES / "code", root)
    (root / "amodal/tools/spare").mkdir()
    (root / "amodal/tools/spare/tool.ts").write_text("export default {\n  id: 'spare',\n  base: {{,\n};\n")
    refused = desk("check", root, "--json")
    assert refused.code == 1
    (problem,) = refused.json["problems"]
    assert (problem["severity"], problem["file"], problem["line"]) == ("error", "amodal/tools/spare/tool.ts", 3)
    assert "Parts of" in refused.error["message"]
    assert {tool["name"] for tool in refused.json["tools"]} >= {"access_math", "triage"}
    done = desk("run", root, "access_math", "--input", '{"n": 2, "how": "triple"}', "--json")
    assert done.json["result"] == {"product": 6, "composes": False}


@pytest.mark.parametrize("broken", ["handler.ts", "handler.py"])
def test_a_handler_that_cannot_be_loaded_is_an_error_of_its_own(desk: Desk, tmp_path: Path, broken: str) -> None:
    root = tmp_path / "code"
    shutil.copytree(FIXTURES / "code", root)
    (root / "amodal/tools/spare").mkdir()
    (root / "amodal/tools/spare/tool.json").write_text('{"description": "x"}')
    (root / "amodal/tools/spare" / broken).write_text("export default {{\n")
    refused = desk("check", root)
    assert refused.code == 1
    assert "access_math" in refused.out
    assert "The handler cannot be loaded" in refused.out
    assert "Parts of" in refused.err
    assert "the rest works" in refused.err


def test_what_keeps_automations_from_being_started_is_named(desk: Desk, tmp_path: Path) -> None:
    root = tmp_path / "plans"
    (root / "agents/default").mkdir(parents=True)
    (root / "automations").mkdir()
    (root / "amodal.json").write_text('{"name": "plans", "version": "1"}')
    (root / "agents/default/AGENT.md").write_text("Plan.")
    stated = {
        "late": {"prompt": "x", "schedule": "61 * * * *"},
        "lost": {"prompt": "x", "agent": "nobody"},
        "fine": {"prompt": "x", "schedule": "@daily"},
    }
    for name, one in stated.items():
        (root / f"automations/{name}.json").write_text(json.dumps(one))
    (root / "automations/mute.md").write_text("# Automation: Mute\nSchedule: every 1h\n")
    shown = desk("check", root)
    assert shown.code == 0
    assert 'automations/late.json: The minute "61"' in shown.out
    assert 'has no agent "nobody"' in shown.out
    assert "automations/mute.md: It has no prompt" in shown.out
    assert "fine.json" not in shown.out
    assert "off until somebody switches them on" in shown.out
    problems = desk("check", root, "--json").json["problems"]
    assert [one["file"] for one in problems] == [
        f"automations/{name}" for name in ("late.json", "lost.json", "mute.md")
    ]


def test_what_the_settings_say_in_vain_is_told(desk: Desk, tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text('[models]\nmain = "scripted:models/x.json"\n')
    words = desk.words("check", FIXTURES / "seeds")
    process = desk.spawn(words, OPERATOR_INBOX_CONFIG=str(settings))
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0
    assert b"must name the whole path" in err


def test_what_is_ignored_is_told_of_a_broken_repository_too(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "repo/pages").mkdir(parents=True)
    (tmp_path / "repo/amodal.json").write_text('{"name": "x"}')
    refused = desk("check", tmp_path / "repo")
    assert "pages are not used" in refused.out
    assert "cannot be used: 1 error" in refused.err
    refused = desk("check", tmp_path / "repo", "--json")
    assert refused.json["ignored"] == [{"path": "pages/", "reason": "pages are not used"}]


def test_a_run_uses_what_is_defined_in_code(desk: Desk) -> None:
    root = FIXTURES / "code"
    for scope, told in (("members", '{"words":3,"composes":false}'), ("", "not available")):
        run = desk("run", root, "triage", "--scope", scope, "--json").json["session_id"]
        done = desk("answer", run, "no", "--json").json
        assert done["result"]["product"] == 42
        assert told in done["result"]["helper"]
    assert "2 ok" in desk("replay-check", root).out


def test_run_refuses_a_broken_repository_in_one_line(desk: Desk, broken: Path) -> None:
    refused = desk("run", broken, "echo")
    assert refused.code == 1
    assert refused.out == ""
    assert refused.err.count("\n") == 1
    assert "two languages" in refused.err
    assert refused.err.endswith(f" And 3 more; see all with: operator-inbox check {broken}\n")

    envelope = desk("run", broken, "echo", "--json")
    assert envelope.code == 1
    assert envelope.error["code"].startswith("CONFIG_")
    assert len(envelope.error["details"]["problems"]) == 4
    assert desk("list", "--json").json["total"] == 0


def test_a_folder_that_is_no_repository_is_named(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "missing", tmp_path / "empty", FIXTURES / "desk" / "amodal.json"):
        refused = desk("check", path)
        assert refused.code == 1
        assert str(path) in refused.err
        assert refused.out.startswith("error: ")


@pytest.fixture
def depot(tmp_path: Path) -> Path:
    """A repository with one of everything; its connection says a secret."""
    files = {
        "amodal.json": {"name": "depot", "version": "1", "mcp": {"servers": {"docs": {"command": "docs-server"}}}},
        "amodal/stores/parcels.json": {"key": "{id}", "schema": {"id": {"type": "string"}}, "indexed": ["id"]},
        "connections/crm/spec.json": {"baseUrl": "https://crm.example", "headers": {"X-Api-Key": "sk-77"}},
        "connections/erp/spec.json": {"baseUrl": "https://erp.example"},
        "connections/erp/policy.json": {"endpoints": {"POST /orders": {"confirm": True}}},
        "hooks/guard/hook.json": {"points": ["preToolUse"], "failPolicy": "closed", "priority": 5},
        "automations/morning.json": {"title": "Morning", "prompt": "Look."},
        "amodal/tools/book/tool.json": {
            "description": "Books.",
            "uses": {"tools": ["store__parcels__set", "crm__list"]},
        },
        "agents/clerk/agent.json": {"tools": ["book"], "stores": {"parcels": "read"}, "connections": ["erp"]},
    }
    texts = {
        "amodal/tools/book/handler.ts": "export default async () => ({});\n",
        "amodal/knowledge/docks.md": "# Docks\n",
        "skills/loading/SKILL.md": "# Skill: Loading\n",
        "hooks/guard/index.mjs": "export function createHook() { return { run: () => ({ action: 'allow' }) }; }\n",
        "agents/clerk/AGENT.md": "You are a clerk.\n",
        "evals/late.md": "# Eval: Late\n\n## Query\nWhat is late?\n\n## Assertions\n- contains: p_77\n",
        "pages/index.json": "{}",
    }
    for name, content in (*files.items(), *texts.items()):
        path = tmp_path / "depot" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return tmp_path / "depot"


def test_everything_of_a_repository_is_described(desk: Desk, depot: Path) -> None:
    document = desk("check", depot, "--json").json
    assert document["ok"] is True
    (book,) = document["tools"]
    assert book["reach"] == ["crm__list", "store__parcels__set"]
    (clerk,) = document["agents"]
    assert clerk["reach"] == [
        *("book", "connection:erp", "crm__list"),
        *(f"store__parcels__{verb}" for verb in ("get", "list", "query", "set")),
    ]
    assert [store["indexed"] for store in document["stores"]] == [["id"]]
    assert [(one["name"], one["endpoints"]) for one in document["connections"]] == [
        ("crm", []),
        ("erp", ["POST /orders"]),
    ]
    assert "sk-77" not in json.dumps(document)
    assert "X-Api-Key" in document["connections"][0]["unavailable"]
    assert document["connections"][1]["unavailable"] is None
    assert [(hook["points"], hook["priority"], hook["fail_policy"]) for hook in document["hooks"]] == [
        (["preToolUse"], 5, "closed")
    ]
    for kind, name in (("knowledge", "docks"), ("skills", "loading"), ("automations", "morning"), ("evals", "late")):
        assert [one["name"] for one in document[kind]] == [name]
    assert {"path": "pages/", "reason": "pages are not used"} in document["ignored"]
    assert any("docs-server" in need for need in document["needs_trust"])
    words = "\n".join(problem["message"] for problem in document["problems"])
    assert 'no agent holds "rw" for that store' in words
    assert 'the connection "crm" cannot be used' in words


def test_hooks_that_cannot_be_loaded(desk: Desk, depot: Path) -> None:
    hooks = depot / "hooks"
    (hooks / "guard" / "index.mjs").write_text("export const guard = 1;\n")
    for name, file, code in (
        ("one", "index.mjs", "export function {\n"),
        ("two", "hook.py", "import nothing_like_it\n"),
    ):
        (hooks / name).mkdir()
        (hooks / name / "hook.json").write_text('{"points": ["preToolUse"]}')
        (hooks / name / file).write_text(code)
    (hooks / "good").mkdir()
    (hooks / "good" / "hook.json").write_text('{"points": ["preToolUse"]}')
    (hooks / "good" / "hook.py").write_text("def create_hook(config):\n    return {'run': print}\n")
    for name, code in (
        ("none", "def create_hook(config): ...\n"),
        ("throws", "def create_hook(config): raise ValueError('bad config')\n"),
    ):
        (hooks / name).mkdir()
        (hooks / name / "hook.json").write_text('{"points": ["preToolUse"]}')
        (hooks / name / "hook.py").write_text(code)
    refused = desk("check", depot, "--json")
    assert refused.code == 1
    errors = {one["file"]: one["message"] for one in refused.json["problems"] if one["severity"] == "error"}
    broken = {"hooks/guard/index.mjs", "hooks/one/index.mjs", "hooks/two/hook.py"}
    assert set(errors) == {*broken, "hooks/none/hook.py", "hooks/throws/hook.py"}
    assert "bad config" in errors["hooks/throws/hook.py"]
    assert "export a function createHook" in errors["hooks/guard/index.mjs"]
    assert "nothing_like_it" in errors["hooks/two/hook.py"]


def test_the_description_fits_100_columns(desk: Desk, depot: Path) -> None:
    tools = [f"tool_with_quite_a_long_name_{number}" for number in range(12)]
    for name in tools:
        folder = depot / "amodal" / "tools" / name
        folder.mkdir()
        (folder / "tool.json").write_text('{"description": "x"}')
        (folder / "handler.ts").write_text("export default async () => ({});\n")
    definition = depot / "amodal" / "tools" / "book" / "tool.json"
    definition.write_text(json.dumps({"description": "Books.", "uses": {"tools": tools}}))
    shown = desk("check", depot)
    assert shown.code == 0, shown.err
    described = shown.out.partition("\nhas to be trusted")[0].splitlines()
    assert max(map(len, described[1:])) <= 100
    for words in ("STORE", "guard", "unavailable", "pages are not used", "reaches", "ALSO THERE", "docks"):
        assert words in shown.out


def test_values_that_are_handed_on_are_named(desk: Desk, tmp_path: Path) -> None:
    root = tmp_path / "desk"
    shutil.copytree(FIXTURES / "desk", root)
    (root / "connections" / "crm").mkdir(parents=True)
    spec = {"baseUrl": "https://crm.example", "headers": {"X-Key": "env:SOME_SECRET"}}
    (root / "connections" / "crm" / "spec.json").write_text(json.dumps(spec))
    shown = desk("check", root).out
    assert "env:SOME_SECRET  the connection crm (crm.example), by connections/crm/spec.json [headers.X-Key]" in shown
    [value] = desk("check", root, "--json").json["values"]
    assert value == {
        "name": "env:SOME_SECRET",
        "file": "connections/crm/spec.json",
        "key": "headers.X-Key",
        "to": "the connection crm (crm.example)",
    }
