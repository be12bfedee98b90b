"""Where icons, fonts and samples are: inside the wheel, or beside the packages in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def resources() -> Path:
    """The folder of the shipped resources."""
    package = Path(__file__).parents[1]
    installed = package / "_resources"
    return installed if installed.is_dir() else package.parent / "resources"


def read(*parts: str) -> bytes:
    """The bytes of one shipped file; raises `FileNotFoundError`."""
    return resources().joinpath(*parts).read_bytes()
