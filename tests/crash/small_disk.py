"""A file system of its own that fills up soon."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


def mounted(place: Path, size: str) -> Iterator[Path]:
    """Mount ``size`` (as ``16m``) of memory at ``place``, until the test ends; skip where that is not allowed."""
    place.mkdir()
    try:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        allowed = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)
