"""Generated handlers: whatever they are made of, killing their process changes neither result nor number of calls."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.engine.workshop import Bench, Repo, bench, play

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds handler processes in /proc")

# An operation is [name, number] or [name, [operations]]; a program is what `all` and `row` hold.
LEAF = st.tuples(st.sampled_from(["call", "fail", "step", "ask", "nap", "durable"]), st.integers(0, 9)).map(list)
PROGRAM: st.SearchStrategy[list[Any]] = st.recursive(
    LEAF, lambda inner: st.tuples(st.sampled_from(["all", "row"]), st.lists(inner, min_size=1, max_size=3)).map(list)
)

INTERPRETER = """
import asyncio

async def perform(op):
    name, arg = op
    if name == 'all':
        return list(await asyncio.gather(*(perform(inner) for inner in arg)))
    if name == 'row':
        return [await perform(inner) for inner in arg]
    if name == 'step':
        return await ctx.step('double', lambda: arg * 2)
    if name == 'ask':
        return (await ctx.request_input(str(arg)))['value']
    if name == 'nap':
        await asyncio.sleep(arg / 200)
        return 'rested'
    try:
        return await ctx.call_tool(name, {'n': arg})
    except CompositeCallError as error:
        return error.code

return await perform(params['program'])
"""


def expected(op: list[Any]) -> Any:
    name, arg = op
    if name in ("all", "row"):
        return [expected(inner) for inner in arg]
    # `call` and `durable` say how often the call with that callId was executed.
    return {
        "call": [arg, 1],
        "durable": [arg, [arg, 1]],
        "fail": "execution-failed",
        "step": arg * 2,
        "ask": f"answer to {arg}",
        "nap": "rested",
    }[name]


def interpreter(root: Path) -> Repo:
    repo = Repo(root)
    repo.durable("run", py=INTERPRETER, tools=("call", "fail", "durable"))
    repo.durable("durable", py="return [params['n'], await ctx.call_tool('call', params)]", tools=("call",))
    counting = "const seen = (globalThis.seen ??= {}); seen[ctx.callId] = (seen[ctx.callId] ?? 0) + 1;"
    repo.tool(
        "call",
        ts=f"{counting} await new Promise(r => setTimeout(r, params.n * 3)); return [params.n, seen[ctx.callId]];",
    )
    repo.tool("fail", ts="throw new Error('no');")
    return repo


def python_hosts() -> list[int]:
    """Handler processes for Python below this one; those for TypeScript hold the executed children and stay."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if parent == os.getpid() and b"deno" not in command.partition(b"\0")[0]:
                found.append(int(entry.name))
    return found


async def kill_hosts(times: int, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(times):
        await asyncio.sleep(chance.uniform(0.15, 0.45))
        for process in python_hosts():
            os.kill(process, signal.SIGKILL)


async def answered(desk: Bench, program: list[Any]) -> dict[str, Any]:
    reply = await desk.run("run", {"program": program})
    while reply["outcome"]["kind"] in ("awaiting-input", "sleeping"):
        if reply["outcome"]["kind"] == "sleeping":
            await asyncio.sleep(0.1)
            continue
        question = reply["outcome"]["question"]
        reply = await desk.answer(reply["sessionId"], f"answer to {question}", pause_id=reply["outcome"]["pause_id"])
    return reply


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=PROGRAM, kills=st.integers(0, 2), seed=st.integers(0, 999))
def test_any_program_survives_the_loss_of_its_process(
    tmp_path: Path, program: list[Any], kills: int, seed: int
) -> None:
    repo = interpreter(tmp_path / "repo")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            killing = asyncio.create_task(kill_hosts(kills, seed))
            reply = await answered(desk, program)
            assert reply["outcome"] == {"kind": "complete"}, reply
            assert reply["result"] == expected(program)
            killing.cancel()

    play(story())
