"""Arguments that cannot be turned into text: the call fails, what the handler does then goes on, also in a replay."""

from __future__ import annotations

import pytest

from tests.unit.hosts.conftest import Bench

TS_VALUES = """
const ring = {}; ring.ring = ring;
const refuse = () => { throw new Error('no') };
const traps = { get: refuse, ownKeys: refuse, getPrototypeOf: refuse, has: refuse, getOwnPropertyDescriptor: refuse };
const revoked = Proxy.revocable({}, {}); revoked.revoke();
const values = [
  { toString: 'x' }, { toString: refuse }, { [Symbol.toPrimitive]: refuse }, Object.create(null), Symbol('s'), 10n,
  ring, { get a() { throw new Error('no') } }, { get a() { throw { get message() { throw 1 } } } }, { toJSON: refuse },
  new Proxy({}, traps), revoked.proxy, '\\ud800', 'a'.repeat(100000), Number.NaN, new Date(Number.NaN), [[ring]],
];
"""
PY_VALUES = """
import math

class Mute:
    def __str__(self): raise ValueError('no')
    __repr__ = __str__

class Odd:
    def __str__(self): return 5

class Hollow(dict):
    def items(self): raise ValueError('no')
    keys = __iter__ = items

class Fenced:
    def __getattr__(self, name): raise ValueError('no')
    @property
    def __dict__(self): raise ValueError('no')

ring = []
ring.append(ring)
values = [Mute(), Odd(), Hollow(a=1), Fenced(), ring, object(), {Mute(): 1}, {1, 2}, 10 ** 5000, math.nan,
          '\\ud800', 'a' * 100000, b'x', lambda: 1, [[ring]]]
"""
TS_MEMBERS = {
    "read": "ctx.fs.readRepoFile(v)",
    "log": "ctx.log(v)",
    "emit": "ctx.emit(v)",
    "reasoning": "ctx.emitReasoning(v)",
    "label": "ctx.setLabel(v)",
    "env": "ctx.env(v)",
    "tool": "ctx.callTool('t', { v })",
    "tool name": "ctx.callTool(v, {})",
    "subagent": "ctx.callSubagent('a', v, v, v)",
    "input": "ctx.requestInput({ question: v, timeoutMs: v, x: v })",
    "approval": "ctx.waitForApproval(v)",
    "sleep": "ctx.sleepUntil(v)",
    "step": "ctx.step(v, () => v)",
    "request": "ctx.request(v, v, v)",
    "store": "ctx.store(v, v)",
}
PY_MEMBERS = {
    "read": "ctx.fs.read_repo_file(v)",
    "log": "ctx.log(v)",
    "emit": "ctx.emit(v)",
    "reasoning": "ctx.emit_reasoning(v)",
    "label": "ctx.set_label(v)",
    "env": "ctx.env(v)",
    "tool": "ctx.call_tool('t', {'v': v})",
    "tool name": "ctx.call_tool(v, {})",
    "subagent": "ctx.call_subagent('a', v, v)",
    "input": "ctx.request_input({'question': v, 'timeout_ms': v})",
    "approval": "ctx.wait_for_approval(v)",
    "sleep": "ctx.sleep_until(v)",
    "step": "ctx.step(v, lambda: v)",
    "request": "ctx.request(v, v, v)",
    "store": "ctx.store(v, v)",
}
QUIET = {"request", "store"}
"""What durable handlers have no member for."""


def _source(language: str, member: str) -> str:
    if language == "ts":
        return (
            f"{TS_VALUES}export default async (p, ctx) => {{ let bad = 0; for (const v of values) {{"
            f" try {{ await {TS_MEMBERS[member]}; }} catch {{ bad++; await ctx.callTool('t', {{ bad }}); }} }}"
            " return (await ctx.callTool('t', { last: true })).last }"
        )
    return (
        f"{PY_VALUES}\nimport inspect\nasync def handler(p, ctx):\n    bad = 0\n    for v in values:\n"
        f"        try:\n            made = {PY_MEMBERS[member]}\n            if inspect.isawaitable(made): await made\n"
        "        except Exception:\n            bad += 1; await ctx.call_tool('t', {'bad': bad})\n"
        "    return (await ctx.call_tool('t', {'last': True}))['last']"
    )


@pytest.mark.parametrize("member", TS_MEMBERS)
def test_a_bad_argument_fails_its_call_alone(bench: Bench, language: str, member: str) -> None:
    source = _source(language, member)
    if member in QUIET:
        assert bench.inline(language, source).result is True
        return
    driver = bench.driver(language, source)
    while (outcome := bench.wait(driver.leg())).parked:
        for seq in outcome.parked:
            driver.answer(seq, None)
    assert outcome.result is True
    assert bench.wait(driver.leg()).result is True
