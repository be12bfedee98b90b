"""What models select in a run: with hooks around it, and with the tools that come for them (contract 5.2, 9.2, 10)."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine.calls import effect_of
from runtime_core.engine.frames import Origin
from runtime_core.hosts.base import HandlerCall
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.repo.bundle import Agent, Bundle, Store
from runtime_core.tools.base import Toolbox
from runtime_core.tools.chat import ChatTools
from runtime_core.tools.documents import Documents
from runtime_core.tools.knowledge import KnowledgeTools
from runtime_core.tools.stores import StoreTools
from tests.unit.engine.workshop import Bench, Repo, bench, play

PARCELS = {
    "name": "parcels",
    "key": "{id}",
    "schema": {"id": {"type": "string"}, "dock": {"type": "string", "nullable": True}},
}
GUARD_TS = """
export function createHook(config) {
  return {
    async run(point, payload, ctx) {
      if (!config.guarded.includes(payload.toolName)) return { action: 'allow' };
      const row = await ctx.store.get('parcels', payload.args.key);
      ctx.log(`${point} ${payload.args.key}: ${JSON.stringify(row)}`);
      return row?.dock ? { action: 'allow' } : { action: 'block', reason: `${payload.args.key} has no dock` };
    },
  };
}
"""
GUARD_PY = """
class Guard:
    def __init__(self, config):
        self.guarded = config['guarded']

    async def run(self, point, payload, ctx):
        if payload.tool_name not in self.guarded:
            return {'action': 'allow'}
        key = payload['args']['key']
        row = await ctx.store.get('parcels', key)
        ctx.log(f'{point} {key}: {row}')
        if row and row['dock']:
            return {'action': 'allow'}
        return {'action': 'block', 'reason': f'{key} has no dock'}


def create_hook(config):
    return Guard(config)
"""


def on(repo: Repo, data: Path, story: Callable[[Bench], Any], **more: Any) -> Any:
    async def act() -> Any:
        async with bench(repo, data, **more) as desk:
            return await story(desk)

    return play(act())


def calling(repo: Repo, durable: bool, name: str, ts: str, **settings: Any) -> None:
    (repo.durable if durable else repo.tool)(name, ts=ts, **settings)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


@pytest.fixture(params=[False, True], ids=["inline", "durable"])
def durable(request: pytest.FixtureRequest) -> bool:
    return request.param


def hook(repo: Repo, kind: str, source: str, **settings: Any) -> None:
    defaults = {"points": ["preToolUse"], "capabilities": ["store:read"], "failPolicy": "closed"}
    repo.file("hooks/guard/hook.json", {**defaults, **settings})
    repo.file(f"hooks/guard/{'index.mjs' if kind == 'ts' else 'hook.py'}", source)


def selects(agent: str, match: str, tool: str, args: Any, **more: Any) -> dict[str, Any]:
    return {"agent": agent, "match": match, "tool_calls": [{"name": tool, "args": args}], **more}


def says(agent: str, text: str = "{{last_tool_result}}") -> dict[str, Any]:
    return {"agent": agent, "text": text, "repeat": True}


@pytest.mark.parametrize("kind", ["ts", "py"])
def test_a_hook_blocks_what_a_model_writes_but_not_what_handlers_do(
    repo: Repo, kind: str, durable: bool, tmp_path: Path
) -> None:
    hook(repo, kind, GUARD_TS if kind == "ts" else GUARD_PY, config={"guarded": ["store__parcels__set"]})
    repo.file("stores/parcels.json", PARCELS)
    repo.agent("clerk", tools=[], stores={"parcels": "rw"})
    sets = "return await ctx.callTool('store__parcels__set', {key: 'p1', value: {id: 'p1', dock: params.dock}});"
    calling(repo, durable, "assign", sets, tools=("store__parcels__set",))
    calling(repo, durable, "review", "return await ctx.callSubagent('clerk', 'Release p1');", agents=("clerk",))
    repo.tool(
        "look", ts="return await ctx.callTool('store__parcels__get', {key: 'p1'});", tools=("store__parcels__get",)
    )
    write = {"key": "p1", "value": {"id": "p1", "dock": "D9"}}
    model = repo.script(selects("clerk", "Release", "store__parcels__set", write, repeat=True), says("clerk"))

    async def story(desk: Bench) -> None:
        assert (await desk.run("assign", {"dock": None}))["result"]["stored"] is True
        blocked = (await desk.run("review"))["result"]
        assert blocked == 'Tool execution failed: The hook "guard" blocked this: p1 has no dock'
        assert (await desk.run("look"))["result"] == {"id": "p1", "dock": None}
        await desk.run("assign", {"dock": "D1"})
        assert json.loads((await desk.run("review"))["result"])["stored"] is True
        assert (await desk.run("look"))["result"] == {"id": "p1", "dock": "D9"}

    on(repo, tmp_path / "data", story, model=model)
    log = (tmp_path / "data/logs/handlers.log").read_text()
    assert log.count("review/clerk/hook guard log preToolUse p1") == 2
    assert "assign/" not in log


def test_a_hook_that_was_edited_is_asked_as_it_is_now(repo: Repo, tmp_path: Path) -> None:
    block = "export const createHook = () => ({ run: () => ({ action: 'block', reason: 'as it was' }) });"
    hook(repo, "ts", block)
    repo.agent("clerk", tools=["echo"])
    repo.tool("echo", ts="return 1;")
    repo.tool("top", ts="return await ctx.callSubagent('clerk', 'Go');", agents=("clerk",))
    model = repo.script(selects("clerk", "Go", "echo", {}, repeat=True), says("clerk"))

    async def story(desk: Bench) -> None:
        assert "as it was" in (await desk.run("top"))["result"]
        hook(repo, "ts", block.replace("as it was", "as it is now"))
        assert "as it is now" in (await desk.run("top"))["result"]
        hook(repo, "ts", block.replace("'block'", "'allow'"))
        assert (await desk.run("top"))["result"] == '{"result":1}'

    on(repo, tmp_path / "data", story, model=model)


LOOKS = """
export const createHook = () => ({ run(point, payload, ctx) {
  ctx.log(JSON.stringify([point, payload]));
  return { action: point === 'postToolUse' ? 'block' : 'allow', reason: 'too late' };
} });
"""


def test_after_a_call_hooks_see_its_result_or_error_and_change_nothing(repo: Repo, tmp_path: Path) -> None:
    hook(repo, "ts", LOOKS, points=["preToolUse", "postToolUse"])
    repo.agent("clerk", tools=["echo", "broken"])
    repo.tool("echo", ts="return {n: params.n};")
    repo.tool("broken", ts="throw new Error('no paper');")
    repo.tool("top", ts="return await ctx.callSubagent('clerk', 'Go');", agents=("clerk",))
    calls = [{"name": "echo", "args": {"n": 12345678901234567}}, {"name": "broken", "args": {}}]
    model = repo.script({"agent": "clerk", "match": "Go", "tool_calls": calls}, says("clerk", "Done"))
    assert on(repo, tmp_path / "data", lambda desk: desk.run("top"), model=model)["result"] == "Done"
    log = (tmp_path / "data/logs/handlers.log").read_text()
    heard = [json.loads(line.split(" log ", 1)[1]) for line in log.splitlines() if " log " in line]
    assert [(point, said["toolName"]) for point, said in heard] == [
        ("preToolUse", "echo"),
        ("postToolUse", "echo"),
        ("preToolUse", "broken"),
        ("postToolUse", "broken"),
    ]
    assert heard[1][1]["result"] == heard[1][1]["args"]
    assert "no paper" in heard[3][1]["error"]
    assert "result" not in heard[3][1]
    assert log.count("counts for nothing: too late") == 2


def chain(repo: Repo, names: str, **last: Any) -> str:
    """Agents that send one another in this order; the last one answers."""
    for name, other in pairwise(names):
        repo.agent(name, tools=["call_subagent"], subagents=[other])
    repo.agent(names[-1], **last)
    replies = [
        selects(name, "", "call_subagent", {"agent": other, "task": f"For {other}"}) for name, other in pairwise(names)
    ]
    return repo.script(*replies, says(names[-1], "deep"), *(says(name) for name in names[:-1]))


def test_a_model_sends_specialists_down_to_the_fifth_level(repo: Repo, durable: bool, tmp_path: Path) -> None:
    model = chain(repo, "abcde")
    calling(repo, durable, "top", "return await ctx.callSubagent('a', 'Go');", agents=("a",))

    async def story(desk: Bench) -> None:
        reply = await desk.run("top")
        assert "deep" in reply["result"]
        assert "failed" not in reply["result"]
        if durable:
            spans = await desk.spans(reply["session_id"])
            names = [(at, span["name"]) for at, span in spans.items()]
            assert names[:3] == [("", "top"), ("0", "a"), ("0/0", "call_subagent")]
            assert names[-1] == ("0/0/0/0/0", "call_subagent")

    on(repo, tmp_path / "data", story, model=model)


def test_a_sixth_level_is_refused_and_the_chain_named(repo: Repo, tmp_path: Path) -> None:
    model = chain(repo, "abcdef")
    repo.tool("top", ts="return await ctx.callSubagent('a', 'Go');", agents=("a",))
    answer = on(repo, tmp_path / "data", lambda desk: desk.run("top"), model=model)["result"]
    assert "at most 5 levels" in answer
    assert "top > a > b > c > d > e > f" in answer


def test_an_agent_may_allow_fewer_levels(repo: Repo, tmp_path: Path) -> None:
    model = chain(repo, "abc")
    repo.agent("a", tools=["call_subagent"], subagents=["b"], maxDepth=1)
    repo.tool("top", ts="return await ctx.callSubagent('a', 'Go');", agents=("a",))
    answer = on(repo, tmp_path / "data", lambda desk: desk.run("top"), model=model)["result"]
    assert "at most 2 levels" in answer


def test_a_model_sends_only_whom_its_agent_declares(repo: Repo, tmp_path: Path) -> None:
    repo.agent("clerk", tools=["call_subagent"], subagents=["helper"])
    repo.agent("helper", tools=[])
    repo.agent("stranger", tools=[])
    repo.tool("top", ts="return await ctx.callSubagent('clerk', params.ask);", agents=("clerk",))
    model = repo.script(
        selects("clerk", "^stranger", "call_subagent", {"agent": "stranger", "task": "Hi"}),
        selects("clerk", "^nothing", "call_subagent", {"agent": "helper"}),
        selects(
            "clerk", "^other words", "call_subagent", {"agent_name": "helper", "prompt": "Hi", "context": {"n": 1}}
        ),
        says("helper", "I help"),
        says("clerk"),
    )

    async def story(desk: Bench) -> None:
        undeclared = (await desk.run("top", {"ask": "stranger"}))["result"]
        assert "agents/clerk/agent.json" in undeclared
        assert '"task"' in (await desk.run("top", {"ask": "nothing"}))["result"]
        assert (await desk.run("top", {"ask": "other words"}))["result"] == '{"result":"I help"}'

    on(repo, tmp_path / "data", story, model=model)


def test_a_handler_sends_a_specialist_as_a_tool_if_it_declares_both(repo: Repo, durable: bool, tmp_path: Path) -> None:
    repo.agent("helper", tools=[])
    repo.agent("stranger", tools=[])
    ts = """
const send = (agent) => ctx.callTool('call_subagent', {agent, task: 'Help', input: {n: 1.5}}).catch((e) => e.code);
return [await send('helper'), await send('stranger')];
"""
    calling(repo, durable, "top", ts, tools=("call_subagent",), agents=("helper",))
    model = repo.script({"agent": "helper", "match": r"Context:[^}]*1\.5", "text": "Helped"})
    answer = on(repo, tmp_path / "data", lambda desk: desk.run("top"), model=model)["result"]
    assert answer == ["Helped", "subagent-undeclared"]


def test_a_specialist_that_stops_gives_its_caller_no_answer(repo: Repo, durable: bool, tmp_path: Path) -> None:
    repo.agent("clerk", tools=["stop_execution"])
    ts = "try { return await ctx.callSubagent('clerk', 'Go'); } catch (e) { return [e.code, e.message]; }"
    calling(repo, durable, "top", ts, agents=("clerk",))
    model = repo.script(selects("clerk", "Go", "stop_execution", {"reason": "no papers"}))
    code, message = on(repo, tmp_path / "data", lambda desk: desk.run("top"), model=model)["result"]
    assert code == "subagent-failed"
    assert "stopped without an answer: no papers" in message


def knowing(repo: Repo) -> None:
    repo.file("knowledge/access-policy.md", "# Access policy\n\nNobody enters — “ever”.\n")
    repo.file("amodal/knowledge/tone.md", "\ufeffBe kind.\n")


def test_knowledge_by_its_name_for_handlers_and_models(repo: Repo, durable: bool, tmp_path: Path) -> None:
    knowing(repo)
    repo.agent("reader", tools=["load_knowledge"])
    calling(repo, durable, "top", "return await ctx.callTool('load_knowledge', params);", tools=("load_knowledge",))
    calling(repo, durable, "ask", "return await ctx.callSubagent('reader', 'Read');", agents=("reader",))
    model = repo.script(selects("reader", "^Read", "load_knowledge", {"name": "access-policy"}), says("reader"))
    text = "# Access policy\n\nNobody enters — “ever”.\n"

    async def story(desk: Bench) -> None:
        for params in (
            {"name": "access-policy"},
            {"document": "access-policy.md"},
            {"id": "knowledge/access-policy.md"},
            {"name": "Access-Policy"},
        ):
            assert (await desk.run("top", params))["result"] == text
        assert (await desk.run("top", {"name": "tone"}))["result"] == "Be kind.\n"
        for params in ({"name": "../amodal.json"}, {"name": "nothing"}, {}):
            error = (await desk.run("top", params))["result"]["error"]
            assert "access-policy (Access policy)" in error
            assert "tone" in error
        assert json.loads((await desk.run("ask"))["result"]) == {"result": text}

    on(repo, tmp_path / "data", story, model=model)


def test_notes_are_kept_by_scope_within_their_limits_and_beyond_a_restart(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo", memory={"enabled": True, "maxEntries": 2, "maxTotalChars": 40})
    repo.durable("top", ts="return await ctx.callTool('memory', params);", tools=("memory",))

    async def act(desk: Bench, action: str, scope: str = "", **params: Any) -> Any:
        return (await desk.run("top", {"action": action, **params}, scope=scope))["result"]

    async def fill(desk: Bench) -> None:
        first = await act(desk, "add", content="Ann prefers docks in the north")
        assert first["added"] is True
        assert "40" in (await act(desk, "add", content="x" * 20))["error"]
        assert (await act(desk, "add", content="No calls"))["content"] == "No calls"
        assert "2 notes" in (await act(desk, "add", content="y"))["error"]
        assert "content" in (await act(desk, "add", content=" "))["error"]
        assert (await act(desk, "add", "north", content="Another scope"))["added"] is True

    async def look(desk: Bench) -> None:
        listed = await act(desk, "list")
        assert [entry["content"] for entry in listed["entries"]] == ["Ann prefers docks in the north", "No calls"]
        assert listed["total"] == 2
        (found,) = (await act(desk, "search", query="DOCKS ann"))["entries"]
        assert (await act(desk, "remove", entry_id=found["entry_id"]))["removed"] is True
        assert "list" in (await act(desk, "remove", entry_id=found["entry_id"]))["error"]
        assert (await act(desk, "list"))["total"] == 1
        assert (await act(desk, "list", "north"))["total"] == 1

    on(repo, tmp_path / "data", fill)
    on(repo, tmp_path / "data", look)


@pytest.mark.parametrize("who", ["admin", "none"])
def test_a_memory_that_nobody_may_edit_can_be_read(tmp_path: Path, who: str) -> None:
    repo = Repo(tmp_path / "repo", memory={"enabled": True, "editableBy": who})
    repo.tool("top", ts="return await ctx.callTool('memory', params);", tools=("memory",))

    async def story(desk: Bench) -> None:
        for params in ({"action": "add", "content": "x"}, {"action": "remove", "entry_id": "x"}):
            assert f'editableBy is "{who}"' in (await desk.run("top", params))["result"]["error"]
        assert (await desk.run("top", {"action": "list"}))["result"] == {"entries": [], "total": 0}

    on(repo, tmp_path / "data", story)


def test_a_memory_that_is_not_enabled_is_offered_to_nobody(repo: Repo, tmp_path: Path) -> None:
    repo.agent("clerk", tools=["memory"])
    repo.tool("top", ts="return await ctx.callSubagent('clerk', 'Note it');", agents=("clerk",))
    model = repo.script(selects("clerk", "Note", "memory", {"action": "list"}), says("clerk"))
    assert "not available" in on(repo, tmp_path / "data", lambda desk: desk.run("top"), model=model)["result"]


def test_what_is_asked_and_shown_is_told_as_events(repo: Repo, tmp_path: Path) -> None:
    ts = """
const options = [{label: 'Yes', value: 'y'}, {label: 'No', value: 'n', description: 'Never'}];
const asked = await ctx.callTool('ask_choice', {question: 'Go?', options, type: 'widget', ask_id: 'a'});
const shown = await ctx.callTool('present', {widget: 'chart', data: [1, 2]});
let code;
try { await ctx.callTool('ask_choice', {question: 'Go?', options: options.slice(1)}); } catch (e) { code = e.code; }
return [asked.ask_id, shown, code];
"""
    repo.tool("top", ts=ts, tools=("ask_choice", "present"))
    ask, shown, code = on(repo, tmp_path / "data", lambda desk: desk.run("top"))["result"]
    assert shown == {"widget": "chart", "data": [1, 2], "rendered": True}
    assert code == "invalid-params"
    lines = (tmp_path / "data/logs/handlers.log").read_text().splitlines()
    choice, widget = (json.loads(line.split(" emit ", 1)[1]) for line in lines if " emit " in line)
    assert (choice["type"], choice["ask_id"], choice["question"]) == ("ask_choice", ask, "Go?")
    assert [option["value"] for option in choice["options"]] == ["y", "n"]
    assert widget == {"type": "widget", "widget_type": "chart", "data": [1, 2]}


def test_a_specialist_only_reads_if_all_do_whom_it_may_send(tmp_path: Path) -> None:
    agents = {
        "asker": Agent("asker", "", "", "", ("ask_choice", "call_subagent"), ("reader",)),
        "reader": Agent("reader", "", "", "", None, ("asker",), stores={"parcels": "read"}),
        "boss": Agent("boss", "", "", "", ("call_subagent",), ("asker", "writer")),
        "writer": Agent("writer", "", "", "", (), stores={"parcels": "rw"}),
    }
    stores = {"parcels": Store("parcels", "", "{id}", {})}
    bundle = Bundle(tmp_path, "bench", "1", "r1", {}, agents, {}, stores=stores)

    async def effects() -> dict[str, str]:
        journal = await SqliteJournal.open(tmp_path / "runtime.db")
        toolbox = Toolbox((ChatTools(), KnowledgeTools(), StoreTools(Documents(journal))))
        nothing: Any = None
        origin = Origin(bundle, nothing, "run", "", "", nothing, nothing, toolbox)
        calls = {name: HandlerCall(0, "subagent", name, "", '["Go"]') for name in agents}
        found = {name: str(effect_of(origin, call)) for name, call in calls.items()}
        await journal.close()
        return found

    assert play(effects()) == {"asker": "read", "reader": "read", "boss": "once", "writer": "once"}


PAUSES: dict[str, dict[str, str]] = {
    "ts": {
        "input": "return {got: (await ctx.requestInput({question: 'Which dock?', context: {parcel: 7}})).value};",
        "approval": "return {got: (await ctx.waitForApproval('Release it?')).approved};",
        "sleep": "await ctx.sleepUntil(ctx.now() + 3600000);",
    },
    "py": {
        "input": "return await ctx.request_input({'question': 'Which dock?', 'context': {'parcel': 7}})",
        "approval": "return {'got': (await ctx.wait_for_approval('Release it?'))['approved']}",
        "sleep": "await ctx.sleep_until(ctx.now() + 3600000)",
    },
}


@pytest.mark.parametrize("kind", ["ts", "py"])
@pytest.mark.parametrize("pause", ["input", "approval", "sleep"])
def test_a_model_is_told_that_a_durable_tool_has_paused_and_its_turn_continues(
    repo: Repo, kind: str, pause: str, durable: bool, tmp_path: Path
) -> None:
    source: Any = {kind: PAUSES[kind][pause]}
    repo.durable("pauses", **source)
    repo.agent("clerk", tools=["pauses"])
    calling(repo, durable, "top", "return await ctx.callSubagent('clerk', 'Go');", agents=("clerk",))
    model = repo.script(selects("clerk", "Go", "pauses", {}), says("clerk"))

    async def story(desk: Bench) -> None:
        reply = await desk.run("top")
        told = json.loads(reply["result"])
        message = told.pop("message")
        asked = {"status": "awaiting_operator", "question": "Which dock?", "context": {"parcel": 7}}
        asked |= {"input_type": "text", "allow_edits": False}
        expected: dict[str, Any] = asked if pause == "input" else {"status": "running"}
        own = told["session_id"]
        assert told == {"durable": True, "session_id": own, **expected}
        assert f"{'sleeps' if pause == 'sleep' else 'waits for a person'} as run {own}" in message
        row = (await desk.detail(own))["run"]
        assert row["parent_session_id"] is not None
        if durable:
            assert row["parent_session_id"] == reply["sessionId"]
            assert {span["state"] for span in (await desk.spans(reply["sessionId"])).values()} == {"ok"}
        if pause != "sleep":
            waiting = (await desk.runtime.pending(who="ann"))["approvals"]
            assert [one["parent_session_id"] for one in waiting] == [row["parent_session_id"]]
            assert (await desk.answer(own, "yes"))["outcome"]["kind"] == "complete"

    on(repo, tmp_path / "data", story, model=model)


def test_a_model_gets_the_result_or_the_failure_of_a_durable_tool_that_ends(
    repo: Repo, durable: bool, tmp_path: Path
) -> None:
    repo.durable("ends", py="return {'dock': 4}")
    repo.durable("fails", ts="throw new Error('no dock');")
    repo.agent("clerk", tools=["ends", "fails"])
    calling(repo, durable, "top", "return await ctx.callSubagent('clerk', params.task);", agents=("clerk",))
    model = repo.script(selects("clerk", "End", "ends", {}), selects("clerk", "Fail", "fails", {}), says("clerk"))

    async def story(desk: Bench) -> None:
        assert json.loads((await desk.run("top", {"task": "End"}))["result"]) == {"dock": 4}
        failed = (await desk.run("top", {"task": "Fail"}))["result"]
        assert failed == 'Tool execution failed: Tool "fails" failed: no dock'

    on(repo, tmp_path / "data", story, model=model)


@pytest.mark.parametrize("language", ["ts", "py"])
def test_a_match_that_takes_for_ever_fails_its_specialist_alone(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setattr("runtime_core.agents.scripted.MATCH_S", 0.3)
    repo.agent("clerk")
    ts = "try { await ctx.callSubagent('clerk', params.ask) } catch (e) { return [e.code, e.message] }"
    py = "try: await ctx.call_subagent('clerk', params['ask'])\nexcept Exception as e: return [e.code, str(e)]"
    repo.durable("top", **{language: {"ts": ts, "py": py}[language]}, agents=("clerk",))
    model = repo.script({"match": "(a|aa)+$", "text": "never"})
    ask = {"ask": "a" * 9999 + "!"}
    code, told = on(repo, tmp_path / "data", lambda desk: desk.run("top", ask), model=model)["result"]
    assert code == "subagent-failed"
    assert "Write a simpler match" in told
