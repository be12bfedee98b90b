"""What must hold before Qt is imported: a binding that is known to work, and a trace if the process dies."""

from __future__ import annotations

import faulthandler
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

OLDEST_PYTHON = (3, 11)
_VERSION = re.compile(r"^__version__ = [\"']([^\"']+)", re.MULTILINE)
_CRASHING_RELEASES = frozenset({(6, 10, 1)})
_FIRST_FOR_IMMORTALS = (6, 12)
"""From here on the binding counts on None, True and False being immortal, which they are from Python 3.12 on."""


class BadPairError(Exception):
    """This Python and this PySide6 do not work together; the message is one sentence that says what to do."""


def check_pair(python: tuple[int, ...] | None = None, binding: str | None = None) -> None:
    """Raise `BadPairError` for a pair that is known to crash. Without arguments: the pair of this process."""
    python = python or sys.version_info[:3]
    binding = binding or _installed()
    shown = ".".join(str(part) for part in python[:3])
    if python[:2] < OLDEST_PYTHON:
        raise BadPairError(f"Operator Inbox needs Python 3.11 or newer, this is Python {shown}.")
    release = _numbers(binding)
    if python[:2] < (3, 12) and release >= _FIRST_FOR_IMMORTALS:
        raise BadPairError(
            f"PySide6 {binding} aborts on Python {shown}: install 'PySide6-Essentials<6.12' or use Python 3.12+."
        )
    if release[:3] in _CRASHING_RELEASES:
        raise BadPairError(f"PySide6 {binding} crashes when a list changes: install another PySide6-Essentials.")


def start_tracing(stream: TextIO | None = None) -> None:
    """Write where every thread was if the process is killed by a fault."""
    try:
        faulthandler.enable(stream or sys.stderr)
    except (OSError, ValueError, AttributeError):  # no usable stderr (a windowed start)
        return


def _installed() -> str:
    """The release of PySide6, read from its package: importing it is too early here, metadata is slow."""
    spec = find_spec("PySide6")
    if spec is None or spec.origin is None:
        raise BadPairError("PySide6 is not installed: install 'PySide6-Essentials', or operator-inbox again.")
    found = _VERSION.search(Path(spec.origin).read_text("utf-8"))
    return found[1] if found else "0"


def _numbers(text: str) -> tuple[int, ...]:
    parts: list[int] = []
    for part in text.split("."):
        digits = "".join(character for character in part if character.isdigit())
        if not digits:
            break
        parts.append(int(digits))
    return _padded(parts)


def _padded(parts: Sequence[int]) -> tuple[int, ...]:
    return (*parts, *(0 for _ in range(3 - len(parts))))
