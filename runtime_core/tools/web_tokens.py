"""How long an answer of the web tools may be. No tokenizer is at hand that is right for every model."""

from __future__ import annotations

from typing import Final

TOKENS: Final = 2000
TOKEN_BYTES: Final = 4
"""A token is counted as four bytes of UTF-8, as Google's own rule of thumb has it for English."""

_CUT: Final = " […]"


def cut(text: str, limit: int) -> str:
    """At most ``limit`` bytes of UTF-8, with a mark where something is left out."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    return data[: max(0, limit - len(_CUT.encode()))].decode("utf-8", "ignore").rstrip() + _CUT
