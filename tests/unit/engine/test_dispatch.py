"""Who executes, what is woken, and what a failed advance leads to."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from runtime_core.dispatch.local import CONCURRENT_RUNS, LocalDispatcher
from runtime_core.dispatch.lock import ExecutorLock
from runtime_core.dispatch.pulse import Pulse
from runtime_core.engine.ids import new_run_id
from tests.unit.engine.workshop import play

HOLD = """
import sys, time
from pathlib import Path
from runtime_core.dispatch.lock import ExecutorLock
lock = ExecutorLock(Path(sys.argv[1]))
print(lock.acquire(), flush=True)
time.sleep(60)
"""


def test_the_lock_has_one_holder_until_it_is_released(tmp_path: Path) -> None:
    one, two = ExecutorLock(tmp_path / "lock"), ExecutorLock(tmp_path / "lock")
    assert one.acquire()
    assert not two.acquire()
    one.release()
    assert two.acquire()
    assert (one.held, two.held) == (False, True)
    two.release()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    lock = ExecutorLock(tmp_path / "lock")
    script = [sys.executable, "-c", HOLD, str(lock.path)]
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert not lock.acquire()
        process.kill()
    assert lock.acquire()
    lock.release()


def test_a_run_has_one_task_however_often_it_is_woken() -> None:
    async def story() -> None:
        advanced: list[str] = []

        async def advance(run_id: str) -> None:
            advanced.append(run_id)
            await asyncio.sleep(0)

        async def runnable(_: int) -> Sequence[str]:
            return ["a", "b"]

        dispatcher = LocalDispatcher(advance, runnable, lambda: None)
        tasks = {dispatcher.wake("a"), dispatcher.wake("a")}
        await dispatcher.sweep()
        await asyncio.gather(*tasks, dispatcher.wake("b"))
        assert sorted(advanced) == ["a", "b"]

    play(story())


def test_a_sweep_starts_no_more_than_there_is_room_for() -> None:
    async def story() -> None:
        going = asyncio.Event()
        begun: list[str] = []

        async def advance(run_id: str) -> None:
            begun.append(run_id)
            await going.wait()

        async def runnable(limit: int) -> Sequence[str]:
            return [str(n) for n in range(limit)]

        dispatcher = LocalDispatcher(advance, runnable, lambda: None)
        await dispatcher.sweep()
        await dispatcher.sweep()
        await asyncio.sleep(0)
        assert len(begun) == CONCURRENT_RUNS
        await dispatcher.stop()

    play(story())


def test_a_failed_advance_is_tried_again_later() -> None:
    async def story() -> None:
        attempts = 0
        ended = asyncio.Event()

        async def advance(_: str) -> None:
            nonlocal attempts
            attempts += 1
            if attempts == 1:
                raise OSError("disk full")
            ended.set()

        async def runnable(_: int) -> Sequence[str]:
            return []

        dispatcher = LocalDispatcher(advance, runnable, lambda: None)
        await asyncio.wait({dispatcher.wake("a")})
        assert not dispatcher.wants_retry
        async with asyncio.timeout(5):
            while not ended.is_set():
                await dispatcher.sweep()
                await asyncio.sleep(0.05)
        assert attempts == 2

    play(story())


def test_a_kick_beats_at_once_and_a_fault_does_not_stop_the_heart() -> None:
    async def story() -> None:
        beats: list[bool] = []

        async def version() -> int:
            return 1

        async def beat(changed: bool) -> None:
            beats.append(changed)
            if len(beats) == 2:
                raise ValueError("one bad beat")

        pulse = Pulse(version, beat, lambda: None)
        pulse.start()
        await pulse.wait(5)
        assert beats == [True]
        pulse.kick()
        await pulse.wait(5)
        assert beats == [True, True]
        await pulse.wait(5)
        assert beats[2:] == [False]
        await pulse.stop()

    play(story())


def test_run_ids_are_in_the_order_of_their_creation() -> None:
    ids = [new_run_id(1_700_000_000.0 + n / 10_000) for n in range(200)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 200
    assert all(len(run_id) == 30 and run_id.startswith("dur_") and run_id == run_id.lower() for run_id in ids)
