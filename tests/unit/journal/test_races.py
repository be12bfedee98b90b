"""Two people answer one question at the same moment: one wins, and the other is told who did."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from tests.unit.journal.stories import answered, parked, pause_row, play

RUNS = 10


def attempt(journal: SqliteJournal, run_id: str, who: str) -> str:
    """One answer from a thread of its own; who won, as far as this caller is told."""

    async def story() -> str:
        try:
            pause, _ = await answered(journal, f'"{who}"', run_id, who=who, pause_id=pause_row(run_id).id)
        except RuntimeFault as fault:
            return str(fault.details["answered_by"])
        return str(pause.answered_by)

    return asyncio.run(story())


def test_threads_with_loops_of_their_own(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        for number in range(RUNS):
            run_id = f"dur_{number}"
            await parked(journal, run_id=run_id)
            told: list[str] = []
            together = threading.Barrier(8)

            def press(run_id: str, index: int, told: list[str], together: threading.Barrier) -> None:
                together.wait()
                told.append(attempt(journal, run_id, f"u{index}"))

            threads = [threading.Thread(target=press, args=(run_id, index, told, together)) for index in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                await asyncio.to_thread(thread.join)
            (pause,) = await journal.pauses(run_id)
            assert told == [pause.answered_by] * 8
            (entry,) = await journal.load(run_id)
            assert entry.value is not None
            assert f'"value":"{pause.answered_by}"' in entry.value

    play(tmp_path, story)


PROGRAM = """
import asyncio, sys
from pathlib import Path
from runtime_core.journal.sqlite import SqliteJournal
from tests.unit.journal.stories import answered
from runtime_core.wire.codes import RuntimeFault

async def main(path, who, runs):
    journal = await SqliteJournal.open(Path(path))
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(runs)):
        try:
            await answered(journal, '1', f"dur_{number}", who=who)
            print("won", number)
        except RuntimeFault as fault:
            print("lost", number, fault.code, fault.details["answered_by"])
    await journal.close()

asyncio.run(main(*sys.argv[1:]))
"""


def test_processes_on_one_file(tmp_path: Path) -> None:
    async def prepare(journal: SqliteJournal) -> None:
        for number in range(RUNS):
            await parked(journal, run_id=f"dur_{number}")

    play(tmp_path, prepare)
    people = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "runtime.db"), who, str(RUNS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in ("rosa", "bob")
    ]
    for person in people:
        assert person.stdout is not None
        assert person.stdout.readline() == "ready\n"
    for person in people:
        assert person.stdin is not None
        person.stdin.write("\n")
        person.stdin.flush()
    reports = [person.communicate(timeout=50)[0].splitlines() for person in people]
    assert [person.returncode for person in people] == [0, 0]

    async def check(journal: SqliteJournal) -> None:
        for number in range(RUNS):
            (pause,) = await journal.pauses(f"dur_{number}")
            winner, loser = (reports, reports[::-1])[pause.answered_by == "bob"]
            assert winner[number] == f"won {number}"
            assert loser[number] == f"lost {number} not_awaiting_input {pause.answered_by}"

    play(tmp_path, check)


def test_two_processes_may_make_the_same_new_file(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path; from runtime_core.journal.sqlite import SqliteJournal\n"
        "async def main():\n"
        "    journal = await SqliteJournal.open(Path(sys.argv[1])); await journal.close()\n"
        "asyncio.run(main())"
    )
    makers = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "runtime.db")]) for _ in range(4)]
    assert [maker.wait(50) for maker in makers] == [0, 0, 0, 0]
