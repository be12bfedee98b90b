"""The short form of ``python -m tests.proof disk``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.disk import NotPermittedError, sweep

LEVELS = (0, 7, 12, 20, 34)
"""Nothing fits; a start, but no more; an answer, and then no more; some of both."""


@pytest.mark.timeout(180)
def test_nothing_accepted_is_lost_on_a_full_disk(tmp_path: Path) -> None:
    try:
        figures = sweep(tmp_path, LEVELS)
    except NotPermittedError as reason:
        pytest.skip(f"no small file system: {reason}")
    assert not figures.problems, str(figures)
    assert figures.refused["answer"]
    assert figures.refused["start"]
    assert figures.accepted["answer"]
