"""The short form of ``python -m tests.proof races``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.races import KINDS, race

ROUNDS = 40


@pytest.mark.timeout(180)
def test_one_decision_and_everybody_is_told_it(tmp_path: Path) -> None:
    figures = race(tmp_path, ROUNDS)
    assert not figures.problems, str(figures)
    assert figures.decided.total() == ROUNDS
    assert figures.rounds.keys() == set(KINDS)
