"""Replay: the same handler with the same journal sees the same values in the same order, and makes no call again."""

# ruff: noqa: E501 (handlers are written on one line)

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace
from typing import Any

import pytest

from runtime_core.hosts import process
from runtime_core.hosts.base import HandlerCall, HostRepo, RecordedCall
from tests.unit.hosts.conftest import Bench, same
from tests.unit.hosts.driver import RunDriver, name_of, write_tools

# Each shape leaves in the question what it saw live; after the answer it returns what it saw in the replay.
SHAPES = same(
    """
export default async (params, ctx) => {
  const call = (id) => ctx.callTool('work', { id });
  const seen = [];
  const shapes = {
    all: async () => seen.push(...(await Promise.all([call('A'), call('B')]))),
    stages: async () => {
      const branch = async (x) => { const r = await call(x); const q = await call(x + r.token); seen.push(`${x}:${q.token}`); };
      await Promise.all([branch('A'), branch('B')]);
    },
    twins: async () => {
      const sub = async (label) => seen.push(`${label}=${await ctx.callSubagent('reviewer', 'same', { id: 's' })}`);
      await Promise.all([sub('A'), sub('B')]);
    },
    race: async () => { const w = await Promise.race([call('A'), call('B')]); await call('after-' + w.id); seen.push(w); },
    arrival: async () => {
      await Promise.all(['A', 'B', 'C'].map(async (x) => seen.push((await call(x)).id)));
      await call(seen.join(''));
    },
    pool: async () => {
      const queue = ['1', '2', '3', '4', '5', '6'];
      const worker = async (n) => { while (queue.length) seen.push(n + (await call(queue.shift())).id); };
      await Promise.all([worker('w'), worker('v')]);
    },
    depths: async () => {
      const deep = async (x, d) => { const r = await call(x); for (let i = 0; i < d; i++) await null; seen.push((await call(x + '2')).token + r.id); };
      await Promise.all([deep('A', 40), deep('B', 0), deep('C', 7)]);
    },
    timers: async () => {
      const timer = (ms) => new Promise((r) => setTimeout(r, ms, ms));
      seen.push(...(await Promise.all([Promise.race([call('A'), timer(3)]), Promise.race([timer(2), call('B')])])));
    },
    files: async () => {
      const read = async (x) => { const t = await ctx.fs.readRepoFile('amodal/tools/ok/handler.ts'); seen.push(x + t.length); await call(x); };
      await Promise.all([read('A'), call('B').then((r) => seen.push(r.token)), read('C'), call('D').then((r) => read(r.token))]);
    },
  };
  await shapes[params.shape]();
  await ctx.requestInput({ question: 'ok?', context: seen });
  return seen;
}
""",
    """
import asyncio

async def handler(params, ctx):
    seen = []
    def call(i): return ctx.call_tool("work", {"id": i})
    async def all():
        seen.extend(await asyncio.gather(call("A"), call("B")))
    async def stages():
        async def branch(x):
            r = await call(x); q = await call(x + r["token"]); seen.append(f"{x}:{q['token']}")
        await asyncio.gather(branch("A"), branch("B"))
    async def twins():
        async def sub(label): seen.append(f"{label}={await ctx.call_subagent('reviewer', 'same', {'id': 's'})}")
        await asyncio.gather(sub("A"), sub("B"))
    async def race():
        tasks = [asyncio.ensure_future(call("A")), asyncio.ensure_future(call("B"))]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        w = next(t for t in tasks if t.done()).result(); await call("after-" + w["id"]); seen.append(w)
    async def arrival():
        async def one(x): seen.append((await call(x))["id"])
        await asyncio.gather(*map(one, "ABC")); await call("".join(seen))
    async def pool():
        queue = list("123456")
        async def worker(n):
            while queue: seen.append(n + (await call(queue.pop(0)))["id"])
        async with asyncio.TaskGroup() as group: group.create_task(worker("w")); group.create_task(worker("v"))
    async def depths():
        async def deep(x, d):
            r = await call(x)
            for _ in range(d): await asyncio.sleep(0)
            seen.append((await call(x + "2"))["token"] + r["id"])
        await asyncio.gather(deep("A", 40), deep("B", 0), deep("C", 7))
    async def timers():
        async def limited(i, ms):
            try: return await asyncio.wait_for(call(i), ms / 1000)
            except TimeoutError: return ms
        seen.extend(await asyncio.gather(limited("A", 3), limited("B", 2)))
    async def files():
        async def read(x):
            t = await ctx.fs.read_repo_file("amodal/tools/ok/handler.ts"); seen.append(x + str(len(t))); await call(x)
        async def plain(x): seen.append((await call(x))["token"])
        async def then(x): await read((await call(x))["token"])
        await asyncio.gather(read("A"), plain("B"), read("C"), then("D"))
    await locals()[params["shape"]]()
    await ctx.request_input(question="ok?", context=seen)
    return seen
""",
)
NAMES = ["all", "stages", "twins", "race", "arrival", "pool", "depths", "timers", "files"]


class RandomWork:
    """Answers calls after random delays, with tokens that tell executions apart."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._count = 0

    async def __call__(self, call: HandlerCall) -> Any:
        self._count += 1
        token = f"t{self._count}"
        await asyncio.sleep(self._random.choice([0, 0, 0.001, 0.002, 0.004]))
        return token if call.kind == "subagent" else {"id": json.loads(call.args)["id"], "token": token}


@pytest.fixture(scope="module")
def shapes(bench: Bench) -> dict[str, str]:
    return {language: bench.write(language, source) for language, source in SHAPES.items()}


@pytest.mark.parametrize("shape", NAMES)
def test_replay_sees_what_the_first_pass_saw(bench: Bench, language: str, shapes: dict[str, str], shape: str) -> None:
    async def round_trip(seed: int) -> None:
        work = RandomWork(f"{shape}{seed}")
        driver = RunDriver(bench.hosts, bench.repo, shapes[language], {"shape": shape}, execute=work)
        (seq, question), *_ = (await driver.leg()).parked.items()
        live, executed = json.loads(question.args)["context"], len(driver.calls)
        driver.answer(seq, {"value": "yes"})
        assert (await driver.leg()).result == live
        assert len(driver.calls) == executed
        assert driver.notes_of("params-changed") == []

    async def rounds() -> None:
        await asyncio.gather(*(round_trip(seed) for seed in range(6)))

    bench.wait(rounds())


TWO_CALLS = same(
    "export default async (p, ctx) => { const a = await ctx.callTool('a', {}); const b = await ctx.callTool('b', {});"
    " const ok = await ctx.requestInput({question: p.q ?? 'ok?'}); return [a, b, ok] }",
    "async def handler(p, ctx):\n"
    "    a = await ctx.call_tool('a', {}); b = await ctx.call_tool('b', {})\n"
    "    ok = await ctx.request_input(question=p.get('q', 'ok?')); return [a, b, ok]",
)


def _parked(bench: Bench, language: str, **options: Any) -> RunDriver:
    driver = bench.driver(language, TWO_CALLS[language], **options)
    assert list(bench.wait(driver.leg()).parked) == [2]
    return driver


def _other_code(bench: Bench, driver: RunDriver, language: str, ts: str, py: str) -> None:
    driver.entry = bench.write(language, same(ts, py)[language])


def test_another_call_in_a_recorded_place_stops_the_run(bench: Bench, language: str) -> None:
    driver = _parked(bench, language)
    _other_code(
        bench,
        driver,
        language,
        "export default async (p, ctx) => { await ctx.callTool('a', {}); await ctx.callTool('other', {n: 1}) }",
        "async def handler(p, ctx):\n    await ctx.call_tool('a', {}); await ctx.call_tool('other', {'n': 1})",
    )
    divergence = bench.wait(driver.leg()).divergence
    assert divergence is not None
    assert divergence.made is not None
    assert (divergence.seq, divergence.recorded.name, divergence.made.name) == (1, "b", "other")
    assert json.loads(divergence.made.args) == {"n": 1}
    assert [call.name for call in driver.calls] == ["a", "b"]


def test_an_end_before_all_recorded_calls_were_made_stops_the_run(bench: Bench, language: str) -> None:
    driver = _parked(bench, language)
    _other_code(
        bench,
        driver,
        language,
        "export default async (p, ctx) => ctx.callTool('a', {})",
        "async def handler(p, ctx): return await ctx.call_tool('a', {})",
    )
    divergence = bench.wait(driver.leg()).divergence
    assert divergence is not None
    assert (divergence.seq, divergence.recorded.name, divergence.made) == (1, "b", None)


def test_a_recorded_call_that_is_never_made_stops_the_run(
    bench: Bench, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler waits for something else first, so it would wait for ever."""
    monkeypatch.setattr(process, "STUCK_S", 0.3)
    bench.repo = HostRepo(bench.root, f"stuck-{language}")
    driver = _parked(bench, language)
    driver.journal.reverse()
    _other_code(
        bench,
        driver,
        language,
        "export default async (p, ctx) => { await ctx.callTool('a', {}); await new Promise(() => {}) }",
        "import asyncio\nasync def handler(p, ctx):\n    await ctx.call_tool('a', {}); await asyncio.Future()",
    )
    divergence = bench.wait(driver.leg()).divergence
    assert divergence is not None
    assert (divergence.seq, divergence.made) == (1, None)


GAPS = same(
    """
export default async (p, ctx) => {
  const early = p.step ? ctx.step('early', () => { globalThis.gap = (globalThis.gap ?? 0) + 1; }) : ctx.callTool('early', {});
  await ctx.fs.readRepoFile('amodal/tools/ok/handler.ts');
  await ctx.callTool(p.second, {});
  return [await early, globalThis.gap ?? 0];
}
""",
    """
import builtins

def count():
    builtins.gap = getattr(builtins, "gap", 0) + 1

async def handler(p, ctx):
    early = ctx.step("early", count) if p["step"] else ctx.call_tool("early", {})
    await ctx.fs.read_repo_file("amodal/tools/ok/handler.ts")
    await ctx.call_tool(p["second"], {})
    return [await early, getattr(builtins, "gap", 0)]
""",
)


@pytest.mark.parametrize("step", [True, False])
def test_a_call_without_a_record_is_held_until_the_recorded_ones_were_made(
    bench: Bench, language: str, step: bool
) -> None:
    """The process was lost while the first call was on its way; by now the second one has another name."""
    driver = bench.driver(language, GAPS[language], params={"step": step, "second": "late"}, execute=name_of)
    bench.wait(driver.leg())
    driver.journal = [record for record in driver.journal if record.seq == 1]
    driver.started = {}
    driver.calls.clear()
    driver.params = json.dumps({"step": step, "second": "later"})
    divergence = bench.wait(driver.leg()).divergence
    assert divergence is not None
    assert divergence.made is not None
    assert (divergence.seq, divergence.made.name) == (1, "later")
    assert driver.calls == []
    driver.journal, driver.started = driver.journal[:1], {}
    driver.params = json.dumps({"step": step, "second": "late"})
    value, steps = bench.wait(driver.leg()).result
    assert (value, steps if step else 2) == (None if step else "early", 2)


def test_a_held_replay_says_when_it_is_over_and_goes_on_when_it_is_told(bench: Bench, language: str) -> None:
    driver = _parked(bench, language, execute=name_of)
    driver.answer(2, "yes")
    driver.job["holds"] = True
    driver.journal, gone = driver.journal[:1], driver.journal[1:]
    driver.started = {}
    driver.calls.clear()

    async def held() -> Any:
        leg = asyncio.ensure_future(driver.leg())
        await driver.has_replayed.wait()
        assert driver.calls == []
        assert driver.current is not None
        driver.current.go()
        return (await leg).parked

    assert list(bench.wait(held())) == [2]
    assert [call.seq for call in driver.calls] == [gone[0].seq]


def test_changed_parameters_are_noted_and_the_record_counts(bench: Bench, language: str) -> None:
    driver = _parked(bench, language, execute=name_of)
    _other_code(
        bench,
        driver,
        language,
        TWO_CALLS["ts"].replace("'b', {}", "'b', {changed: true}"),
        TWO_CALLS["py"].replace("'b', {}", "'b', {'changed': True}"),
    )
    driver.answer(2, "fine")
    assert bench.wait(driver.leg()).result == ["a", "b", "fine"]
    (note,) = driver.notes_of("params-changed")
    assert (note["seq"], note["kind"], note["name"]) == (1, "tool", "b")


@pytest.mark.parametrize("answered", [True, False])
def test_a_changed_question_stops_the_run_before_the_answer_arrives(
    bench: Bench, language: str, answered: bool
) -> None:
    driver = _parked(bench, language)
    driver.params = json.dumps({"q": "something else?"})
    if answered:
        driver.answer(2, "yes")
    divergence = bench.wait(driver.leg()).divergence
    assert divergence is not None
    assert divergence.made is not None
    assert (divergence.recorded.kind, divergence.made.kind) == ("input", "input")
    assert json.loads(divergence.made.args)["question"] == "something else?"


def test_a_call_that_was_started_is_asked_for_again(bench: Bench, language: str) -> None:
    driver = _parked(bench, language, execute=name_of)
    lost = driver.journal.pop()
    driver.started = {1: replace(lost, ok=None, value=None, at_ms=0)}
    assert list(bench.wait(driver.leg()).parked) == [2]
    assert [call.seq for call in driver.calls] == [0, 1, 1]
    assert driver.calls[1] == driver.calls[2]


def test_the_digest_depends_on_the_values_and_not_on_the_order_of_keys(bench: Bench) -> None:
    digests: set[str] = set()
    for language, source in same(
        "export default async (p, ctx) => { await ctx.callTool('t', {b: [1, 'é'], a: null}); await ctx.callTool('t', {a: null, b: [1, 'é']}) }",
        "async def handler(p, ctx):\n"
        "    await ctx.call_tool('t', {'b': [1, 'é'], 'a': None}); await ctx.call_tool('t', {'a': None, 'b': [1, 'é']})",
    ).items():
        driver = bench.driver(language, source)
        bench.wait(driver.leg())
        first, second = (call.digest for call in driver.calls)
        assert first == second
        digests.add(first)
    assert all(len(digest) == 64 for digest in digests)


LONG = same(
    "export default async (p, ctx) => { let n = 0; for (let i = 0; i < 1000; i++) n += (await ctx.callTool('t', {i})).i;"
    " return n }",
    "async def handler(p, ctx):\n    return sum([(await ctx.call_tool('t', {'i': i}))['i'] for i in range(1000)])",
)


def test_a_thousand_recorded_calls_ask_for_nothing(bench: Bench, language: str) -> None:
    driver = bench.driver(language, LONG[language])
    assert bench.wait(driver.leg()).result == 499500
    driver.calls.clear()
    assert bench.wait(driver.leg()).result == 499500
    assert driver.calls == []
    assert driver.started == {}


LOGS = same(
    "export default async (p, ctx) => { ctx.log('start'); console.log('start'); await ctx.callTool('t', {});"
    " ctx.log('called'); const a = await ctx.requestInput({question: '1'}); ctx.log('one');"
    " const b = await ctx.requestInput({question: '2'}); ctx.log('two') }",
    "async def handler(p, ctx):\n"
    "    ctx.log('start'); print('start'); await ctx.call_tool('t', {}); ctx.log('called')\n"
    "    await ctx.request_input(question='1'); ctx.log('one')\n"
    "    await ctx.request_input(question='2'); ctx.log('two')",
)


def test_notes_of_the_replayed_part_are_not_repeated(bench: Bench, language: str) -> None:
    driver = bench.driver(language, LOGS[language])
    bench.wait(driver.leg())
    driver.answer(1, "a")
    bench.wait(driver.leg())
    driver.answer(2, "b")
    bench.wait(driver.leg())
    assert driver.notes_of("log") == ["start", "called", "one", "two"]
    assert len(driver.notes_of("console")) == 1


def test_a_recorded_error_is_thrown_again(bench: Bench, language: str) -> None:
    source = same(
        "export default async (p, ctx) => { try { await ctx.callTool('t', {}) } catch (e) {"
        " await ctx.requestInput({question: `${e.code} ${e.message}`}); return e.code } }",
        "async def handler(p, ctx):\n"
        "    try: await ctx.call_tool('t', {})\n"
        "    except CompositeCallError as e:\n"
        "        await ctx.request_input(question=f'{e.code} {e}'); return e.code",
    )[language]
    driver = bench.driver(language, source)
    failed = RecordedCall(0, "tool", "t", "", False, json.dumps({"name": "CompositeCallError", "message": "m", "code": "execution-failed"}), 0)  # fmt: skip
    driver.journal = [failed]
    parked = bench.wait(driver.leg()).parked
    assert json.loads(parked[1].args) == {"question": "execution-failed m"}
    driver.answer(1, "x")
    assert bench.wait(driver.leg()).result == "execution-failed"
    assert driver.calls == []


KILLED = same(
    """
export default async (p, ctx) => {
  const out = [];
  const branch = async (x) => { for (let i = 0; i < 6; i++) out.push((await ctx.callTool('work', { id: x + i })).token); };
  await Promise.all([branch('A'), branch('B'), branch('C')]);
  return out.length;
}
""",
    """
import asyncio

async def handler(p, ctx):
    out = []
    async def branch(x):
        for i in range(6): out.append((await ctx.call_tool("work", {"id": f"{x}{i}"}))["token"])
    await asyncio.gather(*map(branch, "ABC"))
    return len(out)
""",
)


def test_a_process_killed_at_random_moments_loses_and_repeats_nothing(bench: Bench, language: str) -> None:
    repo = write_tools(bench.root / f"killed-{language}", {f"amodal/tools/k/handler.{language}": KILLED[language]})

    async def scenario() -> int:
        driver = RunDriver(bench.hosts, repo, f"amodal/tools/k/handler.{language}", execute=RandomWork("kill"))
        moments = random.Random(language)
        kills = 0
        while True:
            leg = asyncio.create_task(driver.leg())
            if kills < 8:
                await asyncio.sleep(moments.uniform(0.01, 0.3))
                kills += 1
                for process in bench.hosts.processes:
                    process.kill()
            outcome = await leg
            if outcome.failure is None:
                assert outcome.result == 18
                break
            assert outcome.failure.code == "host-lost"
            assert outcome.failure.lost
        executed = [json.loads(call.args)["id"] for call in driver.calls]
        assert sorted(executed) == sorted(f"{x}{i}" for x in "ABC" for i in range(6))
        return kills

    assert bench.wait(scenario()) >= 1
