"""Which characters a JavaScript regular expression takes for the same, and sets of them as ranges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

LAST: Final = 0x10FFFF
_CASED: Final = 0x1E944
"""Beyond it, no letter has another case."""

Ranges = Sequence[tuple[int, int]]
"""First and last code points, in order, none touching the next."""


def ranges(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Any pairs of first and last, joined."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined


def others(these: Ranges) -> Ranges:
    """All characters that are not among these."""
    edges = [-1, *(edge for pair in these for edge in pair), LAST + 1]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return [(last + 1, first - 1) for last, first in gaps if last + 1 < first]


DIGITS: Final = ranges([(0x30, 0x39)])
WORD: Final = ranges([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
LINE_ENDS: Final = ranges([(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)])
SPACE: Final = ranges(
    [(code, code) for code in (0x20, 0xA0, 0x1680, 0x202F, 0x205F, 0x3000, 0xFEFF)]
    + [(0x09, 0x0D), (0x2000, 0x200A), (0x2028, 0x2029)]
)


def in_any_case(these: Ranges, *, unicode: bool) -> Ranges:
    """These and all that are the same under the flag ``i``, with and without ``u``."""
    if all(last < 0x80 for _, last in these):
        return ranges([*these, *_ascii_cases(these, unicode=unicode)])
    more = (pair for group in _groups(unicode) if any(_has(these, code) for code in group) for pair in _single(group))
    return ranges([*these, *more])


def _ascii_cases(these: Ranges, *, unicode: bool) -> Iterator[tuple[int, int]]:
    for first, last in these:
        for low, high, to in ((0x41, 0x5A, 0x20), (0x61, 0x7A, -0x20)):
            if max(first, low) <= min(last, high):
                yield max(first, low) + to, min(last, high) + to
    if unicode:
        for letter, same in (("k", 0x212A), ("s", 0x17F)):
            if _has(these, ord(letter)) or _has(these, ord(letter.upper())):
                yield same, same


def _has(these: Ranges, code: int) -> bool:
    return any(first <= code <= last for first, last in these)


def _single(codes: Iterable[int]) -> Iterator[tuple[int, int]]:
    return ((code, code) for code in codes)


@lru_cache(maxsize=2)
def _groups(unicode: bool) -> Sequence[Sequence[int]]:
    """The letters that are the same as at least one other."""
    same: dict[int, list[int]] = defaultdict(list)
    for code in range(_CASED if unicode else 0x10000):
        same[_folded(code) if unicode else _raised(code)].append(code)
    return [group for group in same.values() if len(group) > 1]


def _raised(code: int) -> int:
    """As JavaScript compares without ``u``: the capital letter, if it is one and not of ASCII for another."""
    capital = chr(code).upper()
    return ord(capital) if len(capital) == 1 and not (code >= 0x80 > ord(capital)) else code


def _folded(code: int) -> int:
    """As it compares with ``u``: simple case folding."""
    folded = chr(code).casefold()
    folded = folded if len(folded) == 1 else chr(code).lower()
    return ord(folded) if len(folded) == 1 else code
