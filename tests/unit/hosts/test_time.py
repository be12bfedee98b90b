"""Steps, and the clock, timers and random numbers of a durable run."""

# ruff: noqa: E501 (handlers are written on one line)

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.unit.hosts.conftest import Bench, same

STEP = same(
    "class P { a = 1; get b() { return 2 } }\n"
    "let ran = 0;\n"
    "export default async (p, ctx) => { const v = await ctx.step('s', async () => { ran++; return {d: new Date(0), p: new P()} });"
    " await ctx.requestInput({question: '?', context: v}); return [v, ran] }",
    "import datetime, dataclasses\n"
    "@dataclasses.dataclass\n"
    "class P: a: int = 1\n"
    "ran = 0\n"
    "async def handler(p, ctx):\n"
    "    def work():\n"
    "        global ran; ran += 1\n"
    "        return {'d': datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc), 'p': P()}\n"
    "    v = await ctx.step('s', work)\n"
    "    await ctx.request_input(question='?', context=v); return [v, ran]",
)


def test_a_step_runs_once_and_is_plain_data_from_the_start(bench: Bench, language: str) -> None:
    driver = bench.driver(language, STEP[language])
    plain = {"d": "1970-01-01T00:00:00.000Z", "p": {"a": 1}}
    parked = bench.wait(driver.leg()).parked
    assert json.loads(parked[1].args)["context"] == plain
    driver.answer(1, None)
    assert bench.wait(driver.leg()).result == [plain, 1]
    assert [(record.kind, record.name) for record in driver.journal] == [("step", "s"), ("input", "")]


FAILING_STEP = same(
    "export default async (p, ctx) => { try { await ctx.step('s', () => { throw new TypeError('no') }) }"
    " catch (e) { const seen = [e instanceof TypeError, e.message];"
    " await ctx.requestInput({question: '?', context: seen}); return seen } }",
    "async def handler(p, ctx):\n"
    "    async def work(): raise TypeError('no')\n"
    "    try: await ctx.step('s', work)\n"
    "    except TypeError as e: seen = [True, str(e)]\n"
    "    await ctx.request_input(question='?', context=seen); return seen",
)


def test_a_failed_step_is_recorded_and_fails_the_same_way_again(bench: Bench, language: str) -> None:
    driver = bench.driver(language, FAILING_STEP[language])
    parked = bench.wait(driver.leg()).parked
    assert json.loads(parked[1].args)["context"] == [True, "no"]
    driver.answer(1, None)
    assert bench.wait(driver.leg()).result == [True, "no"]


INSIDE = same(
    "export default async (p, ctx) => ctx.step('s', () => ctx.callTool('t', {}))",
    "async def handler(p, ctx): return await ctx.step('s', lambda: ctx.call_tool('t', {}))",
)


def test_a_call_inside_a_step_fails(bench: Bench, language: str) -> None:
    driver = bench.driver(language, INSIDE[language])
    failure = bench.wait(driver.leg()).failure
    assert failure is not None
    assert (failure.name, failure.code) == ("CompositeCallError", "call-inside-step")
    assert driver.calls == []


CLOCKS = same(
    "import { randomBytes } from 'node:crypto';\n"
    "const look = (ctx) => [ctx.now(), Date.now(), new Date().toISOString(), new Date(0).getTime(), new Date() instanceof Date,"
    " performance.now() >= 0, Math.random(), ctx.random(), crypto.randomUUID(), randomBytes(8).toString('hex'), Date().length > 20,"
    " new Date().constructor === Date];\n"
    "export default async (p, ctx) => { const a = look(ctx); await ctx.callTool('t', {}); const b = look(ctx);"
    " await ctx.requestInput({question: '?', context: [a, b]}); return [a, b] }",
    "def look(ctx): return [ctx.now(), ctx.random(), ctx.random()]\n"
    "async def handler(p, ctx):\n"
    "    a = look(ctx); await ctx.call_tool('t', {}); b = look(ctx)\n"
    "    await ctx.request_input(question='?', context=[a, b]); return [a, b]",
)


def test_time_and_random_numbers_repeat_within_a_run_and_differ_between_runs(bench: Bench, language: str) -> None:
    def seen(seed: str) -> list[list[Any]]:
        driver = bench.driver(language, CLOCKS[language], seed=seed, started_ms=1_700_000_000_000.6)
        parked = bench.wait(driver.leg()).parked
        live = json.loads(parked[1].args)["context"]
        driver.answer(1, None)
        assert bench.wait(driver.leg()).result == live
        return live

    (first, second), (other, _) = seen("a"), seen("b")
    assert first[0] == 1_700_000_000_000
    assert second[0] > first[0]
    assert first[1:] != second[1:]
    assert first[-3:] != other[-3:] if language == "py" else first[6:10] != other[6:10]
    if language == "ts":
        assert first[1:6] == [1_700_000_000_000, "2023-11-14T22:13:20.000Z", 0, True, True]
        assert first[8][14] == "4"
        assert first[10:] == [True, True]


SLEEPS = same(
    "import { setTimeout as sleep } from 'node:timers/promises';\n"
    "export default async (p, ctx) => { const t = ctx.now(); await new Promise((r) => setTimeout(r, 20)); const u = ctx.now();"
    " await sleep(15); return [u - t >= 20, ctx.now() - u >= 15] }",
    "import asyncio\n"
    "async def handler(p, ctx):\n"
    "    t = ctx.now(); await asyncio.sleep(0.02); u = ctx.now(); await asyncio.sleep(0.015)\n"
    "    return [u - t >= 20, ctx.now() - u >= 15]",
)


def test_a_timer_is_a_journaled_call(bench: Bench, language: str) -> None:
    driver = bench.driver(language, SLEEPS[language])
    assert bench.wait(driver.leg()).result == [True, True]
    assert [(call.kind, json.loads(call.args)) for call in driver.calls] == [("timer", 20), ("timer", 15)]
    assert bench.wait(driver.leg()).result == [True, True]
    assert len(driver.calls) == 2


RACE = same(
    "export default async (p, ctx) => { const w = await Promise.race([ctx.callTool('slow', {}), new Promise((r) => setTimeout(r, 20, 'timer'))]);"
    " await ctx.callTool('then', {w}); return w }",
    "import asyncio\n"
    "async def handler(p, ctx):\n"
    "    try: w = await asyncio.wait_for(ctx.call_tool('slow', {}), 0.02)\n"
    "    except TimeoutError: w = 'timer'\n"
    "    await ctx.call_tool('then', {'w': w}); return w",
)


def test_the_winner_of_a_race_against_a_timer_wins_again(bench: Bench, language: str) -> None:
    async def slow(call: Any) -> str:
        await asyncio.sleep(0.1 if call.name == "slow" else 0)
        return call.name

    driver = bench.driver(language, RACE[language], execute=slow)
    assert bench.wait(driver.leg()).result == "timer"
    assert bench.wait(driver.leg()).result == "timer"
    assert [call.name for call in driver.calls if call.kind == "tool"] == ["slow", "then"]
    assert driver.notes_of("params-changed") == []


TIMERS_JS = """
export default async (p, ctx) => {
  const seen = [];
  const stopped = setTimeout(() => seen.push('never'), 1);
  clearTimeout(stopped);
  let n = 0;
  await new Promise((done) => { const i = setInterval(() => { seen.push(`i${++n}`); if (n === 3) { clearInterval(i); done(); } }, 2); });
  await new Promise((done) => setImmediate(done));
  const signal = AbortSignal.timeout(2);
  await new Promise((done) => signal.addEventListener('abort', done));
  seen.push(signal.reason.name);
  return seen;
};
"""


def test_every_timer_function_of_javascript_works_in_a_durable_run(bench: Bench) -> None:
    driver = bench.driver("ts", TIMERS_JS)
    for _ in range(2):
        assert bench.wait(driver.leg()).result == ["i1", "i2", "i3", "TimeoutError"]
    assert {call.kind for call in driver.calls} == {"timer"}


@pytest.mark.parametrize("durable", [False, True])
def test_timers_inside_a_step_and_in_inline_handlers_are_real(bench: Bench, language: str, durable: bool) -> None:
    source = same(
        "export default async (p, ctx) => { const wait = () => new Promise((r) => setTimeout(r, 5, 'waited'));"
        " return ctx.step ? ctx.step('s', wait) : wait() }",
        "import asyncio\n"
        "async def handler(p, ctx):\n"
        "    async def wait(): await asyncio.sleep(0.005); return 'waited'\n"
        "    return await (ctx.step('s', wait) if hasattr(ctx, 'step') else wait())",
    )[language]
    driver = bench.driver(language, source, durable=durable)
    assert bench.wait(driver.leg()).result == "waited"
    assert driver.calls == []
