"""Takes the values of secrets out of what other systems say, before anybody keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, quote_plus

MASK: Final = "***"
_SHORTEST: Final = 4
"""A shorter value is no secret, and masking it would only make texts unreadable."""


def masked(text: str, secrets: Iterable[str]) -> str:
    """The text without these values, also where they are spelled as in an address or in JSON."""
    spellings = {spelling for secret in secrets if len(secret) >= _SHORTEST for spelling in _spellings(secret)}
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, MASK)
    return text


def _spellings(secret: str) -> set[str]:
    in_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return {secret, quote(secret, safe="", errors="replace"), quote_plus(secret, errors="replace"), *in_json}
