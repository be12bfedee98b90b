"""Abstract programs, made by chance.

Whatever a program does, its result does not depend on how fast anything is: of two branches that race, one always wins.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

LEAVES: Final = ("read", "idem", "once", "boom", "step", "badstep", "ask", "approve", "silent", "nap", "until")
LONG_MS: Final = 60_000
LOST: Final = "lost "
"""How a question begins that nobody answers: its deadline passes, or the branch that asks it loses its race."""


@dataclass(frozen=True, slots=True)
class Op:
    """One operation. ``inner`` are the operations it is made of, ``number`` milliseconds, a count or a variant."""

    kind: str
    id: str = ""
    number: int = 0
    inner: tuple[Op, ...] = ()

    def __str__(self) -> str:
        words = [word for word in (self.id, str(self.number) if self.number else "") if word]
        return f"{self.kind}({', '.join([*words, *map(str, self.inner)])})"


@dataclass(frozen=True, slots=True)
class Program:
    """``fails``: the handler throws at the end."""

    name: str
    body: Op
    fails: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.body}{' fails' if self.fails else ''}"

    @property
    def is_sequential(self) -> bool:
        return all(op.kind not in ("all", "race", "limit", "group") for op in walk(self.body))

    @property
    def children(self) -> Sequence[Op]:
        """Operations that are durable tools of their own, but for those in such tools."""
        return [op for op in walk(self.body, into=False) if op.kind == "child"]


def walk(op: Op, *, into: bool = True) -> Iterator[Op]:
    """An operation and all below it; ``into``: also those of durable children."""
    yield op
    if into or op.kind != "child":
        for inner in op.inner:
            yield from walk(inner, into=into)


class Author:
    """Writes programs. The same seed writes the same program."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._name = f"p{seed}"
        self._count = 0

    def program(self) -> Program:
        size = self._chance.randint(2, 5)
        body = Op("row", inner=tuple(self._op(2, 2) for _ in range(size)))
        return Program(self._name, body, fails=self._chance.random() < 0.1)

    def _id(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _op(self, depth: int, levels: int) -> Op:
        pick = self._chance.random()
        if depth == 0 or pick < 0.5:
            return self._leaf()
        if pick < 0.6:
            return self._several("all", depth, levels)
        if pick < 0.66:
            return self._several("row", depth, levels)
        if pick < 0.73:
            return self._race()
        if pick < 0.8:
            return (
                self._limit() if self._chance.random() < 0.7 else Op("group", self._id("g"), inner=(self._given_up(),))
            )
        if pick < 0.87:
            return Op("loop", self._id("l"), self._chance.randint(1, 3), (self._op(depth - 1, levels),))
        if pick < 0.92:
            parts = tuple(self._op(depth - 1, levels) for _ in range(3))
            return Op("try", self._id("t"), self._chance.randint(0, 2), parts)
        if pick < 0.96 or levels == 0:
            return Op("either", self._id("e"), inner=(self._op(depth - 1, levels), self._op(depth - 1, levels)))
        return Op("child", f"{self._name}_{self._id('c')}", inner=(self._op(depth, levels - 1),))

    def _leaf(self, *kinds: str) -> Op:
        kind = self._chance.choice(kinds or LEAVES)
        return Op(kind, self._id(kind[0]), self._chance.randint(1, 30) if kind in ("nap", "until", "silent") else 0)

    def _several(self, kind: str, depth: int, levels: int) -> Op:
        return Op(kind, inner=tuple(self._op(depth - 1, levels) for _ in range(self._chance.randint(2, 3))))

    def _race(self) -> Op:
        winner = self._leaf("read", "idem", "once", "nap", "until", "ask")
        slow = Op("nap", self._id("n"), LONG_MS)
        loser = slow if winner.kind == "ask" or self._chance.random() < 0.5 else Op("lost", self._id("x"))
        return Op("race", inner=(winner, loser))

    def _limit(self) -> Op:
        if self._chance.random() < 0.5:
            return Op("limit", self._id("m"), LONG_MS, (self._leaf("read", "once", "ask", "step"),))
        return Op("limit", self._id("m"), self._chance.randint(1, 30), (self._given_up(),))

    def _given_up(self) -> Op:
        """What never comes to its end: a question, or a child that asks it before it calls something."""
        lost = Op("lost", self._id("x"))
        if self._chance.random() < 0.5:
            return lost
        body = Op("row", inner=(lost, self._leaf("once", "idem")))
        return Op("child", f"{self._name}_{self._id('c')}", inner=(body,))


def smaller(program: Program) -> Iterator[Program]:
    """Programs with a bit less in them, the smallest first."""
    found = list(_smaller(program.body))
    if program.fails:
        yield replace(program, fails=False)
    for body in sorted(found, key=lambda op: sum(1 for _ in walk(op))):
        yield replace(program, body=body)


def _smaller(op: Op) -> Iterator[Op]:
    if op.kind in ("race", "limit", "group"):
        return
    if op.kind in ("row", "all"):
        for at in range(len(op.inner)):
            if len(op.inner) > 1:
                yield replace(op, inner=(*op.inner[:at], *op.inner[at + 1 :]))
    elif op.kind != "either":
        yield from op.inner
    if op.kind == "loop" and op.number > 1:
        yield replace(op, number=op.number - 1)
    for at, part in enumerate(op.inner):
        for less in _smaller(part):
            yield replace(op, inner=(*op.inner[:at], less, *op.inner[at + 1 :]))


def reply_to(label: str) -> str:
    """What is answered to a question."""
    return ("left", "right")[zlib.crc32(label.encode()) % 2]


def approval_of(label: str) -> str:
    return ("yes", "no")[zlib.crc32(label.encode()) // 2 % 2]
