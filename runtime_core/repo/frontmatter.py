"""Front matter of AGENT.md and SKILL.md (contract 1.3, 1.5): single values, lists and texts, not the whole of YAML."""

from __future__ import annotations

import re
from typing import Any

from runtime_core.wire.json import JsonError, JsonValue, loads

_ENTRY = re.compile(r"([A-Za-z][A-Za-z0-9_]*):(?:\s+(.*))?$")
_FENCE = "---"
_AGENT = re.compile(r"# Agent:\s*(.*\S)\s*$")


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


def split_headings(text: str) -> tuple[dict[str, Any], str] | None:
    """The older form: ``# Agent: Title``, a description, ``## Config`` with values, ``## Prompt`` with the rest."""
    lines = text.splitlines()
    title = _AGENT.match(_first_line_of_text(lines))
    prompt = next((number for number, line in enumerate(lines) if line.rstrip() == "## Prompt"), None)
    if title is None or prompt is None:
        return None
    config = next((number for number, line in enumerate(lines[:prompt]) if line.rstrip() == "## Config"), prompt)
    start = next(number for number, line in enumerate(lines) if line.strip())
    found = _values([*[""] * config, *lines[config + 1 : prompt]])
    description = " ".join(line.strip() for line in lines[start + 1 : config] if line.strip())
    said = {"displayName": title[1], **({"description": description} if description else {}), **found}
    return said, "\n".join(lines[prompt + 1 :]).strip("\n")


def _first_line_of_text(lines: list[str]) -> str:
    return next((line.rstrip() for line in lines if line.strip()), "")


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
