"""Every leg replayed once more: a handler that does not repeat itself is stopped, with the first difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime_core.wire.settings import Settings
from tests.unit.engine.workshop import Repo, bench, play

TWICE = Settings(replay_twice=True)

UNSTEADY: dict[str, dict[str, Any]] = {
    "parameters from the state of a module, TypeScript": {
        "ts": """
globalThis.count = (globalThis.count ?? 0) + 1;
return await ctx.callTool('work', {n: globalThis.count});
"""
    },
    "parameters from a random number, Python": {
        "py": "import random\nreturn await ctx.call_tool('work', {'n': random.random()})"
    },
    "a question with the time in it, Python": {
        "py": "import time\nreturn await ctx.request_input(f'Now {time.perf_counter_ns()}?')"
    },
    "another result, TypeScript": {
        "ts": "globalThis.made = (globalThis.made ?? 0) + 1;\nreturn {made: globalThis.made};"
    },
    "another call, TypeScript": {
        "ts": """
globalThis.turns = (globalThis.turns ?? 0) + 1;
if (globalThis.turns > 1) await ctx.callTool('work', {n: 0});
return await ctx.requestInput('Go on?');
"""
    },
    "a failure instead of a result, Python": {
        "py": """
import sys
sys.tried = getattr(sys, 'tried', 0) + 1
if sys.tried > 1:
    raise ValueError('again?')
return 1
"""
    },
}


@pytest.mark.parametrize("handler", UNSTEADY.values(), ids=UNSTEADY.keys())
def test_a_handler_that_does_not_repeat_itself_is_stopped(tmp_path: Path, handler: dict[str, Any]) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("unsteady", tools=("work",), **handler)
    repo.tool("work", ts="return params.n;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data", settings=TWICE) as desk:
            reply = await desk.run("unsteady")
            assert reply["outcome"]["kind"] == "diverged", reply
            assert reply["outcome"]["code"] == "replay-diverged"
            assert "ctx.random" in reply["outcome"]["reason"]
            assert (await desk.runtime.pending(who="ann"))["approvals"] == []

    play(story())


STEADY: dict[str, dict[str, Any]] = {
    "typescript": {
        "ts": """
const made = await ctx.callTool('work', {at: Date.now(), n: Math.random(), id: crypto.randomUUID()});
const [step, child] = await Promise.all([ctx.step('roll', () => ({roll: 1})), ctx.callTool('nested', {})]);
const late = await Promise.race([ctx.callTool('work', {n: 1}), new Promise((done) => setTimeout(done, 5000, 'late'))]);
await ctx.sleepUntil(ctx.now() + 20);
return [made.n < 1, step.roll, child.value, late];
"""
    },
    "python": {
        "py": """
import asyncio
made = await ctx.call_tool('work', {'at': ctx.now(), 'n': ctx.random()})
step, child = await asyncio.gather(ctx.step('roll', lambda: {'roll': 1}), ctx.call_tool('nested', {}))
async with asyncio.timeout(5):
    late = await ctx.call_tool('work', {'n': 1})
await asyncio.sleep(0.02)
return [made['n'] < 1, step['roll'], child['value'], late['n']]
"""
    },
}


@pytest.mark.parametrize("language", STEADY)
def test_a_handler_that_repeats_itself_is_not_touched(tmp_path: Path, language: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("steady", tools=("work", "nested"), **STEADY[language])
    repo.durable("nested", ts="return await ctx.requestInput('And you?');")
    repo.tool("work", ts="return params;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data", settings=TWICE) as desk:
            asked = await desk.run("steady")
            assert asked["outcome"]["kind"] == "awaiting-input", asked
            done = await desk.answer(asked["sessionId"], "fine")
            assert done["outcome"] == {"kind": "complete"}
            assert done["result"][:3] == [True, 1, "fine"]

    play(story())


def test_a_failure_that_repeats_itself_stays_what_it_is(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("fail", ts="throw new RangeError('no such place');")

    async def story() -> None:
        async with bench(repo, tmp_path / "data", settings=TWICE) as desk:
            reply = await desk.run("fail")
            assert reply["outcome"]["kind"] == "failed"
            assert "no such place" in reply["outcome"]["reason"]

    play(story())
