"""The short form of `programs`: a few programs, interrupted at some of their writes."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from unittest import mock

import pytest

from runtime_core.engine import driver
from tests.proof.authoring import Author, Op, Program, smaller, walk
from tests.proof.programs import Failed, Theatre, examine

EVERYTHING = Program(
    "whole",
    Op(
        "row",
        inner=(
            Op("all", inner=(Op("read", "r1"), Op("once", "o1"), Op("ask", "a1"))),
            Op("try", "t1", 2, (Op("step", "s1"), Op("until", "u1", 40), Op("idem", "i1"))),
            Op("silent", "q1", 30),
            Op("child", "whole_c1", inner=(Op("row", inner=(Op("approve", "a2"), Op("once", "o2"))),)),
            Op("race", inner=(Op("ask", "a3"), Op("nap", "n1", 60_000))),
        ),
    ),
)


def test_programs_survive_an_interruption_at_any_write(tmp_path: Path) -> None:
    figures = asyncio.run(examine(tmp_path, range(7_000, 7_004), every=8))
    assert figures.programs == 8
    assert figures.variants > 20


def test_one_program_with_everything_in_it_is_interrupted_everywhere(tmp_path: Path) -> None:
    async def story() -> None:
        theatre = Theatre(tmp_path)
        async with theatre.stage([EVERYTHING]) as (repo, stage):
            await theatre.examine(repo, stage, EVERYTHING, every=4, seed=0)
        assert set(theatre.figures.by_write) >= {"create_run", "claim", "append", "park", "answer"}

    asyncio.run(story())


HELD = Program("held", Op("child", "held_c1", inner=(Op("race", inner=(Op("ask", "a1"), Op("nap", "n1", 60_000))),)))


def test_a_child_that_was_begun_and_recorded_nothing_does_not_hold_up_its_run(tmp_path: Path) -> None:
    async def story() -> None:
        theatre = Theatre(tmp_path)
        async with theatre.stage([HELD]) as (repo, stage):
            await theatre.examine(repo, stage, HELD, every=2, seed=0)

    asyncio.run(story())


def test_a_call_that_is_silently_made_again_is_found(tmp_path: Path) -> None:
    """Without the intent of a call its second execution goes unnoticed by the runtime, but not by the proof."""
    program = Program("twice", Op("row", inner=(Op("once", "o1"), Op("once", "o2"))))

    async def story() -> None:
        theatre = Theatre(tmp_path)
        async with theatre.stage([program]) as (repo, stage):
            with mock.patch.object(driver, "effect_of", return_value="read"), pytest.raises(Failed, match="2 times"):
                await theatre.examine(repo, stage, program, every=1, seed=0)

    asyncio.run(story())


def test_a_program_is_made_from_its_seed_and_can_be_made_smaller() -> None:
    seed = random.SystemRandom().randrange(10**6)
    program = Author(seed).program()
    assert program == Author(seed).program()

    def size(one: Program) -> tuple[int, bool]:
        """A loop counts once for each round."""
        return sum(op.number if op.kind == "loop" else 1 for op in walk(one.body)), one.fails

    for less in smaller(program):
        assert size(less) < size(program), str(less)
