"""The front matter of AGENT.md (contract 1.3): single values and lists, not the whole of YAML."""

from __future__ import annotations

import re
from typing import Any

from runtime_core.wire.json import JsonError, JsonValue, loads

_ENTRY = re.compile(r"([A-Za-z][A-Za-z0-9_]*):(?:\s+(.*))?$")
_FENCE = "---"


class FrontMatterError(Exception):
    def __init__(self, message: str, remedy: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.line = line


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The values between two ``---`` lines at the start, and the rest. Without any, nothing and the whole text.

    A text that merely begins with a rule (and no ``key:`` line) is a plain prompt.
    """
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != _FENCE or not _ENTRY.match(_first_line(lines[1:])):
        return {}, text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        raise FrontMatterError("The front matter is not closed.", "End it with a line that holds only ---.", 1)
    return _values(lines[1:end]), "\n".join(lines[end + 1 :]).lstrip("\n")


def _first_line(lines: list[str]) -> str:
    return next((line.rstrip() for line in lines if line.strip() and not line.startswith("#")), "")


def _values(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    items: list[JsonValue] | None = None
    for number, line in enumerate(lines, 2):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if stripped.startswith("- ") and items is not None:
            items.append(_scalar(stripped[2:].strip()))
            continue
        entry = _ENTRY.match(line.rstrip())
        if entry is None:
            raise FrontMatterError(
                f"This line of the front matter is not understood: {stripped[:80]}",
                "Write single values (key: value) and lists ([a, b] or lines with - a); use agent.json for more.",
                number,
            )
        key, value = entry[1], (entry[2] or "").strip()
        if key in found:
            raise FrontMatterError(f"The key {key} appears twice in the front matter.", "Keep one of them.", number)
        items = None
        if value.startswith("[") and value.endswith("]"):
            found[key] = [_scalar(part.strip()) for part in value[1:-1].split(",") if part.strip()]
        elif value:
            found[key] = _scalar(value)
        else:
            items = found[key] = []
    return found


def _scalar(text: str) -> JsonValue:
    """A number, true, false, null or quoted text as JSON reads it; anything else is text."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    try:
        return loads(text)
    except JsonError:
        return text
