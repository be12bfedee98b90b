"""Ids of runs and conversations: ``dur_`` or ``chat_`` and 26 characters of base32, ordered by time of creation."""

from __future__ import annotations

import secrets
from typing import Final

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS: Final = 80
_last = 0


def new_run_id(now: float) -> str:
    return new_id("dur", now)


def new_id(prefix: str, now: float) -> str:
    """48 bits of milliseconds and 80 random ones; two ids of one process never come in the wrong order."""
    global _last
    number = (int(now * 1000) << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
    _last = number = max(number, _last + 1)
    return f"{prefix}_" + "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
