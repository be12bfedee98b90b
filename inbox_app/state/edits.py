"""Edits of a list of rows, and how to find them. A model applies them between its signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Inserted(Generic[R]):
    at: int
    rows: Sequence[R]


@dataclass(frozen=True, slots=True)
class Removed:
    at: int
    count: int


@dataclass(frozen=True, slots=True)
class Changed(Generic[R]):
    at: int
    row: R


@dataclass(frozen=True, slots=True)
class Replaced(Generic[R]):
    """Everything is different: the first load, or a new start of the connection."""

    rows: Sequence[R]


Edit: TypeAlias = Inserted[R] | Removed | Changed[R] | Replaced[R]


def edits_between(
    before: Sequence[R],
    after: Sequence[R],
    key: Callable[[R], str],
    same: Callable[[R, R], bool],
    moved: Set[str] = frozenset(),
) -> list[Edit[R]]:
    """What turns ``before`` into ``after``, in neighbouring blocks and in the order to apply.

    Rows in both must keep their order among each other, apart from those with a key in ``moved``.
    """
    old = {key(row): row for row in before}
    now = {key(row) for row in after}
    gone = [at for at, row in enumerate(before) if key(row) not in now or key(row) in moved]
    fresh = [at for at, row in enumerate(after) if key(row) not in old or key(row) in moved]
    added = set(fresh)
    edits: list[Edit[R]] = [Removed(start, count) for start, count in reversed(_blocks(gone))]
    edits += [Inserted(start, tuple(after[start : start + count])) for start, count in _blocks(fresh)]
    edits += [
        Changed(at, row)
        for at, row in enumerate(after)
        if at not in added and (was := old[key(row)]) is not row and not same(was, row)
    ]
    return edits


def _blocks(indexes: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of neighbouring indexes as (first, how many)."""
    blocks: list[tuple[int, int]] = []
    for index in indexes:
        if blocks and sum(blocks[-1]) == index:
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + 1)
        else:
            blocks.append((index, 1))
    return blocks
