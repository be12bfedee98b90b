"""What a turn of a conversation is served with (contract 3.2, 5.2, 9.2 and 10)."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine.prompt import chat_prompt, specialist_prompt
from runtime_core.repo.loader import load_bundle
from runtime_core.wire.json import dumps
from runtime_core.wire.memory import Note
from runtime_core.wire.settings import Confirmations, Settings
from tests.unit.chat.talking import Talker, of_type, talking
from tests.unit.engine.workshop import Repo, play

FILES = [{"filename": "a.png", "mimeType": "image/png", "data": "AA=="}]
SEEN_TS = "return { files: (ctx.attachments ?? []).map((file) => file.filename), has: 'attachments' in ctx };"
SEEN_PY = "return {'files': [file['filename'] for file in ctx.attachments], 'has': True}"
HOOK = """
export const createHook = () => ({ run: (point, payload, ctx) =>
  payload.toolName === 'noted' ? { action: 'block', reason: ctx.caller.source } : { action: 'allow' } });
"""
GUARD = {
    "ts": """
export const createHook = () => ({ run: (point, payload, ctx) => {
  ctx.log(point);
  return point !== 'postTurn' && payload.text.includes('secret')
    ? { action: 'block', reason: 'no secrets' } : { action: 'allow' };
} });
""",
    "py": """
class Guard:
    def run(self, point, payload, ctx):
        ctx.log(point)
        is_secret = 'secret' in payload.get('text', '')
        return {'action': 'block', 'reason': 'no secrets'} if is_secret else {'action': 'allow'}


def create_hook(config):
    return Guard()
""",
}
AGENT = """
const isTop = (ctx) => !ctx.isSubagent && ctx.agentName === 'default' && ctx.userId === 'ann';
export default {
  subagents: ['helper'],
  tools: [
    'noted', { name: 'human', conditional: (ctx) => ctx.humanPresent }, { name: 'top', conditional: isTop },
  ],
};
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def calls(*names: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "args": {}} for name in names], **more}


def told(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The results of a turn by the names of their tools."""
    names = {one["tool_id"]: one["tool_name"] for one in of_type(events, "tool_call_start")}
    return {names[one["tool_id"]]: _value(one) for one in of_type(events, "tool_call_result")}


def _value(result: dict[str, Any]) -> Any:
    try:
        return json.loads(result["result"]) if result["status"] == "success" else result["error"]
    except json.JSONDecodeError:
        return result["result"]


def test_files_of_a_turn_reach_the_tools_that_its_model_selects_and_no_others(repo: Repo, tmp_path: Path) -> None:
    repo.agent("default", tools=["seen_ts", "seen_py", "nests", "later", "call_subagent"], subagents=["helper"])
    repo.agent("helper", tools=["of_helper"])
    repo.tool("seen_ts", ts=SEEN_TS)
    repo.tool("seen_py", py=SEEN_PY)
    repo.tool("child", ts=SEEN_TS)
    repo.tool("of_helper", ts=SEEN_TS)
    repo.tool("nests", ts="return await ctx.callTool('child', {});", tools=("child",))
    repo.durable("later", ts=SEEN_TS)
    sent = {"name": "call_subagent", "args": {"agent": "helper", "task": "Look"}}
    selected = calls("seen_ts", "seen_py", "nests", "later")["tool_calls"]
    model = repo.script(
        {"agent": "default", "tool_calls": [*selected, sent]},
        {"agent": "helper", **calls("of_helper")},
        {"agent": "helper", "text": "ok"},
        {"agent": "default", "text": "Seen.", "repeat": True},
        calls("seen_ts"),
    )

    async def story() -> None:
        async with talking(repo, tmp_path / "data", model) as talker:
            found = told(await talker.say("Look at this.", attachments=dumps(FILES)))
            given, nothing = {"files": ["a.png"], "has": True}, {"files": [], "has": False}
            assert (found["seen_ts"], found["seen_py"]) == (given, given)
            assert (found["child"], found["nests"], found["later"], found["of_helper"]) == (nothing,) * 4

    play(story())


def test_calls_of_two_turns_have_ids_of_their_own_and_the_session_of_the_conversation(
    repo: Repo, tmp_path: Path
) -> None:
    repo.agent("default", tools=["who"])
    repo.tool("who", ts="return [ctx.callId, ctx.sessionId];")
    model = repo.script(calls("who"), {"text": "One."}, calls("who"), {"text": "Two."})

    async def story() -> None:
        async with talking(repo, tmp_path / "data", model) as talker:
            found = [told(await talker.say(text))["who"] for text in ("First.", "Second.")]
            assert {session for _, session in found} == {talker.session_id}
            assert len({call for call, _ in found}) == 2

    play(story())


def test_what_a_conversation_starts_and_asks_has_it_as_parent(repo: Repo, tmp_path: Path) -> None:
    repo.agent("default", tools=["guarded", "asks"])
    guarded = {"id": "guarded", "exposure": {"kind": "requires-confirmation"}, "base": {"description": "Writes."}}
    code = f"export default {{ ...{dumps(guarded)}, handle: async (ctx) => 'written' }};\n"
    repo.file("amodal/tools/guarded/tool.ts", code)
    repo.durable("asks", ts="return (await ctx.requestInput({ question: 'Go on?' })).value;")
    model = repo.script(calls("asks", "guarded"), {"text": "Over."})

    async def story() -> None:
        settings = Settings(confirmations=Confirmations(wait_s=30))
        async with talking(repo, tmp_path / "data", model, settings=settings) as talker:
            events = list[dict[str, Any]]()
            async for event in talker.events("Go."):
                events.append(event)
                if event["type"] == "confirmation_required":
                    await talker.desk.answer(event["session_id"], "yes")
            waiting = (await talker.runtime.pending(who="ann"))["approvals"]
            assert [one["parent_session_id"] for one in waiting] == [talker.session_id]
            (asked,) = of_type(events, "confirmation_required")
            assert (await talker.desk.detail(asked["session_id"]))["run"]["parent_session_id"] == talker.session_id
            found = told(events)
            assert found["guarded"] == "written"
            assert found["asks"]["input_type"] == "text"
            assert found["asks"]["session_id"] == waiting[0]["session_id"]

    play(story())


def test_a_call_that_nobody_allows_in_time_is_denied_and_the_turn_goes_on(repo: Repo, tmp_path: Path) -> None:
    repo.agent("default", tools=["guarded"])
    code = "{ id: 'guarded', exposure: { kind: 'requires-confirmation' }, base: {}, handle: async () => 1 }"
    repo.file("amodal/tools/guarded/tool.ts", f"export default {code};\n")
    model = repo.script(calls("guarded"), {"text": "{{last_tool_result}}"})

    async def story() -> None:
        settings = Settings(confirmations=Confirmations(wait_s=0.3))
        async with talking(repo, tmp_path / "data", model, settings=settings) as talker:
            events = await talker.say("Go.")
            assert talker.text(events) == "Tool call denied by user: nobody answered within 0.3 s."
            assert of_type(events, "done")[0]["reason"] == "model_stop"

    play(story())


@pytest.mark.parametrize(("source", "present"), [("chat", True), ("automation", False)])
def test_hooks_and_predicates_know_for_whom_an_agent_works(
    repo: Repo, tmp_path: Path, source: Any, present: bool
) -> None:
    for name in ("default", "helper"):
        repo.file(f"agents/{name}/AGENT.md", f"You are {name}.\n")
        repo.file(f"agents/{name}/agent.ts", AGENT)
    for tool in ("noted", "human", "top"):
        repo.tool(tool, ts="return 1;")
    repo.file("hooks/guard/hook.json", {"points": ["preToolUse"], "config": {}})
    repo.file("hooks/guard/index.mjs", HOOK)
    sent = {"name": "call_subagent", "args": {"agent": "helper", "task": "Look"}}
    model = repo.script(
        {"agent": "default", "tool_calls": [*calls("noted", "human", "top")["tool_calls"], sent]},
        {"agent": "helper", **calls("noted", "human", "top")},
        {"text": "ok", "repeat": True},
    )

    async def story() -> None:
        async with talking(repo, tmp_path / "data", model) as talker:
            events = await talker.say("Go.", source=source, human_present=present)
            starts = {one["tool_id"]: one for one in of_type(events, "tool_call_start")}
            found = [(starts[one["tool_id"]], one) for one in of_type(events, "tool_call_result")]
            said = {(call["tool_name"], call["depth"]): one.get("error", one.get("result")) for call, one in found}
            for depth in (0, 1):
                assert said["noted", depth] == f'The hook "guard" blocked this: {source}'
                assert (said["human", depth] == "1") is present
            assert said["top", 0] == "1"
            assert said["top", 1] == 'Tool "top" is not available to the agent "helper".'

    play(story())


@pytest.mark.parametrize("kind", ["ts", "py"])
def test_hooks_stand_around_the_turn_of_a_chat(repo: Repo, kind: str, tmp_path: Path) -> None:
    repo.agent("default")
    repo.file("hooks/guard/hook.json", {"points": ["preInput", "preOutput", "postTurn"]})
    repo.file(f"hooks/guard/{'index.mjs' if kind == 'ts' else 'hook.py'}", GUARD[kind])
    model = repo.script({"text": "Hi"}, {"text": "A secret!"})

    async def story() -> None:
        async with talking(repo, tmp_path / "data", model) as talker:
            blocked = 'The hook "guard" blocked this: no secrets'
            for said, answer, problems in (
                ("A secret?", "", [blocked]),
                ("Hello", "Hi", []),
                ("Hello", "", [blocked]),
            ):
                events = await talker.say(said)
                assert talker.text(events) == answer
                assert [one["message"] for one in of_type(events, "error")] == problems

    play(story())
    log = (tmp_path / "data/logs/handlers.log").read_text()
    points = [line.partition(" log ")[2] for line in log.splitlines()]
    answered = ["preInput", "preOutput", "postTurn"]
    assert points == ["preInput", "postTurn", *answered, *answered]


def test_specialists_five_levels_down_are_heard_and_counted(repo: Repo, tmp_path: Path) -> None:
    names = ["default", *(f"level{number}" for number in range(1, 7))]
    replies = list[dict[str, Any]]()
    for above, below in pairwise(names):
        repo.agent(above, subagents=[below])
        send = {"name": "call_subagent", "args": {"agent": below, "task": "Go on"}}
        replies.append({"agent": above, "tool_calls": [send], "usage": {"input_tokens": 10}})
        replies.append({"agent": above, "text": "It says {{last_tool_result}}", "usage": {"output_tokens": 1}})
    repo.agent(names[-1])
    model = repo.script(*replies)

    async def story() -> None:
        async with talking(repo, tmp_path / "data", model) as talker:
            events = await talker.say("Go.")
            assert "Subagents call each other at most 5 levels deep" in talker.text(events)
            assert [one["depth"] for one in of_type(events, "tool_call_start")] == [0, 1, 2, 3, 4, 5]
            usage = of_type(events, "done")[0]["usage"]
            assert (usage["input_tokens"], usage["output_tokens"]) == (60, 6)
            thoughts = [one for one in of_type(events, "subagent_event") if one["event_type"] == "thought"]
            assert {one["agent_name"] for one in thoughts} == set(names[1:6])

    play(story())


def test_the_prompt_of_an_agent_that_talks_says_what_there_is_beside_its_own(repo: Repo) -> None:
    repo.file("amodal.json", {"name": "b", "version": "1", "basePrompt": "You work for Rosa."})
    repo.agent("default", skills=["refunds"], connections=["shop"], targetOutputMin=50, targetOutputMax=120)
    repo.file("skills/refunds/SKILL.md", "# Skill: Refunds\n\nHow to refund.\n\nTrigger: money back\n")
    repo.file("skills/other/SKILL.md", "# Skill: Other\n\nNot granted.\n")
    repo.file("knowledge/policy.md", "# The policy\n\nLong text.\n")
    repo.file("connections/shop/spec.json", {"baseUrl": "https://shop.example"})
    repo.file("connections/shop/surface.md", "GET /orders lists orders.\n")
    repo.file("connections/shop/rules.md", "Never guess an order.\n")
    repo.file("connections/shop/extra.md", "Not for models.\n")
    bundle = load_bundle(repo.root)
    agent, note = bundle.agents["default"], Note("n1", "Ann likes it short.", time.time(), "ann")
    prompt = asyncio.run(chat_prompt(agent, bundle, ["load_knowledge", "memory"], [note]))
    assert prompt == (
        "You work for Rosa.\n\nYou are default.\n\nAnswer in about 50 to 120 words.\n\n"
        "## Skills (load_knowledge gives the whole text of one by its name)\n\n"
        "- refunds: How to refund. Use it when: money back\n\n"
        "## Documents that load_knowledge gives\n\n- policy: The policy\n\n"
        "## Connection shop\n\nGET /orders lists orders.\nNever guess an order.\n\n"
        "## What you noted in earlier conversations\n\n- Ann likes it short."
    )
    plain = replace(agent, skills=(), connections=(), target_output=(None, 80))
    assert asyncio.run(chat_prompt(plain, bundle, [], [note])) == (
        "You work for Rosa.\n\nYou are default.\n\nAnswer in at most about 80 words."
    )
    assert specialist_prompt(plain) == "You are default.\n\n\nAnswer in at most about 80 words."


def test_a_skill_is_loaded_by_the_agent_that_has_it_alone(repo: Repo, tmp_path: Path) -> None:
    repo.file("skills/refunds/SKILL.md", "# Skill: Refunds\n\nHow to refund.\n")
    repo.agent("default", skills=["refunds"])
    repo.agent("other", tools=["load_knowledge"])
    load = {"tool_calls": [{"name": "load_knowledge", "args": {"name": "refunds"}}]}
    model = repo.script(load, {"text": "ok"}, load, {"text": "ok"})

    async def story() -> None:
        async with talking(repo, tmp_path / "data", model) as talker:
            assert told(await talker.say("Go."))["load_knowledge"].startswith("# Skill: Refunds")
            other = Talker(talker.desk)
            assert "There is no document" in told(await other.say("Go.", agent="other"))["load_knowledge"]

    play(story())


def test_the_model_of_a_conversation_is_that_of_the_runs_it_waits_for(repo: Repo, tmp_path: Path) -> None:
    repo.agent("default", tools=["later"])
    repo.agent("helper")
    repo.durable("later", ts="return await ctx.callSubagent('helper', 'Help');", agents=("helper",))
    chosen = repo.script(
        {"agent": "default", **calls("later")}, {"agent": "helper", "text": "Helped."}, {"text": "{{last_tool_result}}"}
    )

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            assert talker.text(await talker.say("Go.", model=chosen)) == '{"result":"Helped."}'

    play(story())


def test_an_agent_sends_specialists_no_deeper_than_it_says(repo: Repo, tmp_path: Path) -> None:
    repo.agent("default", subagents=["one"], maxDepth=1)
    repo.agent("one", subagents=["two"])
    repo.agent("two")
    sends = [{"name": "call_subagent", "args": {"agent": name, "task": "Go on"}} for name in ("one", "two")]
    replies = [{"agent": name, "tool_calls": [send]} for name, send in zip(("default", "one"), sends, strict=True)]
    model = repo.script(*replies, {"text": "{{last_tool_result}}", "repeat": True})

    async def story() -> None:
        async with talking(repo, tmp_path / "data", model) as talker:
            assert "at most 1 levels deep" in talker.text(await talker.say("Go."))

    play(story())
