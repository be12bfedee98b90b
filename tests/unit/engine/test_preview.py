"""What a run would do next, without anything being executed or stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime_core.journal.base import Answer
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
