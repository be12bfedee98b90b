"""What the models of a durable run took (contract 7.2 and 10)."""

from __future__ import annotations

from pathlib import Path

from runtime_core.agents.turns import Usage
from tests.unit.engine.workshop import Repo, bench, play

HANDLER = """
const before = await ctx.callSubagent('clerk', 'First');
await ctx.requestInput({ question: 'Go on?' });
return [before, await ctx.callTool('second', {})];
"""


def test_the_tokens_of_a_run_are_added_up_over_its_legs_and_levels_and_not_twice_when_it_is_replayed(
    tmp_path: Path,
) -> None:
    repo = Repo(tmp_path / "repo")
    repo.agent("clerk", tools=["look"], subagents=["helper"])
    repo.agent("helper")
    repo.tool("look", py="return {}")
    repo.tool("second", ts="return await ctx.callSubagent('clerk', 'Second');", agents=("clerk",))
    repo.durable("work", ts=HANDLER, tools=("second",), agents=("clerk",))
    repo.durable("idle", ts="return 1;")
    help_wanted = [{"name": "call_subagent", "args": {"agent": "helper", "task": "Help"}}]
    model = repo.script(
        {"match": "First", "tool_calls": [{"name": "look"}], "usage": {"input_tokens": 10, "output_tokens": 1}},
        {"match": "Second", "tool_calls": help_wanted, "usage": {"input_tokens": 20, "cached_tokens": 5}},
        {"agent": "helper", "text": "Helped.", "usage": {"input_tokens": 300, "output_tokens": 3}},
        {"agent": "clerk", "text": "Done.", "usage": {"input_tokens": 4000}, "repeat": True},
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data", model=model) as desk:
            run_id = (await desk.run("work"))["sessionId"]
            assert (await desk.detail(run_id))["run"]["usage"] == Usage(4010, 1).to_wire()
            idle = (await desk.run("idle"))["sessionId"]
            assert (await desk.detail(idle))["run"]["usage"] is None
        async with bench(repo, tmp_path / "data", model=model) as desk:
            reply = await desk.answer(run_id, "yes")
            assert reply["result"] == ["Done.", "Done."]
            assert (await desk.detail(run_id))["run"]["usage"] == Usage(8330, 4, cached_tokens=5).to_wire()

    play(story())
