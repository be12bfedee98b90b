"""Generated handlers: what a preview says is what happens, a leg repeats itself, and every stored run replays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from runtime_core.journal.base import Answer
from runtime_core.wire.json import dumps
from runtime_core.wire.settings import Settings
from tests.unit.engine.test_generated import PROGRAM, expected, interpreter
from tests.unit.engine.workshop import Bench, bench, play

INTERPRETER_TS = """
const perform = async ([name, arg]) => {
  if (name === 'all') return await Promise.all(arg.map(perform));
  if (name === 'row') {
    const made = [];
    for (const op of arg) made.push(await perform(op));
    return made;
  }
  if (name === 'step') return await ctx.step('double', () => arg * 2);
  if (name === 'ask') return (await ctx.requestInput(String(arg))).value;
  if (name === 'nap') return await new Promise((done) => setTimeout(done, arg * 5, 'rested'));
  try {
    return await ctx.callTool(name, {n: arg});
  } catch (error) {
    return error.code;
  }
};
return await perform(params.program);
"""


async def foreseen(desk: Bench, pause: dict[str, Any], value: str) -> dict[str, Any]:
    run_id, pause_id = pause["session_id"], pause["pause_id"]
    return await desk.runtime.preview(Answer(run_id, dumps(value), "ann", pause_id=pause_id))


async def came_true(desk: Bench, preview: dict[str, Any], reply: dict[str, Any]) -> None:
    """The run did what was foreseen, and may have gone on from there."""
    spans = list((await desk.spans(reply["sessionId"])).values())
    made = [(span["kind"], span["name"], span["input"]) for span in spans]
    for call in preview["calls"]:
        assert (call["kind"], call["name"], call["params"]) in made, preview
    kind = preview["outcome"]["kind"]
    assert kind in ("call", "question", "sleeping", "complete"), preview
    if kind == "complete":
        assert (reply["outcome"], reply["result"]) == ({"kind": "complete"}, preview["result"])
    if kind == "question":
        detail = await desk.detail(reply["sessionId"])
        asked = [pause["pause_id"] for pause in detail["pauses"]]
        assert preview["outcome"]["pause"]["pause_id"] in asked


@pytest.mark.parametrize("tool", ["run", "run_ts"])
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=PROGRAM)
def test_a_preview_comes_true_and_every_leg_repeats_itself(tmp_path: Path, tool: str, program: list[Any]) -> None:
    repo = interpreter(tmp_path / "repo")
    repo.durable("run_ts", ts=INTERPRETER_TS, tools=("call", "fail", "durable"))

    async def story() -> None:
        async with bench(repo, tmp_path / "data", settings=Settings(replay_twice=True)) as desk:
            reply = await desk.run(tool, {"program": program})
            while reply["outcome"]["kind"] == "awaiting-input":
                answer = f"answer to {reply['outcome']['question']}"
                preview = await foreseen(desk, reply["outcome"], answer)
                reply = await desk.answer(reply["sessionId"], answer, pause_id=preview["pause_id"])
                await came_true(desk, preview, reply)
            assert reply["outcome"] == {"kind": "complete"}, reply
            assert reply["result"] == expected(program)
            verdicts = [verdict async for verdict in desk.runtime.replay_check(repo.root, 1)]
            assert [(verdict.kind, verdict.reason) for verdict in verdicts] == [("ok", "")]

    play(story())
