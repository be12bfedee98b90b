"""Takes the values of secrets out of what is kept: answers of other systems, errors, log lines, parameters of spans."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from html.entities import html5
from typing import Any, Final, cast

from runtime_core.wire.json import JsonText, dumps, loads

MASK: Final = "***"
_SHORTEST: Final = 4
"""A shorter value is no secret, and masking it would only make texts unreadable."""
_SHORT_ESCAPES: Final = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_SECRET_NAME: Final = re.compile(r"TOKEN|SECRET|PASS|KEY|CREDENTIAL|AUTH|COOKIE|PRIVATE|SIGNATURE|DSN", re.IGNORECASE)


def secret_values(variables: Mapping[str, str]) -> set[str]:
    """The values of variables whose names say that they are secrets."""
    return {value for name, value in variables.items() if _SECRET_NAME.search(name)}


def masked(text: str, secrets: Iterable[str]) -> str:
    """The text without these values, also where they are spelled as in an address, a form, JSON or HTML."""
    for secret in sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True):
        text = _spelled(secret).sub(MASK, text)
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


@lru_cache(maxsize=256)
def _spelled(secret: str) -> re.Pattern[str]:
    """Finds a secret in every usual spelling; letters and digits of ASCII are spelled one way only."""
    parts = re.findall(r"[0-9A-Za-z]+|\\+|.", secret, re.DOTALL)
    return re.compile("".join(part if part.isascii() and part.isalnum() else _spellings(part) for part in parts))


def _spellings(part: str) -> str:
    """Of one character, or of backslashes in a row; each may have been encoded more than once."""
    count = len(part)
    units = part.encode("utf-16-be", "surrogatepass")
    found = [
        "(?i:" + "".join(f"%(?:25){{0,2}}{byte:02x}" for byte in part.encode(errors="replace")) + ")",
        "(?i:" + "".join(rf"\\{{1,3}}u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)) + ")",
    ]
    if count == 1:
        names = "|".join([f"#0*{ord(part)}", f"(?i:#x0*{ord(part):x})", *_entities()[part]])
        found.append(f"&(?:amp;){{0,2}}(?:{names});")
    if part == " ":
        found.append(r"\+")
    if part in _SHORT_ESCAPES:
        found.append(rf"\\{{1,3}}{_SHORT_ESCAPES[part]}")
    found.append(rf"\\{{{count},{4 * count}}}" if part[0] == "\\" else rf"\\{{0,3}}{re.escape(part)}")
    return f"(?:{'|'.join(found)})"


@cache
def _entities() -> Mapping[str, list[str]]:
    """The names that HTML has for a character."""
    found = defaultdict[str, list[str]](list)
    for name, character in html5.items():
        if name.endswith(";"):
            found[character].append(re.escape(name[:-1]))
    return found
