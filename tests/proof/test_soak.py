"""The short form of `soak`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.proof.soak import soak


@pytest.mark.skipif(sys.platform != "linux", reason="finds handler processes in /proc")
@pytest.mark.timeout(180)
def test_nothing_is_lost_and_nothing_happens_twice_while_a_process_is_killed_40_times(tmp_path: Path) -> None:
    figures = soak(tmp_path, 40, seed=4)
    assert figures.violations == []
    assert figures.cycles == 40
    assert figures.questions >= 2 * figures.runs > 0
