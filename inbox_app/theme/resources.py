"""Where icons, fonts and samples are: inside the wheel, or beside the packages in a checkout."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable


@cache
def resources() -> Traversable:
    """The folder of the shipped resources."""
    package = files("inbox_app")
    installed = package.joinpath("_resources")
    return installed if installed.is_dir() else package.joinpath("..", "resources")


def read(*parts: str) -> bytes:
    """The bytes of one shipped file; raises `FileNotFoundError`."""
    return resources().joinpath(*parts).read_bytes()
