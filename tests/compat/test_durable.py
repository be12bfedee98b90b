"""What a durable handler may do, and what a replay repeats (contract 3.2 and 3.3), in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.office import Office, office
from tests.unit.engine.workshop import Repo

EVERYTHING = {
    "ts": """
let outside = 0;
class Size { constructor() { this.n = 3; } }
const {now, random, step, callTool, requestInput} = ctx;
const record = await step('parse', async () => { outside += 1; return {when: new Date(0), size: new Size()}; });
const before = [now(), random(), random()];
const [left, right] = await Promise.all([callTool('count', {by: 1}), callTool('count', {by: 2})]);
let failure = null;
try { await callTool('count', {by: 'x'}); } catch (error) { failure = error.code; }
await ctx.sleepUntil(new Date(0));
await ctx.sleepUntil('2001-01-01T00:00:00Z');
const asked = await requestInput({question: 'Where?', inputType: 'choice', context: {n: 1}, allowEdits: true,
  options: [{value: 'a', label: 'A', recommended: true}, {value: 'b', label: 'B', sub: 'the other'}]});
const approved = await ctx.waitForApproval('Sure?');
const free = await requestInput({question: 'Anything?'});
return {record, before, left, right, failure, asked, approved, free: free.value, outside, id: ctx.sessionId};""",
    "py": """
import asyncio, datetime
outside = [0]
def work():
    outside[0] += 1
    return {'when': datetime.datetime.fromtimestamp(0, datetime.timezone.utc), 'size': {'n': 3}}
now, random, step, call_tool, request_input = ctx.now, ctx.random, ctx.step, ctx.call_tool, ctx.request_input
record = await step('parse', work)
before = [now(), random(), random()]
left, right = await asyncio.gather(call_tool('count', {'by': 1}), call_tool('count', {'by': 2}))
failure = None
try:
    await call_tool('count', {'by': 'x'})
except CompositeCallError as error:
    failure = error.code
await ctx.sleep_until(datetime.datetime(1970, 1, 1))
await ctx.sleep_until('2001-01-01T00:00:00Z')
asked = await request_input({'question': 'Where?', 'input_type': 'choice', 'context': {'n': 1}, 'allow_edits': True,
    'options': [{'value': 'a', 'label': 'A', 'recommended': True}, {'value': 'b', 'label': 'B', 'sub': 'the other'}]})
approved = await ctx.wait_for_approval('Sure?')
free = await request_input({'question': 'Anything?'})
return {'record': record, 'before': before, 'left': left, 'right': right, 'failure': failure, 'asked': asked,
    'approved': approved, 'free': free['value'], 'outside': outside[0], 'id': ctx.session_id}""",
}
WRITING = {
    "ts": """
const before = await ctx.callTool('store__rows__get', {key: 'r1'});
await ctx.callTool('store__rows__remove', {key: 'r1'});
const gone = await ctx.callTool('store__rows__get', {key: 'r1'});
await ctx.callTool('store__rows__set', {key: 'r1', value: {id: 'r1', n: params.n}});
const there = await ctx.callTool('store__rows__get', {key: 'r1'});
if (params.fail) throw new Error('after the write');
return {before: before.n ?? null, gone: typeof gone.error, there: there.n};""",
    "py": """
before = await ctx.call_tool('store__rows__get', {'key': 'r1'})
await ctx.call_tool('store__rows__remove', {'key': 'r1'})
gone = await ctx.call_tool('store__rows__get', {'key': 'r1'})
await ctx.call_tool('store__rows__set', {'key': 'r1', 'value': {'id': 'r1', 'n': params['n']}})
there = await ctx.call_tool('store__rows__get', {'key': 'r1'})
if params.get('fail'):
    raise ValueError('after the write')
return {'before': before.get('n'), 'gone': 'string' if isinstance(gone['error'], str) else '', 'there': there['n']}""",
}
APPROVE = {
    "ts": "const said = await ctx.waitForApproval({prompt: 'Go?'}); return said;",
    "py": "return await ctx.wait_for_approval({'prompt': 'Go?'})",
}
MAIN = {
    "ts": "return await ctx.callSubagent('helper', 'Say it.', params.input);",
    "py": "return await ctx.call_subagent('helper', 'Say it.', params['input'])",
}


@pytest.fixture(scope="module", params=["ts", "py"])
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    language: str = request.param
    folder = tmp_path_factory.mktemp(f"durable_{language}")
    repo = Repo(folder / "repo", models={"main": {"provider": "scripted", "model": "script.json"}})
    schema = {"id": {"type": "string"}, "n": {"type": "number"}}
    repo.file("amodal/stores/rows.json", {"name": "rows", "key": "{id}", "schema": schema, "deletable": True})
    parameters = {"type": "object", "properties": {"by": {"type": "number"}}}
    repo.tool("count", ts="return {by: params.by};", parameters=parameters)
    repo.agent("helper", tools=["count"])
    repo.script(
        {"agent": "helper", "match": '"k": "v"', "text": "Narration {a}.", "tool_calls": [{"name": "count"}]},
        {"agent": "helper", "text": 'The end: {"b": 1}', "repeat": True},
    )
    repo.durable("everything", **{language: EVERYTHING[language]}, tools=("count",))
    stores = tuple(f"store__rows__{verb}" for verb in ("get", "set", "remove"))
    repo.durable("writing", **{language: WRITING[language]}, tools=stores)
    repo.durable("approve", **{language: APPROVE[language]})
    repo.durable("main", **{language: MAIN[language]}, agents=("helper",))
    with office(repo, folder / "data") as opened:
        yield opened


def test_a_handler_runs_from_the_top_and_gets_what_was_recorded(desk: Office) -> None:
    run = desk.parked("everything")
    (pause,) = desk.detail(run)["pauses"]
    assert [option.get("sub") for option in pause["options"]] == [None, "the other"]
    assert desk.answer(run, "elsewhere", edits='{"n": 2}')["outcome"]["kind"] == "awaiting-input"
    assert desk.answer(run, "yes", note="fine")["outcome"]["kind"] == "awaiting-input"
    done = desk.answer(run, {"any": [1]})["result"]
    assert done["record"] == {"when": "1970-01-01T00:00:00.000Z", "size": {"n": 3}}
    assert (done["left"], done["right"], done["failure"]) == ({"by": 1}, {"by": 2}, "invalid-params")
    assert (done["asked"]["value"], done["asked"]["edits"], done["asked"]["respondedBy"]) == (
        "elsewhere",
        {"n": 2},
        "ann",
    )
    assert (done["approved"]["approved"], done["approved"]["note"]) == (True, "fine")
    assert (done["free"], done["outside"], done["id"]) == ({"any": [1]}, 0, run)
    first, *chances = done["before"]
    assert len(set(chances)) == 2
    assert first > 0
    assert desk.made(run, "count") == 3


def test_now_and_random_are_the_same_on_every_pass(desk: Office) -> None:
    run = desk.parked("everything")
    preview = desk.wait(desk.runtime.replay_check(desk.repo.root, limit=1).__anext__())
    assert preview.kind == "ok", preview
    desk.wait(desk.runtime.cancel(run, who="ann"))


def test_store_writes_are_seen_at_once_and_kept_when_the_run_fails(desk: Office) -> None:
    assert desk.run("writing", {"n": 1})["result"] == {"before": None, "gone": "string", "there": 1}
    assert desk.run("writing", {"n": 2, "fail": True})["outcome"]["kind"] == "failed"
    assert desk.run("writing", {"n": 3})["result"] == {"before": 2, "gone": "string", "there": 3}


@pytest.mark.parametrize(
    ("value", "approved"),
    [
        *((value, True) for value in (True, "yes", " Approve ", "approved", {"approved": True})),
        *((value, False) for value in (False, "no", "ok", 1, None, {"approved": "yes"})),
    ],
)
def test_what_counts_as_approved(desk: Office, value: Any, approved: bool) -> None:
    run = desk.parked("approve")
    assert desk.answer(run, value)["result"]["approved"] is approved


def test_the_final_text_of_a_subagent_is_that_of_its_last_turn(desk: Office) -> None:
    assert desk.run("main", {"input": {"k": "v"}})["result"] == 'The end: {"b": 1}'
