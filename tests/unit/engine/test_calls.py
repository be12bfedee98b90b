"""``callTool`` and ``callSubagent``: what they return and how they fail (contract 4)."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.workshop import Repo, bench, play

CATCHING = """
try {{ return {{value: await {call}}}; }} catch (error) {{
  return {{error: {{name: error.name, code: error.code, message: error.message, tool: error.toolName ?? null,
    agent: error.agentName ?? null, cause: error.cause ?? null}}}}; }}
"""


def catching(call: str) -> str:
    return CATCHING.format(call=call)


async def caught(repo: Repo, data: Path, tool: str = "top", **more: Any) -> dict[str, Any]:
    async with bench(repo, data, **more) as desk:
        return (await desk.run(tool))["result"]["error"]


@pytest.fixture(params=["inline", "durable"])
def top(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Makes a repository whose tool ``top``, inline or durable, makes one call and returns what became of it."""

    def make(call: str, **settings: Any) -> Repo:
        repo = Repo(tmp_path / "repo")
        if request.param == "durable":
            settings["execution"] = "durable"
        repo.tool("top", ts=catching(call), **settings)
        return repo

    return make


def test_an_undeclared_call_fails_and_says_what_to_add(top: Any, tmp_path: Path) -> None:
    repo = top("ctx.callTool('other', {})", tools=("leaf",))
    repo.tool("leaf", ts="return 1;")
    repo.tool("other", ts="return 1;")
    error = play(caught(repo, tmp_path / "data"))
    assert (error["name"], error["code"], error["tool"]) == ("CompositeCallError", "undeclared", "other")
    assert "uses.tools" in error["message"]


def test_parameters_are_checked_against_the_childs_schema(top: Any, tmp_path: Path) -> None:
    repo = top("ctx.callTool('leaf', {n: 'x'})", tools=("leaf",))
    repo.tool("leaf", ts="return 1;", parameters={"type": "object", "properties": {"n": {"type": "integer"}}})
    error = play(caught(repo, tmp_path / "data"))
    assert error["code"] == "invalid-params"
    assert "leaf" in error["message"]


def test_a_child_that_throws_fails_with_its_message_and_cause(top: Any, tmp_path: Path) -> None:
    repo = top("ctx.callTool('leaf', {})", tools=("leaf",))
    repo.tool("leaf", ts="throw new TypeError('no such release');")
    error = play(caught(repo, tmp_path / "data"))
    assert error["code"] == "execution-failed"
    assert error["message"] == 'Tool "leaf" failed: no such release'
    assert error["cause"]["name"] == "TypeError"


def test_the_code_of_a_nested_failure_is_in_the_cause(top: Any, tmp_path: Path) -> None:
    repo = top("ctx.callTool('middle', {})", tools=("middle",))
    repo.tool("middle", ts="return await ctx.callTool('nobody', {});", tools=("leaf",))
    repo.tool("leaf", ts="return 1;")
    error = play(caught(repo, tmp_path / "data"))
    assert error["code"] == "execution-failed"
    assert error["cause"]["code"] == "undeclared"


def test_the_fourth_level_runs_and_the_fifth_does_not(top: Any, tmp_path: Path) -> None:
    repo = top("ctx.callTool('t1', {})", tools=("t1",))
    for level in range(1, 5):
        repo.tool(f"t{level}", ts=f"return await ctx.callTool('t{level + 1}', {{}});", tools=(f"t{level + 1}",))
    repo.tool("t5", ts="return 'deep';")
    error = play(caught(repo, tmp_path / "data"))
    assert error["code"] == "execution-failed"
    assert error["message"].startswith('Tool "t1" failed: Tool "t2" failed: Tool "t3" failed: Tool "t4" failed: ')
    assert "top > t1 > t2 > t3 > t4 > t5" in error["message"]


def test_a_call_that_is_too_deep_has_its_code(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.tool("t", ts="return params.n === 4 ? 0 : 0;")
    repo.tool("top", ts="return await ctx.callTool('t1', {});", tools=("t1",))
    for level in range(1, 4):
        repo.tool(f"t{level}", ts=f"return await ctx.callTool('t{level + 1}', {{}});", tools=(f"t{level + 1}",))
    repo.tool("t4", ts=catching("ctx.callTool('t', {})"), tools=("t",))
    assert play(caught(repo, tmp_path / "data"))["code"] == "depth-exceeded"


def test_four_levels_return_their_result(top: Any, tmp_path: Path) -> None:
    repo = top("ctx.callTool('t1', {})", tools=("t1",))
    for level in range(1, 4):
        repo.tool(f"t{level}", ts=f"return [await ctx.callTool('t{level + 1}', {{}})];", tools=(f"t{level + 1}",))
    repo.tool("t4", ts="return 'deep';")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert (await desk.run("top"))["result"] == {"value": [[["deep"]]]}

    play(story())


def test_subagents_answer_in_words_and_may_call_tools(top: Any, tmp_path: Path) -> None:
    repo = top("ctx.callSubagent('reviewer', 'Review it.', {n: 1.50})", agents=("reviewer",))
    repo.agent("reviewer", tools=["leaf"])
    repo.tool("leaf", ts="return {seen: params.n};", effect="read")
    model = repo.script(
        {"agent": "reviewer", "match": "Review it", "tool_calls": [{"name": "leaf", "args": {"n": 3}}]},
        {"agent": "reviewer", "text": "Saw {{last_tool_result}}"},
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data", model=model) as desk:
            reply = await desk.run("top")
            assert reply["result"] == {"value": 'Saw {"seen":3}'}
            if reply["sessionId"] is not None:
                spans = await desk.spans(reply["sessionId"])
                assert [(at, span["kind"], span["name"]) for at, span in spans.items()] == [
                    ("", "tool", "top"),
                    ("0", "subagent", "reviewer"),
                    ("0/0", "tool", "leaf"),
                ]

    play(story())


def test_subagent_failures_have_their_codes(top: Any, tmp_path: Path) -> None:
    repo = top("ctx.callSubagent('stranger', 'Hi')", agents=("reviewer",))
    repo.agent("reviewer")
    error = play(caught(repo, tmp_path / "data"))
    assert (error["code"], error["agent"]) == ("subagent-undeclared", "stranger")
    assert "uses.subagents" in error["message"]


def test_a_subagent_without_a_model_names_both_ways_to_get_one(top: Any, tmp_path: Path) -> None:
    repo = top("ctx.callSubagent('reviewer', 'Hi')", agents=("reviewer",))
    repo.agent("reviewer")
    error = play(caught(repo, tmp_path / "data"))
    assert error["code"] == "subagent-failed"
    assert "models.main" in error["message"]
    assert "--model" in error["message"]


def test_an_unusable_model_fails_the_subagent_and_names_the_file(top: Any, tmp_path: Path) -> None:
    repo = top("ctx.callSubagent('reviewer', 'Hi')", agents=("reviewer",))
    repo.agent("reviewer")
    error = play(caught(repo, tmp_path / "data", model="scripted:missing.json"))
    assert error["code"] == "subagent-failed"
    assert "missing.json" in error["message"]


def test_a_durable_child_of_an_inline_composite_runs_on_its_own(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.tool("top", ts=catching("ctx.callTool(params.child, {})"), tools=("quick", "asking"))
    repo.durable("quick", ts="return await ctx.step('s', () => 7);")
    repo.durable("asking", ts="return await ctx.requestInput('?');")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert (await desk.run("top", {"child": "quick"}))["result"] == {"value": 7}
            error = (await desk.run("top", {"child": "asking"}))["result"]["error"]
            assert error["code"] == "execution-failed"
            assert "awaiting-input" in error["message"]
            runs = (await desk.runtime.runs(finished=False))["runs"]
            assert [run["tool_name"] for run in runs] == ["asking"]
            assert runs[0]["session_id"] in error["message"]

    play(story())


def test_outside_access_is_refused_in_a_durable_handler(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "top",
        ts="""
const codes = [];
for (const attempt of [() => ctx.request('c', '/x'), () => ctx.store('s', {}), () => ctx.exec('ls')])
  try { await attempt(); } catch (error) { codes.push(error.code); }
return [codes, ctx.env('HOME') ?? null];
""",
        env=["HOME"],
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert (await desk.run("top"))["result"] == [["durable-forbidden"] * 3, None]

    play(story())


def test_ctx_has_only_the_members_of_its_kind_of_tool(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    names = "['callTool', 'callSubagent', 'requestInput', 'step', 'now', 'sleepUntil', 'request', 'log', 'fs']"
    listing = f"return {names}.filter((name) => ctx[name] !== undefined);"
    repo.tool("plain", ts=listing)
    repo.tool("composite", ts=listing, tools=("plain",))
    repo.durable("durable", ts=listing)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert (await desk.run("plain"))["result"] == ["request", "log", "fs"]
            assert (await desk.run("composite"))["result"] == ["callTool", "callSubagent", "request", "log", "fs"]
            assert len((await desk.run("durable"))["result"]) == 9

    play(story())


def test_an_inline_tool_has_no_session_and_fails_with_the_contracts_text(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.tool("good", ts="return {sum: params.a + 1, session: ctx.sessionId.split('_')[0]};")
    repo.tool("bad", ts="throw new Error('broken');")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            good = await desk.run("good", {"a": 1})
            assert good == {
                "sessionId": None,
                "session_id": None,
                "outcome": {"kind": "complete"},
                "result": {"sum": 2, "session": "inline"},
            }
            bad = await desk.run("bad")
            assert bad["outcome"]["kind"] == "failed"
            assert bad["outcome"]["reason"] == 'Tool "bad" failed: broken'
            assert (await desk.runtime.runs(finished=True))["total"] == 0

    play(story())


def test_a_durable_run_that_throws_is_failed_and_keeps_code_and_message(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("bad", ts="await ctx.callTool('nobody', {});", tools=("leaf",))
    repo.tool("leaf", ts="return 1;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            reply = await desk.run("bad")
            assert reply["outcome"]["kind"] == "failed"
            assert reply["outcome"]["code"] == "undeclared"
            assert reply["outcome"]["reason"].startswith('Tool "bad" failed: Tool "bad" calls "nobody"')
            spans = await desk.spans(reply["sessionId"])
            assert (spans[""]["state"], spans["0"]["state"], spans["0"]["code"]) == ("failed", "failed", "undeclared")

    play(story())


def test_a_losing_branch_does_not_hold_the_run(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "race",
        ts="return await Promise.race([ctx.callTool('slow', {}), new Promise(r => setTimeout(() => r('timer'), 50))]);",
        tools=("slow",),
    )
    repo.tool("slow", ts="await new Promise(r => setTimeout(r, 20000)); return 'slow';")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            reply = await desk.run("race")
            assert reply["result"] == "timer"
            spans = await desk.spans(reply["sessionId"])
            assert spans["0"]["state"] == "cancelled"

    play(story())


def test_python_goes_through_a_set_in_the_same_order_in_every_process(tmp_path: Path) -> None:
    repo, data = Repo(tmp_path / "repo"), tmp_path / "data"
    repo.tool("echo", py='return params["of"]')
    repo.durable(
        "tidy",
        py="""
names = {"ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"}
seen = [await ctx.call_tool("echo", {"of": name}) for name in names]
await ctx.request_input("On?")
return seen == list(names)
""",
        tools=("echo",),
    )

    async def story() -> None:
        async with bench(repo, data) as desk:
            run_id = (await desk.run("tidy"))["sessionId"]
        async with bench(repo, data) as desk:
            assert (await desk.answer(run_id, "yes"))["result"] is True

    play(story())


STEPS: dict[str, Any] = {
    "ts": "return await ctx.step('s', () => new Promise(r => setTimeout(() => r(7), 300)));",
    "py": "import asyncio\nreturn await ctx.step('s', lambda: asyncio.sleep(0.3, 7))",
}


@pytest.mark.parametrize("language", STEPS)
def test_a_step_shows_how_long_its_work_took(tmp_path: Path, language: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("slow", **{language: STEPS[language]})

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            reply = await desk.run("slow")
            assert reply["result"] == 7
            span = (await desk.spans(reply["sessionId"]))["0"]
            began, ended = (datetime.fromisoformat(span[key]) for key in ("started_at", "ended_at"))
            assert (ended - began).total_seconds() >= 0.29

    play(story())
