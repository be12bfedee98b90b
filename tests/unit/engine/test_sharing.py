"""Several runtimes on one data folder: one executes, the others read, answer, cancel and start."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from runtime_core.runtime import Runtime
from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import Repo, bench, play


def asking(root: Path) -> Repo:
    repo = Repo(root)
    repo.durable("ask", ts="return (await ctx.requestInput('sure?')).value;")
    return repo


def test_a_client_starts_answers_and_cancels_what_the_executor_advances(tmp_path: Path) -> None:
    repo = asking(tmp_path / "repo")

    async def story() -> None:
        async with (
            bench(repo, tmp_path / "data", execute=True) as executor,
            bench(repo, tmp_path / "data") as client,
        ):
            await executor.runtime.recover()
            assert (executor.runtime.executes, client.runtime.executes) == (True, False)
            asked = await client.run("ask")
            assert asked["outcome"]["kind"] == "awaiting-input"
            assert (await executor.runtime.pending(who="ann"))["total"] == 1
            done = await client.answer(asked["sessionId"], "yes")
            assert done["result"] == "yes"
            await executor.until("run", status="completed")
            await client.until("span", state="ok")
            other = (await executor.run("ask"))["sessionId"]
            assert (await client.runtime.cancel(other, who="bob"))["outcome"]["kind"] == "cancelled"

    play(story())


def test_a_client_cancels_a_call_that_the_executor_is_making(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("long", ts="return await ctx.callTool('slow', {});", tools=("slow",))
    repo.tool("slow", ts="await new Promise(r => ctx.signal.addEventListener('abort', r));", timeout=60000)

    async def story() -> None:
        async with (
            bench(repo, tmp_path / "data", execute=True) as executor,
            bench(repo, tmp_path / "data", execute=False) as client,
        ):
            running = asyncio.create_task(executor.run("long"))
            await executor.until("span", id="0")
            (run,) = (await client.runtime.runs(finished=False))["runs"]
            await client.runtime.cancel(run["session_id"], who="bob")
            assert (await running)["outcome"]["kind"] == "cancelled"

    play(story())


def test_a_waiting_client_takes_over_when_the_executor_goes(tmp_path: Path) -> None:
    repo = asking(tmp_path / "repo")

    async def story() -> None:
        executor = Runtime(tmp_path / "data", execute=True)
        await executor.open()
        async with bench(repo, tmp_path / "data") as client:
            # This executor has not begun to serve, so the client's run stays where it is.
            waiting = asyncio.create_task(client.run("ask"))
            await client.until("run")
            assert not waiting.done()
            await executor.close()
            assert (await waiting)["outcome"]["kind"] == "awaiting-input"
            assert client.runtime.executes

    play(story())


def test_two_executors_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with bench(asking(tmp_path / "repo"), tmp_path / "data", execute=True):
            with pytest.raises(RuntimeFault) as caught:
                await Runtime(tmp_path / "data", execute=True).open()
            assert caught.value.code == "data_folder_busy"
            assert str(tmp_path / "data") in caught.value.message

    play(story())


def test_answers_from_two_sides_have_one_winner(tmp_path: Path) -> None:
    repo = asking(tmp_path / "repo")

    async def story() -> None:
        async with (
            bench(repo, tmp_path / "data", execute=True) as one,
            bench(repo, tmp_path / "data", execute=False) as two,
        ):
            for _ in range(5):
                run_id = (await one.run("ask"))["sessionId"]
                replies = await asyncio.gather(
                    one.answer(run_id, "from one"), two.answer(run_id, "from two"), return_exceptions=True
                )
                refused = [reply for reply in replies if isinstance(reply, RuntimeFault)]
                won = [reply for reply in replies if isinstance(reply, dict)]
                assert (len(refused), len(won)) == (1, 1)
                assert refused[0].code in ("not_awaiting_input", "pause_superseded")
                assert won[0]["outcome"]["kind"] == "complete"

    play(story())


def test_many_runs_at_once_are_all_answered(tmp_path: Path) -> None:
    repo = asking(tmp_path / "repo")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            asked = await asyncio.gather(*(desk.run("ask") for _ in range(40)))
            page = await desk.runtime.pending(who="ann", limit=25)
            assert (len(page["approvals"]), page["total"]) == (25, 40)
            rest = await desk.runtime.pending(who="ann", limit=25, cursor=page["next_cursor"])
            assert len(rest["approvals"]) == 15
            done = await asyncio.gather(*(desk.answer(reply["sessionId"], n) for n, reply in enumerate(asked)))
            assert [reply["result"] for reply in done] == list(range(40))

    play(story())


LEAVES_A_CHILD = """
import os, sys, time
from pathlib import Path
from runtime_core.dispatch.lock import ExecutorLock
print(ExecutorLock(Path(sys.argv[1])).acquire(), flush=True)
if os.fork():
    os._exit(0)
os.close(1)
time.sleep(0.4)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_the_child_an_executor_was_starting_when_it_died_does_not_hold_its_lock(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    script = [sys.executable, "-c", LEAVES_A_CHILD, str(data / "executor.lock")]
    assert subprocess.run(script, stdout=subprocess.PIPE, text=True, check=True).stdout == "True\n"

    async def story() -> None:
        async with bench(asking(tmp_path / "repo"), data, execute=True) as desk:
            assert desk.runtime.executes

    play(story())


def test_a_model_that_the_executor_was_not_started_with_is_refused_before_anything_counts(tmp_path: Path) -> None:
    repo = asking(tmp_path / "repo")
    repo.tool("now", ts="return 1;")
    model, other = repo.script({"text": "one"}), f"scripted:{tmp_path / 'other.json'}"

    async def refused(work: Coroutine[Any, Any, object]) -> str:
        with pytest.raises(RuntimeFault) as caught:
            await work
        assert (caught.value.code, caught.value.details["model"]) == ("model_not_used", model)
        return caught.value.message

    async def story() -> None:
        data = tmp_path / "data"
        async with bench(repo, data, model=other) as executor, bench(repo, data, model=model) as client:
            assert "Nothing was started" in await refused(client.run("ask"))
            assert (await client.run("now"))["result"] == 1  # in this process, with this model
            run_id = (await executor.run("ask"))["sessionId"]
            assert "still open" in await refused(client.answer(run_id, "yes"))
            assert (await client.detail(run_id))["run"]["status"] == "awaiting-input"
            assert "not resumed" in await refused(client.runtime.resume(run_id, who="ann"))
            assert (await executor.answer(run_id, "yes"))["result"] == "yes"
        async with bench(repo, data, model=model) as executor, bench(repo, data, model=model) as client:
            await executor.runtime.recover()
            run_id = (await client.run("ask"))["sessionId"]
        async with bench(repo, data, model=other) as executor, bench(repo, data) as client:
            await executor.runtime.recover()
            assert (await client.answer(run_id, "yes"))["result"] == "yes"

    play(story())
