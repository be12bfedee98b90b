"""What a run would do next, without anything being executed or stored."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine import dry_hosts, dry_runs
from runtime_core.journal.base import Answer
from runtime_core.runtime import Runtime
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps
from tests.unit.engine.workshop import Bench, Repo, bench, play


async def preview(desk: Bench, run_id: str, value: Any, **more: Any) -> dict[str, Any]:
    more.setdefault("who", "ann")
    return await desk.runtime.preview(Answer(run_id, dumps(value), **more))


RELEASE: dict[str, dict[str, Any]] = {
    "typescript": {
        "ts": """
const plan = await ctx.callTool('plan', {});
const target = await ctx.requestInput({question: 'Where?', inputType: 'choice', options: [
  {value: 'staging', label: 'Staging'}, {value: 'both', label: 'Both'}, {value: 'ask', label: 'Ask'},
  {value: 'wait', label: 'Wait'}, {value: 'note', label: 'Note'}, {value: 'none', label: 'None'},
  {value: 'bad', label: 'Bad'}]});
switch (target.value) {
  case 'staging': return await ctx.callTool('release', {target: 'staging', plan});
  case 'both': return await Promise.all([ctx.callTool('release', {target: 'eu'}), ctx.callSubagent('checker', 'ok?'),
    ctx.step('count', () => 1)]);
  case 'ask': return await ctx.waitForApproval('Really?');
  case 'wait': await ctx.sleepUntil('2100-01-01T00:00:00Z'); return 'late';
  case 'note': return await ctx.step('write', () => 'written');
  case 'bad': throw new Error('no such place');
}
return {released: false, by: target.respondedBy};
"""
    },
    "python": {
        "py": """
import asyncio
plan = await ctx.call_tool('plan', {})
target = await ctx.request_input(question='Where?', input_type='choice', options=[
    {'value': value, 'label': value} for value in ('staging', 'both', 'ask', 'wait', 'note', 'none', 'bad')])
match target['value']:
    case 'staging':
        return await ctx.call_tool('release', {'target': 'staging', 'plan': plan})
    case 'both':
        return await asyncio.gather(ctx.call_tool('release', {'target': 'eu'}), ctx.call_subagent('checker', 'ok?'),
            ctx.step('count', lambda: 1))
    case 'ask':
        return await ctx.wait_for_approval('Really?')
    case 'wait':
        await ctx.sleep_until('2100-01-01T00:00:00Z')
        return 'late'
    case 'note':
        return await ctx.step('write', lambda: 'written')
    case 'bad':
        raise ValueError('no such place')
return {'released': False, 'by': target['respondedBy']}
"""
    },
}


def desk_of(root: Path, language: str) -> Repo:
    repo = Repo(root)
    repo.agent("checker")
    repo.durable("choose", tools=("plan", "release"), agents=("checker",), **RELEASE[language])
    repo.tool("plan", ts="return {steps: 3};")
    repo.tool("release", ts="return 'released';")
    return repo


@pytest.mark.parametrize("language", RELEASE)
def test_each_answer_of_a_choice_leads_somewhere_else(tmp_path: Path, language: str) -> None:
    repo = desk_of(tmp_path / "repo", language)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("choose"))["sessionId"]
            before = await desk.detail(run_id)

            staging = await preview(desk, run_id, "staging")
            assert staging["outcome"] == {"kind": "call"}
            assert staging["calls"] == [
                {
                    "kind": "tool",
                    "name": "release",
                    "params": {"target": "staging", "plan": {"steps": 3}},
                    "path": ["choose"],
                }
            ]
            assert staging["pause_id"] == before["pauses"][0]["pause_id"]

            both = await preview(desk, run_id, "both")
            assert [(call["kind"], call["name"]) for call in both["calls"]] == [
                ("tool", "release"),
                ("subagent", "checker"),
                ("step", "count"),
            ]
            ask = await preview(desk, run_id, "ask")
            assert ask["outcome"]["kind"] == "question"
            assert ask["outcome"]["pause"] == ask["questions"][0]
            assert ask["questions"][0]["question"] == "Really?"
            assert ask["questions"][0]["kind"] == "approval"
            wait = await preview(desk, run_id, "wait")
            assert wait["outcome"] == {"kind": "sleeping", "wake_at": "2100-01-01T00:00:00.000Z"}
            assert wait["calls"][0]["due"] == "2100-01-01T00:00:00.000Z"
            note = await preview(desk, run_id, "note")
            assert [(call["kind"], call["name"]) for call in note["calls"]] == [("step", "write")]
            none = await preview(desk, run_id, "none", who="bob")
            assert none["outcome"] == {"kind": "complete"}
            assert none["result"] == {"released": False, "by": "bob"}
            bad = await preview(desk, run_id, "bad")
            assert bad["outcome"]["kind"] == "failed"
            assert "no such place" in bad["outcome"]["reason"]

            assert await desk.detail(run_id) == before
            done = await desk.answer(run_id, "staging")
            assert done["result"] == "released"

    play(story())


NESTED: dict[str, dict[str, Any]] = {
    "typescript": {
        "top": {"ts": "const got = await ctx.callTool('middle', {}); return await ctx.callTool('plan', {got});"},
        "middle": {"ts": "return [await ctx.callTool('bottom', {})];"},
        "bottom": {
            "ts": """
const first = await ctx.requestInput('One?');
if (first.value === 'more') return await ctx.requestInput('Two?');
return first.value;
"""
        },
    },
    "python": {
        "top": {"py": "return await ctx.call_tool('plan', {'got': await ctx.call_tool('middle', {})})"},
        "middle": {"py": "return [await ctx.call_tool('bottom', {})]"},
        "bottom": {
            "py": """
first = await ctx.request_input('One?')
if first['value'] == 'more':
    return await ctx.request_input('Two?')
return first['value']
"""
        },
    },
}


@pytest.mark.parametrize("language", NESTED)
def test_a_question_of_a_child_of_a_child_leads_on_through_both(tmp_path: Path, language: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("top", tools=("middle", "plan"), **NESTED[language]["top"])
    repo.durable("middle", tools=("bottom",), **NESTED[language]["middle"])
    repo.durable("bottom", **NESTED[language]["bottom"])
    repo.tool("plan", ts="return params;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("top"))["sessionId"]
            on = await preview(desk, run_id, "fine")
            assert on["calls"] == [{"kind": "tool", "name": "plan", "params": {"got": ["fine"]}, "path": ["top"]}]
            more = await preview(desk, run_id, "more")
            assert more["outcome"]["kind"] == "question"
            assert more["outcome"]["pause"]["question"] == "Two?"
            assert more["outcome"]["pause"]["path"] == ["top", "middle", "bottom"]
            assert (await desk.answer(run_id, "fine"))["result"] == {"got": ["fine"]}

    play(story())


BOTH: dict[str, dict[str, Any]] = {
    "typescript": {
        "ts": """
const ask = async (question) => { const got = await ctx.requestInput(question);
  return await ctx.step(`take ${got.value}`, () => got.value); };
return await Promise.all([ask('Left?'), ask('Right?'), ctx.sleepUntil('2100-01-01T00:00:00Z')]);
"""
    },
    "python": {
        "py": """
import asyncio
async def ask(question):
    got = await ctx.request_input(question)
    return await ctx.step(f"take {got['value']}", lambda: got['value'])
return await asyncio.gather(ask('Left?'), ask('Right?'), ctx.sleep_until('2100-01-01T00:00:00Z'))
"""
    },
}


@pytest.mark.parametrize("language", BOTH)
def test_of_two_questions_the_other_one_stays_open(tmp_path: Path, language: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("both", **BOTH[language])

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("both"))["sessionId"]
            open_ones = (await desk.detail(run_id))["pauses"]
            ids = {pause["question"]: pause["pause_id"] for pause in open_ones}
            right = await preview(desk, run_id, "r", pause_id=ids["Right?"])
            assert right["pause_id"] == ids["Right?"]
            assert [call["name"] for call in right["calls"]] == ["take r"]
            assert (await preview(desk, run_id, "l"))["pause_id"] == ids["Left?"]

    play(story())


def test_with_nothing_new_the_question_that_is_open_is_shown(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("both", ts="await Promise.all([ctx.requestInput('Left?'), ctx.requestInput('Right?')]);")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("both"))["sessionId"]
            left = await preview(desk, run_id, "l")
            assert left["outcome"]["kind"] == "question"
            assert left["outcome"]["pause"]["question"] == "Right?"
            assert left["questions"] == []

    play(story())


STRICT_ASK = """
const got = await ctx.requestInput({question: 'Which?', context: {n: 1}, eligibleAnswerers: ['ann', 'bob'], quorum: 2,
  allowEdits: true, schema: {type: 'object', required: ['n']}});
return await ctx.callTool('plan', {n: got.edits?.n, by: got.respondedBy});
"""


def test_an_answer_that_would_be_refused_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", ts=STRICT_ASK, tools=("plan",))
    repo.durable("plain", ts="return await ctx.requestInput('Well?');")
    repo.tool("plan", ts="return params;")

    async def refused(desk: Bench, run_id: str, value: Any, **more: Any) -> str:
        with pytest.raises(RuntimeFault) as caught:
            await preview(desk, run_id, value, **more)
        return caught.value.code

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            plain = (await desk.run("plain"))["sessionId"]
            assert await refused(desk, "dur_none", 1) == "NOT_FOUND"
            assert await refused(desk, run_id, 1, who="eve") == "answerer_not_allowed"
            assert await refused(desk, run_id, 1, pause_id="other") == "pause_superseded"
            assert await refused(desk, run_id, 1, fingerprint="other") == "content_changed"
            assert await refused(desk, run_id, 1, edits="{}") == "edits_invalid"
            assert await refused(desk, plain, 1, edits="{}") == "edits_not_allowed"
            decisive = await preview(desk, run_id, 1, edits='{"n": 2}', who="bob", key="k")
            assert decisive["calls"][0]["params"] == {"n": 2, "by": "bob"}
            assert [pause["votes"]["given"] for pause in (await desk.detail(run_id))["pauses"]] == [0]
            await desk.answer(run_id, 3, edits='{"n": 4}', who="ann", key="k")
            done = await desk.answer(run_id, 3, edits='{"n": 4}', who="bob", key="l")
            assert done["result"] == {"n": 4, "by": "bob"}
            assert await refused(desk, run_id, 1) == "not_awaiting_input"

    play(story())


CUT_OFF: dict[str, dict[str, Any]] = {
    "typescript": {
        "ts": """
try { return {made: await ctx.callTool('slow', {n: 1})}; } catch (error) { return {failed: error.code}; }
"""
    },
    "python": {
        "py": """
try:
    return {'made': await ctx.call_tool('slow', {'n': 1})}
except CompositeCallError as error:
    return {'failed': error.code}
"""
    },
}


@pytest.mark.parametrize("language", CUT_OFF)
def test_what_to_do_about_a_call_that_was_cut_off_is_previewed_too(tmp_path: Path, language: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("top", tools=("slow",), **CUT_OFF[language])
    repo.tool("slow", py="import asyncio\nawait asyncio.sleep(60)")

    async def cut_off() -> str:
        runtime = Runtime(tmp_path / "data")
        await runtime.open()
        desk = Bench(runtime, repo)
        try:
            run_id = (await desk.run("top", wait_s=0))["sessionId"]
            await desk.until("span", name="slow")
        finally:
            await runtime.close(grace_s=0)
        return run_id

    async def story(run_id: str) -> None:
        async with bench(repo, tmp_path / "data") as desk:
            await desk.runtime.recover()
            assert (await desk.detail(run_id))["run"]["status"] == "needs-attention"
            again = await preview(desk, run_id, "run-again")
            assert again["calls"] == [{"kind": "tool", "name": "slow", "params": {"n": 1}, "path": ["top"]}]
            assert (await preview(desk, run_id, "fail"))["result"] == {"failed": "execution-failed"}
            assert (await preview(desk, run_id, {"use_result": [7]}))["result"] == {"made": [7]}
            with pytest.raises(RuntimeFault, match="run-again"):
                await preview(desk, run_id, "perhaps")

    play(story(play(cut_off())))


ENDLESS = {
    "typescript": {"ts": "const got = await ctx.requestInput('Spin?');\nif (got.value) while (true);\nreturn 'calm';"},
    "python": {"py": "got = await ctx.request_input('Spin?')\nwhile got['value']: pass\nreturn 'calm'"},
}


@pytest.mark.parametrize("language", ENDLESS)
def test_a_handler_that_hangs_cannot_be_told_and_takes_nobody_with_it(
    tmp_path: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry_runs, "PREVIEW_S", 1.0)
    repo = Repo(tmp_path / "repo")
    repo.durable("spin", **ENDLESS[language])
    repo.tool("slow", py="import asyncio\nawait asyncio.sleep(2)\nreturn 'innocent'")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("spin"))["sessionId"]
            innocent = asyncio.create_task(desk.run("slow"))
            spin, calm = await asyncio.gather(preview(desk, run_id, True), preview(desk, run_id, False))
            assert spin["outcome"]["kind"] == "cannot-tell"
            assert spin["outcome"]["code"] == "deadline"
            assert "spin did not come to a stop within 1 s" in spin["outcome"]["reason"]
            assert calm["result"] == "calm"
            assert (await preview(desk, run_id, False))["result"] == "calm"
            assert (await innocent)["result"] == "innocent"
            assert (await desk.answer(run_id, False))["result"] == "calm"

    play(story())


def test_code_that_cannot_run_cannot_be_told(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    ask = "return (await ctx.requestInput('Well?')).value;"
    repo.durable("ask", ts=ask)

    async def told(desk: Bench, run_id: str) -> tuple[str, str]:
        found = (await preview(desk, run_id, 1))["outcome"]
        return found["kind"], found["code"]

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            repo.durable("ask", ts="const x = ;")
            assert await told(desk, run_id) == ("cannot-tell", "load-failed")
            repo.tool("ask", ts=ask)
            assert await told(desk, run_id) == ("cannot-tell", "tool-unavailable")
            repo.root.rename(tmp_path / "away")
            assert await told(desk, run_id) == ("cannot-tell", "repository-unavailable")
            (tmp_path / "away").rename(repo.root)
            repo.durable("ask", ts="await ctx.callTool('other', {}); " + ask, tools=("other",))
            repo.tool("other", ts="return 1;")
            assert await told(desk, run_id) == ("diverged", "replay-diverged")
            repo.durable("ask", ts="return (await ctx.requestInput('Well, well?')).value;")
            assert await told(desk, run_id) == ("diverged", "content_changed")
            repo.durable("ask", ts=ask)
            assert (await preview(desk, run_id, 1))["result"] == 1
            assert (await desk.answer(run_id, 2))["result"] == 2

    play(story())


def test_a_run_that_was_resumed_on_its_old_code_is_previewed_on_that(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    code = """
await ctx.requestInput('One?');
await ctx.callTool('plan', {});
await ctx.requestInput('Two?');
await ctx.requestInput('Three?');
return 'old';
"""
    repo.durable("ask", ts=code, tools=("plan", "release"))
    repo.tool("plan", ts="return 1;")
    repo.tool("release", ts="return 1;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            await desk.answer(run_id, 1)
            old = (await desk.detail(run_id))["run"]["revision"]
            repo.durable("ask", ts=code.replace("plan", "release").replace("old", "new"), tools=("plan", "release"))
            assert (await preview(desk, run_id, 2))["outcome"]["kind"] == "diverged"
            assert (await desk.answer(run_id, 2))["outcome"]["kind"] == "diverged"
            with pytest.raises(RuntimeFault) as refused:
                await preview(desk, run_id, 3)
            assert refused.value.code == "not_awaiting_input"
            resumed = await desk.runtime.resume(run_id, old, who="ann")
            assert resumed["outcome"]["question"] == "Three?"
            assert (await preview(desk, run_id, 3))["result"] == "old"

    play(story())


UNSTEADY = """
globalThis.passes = (globalThis.passes ?? 0) + 1;
await ctx.callTool('plan', {n: PARAMS});
return (await ctx.requestInput('Well?')).value;
"""


def test_parameters_that_the_same_code_makes_otherwise_cannot_be_told(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.tool("plan", ts="return 1;")
    repo.durable("ask", ts=UNSTEADY.replace("PARAMS", "performance.timeOrigin"), tools=("plan",))
    repo.durable("fixed", ts=UNSTEADY.replace("PARAMS", "1"), tools=("plan",))

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            fixed = (await desk.run("fixed"))["sessionId"]
            found = (await preview(desk, run_id, 1))["outcome"]
            assert (found["kind"], found["code"]) == ("cannot-tell", "not-replayable")
            assert 'callTool "plan"' in found["reason"]
            repo.durable("fixed", ts=UNSTEADY.replace("PARAMS", "2"), tools=("plan",))
            assert (await preview(desk, fixed, 1))["result"] == 1

    play(story())


def test_what_is_over_by_now_goes_on_in_a_preview(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    ask = """
const [first, second] = await Promise.all([ctx.requestInput('First?'),
  ctx.requestInput({question: 'Second?', timeoutMs: 1100, onExpire: {value: 'nobody'}})]);
return [first.value, second.value];
"""
    repo.durable("ask", ts=ask)

    async def wait() -> tuple[str, float]:
        async with bench(repo, tmp_path / "data") as desk:
            return (await desk.run("ask"))["sessionId"], time.time() + 1.2

    async def story(run_id: str, late: float) -> None:
        async with bench(repo, tmp_path / "data", execute=False) as desk:
            await asyncio.sleep(late - time.time())
            assert (await preview(desk, run_id, 1))["result"] == [1, "nobody"]
            assert (await desk.detail(run_id))["run"]["status"] == "awaiting-input"

    play(story(*play(wait())))


def contents(folder: Path) -> dict[str, str]:
    """Every file with its digest, without the notes of living processes; of the journal what it holds."""
    wanted = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "processes")
    files = [path for path in wanted if not path.name.endswith(("-wal", "-shm"))]
    found = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.suffix != ".db"}
    for path in files:
        if path.suffix == ".db":
            with sqlite3.connect(path) as db:
                found[str(path)] = "\n".join(db.iterdump())
            db.close()
    return found


@pytest.mark.parametrize("language", RELEASE)
def test_two_hundred_previews_leave_nothing_behind(
    tmp_path: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry_hosts, "LINGER_S", 0.2)
    repo = desk_of(tmp_path / "repo", language)

    async def story() -> None:
        async with bench(repo, tmp_path / "data", execute=True) as desk:
            run_id = (await desk.run("choose"))["sessionId"]
            await desk.answer((await desk.run("choose"))["sessionId"], "none")
            values = ["staging", "both", "ask", "wait", "note", "none", "bad", "staging"]
            await asyncio.gather(*(preview(desk, run_id, value) for value in values))
            before = contents(tmp_path)
            async with bench(repo, tmp_path / "data", execute=False) as client:
                for _ in range(25):
                    await asyncio.gather(*(preview(client, run_id, value) for value in values))
                found = await preview(client, run_id, "staging")
                assert found["calls"][0]["name"] == "release"
                hosts = client.runtime._dry_runs._hosts
                assert hosts.processes > 0
                async with asyncio.timeout(10):
                    while hosts.processes:  # noqa: ASYNC110 (looks from outside)
                        await asyncio.sleep(0.05)
            assert contents(tmp_path) == before
            assert (await desk.detail(run_id))["run"]["status"] == "awaiting-input"
            assert (await desk.answer(run_id, "staging"))["result"] == "released"

    play(story())


def test_a_run_that_goes_on_meanwhile_cannot_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_runs, "PREVIEW_S", 1.0)
    repo = Repo(tmp_path / "repo")
    repo.durable("spin", **ENDLESS["typescript"])

    async def story() -> None:
        begun = asyncio.Event()

        class Watched(dry_runs.Rehearsal):
            async def play(self, limit_s: float) -> dry_runs.Ending:
                begun.set()
                return await super().play(limit_s)

        monkeypatch.setattr(dry_runs, "Rehearsal", Watched)
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("spin"))["sessionId"]
            late = asyncio.create_task(preview(desk, run_id, True))
            await begun.wait()
            assert (await desk.answer(run_id, False))["result"] == "calm"
            found = (await late)["outcome"]
            assert (found["kind"], found["code"]) == ("cannot-tell", "run-changed")

    play(story())
