"""A dry job: the handler replays and says what it would call; no function of a step runs, nothing is noted."""

from __future__ import annotations

import pytest

from runtime_core.hosts.base import HandlerCall
from tests.unit.hosts.conftest import Bench, same
from tests.unit.hosts.driver import RunDriver

COUNTING = same(
    "let ran = 0; export default async (p, ctx) => { ctx.log('in'); console.log('out'); ctx.emit({at: 1});"
    " const made = await ctx.step('count', () => ++ran); return [made, ran] }",
    "ran = 0\n"
    "def count():\n"
    "    global ran\n"
    "    ran += 1\n"
    "    return ran\n"
    "async def handler(p, ctx):\n"
    "    ctx.log('in'); print('out'); ctx.emit({'at': 1})\n"
    "    made = await ctx.step('count', count)\n"
    "    return [made, ran]",
)


@pytest.mark.parametrize("dry", [True, False])
def test_a_step_is_reported_and_its_function_is_not_called(bench: Bench, language: str, dry: bool) -> None:
    asked: list[HandlerCall] = []

    def stand_in(call: HandlerCall) -> str:
        asked.append(call)
        return "a stand-in"

    entry = bench.write(language, COUNTING[language])
    driver = RunDriver(bench.hosts, bench.repo, entry, execute=stand_in, dry=dry)
    outcome = bench.wait(driver.leg())
    assert outcome.result == (["a stand-in", 0] if dry else [1, 1])
    assert [(call.kind, call.name, call.outcome) for call in asked] == ([("step", "count", None)] if dry else [])
    assert [kind for kind, _ in driver.notes] == ([] if dry else ["log", "console", "emit"])
