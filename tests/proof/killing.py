"""Generated programs in a process that is really killed with -9, until one lives long enough to end them."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import random
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final
from unittest import mock

from runtime_core.engine import waiting
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.wire.json import loads
from tests.proof.authoring import Author, Program
from tests.proof.crashing import Effect, Stage
from tests.proof.programs import PARKED_S, Failed, Story, Theatre, Told, compare
from tests.proof.worker import Notebook

KILLS: Final = 4
KILL_WITHIN_S: Final = 0.6


class NotedStage(Stage):
    """Effects outlive the process."""

    def __init__(self, data: Path, notes: Path) -> None:
        super().__init__(data, HandlerHosts(data / "hosts"))
        if notes.exists():
            self.effects += [_effect(loads(line)) for line in notes.read_text().splitlines()]
        self._notebook = Notebook(notes)

    def begin(self, effect: Effect) -> None:
        self._notebook.note(effect.call_id, effect.entry, effect.params["id"])
        super().begin(effect)


def _effect(note: Any) -> Effect:
    call_id, entry, label = note
    return Effect(call_id, entry, {"id": label})


def live(program: Program, tool: str, root: Path, data: Path, lives: int, parent: Connection) -> None:
    """What one process does until it is killed; it sends what is to be the same, or what went wrong."""
    logging.disable(logging.ERROR)
    stage = NotedStage(data, data.with_suffix(".notes"))

    async def go_on() -> Told:
        try:
            async with asyncio.timeout(30):
                return await Story(program, tool, root, stage).go_on(lives)
        finally:
            await stage.close()

    with mock.patch.object(waiting, "SHORT_WAIT_S", PARKED_S):
        try:
            parent.send(asyncio.run(go_on()))
        except Exception as error:  # noqa: BLE001 - the parent says whose it is
            parent.send(f"{type(error).__name__}: {error}")


async def kill(folder: Path, seeds: Sequence[int]) -> int:
    """Kill the process of every program a few times; how often one was killed. Raises `Failed`."""
    theatre = Theatre(folder)
    programs = [Author(seed).program() for seed in seeds]
    kills = 0
    async with theatre.stage(programs) as (repo, stage):
        for seed, program in zip(seeds, programs, strict=True):
            for language in ("ts", "py"):
                tool = f"{program.name}_{language}"
                story = Story(program, tool, repo.root, stage)
                oracle = await theatre.undisturbed(program, tool, repo, stage)
                told, killed = await asyncio.to_thread(_lives, story, folder / tool, random.Random(seed))
                kills += killed
                if isinstance(told, str):
                    raise Failed(f"{tool}, seed {seed}, killed {killed} times: {told}\n{program}")
                try:
                    compare(told, oracle, story)
                except AssertionError as error:
                    raise Failed(f"{tool}, seed {seed}, killed {killed} times: {error}\n{program}") from error
    return kills


def _lives(story: Story, data: Path, chance: random.Random) -> tuple[Told | str, int]:
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.proof.killing", "runtime_core.repo.loader"])
    for number in range(KILLS + 1):
        ours, theirs = processes.Pipe()
        process = processes.Process(
            target=live, args=(story.program, story.tool, story.root, data, number + 1, theirs), daemon=True
        )
        process.start()
        theirs.close()
        with suppress(EOFError), ours:
            if ours.poll(chance.uniform(0.1, KILL_WITHIN_S) if number < KILLS else None):
                told: Told | str = ours.recv()
                process.join()
                return told, number
        process.kill()
        process.join()
    raise AssertionError("the last process is not killed")
