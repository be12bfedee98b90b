"""Takes the values of secrets out of what is kept: answers of other systems, errors, log lines, parameters of spans."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast
from urllib.parse import quote, quote_plus

from runtime_core.wire.json import JsonText, dumps, loads

MASK: Final = "***"
_SHORTEST: Final = 4
"""A shorter value is no secret, and masking it would only make texts unreadable."""
_SECRET_NAME: Final = re.compile(r"TOKEN|SECRET|PASS|KEY|CREDENTIAL|AUTH|COOKIE|PRIVATE|SIGNATURE|DSN", re.IGNORECASE)


def secret_values(variables: Mapping[str, str]) -> set[str]:
    """The values of variables whose names say that they are secrets."""
    return {value for name, value in variables.items() if _SECRET_NAME.search(name)}


def masked(text: str, secrets: Iterable[str]) -> str:
    """The text without these values, also where they are spelled as in an address or in JSON."""
    spellings = {spelling for secret in secrets if len(secret) >= _SHORTEST for spelling in _spellings(secret)}
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, MASK)
    return text


def masked_json(value: JsonText, secrets: Iterable[str]) -> JsonText:
    """The same value without these values in its texts and keys; numbers stay as they are."""
    known = frozenset(secrets)
    return value if masked(value, known) == value else dumps(_without(loads(value), known))


def _without(value: Any, secrets: frozenset[str]) -> Any:
    if isinstance(value, str):
        return masked(value, secrets)
    if isinstance(value, list):
        return [_without(item, secrets) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {masked(key, secrets): _without(item, secrets) for key, item in cast("dict[str, Any]", value).items()}
    return value


def _spellings(secret: str) -> set[str]:
    in_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return {secret, quote(secret, safe="", errors="replace"), quote_plus(secret, errors="replace"), *in_json}
