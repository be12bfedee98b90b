from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.driver import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty data folder in a home of its own, and the command on it."""
    return Desk(tmp_path)
