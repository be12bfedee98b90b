"""What every proof can be told on its command line."""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MEMORY: Final = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""A folder in memory, if there is one: a proof that is not about disks need not wait for them."""


@dataclass(frozen=True, slots=True)
class Options:
    """``rounds``: how much is tried; ``seed``: of every choice made by chance, printed so that it can be repeated."""

    long: bool
    rounds: int
    seed: int


def options(name: str, argv: Sequence[str], *, short: int, long: int) -> Options:
    """``short`` and ``long``: the number of rounds without and with ``--long``."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.proof {name}")
    parser.add_argument("--long", action="store_true", help=f"{long} rounds instead of {short}")
    parser.add_argument("--rounds", type=int, help="how many rounds, whatever the form")
    parser.add_argument("--seed", type=int, help="repeat what another run chose by chance")
    given = parser.parse_args(argv)
    rounds: int | None = given.rounds
    seed: int | None = given.seed
    return Options(
        given.long,
        rounds if rounds is not None else long if given.long else short,
        seed if seed is not None else random.SystemRandom().randrange(2**32),
    )
