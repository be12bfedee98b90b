"""However a log is told, and whatever breaks off meanwhile, each of its lines is told once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from runtime_core.deploys.answers import Onward, Piece, Told
from runtime_core.deploys.following import Pace, Passing, followed
from runtime_core.wire.builds import BuildState, Line
from runtime_core.wire.codes import RuntimeFault

PACE = Pace(first_s=0, longest_s=0, quiet_s=60, retries=3, settled_looks=1)


@dataclass(frozen=True)
class Look:
    """``grown``: lines that came since the look before; ``window``: only so many of the last ones are told."""

    grown: int
    window: int | None
    breaks: bool


@dataclass
class Server:
    """Tells a log whole, its last lines only, or in pages; breaks off in the middle if told to."""

    looks: list[Look]
    form: Literal["whole", "window", "pages"]
    lines: int = 0
    at: int = 0

    async def read(self, onward: Onward | None) -> AsyncGenerator[Piece]:
        look = self.looks[self.at] if self.at < len(self.looks) else Look(0, None, False)
        is_over = self.at >= len(self.looks)
        self.at += 1
        self.lines += look.grown
        log = [Line(f"line {number}") for number in range(self.lines)]
        if self.form == "pages":
            start = int(onward.value) if onward is not None else 0
            page = log[start : start + 3]
            for line in page:
                yield line
            if len(page) == 3:
                yield Onward("cursor", str(start + 3))
            if is_over and start + 3 > self.lines:
                yield Told("succeeded")
            return
        shown = log[-max(look.window, look.grown) :] if self.form == "window" and look.window and not is_over else log
        for line in shown[: len(shown) // 2] if look.breaks else shown:
            yield line
        if look.breaks:
            raise Passing(RuntimeFault("platform_unreachable", "broke off"))
        yield Told("succeeded" if is_over else "running")


LOOKS = st.lists(
    st.builds(Look, st.integers(0, 4), st.one_of(st.none(), st.integers(1, 6)), st.just(False)), max_size=12
)
BREAKING = st.lists(st.builds(Look, st.integers(1, 4), st.none(), st.booleans()), max_size=12)


def told(server: Server) -> tuple[list[str], list[BuildState]]:
    async def story() -> tuple[list[str], list[BuildState]]:
        lines: list[str] = []
        states: list[BuildState] = []
        async for piece in followed(server.read, PACE, is_live=True):
            if isinstance(piece, Line):
                lines.append(piece.text)
            else:
                states.append(piece)
        return lines, states

    return asyncio.run(story())


def whole(server: Server) -> list[str]:
    return [f"line {number}" for number in range(server.lines)]


@given(LOOKS, st.sampled_from(["whole", "window", "pages"]))
def test_every_line_is_told_once(looks: list[Look], form: Literal["whole", "window", "pages"]) -> None:
    server = Server(looks, form)
    lines, states = told(server)
    assert lines == whole(server)
    assert states[-1] == "succeeded"


@given(BREAKING)
def test_also_if_it_breaks_off(looks: list[Look]) -> None:
    server = Server(looks, "whole")
    try:
        lines, states = told(server)
    except RuntimeFault:
        run = max(len(part) for part in "".join("x" if look.breaks else " " for look in looks).split(" "))
        assert run > PACE.retries  # without a line between
        return
    assert lines == whole(server)
    assert states[-1] == "succeeded"
