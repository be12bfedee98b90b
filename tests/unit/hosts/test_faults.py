"""What a handler can do wrong, what the run gets for it, and whether the process lives on."""

# ruff: noqa: E501 (handlers are written on one line)

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runtime_core.hosts import leg
from runtime_core.hosts.base import HandlerFailure
from runtime_core.hosts.supervisor import HandlerHosts
from tests.unit.hosts.conftest import Bench, same
from tests.unit.hosts.driver import RunDriver, entry, nothing, until, write_tools

EXITS = [
    ("ts", "export default async () => { process.exit(3) }", "exit(3)"),
    ("ts", "export default async () => { Deno.exit(3) }", "exit(3)"),
    ("ts", "export default async () => { process.abort() }", "abort()"),
    ("ts", "export default async () => { globalThis.close() }", "close()"),
    ("py", "import sys\nasync def handler(p, c): sys.exit(3)", "exit(3)"),
    ("py", "async def handler(p, c): raise SystemExit(3)", "SystemExit: 3"),
    ("py", "import os\nasync def handler(p, c): os._exit(3)", "_exit(3)"),
    ("py", "import os\nasync def handler(p, c): os.abort()", "abort()"),
    ("py", "async def handler(p, c): exit()", "exit()"),
]


@pytest.mark.parametrize(("kind", "source", "words"), EXITS)
def test_an_exit_is_an_error_of_its_run_only(bench: Bench, kind: str, source: str, words: str) -> None:
    failure = bench.inline(kind, source).failure
    assert failure is not None
    assert failure.code == "handler-exit"
    assert failure.message.startswith(words)
    assert bench.is_alive(kind)


WITHOUT_WORDS = [
    ("ts", "throw new TypeError()", "TypeError", "TypeError"),
    ("ts", "throw {a: 1}", "Error", 'it threw {"a":1}'),
    ("ts", "throw undefined", "Error", "it threw undefined"),
    ("ts", "throw 'a text'", "Error", "a text"),
    ("py", "assert False", "AssertionError", "AssertionError"),
    ("py", "raise MemoryError", "MemoryError", "MemoryError"),
    ("py", "raise KeyboardInterrupt", "KeyboardInterrupt", "KeyboardInterrupt"),
    ("py", "raise SystemExit(3)", "SystemExit", "SystemExit: 3"),
    ("py", "return {}['k']", "KeyError", "KeyError: 'k'"),
]


@pytest.mark.parametrize(("kind", "body", "name", "message"), WITHOUT_WORDS)
def test_an_error_without_words_is_told_by_its_name_or_its_value(
    bench: Bench, kind: str, body: str, name: str, message: str
) -> None:
    source = same(f"export default async () => {{ {body} }}", f"async def handler(p, c): {body}")[kind]
    failure = bench.inline(kind, source).failure
    assert failure is not None
    assert (failure.name, failure.message) == (name, message)


UNREADABLE = [
    ("ts", "class Odd extends Error { get message() { throw new Error('no') } }; throw new Odd()", "Odd"),
    ("ts", "class Odd { get message() { throw new Error('no') } }; throw new Odd()", "Odd"),
    ("ts", "const e = new RangeError('words'); Object.defineProperty(e, 'code', {get() { throw 1 }}); throw e", "words"),
    ("ts", "const e = new RangeError('words'); Object.defineProperty(e, 'stack', {get() { throw 1 }}); throw e", "words"),
    ("ts", "throw new Proxy({}, {get() { throw 1 }, getPrototypeOf() { throw 1 }, ownKeys() { throw 1 }})", "it threw (no text)"),
    ("ts", "throw Symbol('s')", "it threw Symbol(s)"),
    ("py", "class Odd(Exception):\n        def __str__(self): raise ValueError('no')\n    raise Odd()", "Odd"),
    ("py", "class Odd(Exception):\n        def __str__(self): raise SystemExit(1)\n    raise Odd()", "Odd"),
    ("py", "class Odd(Exception):\n        @property\n        def code(self): raise ValueError('no')\n    raise Odd('words')", "Odd"),
    ("py", "class Odd(Exception):\n        def __getattribute__(self, name): raise SystemExit(1)\n    raise Odd()", "Odd"),
    ("py", "class M(type):\n        @property\n        def __name__(cls): raise ValueError('no')\n    class Odd(Exception, metaclass=M): pass\n    raise Odd()", "Odd"),
    ("py", "class Odd(Exception): pass\n    e = Odd('words'); e.code = type('C', (), {'__str__': None})(); raise e", "Odd"),
]  # fmt: skip


@pytest.mark.parametrize("how", ["inline", "durable", "step", "load"])
@pytest.mark.parametrize(("kind", "body", "message"), UNREADABLE)
def test_an_error_that_cannot_be_read_ends_its_run_at_once(
    bench: Bench, kind: str, body: str, message: str, how: str
) -> None:
    source = same(f"export default async () => {{ {body} }}", f"async def handler(p, c):\n    {body}\n")[kind]
    if how == "step":
        source = same(
            f"export default (p, ctx) => ctx.step('s', () => {{ {body} }})",
            f"async def handler(p, c):\n  def work():\n    {body}\n  await c.step('s', work)\n",
        )[kind]
    if how == "load":
        source = same(f"{body}; export default () => 1", f"if True:\n    {body}\n")[kind]
    driver = bench.driver(kind, source, durable=how in {"durable", "step"})
    failure = bench.wait(driver.leg()).failure
    assert failure is not None
    assert message in failure.message or (how == "load" and "Odd" in failure.message)
    assert bench.is_alive(kind)


def test_a_recorded_key_error_keeps_its_words(bench: Bench) -> None:
    source = "async def handler(p, c):\n    def step(): return {}['k']\n    await c.step('s', step)"
    failure = bench.wait(bench.driver("py", source).leg()).failure
    assert failure is not None
    assert (failure.name, failure.message) == ("KeyError", "KeyError: 'k'")


STRAY = [
    ("ts", "export default async () => { setTimeout(() => { throw new Error('late') }, 1); await new Promise((r) => setTimeout(r, 20)); return 'alive' }"),
    ("ts", "export default async () => { Promise.reject(new Error('late')); await new Promise((r) => setTimeout(r, 5)); return 'alive' }"),
    ("py", "import asyncio\nasync def handler(p, c):\n    async def f(): raise ValueError('late')\n    t = asyncio.create_task(f()); await asyncio.sleep(.01); del t\n    import gc; gc.collect(); return 'alive'"),
    ("py", "import asyncio\nasync def handler(p, c):\n    async def f(): raise SystemExit('late')\n    t = asyncio.create_task(f()); await asyncio.sleep(.01); return 'alive'"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "source"), STRAY)
def test_an_error_nobody_waits_for_is_noted(bench: Bench, kind: str, source: str) -> None:
    driver = bench.driver(kind, source, durable=False)
    assert bench.wait(driver.leg()).result == "alive"
    assert any("late" in note["message"] for note in driver.notes_of("unhandled"))


OUTPUT = [
    ("ts", "import fs from 'node:fs'; export default async () => { console.log('{\"t\":\"done\"}'); process.stdout.write('raw\\n'); fs.writeSync(1, 'direct'); console.table([1]); return 'ok' }", ['{"t":"done"}', "raw", "direct"]),
    ("py", "import os, sys\nasync def handler(p, c):\n    print('{\"t\":\"done\"}'); sys.stdout.write('raw\\n'); os.write(1, b'direct\\n'); print('err', file=sys.stderr); return 'ok'", ['{"t":"done"}', "raw", "err"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "source", "texts"), OUTPUT)
def test_whatever_is_printed_is_log_text(bench: Bench, kind: str, source: str, texts: list[str]) -> None:
    driver = bench.driver(kind, source, durable=False)
    assert bench.wait(driver.leg()).result == "ok"
    printed = "\n".join(note["text"] for note in driver.notes_of("console"))
    for text in texts:
        assert text in printed
    assert bench.is_alive(kind)


def test_output_that_names_no_run_is_told_with_the_repository(tmp_path: Path, language: str) -> None:
    source = same(
        "import fs from 'node:fs'; export default async (p, ctx) => { fs.writeSync(1, 'below the console'); await ctx.callTool('t', {}) }",
        "import os\nasync def handler(p, ctx): os.write(1, b'below the console'); await ctx.call_tool('t', {})",
    )[language]
    repo = write_tools(tmp_path / "repo", {f"t.{language}": source})
    told: list[tuple[object, ...]] = []

    def stray(*said: object) -> None:
        told.append(said)

    async def endless(_: object) -> None:
        await asyncio.Future()

    async def story() -> None:
        hosts = HandlerHosts(tmp_path / "cache", stray)
        drivers = [RunDriver(hosts, repo, entry(f"t.{language}"), durable=False, execute=endless) for _ in range(2)]
        legs = [asyncio.create_task(driver.leg()) for driver in drivers]
        await until(lambda: bool(told))
        await hosts.close()
        await asyncio.gather(*legs)
        for driver in drivers:
            for task in driver.executing.values():
                task.cancel()

    asyncio.run(story())
    root, named, kind, value = told[0]
    assert (root, named, kind) == (repo.root, {"ts": "typescript", "py": "python"}[language], "console")
    assert "below the console" in str(value)


def test_a_flood_of_lines_is_cut_and_long_lines_are_shortened(bench: Bench, language: str) -> None:
    source = same(
        "export default async () => { console.log('x'.repeat(20000)); for (let i = 0; i < 20000; i++) console.log('line ' + i); return 'ok' }",
        "async def handler(p, c):\n    print('x' * 20000)\n    for i in range(20000): print('line', i)\n    return 'ok'",
    )[language]
    driver = bench.driver(language, source, durable=False)
    assert bench.wait(driver.leg()).result == "ok"
    lines = driver.notes_of("console")
    assert len(lines[0]["text"]) == 8192
    assert 500 <= len(lines) < 15_000


def test_the_input_of_the_protocol_is_out_of_reach(bench: Bench, language: str) -> None:
    source = same(
        "export default async () => { const b = new Uint8Array(9); return [await Deno.stdin.read(b), Deno.stdin.readSync(b)] }",
        "async def handler(p, c):\n    try: return [input()]\n    except EOFError: return [None, None]",
    )[language]
    assert bench.inline(language, source).result == [None, None]
    assert bench.is_alive(language)


NEVER = same(
    "export default async () => new Promise(() => {})",
    "import asyncio\nasync def handler(p, c): await asyncio.Future()",
)


def test_a_handler_that_never_ends_meets_its_deadline(bench: Bench, language: str) -> None:
    failure = bench.inline(language, NEVER[language], timeout_s=0.4).failure
    assert failure is not None
    assert failure.code == "deadline"
    assert "0.4 s" in failure.message
    assert not failure.lost
    assert bench.is_alive(language)


SLOW_CALLS = same(
    "export default async (p, ctx) => { for (let i = 0; i < 3; i++) await ctx.callTool('t', {}); return 'ok' }",
    "async def handler(p, ctx):\n    for _ in range(3): await ctx.call_tool('t', {})\n    return 'ok'",
)


def test_the_deadline_does_not_count_while_a_call_is_open(bench: Bench, language: str) -> None:
    async def slow(_: object) -> None:
        await asyncio.sleep(0.5)

    assert bench.inline(language, SLOW_CALLS[language], timeout_s=0.6, execute=slow).result == "ok"


CLEARED = same(
    "export default async (p, ctx) => { clearTimeout(setTimeout(() => {}, 60000)); await new Promise(() => {}) }",
    "import asyncio\nasync def handler(p, ctx):\n    async with asyncio.timeout(60): pass\n    await asyncio.Future()",
)


def test_a_timer_that_was_given_up_does_not_stop_the_clock(bench: Bench, language: str) -> None:
    driver = bench.driver(language, CLEARED[language], timeout_s=0.4, execute=nothing)
    driver.is_timer_endless = False

    async def run() -> str | None:
        outcome = await driver.leg()
        for task in driver.executing.values():
            task.cancel()
        return outcome.failure.code if outcome.failure else None

    assert bench.wait(run()) == "deadline"


ABORTED = same(
    "export default async (p, ctx) => { const heard = new Promise((r) => ctx.signal.addEventListener('abort', () => r('heard')));"
    " ctx.log('ready'); try { await ctx.callTool('t', {}) } catch (e) { ctx.log(e.code) }"
    " ctx.log(await heard); try { await ctx.callTool('u', {}) } catch (e) { ctx.log('again ' + e.code) }"
    " if (p.ignore) await new Promise(() => {}); return 'x' }",
    "import asyncio\n"
    "async def handler(p, ctx):\n"
    "    ctx.log('ready')\n"
    "    try: await ctx.call_tool('t', {})\n"
    "    except asyncio.CancelledError: ctx.log('cancelled')\n"
    "    await ctx.signal.wait(); ctx.log('heard' if ctx.signal.aborted else '?')\n"
    "    try: await ctx.call_tool('u', {})\n"
    "    except Exception as e: ctx.log('again ' + e.code)\n"
    "    if p['ignore']: await asyncio.Future()\n"
    "    return 'x'",
)


@pytest.mark.parametrize("ignore", [False, True])
def test_an_aborted_run_may_clean_up_and_is_dropped_after_a_while(
    bench: Bench, language: str, ignore: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leg, "ABORT_S", 1.0)

    async def endless(_: object) -> None:
        await asyncio.Future()

    driver = bench.driver(language, ABORTED[language], {"ignore": ignore}, durable=False, execute=endless)

    async def run() -> tuple[str | None, bool, float]:
        running = asyncio.create_task(driver.leg())
        await until(lambda: bool(driver.calls))
        assert driver.current is not None
        started = asyncio.get_running_loop().time()
        driver.current.abort("the operator said so")
        failure = (await running).failure
        for task in driver.executing.values():
            task.cancel()
        assert failure is not None
        return failure.code, failure.lost, asyncio.get_running_loop().time() - started

    code, lost, took = bench.wait(run())
    assert (code, lost) == ("cancelled", False)
    assert driver.notes_of("log") == ["ready", "cancelled", "heard", "again cancelled"]
    assert (took >= 1) == ignore
    assert bench.is_alive(language)


WAITING = {
    "for the signal": same(
        "export default async (p, ctx) => { ctx.log('ready');"
        " await new Promise((r) => ctx.signal.addEventListener('abort', r));"
        " ctx.log('heard ' + ctx.signal.aborted); await null; ctx.log('cleaned up'); return 'late' }",
        "import asyncio\nasync def handler(p, ctx):\n    ctx.log('ready')\n    await ctx.signal.wait()\n"
        "    ctx.log(f'heard {str(ctx.signal.aborted).lower()}')\n    await asyncio.sleep(0)\n"
        "    ctx.log('cleaned up')\n    return 'late'",
    ),
    "for the signal beside something else": same(
        "export default async (p, ctx) => { ctx.log('ready');"
        " await Promise.race([new Promise((r) => ctx.signal.addEventListener('abort', r)), new Promise(() => {})]);"
        " ctx.log('heard ' + ctx.signal.aborted); await null; ctx.log('cleaned up'); return 'late' }",
        "import asyncio\nasync def handler(p, ctx):\n    ctx.log('ready')\n"
        "    heard = asyncio.ensure_future(ctx.signal.wait())\n"
        "    await asyncio.wait([heard, asyncio.Future()], return_when=asyncio.FIRST_COMPLETED)\n"
        "    ctx.log(f'heard {str(ctx.signal.aborted).lower()}')\n    await asyncio.sleep(0)\n"
        "    ctx.log('cleaned up')\n    return 'late'",
    ),
    "with a listener": same(
        "export default async (p, ctx) => { ctx.log('ready'); await new Promise((_, no) => {"
        " ctx.signal.addEventListener('abort', () => { ctx.log('heard ' + ctx.signal.aborted); no(ctx.signal.reason) }) })"
        ".finally(() => ctx.log('cleaned up')) }",
        "import asyncio\nasync def handler(p, ctx):\n    async def listen():\n        await ctx.signal.wait()\n"
        "        ctx.log(f'heard {str(ctx.signal.aborted).lower()}')\n"
        "    listening = asyncio.ensure_future(listen())\n    ctx.log('ready')\n"
        "    try: await asyncio.Future()\n    finally: ctx.log('cleaned up')",
    ),
}


@pytest.mark.parametrize("how", WAITING)
@pytest.mark.parametrize("end", ["deadline", "cancelled"])
@pytest.mark.parametrize("durable", [False, True])
def test_a_handler_hears_of_its_end_and_cleans_up(
    bench: Bench, language: str, how: str, end: str, durable: bool
) -> None:
    late = end == "deadline"
    driver = bench.driver(language, WAITING[how][language], durable=durable, timeout_s=0.4 if late else 20)

    async def run() -> HandlerFailure | None:
        running = asyncio.create_task(driver.leg())
        await until(lambda: driver.notes_of("log") == ["ready"])
        if not late:
            assert driver.current is not None
            driver.current.abort("the operator said so")
        failure = (await running).failure
        await until(lambda: len(driver.notes_of("log")) == 3)
        return failure

    failure = bench.wait(run())
    assert failure is not None
    assert failure.code == end
    assert driver.notes_of("log") == ["ready", "heard true", "cleaned up"]
    assert bench.is_alive(language)


NEVER_CLEAN = same(
    "export default async (p, ctx) => { ctx.signal.addEventListener('abort', () => {"
    " ctx.callTool('t', {}).catch((e) => ctx.log(e.code)); }); await new Promise(() => {}) }",
    "import asyncio\nasync def handler(p, ctx):\n    try: await asyncio.Future()\n    except asyncio.CancelledError:\n"
    "        try: await ctx.call_tool('t', {})\n        except Exception as e: ctx.log(e.code)\n"
    "        await asyncio.Future()",
)


def test_a_handler_whose_time_is_up_calls_nothing_and_is_dropped_in_the_end(
    tmp_path: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leg, "ABORT_S", 0.5)
    repo = write_tools(tmp_path / "repo", {f"t.{language}": NEVER_CLEAN[language]})

    async def story() -> RunDriver:
        hosts = HandlerHosts(tmp_path / "cache")
        driver = RunDriver(hosts, repo, entry(f"t.{language}"), durable=False, timeout_s=0.4)
        failure = (await driver.leg()).failure
        assert failure is not None
        assert failure.code == "deadline"
        await until(lambda: driver.notes_of("log") == ["cancelled"])
        await hosts.retire(repo)
        await until(lambda: not hosts.processes)  # which end with their last handler
        await hosts.close()
        return driver

    assert asyncio.run(story()).calls == []


MEMORY = [
    ("ts", "export default async () => { const a = []; for (let i = 0; i < 20; i++) a.push(new Uint8Array(1e8)); return a.length }"),
    ("py", "async def handler(p, c):\n    return len(bytearray(2_000_000_000))"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "source"), MEMORY)
def test_two_gigabytes_of_buffers_are_an_error_of_the_run(bench: Bench, kind: str, source: str) -> None:
    failure = bench.inline(kind, source).failure
    assert failure is not None
    assert failure.name in {"RangeError", "MemoryError"}
    assert bench.is_alive(kind)


def test_a_finished_run_may_leave_calls_behind(bench: Bench, language: str) -> None:
    source = same(
        "export default async (p, ctx) => { ctx.callTool('t', {}).then(() => ctx.log('late')); return 'first' }",
        "async def handler(p, ctx): ctx.call_tool('t', {}); return 'first'",
    )[language]
    driver = bench.driver(language, source)
    assert bench.wait(driver.leg()).result == "first"
    assert bench.is_alive(language)
    assert driver.notes_of("log") == []


def test_two_hundred_runs_at_once(bench: Bench, language: str) -> None:
    entry = bench.write(language, SLOW_CALLS[language])

    async def many() -> set[str]:
        drivers = [RunDriver(bench.hosts, bench.repo, entry, durable=False) for _ in range(250)]
        return {(await leg).result for leg in asyncio.as_completed([driver.leg() for driver in drivers])}

    assert bench.wait(many()) == {"ok"}
