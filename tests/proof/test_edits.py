"""The short form of `edits`: every kind of edit, in one language and the other by turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.editing import EDITS
from tests.proof.edits import catalogue


@pytest.mark.timeout(180)
def test_an_edit_of_a_parked_run_is_harmless_or_refused_before_anything_new_happens(tmp_path: Path) -> None:
    figures = catalogue(tmp_path, both=False)
    assert figures.holes == []
    assert figures.put_right == figures.refused == sum(edit.refused is not None for edit in EDITS)
    assert figures.harmless == sum(edit.refused is None for edit in EDITS)
