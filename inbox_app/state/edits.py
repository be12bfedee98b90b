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
    start, end = _same_ends(before, after)
    was = {key(row): row for row in before[start : len(before) - end]}
    now = {key(row): row for row in after[start : len(after) - end]}
    gone = [start + at for at, name in enumerate(was) if name not in now or name in moved]
    fresh = [start + at for at, name in enumerate(now) if name not in was or name in moved]
    added = set(fresh)
    edits: list[Edit[R]] = [Removed(first, count) for first, count in reversed(_blocks(gone))]
    edits += [Inserted(first, tuple(after[first : first + count])) for first, count in _blocks(fresh)]
    edits += [
        Changed(start + at, row)
        for at, (name, row) in enumerate(now.items())
        if start + at not in added and was[name] is not row and not same(was[name], row)
    ]
    return edits


def _same_ends(before: Sequence[R], after: Sequence[R]) -> tuple[int, int]:
    """How many rows at the start and at the end are the very same objects; mostly that is nearly all of them."""
    most = min(len(before), len(after))
    start = 0
    while start < most and before[start] is after[start]:
        start += 1
    end = 0
    while end < most - start and before[-1 - end] is after[-1 - end]:
        end += 1
    return start, end


def _blocks(indexes: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of neighbouring indexes as (first, how many)."""
    blocks: list[tuple[int, int]] = []
    for index in indexes:
        if blocks and sum(blocks[-1]) == index:
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + 1)
        else:
            blocks.append((index, 1))
    return blocks
