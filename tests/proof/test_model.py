"""The protocol holds in every order of events, each of its safeguards is needed, and the journal does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.conformance import conform
from tests.proof.model import explore
from tests.proof.protocol import SAFEGUARDS


def test_nothing_that_can_happen_breaks_a_promise() -> None:
    explored = explore()
    assert not explored.problem, str(explored)
    assert explored.states > 10_000


@pytest.mark.parametrize("safeguard", SAFEGUARDS)
def test_without_a_safeguard_a_promise_is_broken(safeguard: str) -> None:
    explored = explore(safeguard)
    assert explored.problem
    assert explored.trace


def test_the_journal_goes_the_ways_of_the_model(tmp_path: Path) -> None:
    walked = conform(tmp_path, 60, 1)
    assert {
        "claim",
        "crash",
        "intend",
        "park in doubt",
        "park",
        "answer",
        "cancel",
        "expire",
        "finish",
    } <= walked.taken.keys()
