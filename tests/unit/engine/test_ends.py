"""Cancelling, diverging, losing processes, repositories that cannot be opened."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from runtime_core.hosts import process
from runtime_core.journal.base import Claim
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.runs import Entry
from tests.unit.engine.workshop import Repo, bench, play

ASK = "return (await ctx.requestInput('sure?')).value;"


def test_a_parked_run_is_cancelled_once(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", ts=ASK)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            reply = await desk.runtime.cancel(run_id, who="bob")
            assert reply["outcome"]["kind"] == "cancelled"
            detail = await desk.detail(run_id)
            assert detail["pauses"] == []
            assert [decision["outcome"] for decision in detail["decisions"]] == ["cancelled"]
            assert {span["state"] for span in detail["spans"]} == {"cancelled"}
            with pytest.raises(RuntimeFault) as again:
                await desk.runtime.cancel(run_id, who="bob")
            assert again.value.code == "run_cancelled"
            with pytest.raises(RuntimeFault) as answered:
                await desk.answer(run_id, "yes")
            assert answered.value.code == "run_cancelled"

    play(story())


def test_a_running_run_is_cancelled_and_its_handlers_get_the_signal(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("long", ts="return await ctx.callTool('slow', {});", tools=("slow",))
    hears = "await new Promise(r => ctx.signal.addEventListener('abort', () => { globalThis.heard = true; r(0); }));"
    repo.tool("slow", ts="globalThis.heard = false; " + hears, timeout=60000)
    repo.tool("heard", ts="return globalThis.heard ?? null;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("long", wait_s=0))["sessionId"]
            while (await desk.run("heard"))["result"] is None:  # until the child runs
                pass
            cancelled = await desk.runtime.cancel(run_id, who="bob")
            assert cancelled["outcome"]["kind"] == "cancelled"
            spans = await desk.spans(run_id)
            assert {span["state"] for span in spans.values()} == {"cancelled"}
            assert (await desk.run("heard"))["result"] is True

    play(story())


LATE: Final[dict[str, dict[str, Any]]] = {
    "typescript": {
        "ts": """
await new Promise(r => ctx.signal.addEventListener('abort', r));
ctx.log('cleaned up');
return 'late';
"""
    },
    "python": {
        "py": """
await ctx.signal.wait()
ctx.log('cleaned up')
return 'late'
"""
    },
}


@pytest.mark.parametrize("language", LATE)
@pytest.mark.parametrize("asked", ["alone", "nested", "inline"])
def test_a_handler_whose_time_is_up_fails_at_once_and_may_clean_up(tmp_path: Path, language: str, asked: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("alone", timeout=400, **LATE[language])
    repo.tool("inline", timeout=400, **LATE[language])
    repo.durable("nested", ts="return await ctx.callTool('alone', {});", tools=("alone",))
    log = tmp_path / "data" / "logs" / "handlers.log"

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            reply = await desk.run(asked)
            assert reply["outcome"]["kind"] == "failed"
            assert "did not finish within 0.4 s" in str(reply)

    play(story())
    assert "cleaned up" in log.read_text()  # also if the runtime was closed at once


CLEANING: Final[dict[str, dict[str, str]]] = {
    "typescript": {
        "ts": """
ctx.log('waiting');
try { await ctx.callTool('slow', {}); }
finally { console.log('putting away'); ctx.log('put away'); if (params.loops) for (;;); }
"""
    },
    "python": {
        "py": """
ctx.log("waiting")
try:
    await ctx.call_tool("slow", {})
finally:
    print("putting away")
    ctx.log("put away")
    while params.get("loops"):
        pass
"""
    },
}


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("language", CLEANING)
def test_what_a_handler_says_while_it_is_cancelled_is_in_the_log(
    tmp_path: Path, language: str, loops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TICK_S", 0.1)
    repo = Repo(tmp_path / "repo")
    repo.durable("long", **CLEANING[language], tools=("slow",))
    repo.tool("slow", ts="await new Promise(r => setTimeout(r, 60000));", timeout=90000)
    log = tmp_path / "data" / "logs" / "handlers.log"

    async def said(text: str) -> None:
        while not (log.exists() and text in log.read_text()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("long", {"loops": loops}, wait_s=0))["sessionId"]
            await said("long log waiting")
            await desk.runtime.cancel(run_id, who="bob")
            await said("blocked its process for" if loops else "long log put away")
            assert loops or "putting away" in log.read_text()

    play(story())


def test_changed_code_diverges_before_anything_new_is_executed(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("top", ts="await ctx.callTool('first', {}); " + ASK, tools=("first", "other"))
    repo.tool("first", ts="return 1;")
    repo.tool("other", ts="globalThis.other = true; return 2;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("top"))["sessionId"]
            repo.durable("top", ts="await ctx.callTool('other', {}); " + ASK, tools=("first", "other"))
            reply = await desk.answer(run_id, "yes")
            assert reply["outcome"]["kind"] == "diverged"
            assert reply["outcome"]["code"] == "replay-diverged"
            assert 'callTool "first"' in reply["outcome"]["reason"]
            assert 'callTool "other"' in reply["outcome"]["reason"]
            assert "resume on the old code" in reply["outcome"]["reason"]
            assert len(await desk.spans(run_id)) == 3
            cancelled = await desk.runtime.cancel(run_id, who="ann")
            assert cancelled["outcome"]["kind"] == "cancelled"

    play(story())


@pytest.mark.parametrize("answered", [True, False])
def test_a_changed_question_diverges_before_the_answer_reaches_the_handler(tmp_path: Path, answered: bool) -> None:
    repo = Repo(tmp_path / "repo")
    both = "const [a, b] = await Promise.all([ctx.requestInput('{}'), ctx.requestInput('{}')]); return [a, b];"
    repo.durable("top", ts=both.format("one?", "two?"))

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("top"))["sessionId"]
            changed = ("ONE?", "two?") if answered else ("one?", "TWO?")
            repo.durable("top", ts=both.format(*changed))
            reply = await desk.answer(run_id, "x")
            assert reply["outcome"]["kind"] == "diverged"
            assert reply["outcome"]["code"] == "content_changed"
            assert [pause["status"] for pause in (await desk.detail(run_id))["pauses"]] == ["diverged"]
            with pytest.raises(RuntimeFault) as refused:
                await desk.answer(run_id, "y")
            assert (refused.value.code, refused.value.details["status"]) == ("not_awaiting_input", "diverged")

    play(story())


def test_changed_parameters_of_a_recorded_call_keep_the_recorded_result(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    code = "const n = await ctx.callTool('echo', {{n: {}}}); await ctx.requestInput('?'); return n;"
    repo.durable("top", ts=code.format(1), tools=("echo",))
    repo.tool("echo", ts="return params.n;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("top"))["sessionId"]
            repo.durable("top", ts=code.format(2), tools=("echo",))
            assert (await desk.answer(run_id, "x"))["result"] == 1

    play(story())


def test_a_run_whose_repository_is_gone_waits_for_attention_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", ts=ASK)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            shutil.move(repo.root, tmp_path / "elsewhere")
            reply = await desk.answer(run_id, "yes")
            assert reply["outcome"]["kind"] == "needs-attention"
            assert reply["outcome"]["pause_kind"] == "attention"
            detail = await desk.detail(run_id)
            assert str(repo.root) in detail["run"]["error"]["message"]
            assert detail["run"]["error"]["code"] == "repository-unavailable"
            shutil.move(tmp_path / "elsewhere", repo.root)
            done = await desk.answer(run_id, "run-again")
            assert done["result"] == "yes"
            assert (await desk.detail(run_id))["run"]["error"] is None

    play(story())


# Ends the process at once, whatever guards it has.
DIE = "__import__('faulthandler')._sigsegv()"


def test_a_durable_handler_goes_on_in_a_fresh_process(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "dies",
        py=f"""
import os
seen = await ctx.step('first', lambda: os.getpid())
counted = await ctx.call_tool('count', {{}})
if os.getpid() == seen:
    {DIE}
return ['survived', counted, await ctx.call_tool('count', {{}})]
""",
        tools=("count",),
    )
    repo.tool("count", ts="globalThis.count = (globalThis.count ?? 0) + 1; return globalThis.count;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert (await desk.run("dies"))["result"] == ["survived", 1, 2]

    play(story())


def test_a_call_goes_on_while_its_callers_process_is_replaced(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "top",
        py=f"""
import asyncio, os
seen = await ctx.step('first', lambda: os.getpid())
slow = ctx.call_tool('slow', {{}})
await ctx.call_tool('quick', {{}})
if os.getpid() == seen:
    {DIE}
return await slow
""",
        tools=("slow", "quick"),
    )
    repo.tool(
        "slow", ts="globalThis.n = (globalThis.n ?? 0) + 1; await new Promise(r => setTimeout(r, 900)); return n;"
    )
    repo.tool("quick", ts="return 1;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert (await desk.run("top"))["result"] == 1

    play(story())


def test_a_handler_that_changes_its_mind_in_a_fresh_process_diverges(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "fickle",
        py=f"""
import os
seen = await ctx.step('first', lambda: os.getpid())
fresh = os.getpid() != seen
call = ctx.call_tool('other' if fresh else 'slow', {{}})
if not fresh:
    await ctx.call_tool('other', {{}})
    {DIE}
return await call
""",
        tools=("slow", "other"),
    )
    repo.tool("slow", ts="await new Promise(r => setTimeout(r, 5000)); return 1;", effect="read")
    repo.tool("other", ts="return 2;", effect="read")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            reply = await desk.run("fickle")
            assert reply["outcome"]["kind"] == "diverged"
            assert reply["outcome"]["code"] == "replay-diverged"
            assert 'callTool "slow"' in reply["outcome"]["reason"]

    play(story())


def test_a_handler_that_always_takes_its_process_down_fails_its_run(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("dies", py=DIE)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            reply = await desk.run("dies")
            assert reply["outcome"]["kind"] == "failed"
            assert reply["outcome"]["code"] == "host-hung"

    play(story())


FAN = {
    "ts": {
        "fan": "await ctx.callTool('hang', {quick: true}); await ctx.callTool('pay', {});"
        "return await Promise.all([ctx.callTool('hang', {}).catch(() => 'lost'),"
        " ...Array.from({length: 20}, () => ctx.callTool('pay', {}))]);",
        "hang": "while (!params.quick) {}",
        "pay": "return 'paid';",
    },
    "py": {
        "fan": "import asyncio\n"
        "async def hang():\n"
        "    try: return await ctx.call_tool('hang', {})\n"
        "    except Exception: return 'lost'\n"
        "await ctx.call_tool('hang', {'quick': True}); await ctx.call_tool('pay', {})\n"
        "return await asyncio.gather(hang(), *(ctx.call_tool('pay', {}) for _ in range(20)))",
        "hang": "while not params.get('quick'): pass",
        "pay": "return 'paid'",
    },
}


@pytest.mark.parametrize("language", ["ts", "py"])
def test_nobody_is_asked_about_a_call_that_had_not_begun_when_its_process_was_lost(
    tmp_path: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the one which hangs, and of the one that the process may have come to, cannot be known."""
    monkeypatch.setattr(process, "HUNG_PINGS", 2)
    repo = Repo(tmp_path / "repo")
    sources: dict[str, dict[str, Any]] = {name: {language: source} for name, source in FAN[language].items()}
    repo.durable("fan", tools=("hang", "pay"), **sources["fan"])
    for name in ("hang", "pay"):
        repo.tool(name, effect="once", **sources[name])

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("fan"))["sessionId"]
            detail = await desk.detail(run_id)
            assert len(detail["pauses"]) <= 2
            paid = [span for span in detail["spans"] if span["name"] == "pay" and span["state"] == "ok"]
            assert len(paid) >= 20

    play(story())


def test_closing_does_not_wait_for_a_handler_that_hangs(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("hangs", ts="while (true) {}")

    async def story() -> str:
        async with bench(repo, tmp_path / "data") as desk:
            return (await desk.run("hangs", wait_s=0.5))["sessionId"]

    run_id = play(story())

    async def look() -> None:
        repo.durable("hangs", ts="return 'repaired';")
        async with bench(repo, tmp_path / "data") as desk:
            assert await desk.runtime.recover() == 1
            assert (await desk.detail(run_id))["run"]["result"] == "repaired"

    play(look())


def test_a_closed_runtime_leaves_its_runs_to_the_next_one(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "long",
        ts="const a = await ctx.callTool('work', {}); const b = await ctx.callTool('work', {}); return [a, b];",
        tools=("work",),
    )
    repo.tool("work", ts="await new Promise(r => setTimeout(r, 700)); return 'done';")

    async def begin() -> str:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("long", wait_s=0.3))["sessionId"]
            await desk.until("span", id="0")
            return run_id

    async def go_on(run_id: str) -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert await desk.runtime.recover() == 1
            assert (await desk.detail(run_id))["run"]["result"] == ["done", "done"]
            spans = await desk.spans(run_id)
            assert (spans["0"]["replayed"], spans["1"]["replayed"]) == (True, False)

    play(go_on(play(begin())))


def test_a_run_whose_journal_fails_goes_on_when_it_works_again(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("top", ts="return [await ctx.step('a', () => 1), await ctx.callTool('leaf', {})];", tools=("leaf",))
    repo.tool("leaf", ts="return 2;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            append = desk.runtime._journal.append
            refused: list[object] = []

            async def full(claim: Claim, entries: Sequence[Entry], *more: Any, **named: Any) -> Any:
                if len(refused) < 2 and entries:
                    refused.append(entries)
                    raise RuntimeFault("data_folder_unusable", "The disk is full.")
                return await append(claim, entries, *more, **named)

            desk.runtime._journal.append = full
            started = await desk.run("top")
            assert started["outcome"]["kind"] == "running"
            run = await desk.until("run", status="completed")
            assert run.wire["result"] == [1, 2]
            assert len(refused) == 2

    play(story())


HANGS = "import asyncio\nawait asyncio.sleep(0.3)\nwhile True: pass"


def _innocents(repo: Repo) -> None:
    repo.durable("hangrun", ts="return await ctx.callTool('hangs', {});", tools=("hangs",))
    repo.tool("hangs", py=HANGS, timeout=60000)
    for name, effect in (("once", "once"), ("read", "read")):
        repo.tool(f"slow_{name}", py=f"import asyncio\nawait asyncio.sleep(4)\nreturn '{name}'", effect=effect)
        repo.durable(f"run_{name}", ts=f"return await ctx.callTool('slow_{name}', {{}});", tools=(f"slow_{name}",))
    repo.durable("run_nested", ts="return await ctx.callTool('outer', {});", tools=("outer",))
    repo.tool("outer", ts="return await ctx.callTool('slow_once', {});", tools=("slow_once",), effect="idempotent")


def test_a_handler_that_hangs_fails_its_own_call_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "TICK_S", 0.05)
    repo = Repo(tmp_path / "repo")
    _innocents(repo)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            names = ("run_once", "run_read", "run_nested")
            innocent = [asyncio.create_task(desk.run(name)) for name in names]
            for name in ("slow_once", "slow_read"):
                await desk.until("span", name=name)
            await desk.until("span", id="0/0", name="slow_once")
            culprit = (await desk.run("hangrun"))["outcome"]
            assert (culprit["kind"], culprit["code"]) == ("failed", "execution-failed")
            assert "hangs/handler.py blocked its process" in culprit["reason"]
            once, read, nested = [await task for task in innocent]
            assert (read["result"], nested["result"]) == ("read", "once")
            assert once["outcome"]["kind"] == "needs-attention"
            assert [option["value"] for option in once["outcome"]["options"]] == ["run-again", "fail"]
            assert (await desk.spans(once["sessionId"]))["0"]["state"] == "unknown"
            again = await desk.answer(once["sessionId"], "run-again")
            assert again["result"] == "once"

    play(story())


def test_a_call_after_one_that_hangs_gets_a_process_that_works(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.tool(
        "top",
        ts="""
try { await ctx.callTool('hangs', {}); } catch (error) { }
return await ctx.callTool('echo', {a: 1});
""",
        tools=("hangs", "echo"),
        timeout=60000,
    )
    repo.tool("hangs", py="while True: pass", timeout=500)
    repo.tool("echo", py="return params")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert (await desk.run("top"))["result"] == {"a": 1}

    play(story())


BROKEN = [
    ({"ts": ASK}, {"ts": "const x = ;"}, "load-failed", "handler.ts:2"),
    (
        {"py": "return (await ctx.request_input('sure?'))['value']"},
        {"py": "return await ctx.request_input('sure?'"},
        "load-failed",
        "handler.py:2",
    ),
]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(("code", "broken", "reason", "place"), BROKEN)
def test_a_resumed_run_whose_handler_cannot_be_loaded_waits_until_it_is_repaired(
    tmp_path: Path, code: dict[str, str], broken: dict[str, str], reason: str, place: str, nested: bool
) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", **code)
    repo.durable("top", ts="return await ctx.callTool('ask', {});", tools=("ask",))

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("top" if nested else "ask"))["sessionId"]
            repo.durable("ask", **broken)
            first = await desk.run("ask")
            assert first["outcome"]["kind"] == "failed"
            reply = await desk.answer(run_id, "yes")
            assert reply["outcome"]["kind"] == "needs-attention"
            assert place in reply["outcome"]["question"]
            assert [option["value"] for option in reply["outcome"]["options"]] == ["run-again"]
            assert (await desk.detail(run_id))["run"]["error"]["code"] == reason
            repo.durable("ask", **code)
            assert (await desk.answer(run_id, "run-again"))["result"] == "yes"

    play(story())
