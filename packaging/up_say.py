"""How the set-up talks: short plain lines on the error stream, so that a command's own output stays clean."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager


class SetupError(Exception):
    """The set-up cannot go on; the message says why and what to do, ``output`` is what a failed program printed."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output.rstrip()


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def step(title: str) -> Generator[None]:
    """Name what is being done, and say how long it took."""
    started = time.monotonic()
    print(f"  {title} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    except BaseException:
        print(" failed", file=sys.stderr, flush=True)
        raise
    print(f" {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
