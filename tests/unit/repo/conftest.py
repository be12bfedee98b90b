from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.repo.building import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)
