"""The process is killed with -9 at every moment that can be seen from outside: nothing is lost, nothing repeated."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.workshop import Bench, Repo, bench, play

Line = dict[str, Any]
ROOT = Path(__file__).parents[2]


def release_desk(root: Path) -> Repo:
    repo = Repo(root)
    repo.durable(
        "release",
        ts="""
const before = await ctx.callTool('build', {});
const target = await ctx.requestInput('Where?');
const note = await ctx.step('note', () => 'to ' + target.value);
const checked = await ctx.callTool('check', {});
const shipped = await ctx.callTool('ship', {target: target.value});
const told = await ctx.callTool('tell', {});
return {before, note, checked, shipped, told};
""",
        tools=("build", "check", "ship", "tell"),
    )
    repo.tool("build", ts="ctx.log('ran build'); return 'built';")
    repo.tool("check", ts="ctx.log('ran check'); return 'checked';", effect="read")
    repo.tool("ship", ts="ctx.log('ran ship'); await new Promise(r => setTimeout(r, 60)); return params.target;")
    repo.tool("tell", py="ctx.log('ran tell')\nreturn 'told'")
    return repo


RESULT = {"before": "built", "note": "to staging", "checked": "checked", "shipped": "staging", "told": "told"}
ONCE = ("build", "ship", "tell")
RESULT_OF = {"ship": "staging", "tell": "told"}


@contextmanager
def keeper(data: Path, repo: Repo, *command: str) -> Generator[subprocess.Popen[str]]:
    """A process with a runtime, killed with -9 at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.keeper", str(data), str(repo.root), *command],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        assert process.stdout is not None
        process.stdout.close()
        process.wait()


def lines(process: subprocess.Popen[str], until: str | None = None) -> Iterator[Line]:
    """What the process says, up to the first line that has ``until``."""
    assert process.stdout is not None
    for text in process.stdout:
        line: Line = json.loads(text)
        yield line
        if until is not None and until in line:
            return


def ran(data: Path, tool: str) -> int:
    """How often a handler of this name ran: each logs it."""
    log = data / "logs" / "handlers.log"
    if not log.exists():
        return 0
    return sum(line.endswith(f"/{tool} log ran {tool}") for line in log.read_text().splitlines())


def parked(data: Path, repo: Repo) -> str:
    """A run that waits for its answer, in a data folder whose process was killed."""
    with keeper(data, repo, "start", "release", "{}") as process:
        return next(line["reply"]["sessionId"] for line in lines(process) if "reply" in line)


def wait_for_shipping(data: Path, process: subprocess.Popen[str]) -> None:
    while ran(data, "ship") == 0:
        with suppress(subprocess.TimeoutExpired):
            raise AssertionError(f"the process ended by itself with {process.wait(0.05)}")


def killed_while_shipping(data: Path, repo: Repo) -> str:
    """A run whose process was killed in the middle of the call of ``ship``."""
    repo.tool("ship", ts="ctx.log('ran ship'); await new Promise(r => setTimeout(r, 60000));", timeout=90000)
    run_id = parked(data, repo)
    with keeper(data, repo, "answer", run_id, '"staging"') as process:
        wait_for_shipping(data, process)
    return run_id


async def settled(desk: Bench, run_id: str) -> dict[str, Any]:
    await desk.runtime.recover()
    return (await desk.detail(run_id))["run"]


def test_killed_between_park_and_answer(tmp_path: Path) -> None:
    repo, data = release_desk(tmp_path / "repo"), tmp_path / "data"
    run_id = parked(data, repo)

    async def answer() -> None:
        async with bench(repo, data) as desk:
            assert await desk.runtime.recover() == 0
            (pause,) = (await desk.runtime.pending(who="ann"))["approvals"]
            assert pause["question"] == "Where?"
            assert (await desk.answer(run_id, "staging"))["result"] == RESULT
            spans = await desk.spans(run_id)
            assert (spans["0"]["leg"], spans["0"]["replayed"]) == (1, True)

    play(answer())
    assert ran(data, "build") == 1


def test_killed_in_the_middle_of_a_call_asks_instead_of_repeating_it(tmp_path: Path) -> None:
    repo, data = release_desk(tmp_path / "repo"), tmp_path / "data"
    run_id = killed_while_shipping(data, repo)

    async def look() -> None:
        async with bench(repo, data) as desk:
            run = await settled(desk, run_id)
            assert run["status"] == "needs-attention"
            (pause,) = (await desk.runtime.pending(who="ann"))["approvals"]
            assert pause["kind"] == "attention"
            assert pause["input_type"] == "choice"
            assert [option["value"] for option in pause["options"]] == ["run-again", "fail"]
            assert pause["context"] == {"tool": "ship", "params": {"target": "staging"}}
            spans = await desk.spans(run_id)
            assert spans["4"]["state"] == "unknown"
            assert ran(data, "ship") == 1
            repo.tool("ship", ts="return 'again';")
            done = await desk.answer(run_id, "run-again")
            assert done["result"] == {**RESULT, "shipped": "again"}

    play(look())


def test_an_interrupted_call_can_be_let_fail(tmp_path: Path) -> None:
    repo, data = release_desk(tmp_path / "repo"), tmp_path / "data"
    run_id = killed_while_shipping(data, repo)

    async def fail() -> None:
        async with bench(repo, data) as desk:
            assert (await settled(desk, run_id))["status"] == "needs-attention"
            reply = await desk.answer(run_id, "fail")
            assert reply["outcome"]["kind"] == "failed"
            assert reply["outcome"]["code"] == "execution-failed"
            assert ran(data, "ship") == 1

    play(fail())


def test_an_interrupted_call_and_a_question_wait_side_by_side(tmp_path: Path) -> None:
    repo, data = Repo(tmp_path / "repo"), tmp_path / "data"
    repo.durable(
        "release",
        ts="return await Promise.all([ctx.callTool('ship', {}), ctx.requestInput('Where?').then(a => a.value)]);",
        tools=("ship",),
    )
    repo.tool("ship", ts="ctx.log('ran ship'); await new Promise(r => setTimeout(r, 60000));", timeout=90000)
    with keeper(data, repo, "start", "release", "{}") as process:
        wait_for_shipping(data, process)

    async def answer() -> None:
        async with bench(repo, data) as desk:
            assert await desk.runtime.recover() == 1
            pauses = (await desk.runtime.pending(who="ann"))["approvals"]
            attention, question = sorted(pauses, key=lambda pause: pause["kind"])
            run_id = question["session_id"]
            half = await desk.answer(run_id, "staging", pause_id=question["pause_id"])
            assert half["outcome"]["kind"] == "needs-attention"
            assert half["outcome"]["pause_id"] == attention["pause_id"]
            repo.tool("ship", ts="ctx.log('ran ship'); return 'shipped';")
            done = await desk.answer(run_id, "run-again", pause_id=attention["pause_id"])
            assert done["result"] == ["shipped", "staging"]

    play(answer())


def test_a_durable_child_goes_on_from_its_own_calls(tmp_path: Path) -> None:
    repo, data = Repo(tmp_path / "repo"), tmp_path / "data"
    repo.durable("release", ts="return await ctx.callTool('rollout', {});", tools=("rollout",))
    repo.durable(
        "rollout",
        py="""
first = await ctx.call_tool('build', {})
second = await ctx.call_tool('ship', {})
return [first, second]
""",
        tools=("build", "ship"),
    )
    repo.tool("build", ts="ctx.log('ran build'); return 'built';")
    repo.tool(
        "ship", ts="ctx.log('ran ship'); await new Promise(r => setTimeout(r, 60000));", timeout=90000, effect="read"
    )
    with keeper(data, repo, "start", "release", "{}") as process:
        wait_for_shipping(data, process)

    async def look() -> None:
        repo.tool("ship", ts="ctx.log('ran ship'); return 'shipped';", effect="read")
        async with bench(repo, data) as desk:
            assert await desk.runtime.recover() == 1
            (run,) = (await desk.runtime.runs(finished=True))["runs"]
            assert run["result"] == ["built", "shipped"]
            spans = await desk.spans(run["session_id"])
            assert (spans["0/0"]["replayed"], spans["0/1"]["replayed"]) == (True, False)

    play(look())
    assert ran(data, "build") == 1


@pytest.mark.parametrize("moment", range(1, 20, 2))
def test_killed_between_answer_and_finish(tmp_path: Path, moment: int) -> None:
    repo, data = release_desk(tmp_path / "repo"), tmp_path / "data"
    run_id = parked(data, repo)
    with keeper(data, repo, "answer", run_id, '"staging"') as process:
        for count, line in enumerate(lines(process), 1):
            if count >= moment or "reply" in line:
                break
    before = {tool: ran(data, tool) for tool in ONCE}

    async def look() -> None:
        async with bench(repo, data) as desk:
            run = await settled(desk, run_id)
            if run["status"] == "awaiting-input":  # killed before the answer was stored
                assert before["ship"] == 0
                await desk.answer(run_id, "staging")
                run = (await desk.detail(run_id))["run"]
            interrupted: set[str] = set()
            while run["status"] == "needs-attention":
                (pause,) = (await desk.detail(run_id))["pauses"]
                interrupted.add(pause["context"]["tool"])
                await desk.answer(run_id, {"use_result": RESULT_OF[pause["context"]["tool"]]})
                run = (await desk.detail(run_id))["run"]
            assert run["status"] == "completed"
            assert run["result"] == RESULT
            for decision in (await desk.detail(run_id))["decisions"]:
                if decision["kind"] == "input":
                    assert (decision["value"], decision["answered_by"]) == ("staging", "ann")
            spans = await desk.spans(run_id)
            assert all(span["state"] in ("ok", "unknown") for span in spans.values())
            for tool in interrupted:
                assert before[tool] <= 1

    play(look())
    assert {tool: ran(data, tool) for tool in ONCE if ran(data, tool) > 1} == {}


def test_killed_after_a_child_was_given_up(tmp_path: Path) -> None:
    repo, data = Repo(tmp_path / "repo"), tmp_path / "data"
    repo.durable(
        "clean",
        py="""
import asyncio
child = asyncio.ensure_future(ctx.call_tool("child", {}))
await ctx.call_tool("tell", {})
child.cancel()
await ctx.call_tool("wait", {})
return (await ctx.request_input("Reason?"))["value"]
""",
        tools=("child", "tell", "wait"),
    )
    repo.durable("child", py='await ctx.call_tool("wait", {})\nawait ctx.call_tool("ship", {})', tools=("wait", "ship"))
    repo.tool("tell", py="import asyncio\nawait asyncio.sleep(0.5)")
    repo.tool("wait", py='import asyncio\nctx.log("ran wait")\nawait asyncio.sleep(2)', effect="read")
    repo.tool("ship", py='ctx.log("ran ship")')
    with keeper(data, repo, "start", "clean", "{}") as process:
        while ran(data, "wait") < 2:
            assert process.poll() is None
            time.sleep(0.02)

    async def recover() -> None:
        async with bench(repo, data) as desk:
            assert await desk.runtime.recover() == 1
            (pause,) = (await desk.runtime.pending(who="ann"))["approvals"]
            assert pause["question"] == "Reason?"
            assert (await desk.answer(pause["session_id"], "so"))["result"] == "so"

    play(recover())
    assert (ran(data, "wait"), ran(data, "ship")) == (3, 0)


def test_the_tree_says_who_gave_the_result_of_an_interrupted_call(tmp_path: Path) -> None:
    repo, data = release_desk(tmp_path / "repo"), tmp_path / "data"
    run_id = killed_while_shipping(data, repo)

    async def decide() -> None:
        async with bench(repo, data) as desk:
            assert (await settled(desk, run_id))["status"] == "needs-attention"
            assert (await desk.answer(run_id, {"use_result": "by hand"}))["result"]["shipped"] == "by hand"
            (ship,) = [span for span in (await desk.spans(run_id)).values() if span["name"] == "ship"]
            assert (ship["state"], ship["output"], ship["message"]) == ("ok", "by hand", "result given by ann")

    play(decide())
