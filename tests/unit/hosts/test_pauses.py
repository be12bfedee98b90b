"""A pause is invisible to the handler: no exception, no finally; after the answer everything runs once."""

# ruff: noqa: E501 (handlers are written on one line)

from __future__ import annotations

import asyncio
import json

import pytest

from tests.unit.hosts.conftest import Bench, same
from tests.unit.hosts.driver import RunDriver, nothing

PYTHON_SHAPES: dict[str, str] = {
    "finally": "    try: await ask(); await tool('after')\n    finally: note('finally')",
    "except-exception": "    try: await ask()\n    except Exception: note('swallowed')\n    await tool('after')",
    "bare-except": "    try: await ask()\n    except: note('swallowed'); await tool('fallback')\n    await tool('after')",
    "finally-await": "    await tool('lock')\n    try: await ask()\n    finally: await tool('unlock')",
    "async-with": "    async with lease(): await ask()\n    await tool('after')",
    "gather": "    await asyncio.gather(ask(), other())\n    await tool('after')",
    "gather-exceptions": "    await asyncio.gather(ask(), tool('x'), return_exceptions=True)\n    await tool('after')",
    "task-group": "    async with asyncio.TaskGroup() as g: g.create_task(wrap(ask)); g.create_task(other())\n    await tool('after')",
    "suppress": "    with contextlib.suppress(BaseException): await ask()\n    await tool('after')",
    "retry": "    for _ in range(3):\n        try: await ask(); break\n        except BaseException: note('retry')\n    await tool('after')",
    "shield": "    await asyncio.shield(asyncio.ensure_future(wrap(ask)))\n    await tool('after')",
    "long-timeout": "    async with asyncio.timeout(600): await ask()\n    await tool('after')",
}
PYTHON_FRAME = """
import asyncio, contextlib

async def handler(p, ctx):
    def ask(): return ctx.request_input(question="?")
    def tool(name): return ctx.call_tool(name, {})
    def note(text): ctx.log(text)
    async def wrap(f): return await f()
    async def other(): await tool("slow"); note("other went on")
    @contextlib.asynccontextmanager
    async def lease():
        await tool("lease")
        try: yield
        finally: await tool("release")
"""
EXPECTED: dict[str, tuple[list[str], list[str], list[str]]] = {
    # tools before the pause, tools after the answer, all notes
    "finally": ([], ["after"], ["finally"]),
    "except-exception": ([], ["after"], []),
    "bare-except": ([], ["after"], []),
    "finally-await": (["lock"], ["unlock"], []),
    "async-with": (["lease"], ["release", "after"], []),
    "gather": (["slow"], ["after"], ["other went on"]),
    "gather-exceptions": (["x"], ["after"], []),
    "task-group": (["slow"], ["after"], ["other went on"]),
    "suppress": ([], ["after"], []),
    "retry": ([], ["after"], []),
    "shield": ([], ["after"], []),
    "long-timeout": ([], ["after"], []),
}


@pytest.mark.parametrize("shape", list(PYTHON_SHAPES))
def test_no_code_of_a_python_handler_runs_because_of_a_pause(bench: Bench, shape: str) -> None:
    before, after, notes = EXPECTED[shape]
    driver = bench.driver("py", f"{PYTHON_FRAME}{PYTHON_SHAPES[shape]}\n    return 'end'\n", execute=nothing)
    driver.is_timer_endless = True
    parked = bench.wait(driver.leg()).parked
    assert [call.name for call in driver.calls if call.kind == "tool"] == before
    assert driver.notes_of("log") == [note for note in notes if note == "other went on"]
    driver.answer(next(seq for seq, call in parked.items() if call.kind == "input"), {"value": "yes"})
    assert bench.wait(driver.leg()).result == "end"
    assert [call.name for call in driver.calls if call.kind == "tool"] == before + after
    assert driver.notes_of("log") == notes
    assert driver.notes_of("unhandled") == []


TS_FINALLY = """
export default async (p, ctx) => {
  await ctx.callTool('lock', {});
  try { await Promise.all([ctx.requestInput({ question: '?' }), ctx.callSubagent('s', 't')]); }
  catch (e) { ctx.log('caught'); }
  finally { ctx.log('finally'); await ctx.callTool('unlock', {}); }
  return 'end';
};
"""


def test_no_code_of_a_typescript_handler_runs_because_of_a_pause(bench: Bench) -> None:
    driver = bench.driver("ts", TS_FINALLY, execute=nothing)
    assert list(bench.wait(driver.leg()).parked) == [1]
    assert ([call.name for call in driver.calls], driver.notes) == (["lock", "s"], [])
    driver.answer(1, {"value": "yes"})
    assert bench.wait(driver.leg()).result == "end"
    assert ([call.name for call in driver.calls], driver.notes) == (["lock", "s", "unlock"], [("log", "finally")])


BRANCHES = same(
    "export default async (p, ctx) => { const long = async () => { for (let i = 0; i < 5; i++) await ctx.callTool('t', {i});"
    " return 'long' };"
    " return Promise.all([ctx.requestInput({question: 'a'}), long(), ctx.requestInput({question: 'b'})]) }",
    "import asyncio\n"
    "async def handler(p, ctx):\n"
    "    async def long():\n"
    "        for i in range(5): await ctx.call_tool('t', {'i': i})\n"
    "        return 'long'\n"
    "    return await asyncio.gather(ctx.request_input(question='a'), long(), ctx.request_input(question='b'))",
)


def test_the_branch_beside_a_pause_runs_on_and_two_pauses_are_answered_in_any_order(
    bench: Bench, language: str
) -> None:
    driver = bench.driver(language, BRANCHES[language])
    parked = bench.wait(driver.leg()).parked
    assert {json.loads(call.args)["question"] for call in parked.values()} == {"a", "b"}
    assert len(driver.calls) == 5
    later, first = sorted(parked)
    driver.answer(first, 2)
    assert list(bench.wait(driver.leg()).parked) == [later]
    driver.answer(later, 1)
    assert bench.wait(driver.leg()).result == [1, "long", 2]
    assert len(driver.calls) == 5


FALLBACK = same(
    "export default async (p, ctx) => Promise.race([ctx.requestInput({question: '?'}),"
    " new Promise((r) => setTimeout(r, 30, 'fallback'))])",
    "import asyncio\n"
    "async def handler(p, ctx):\n"
    "    try: return await asyncio.wait_for(ctx.request_input(question='?'), 0.03)\n"
    "    except TimeoutError: return 'fallback'",
)


def test_a_timeout_around_a_pause_falls_back(bench: Bench, language: str) -> None:
    driver = bench.driver(language, FALLBACK[language])
    assert bench.wait(driver.leg()).result == "fallback"
    assert [call.kind for call in driver.calls] == ["timer"]
    assert bench.wait(driver.leg()).result == "fallback"
    assert [call.kind for call in driver.calls] == ["timer"]


def test_a_dropped_leg_stays_silent(bench: Bench, language: str) -> None:
    source = same(
        "export default async (p, ctx) => { setInterval(() => console.log('tick'), 5); await ctx.requestInput({question: '?'});"
        " ctx.log('after') }",
        "async def handler(p, ctx):\n    await ctx.request_input(question='?'); ctx.log('after')",
    )[language]
    driver = bench.driver(language, source, durable=True, execute=nothing)
    driver.is_timer_endless = True
    bench.wait(driver.leg())
    assert bench.is_alive(language)  # whatever the dropped leg had said would have come before this answer
    assert driver.notes == []


def test_many_pauses_leave_a_process_that_works(bench: Bench, language: str) -> None:
    source = same(
        "export default async (p, ctx) => (await ctx.requestInput({question: '?'})).value",
        "async def handler(p, ctx): return (await ctx.request_input(question='?'))['value']",
    )[language]
    entry = bench.write(language, source)

    async def one() -> None:
        driver = RunDriver(bench.hosts, bench.repo, entry)
        await driver.leg()
        driver.answer(0, {"value": 1})
        assert (await driver.leg()).result == 1

    async def many() -> None:
        for _ in range(8):
            await asyncio.gather(*(one() for _ in range(80)))

    bench.wait(many())
