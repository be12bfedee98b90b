"""What a check has to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Level = Literal["ok", "warning", "problem"]
"""``warning``: works, but somebody should know. ``problem``: does not work, or something was lost."""


@dataclass(frozen=True, slots=True)
class Finding:
    """``code`` is a word for programs; ``message`` says what was found where, ``remedy`` what to do, if anything."""

    level: Level
    code: str
    message: str
    remedy: str = ""

    def to_wire(self) -> dict[str, Any]:
        return {"level": self.level, "code": self.code, "message": self.message, "remedy": self.remedy}


def ok(code: str, message: str) -> Finding:
    return Finding("ok", code, message)


def warning(code: str, message: str, remedy: str) -> Finding:
    return Finding("warning", code, message, remedy)


def problem(code: str, message: str, remedy: str) -> Finding:
    return Finding("problem", code, message, remedy)


def some(items: list[str], limit: int = 5) -> str:
    """The first few of many, and how many more there are."""
    more = f" and {len(items) - limit} more" if len(items) > limit else ""
    return ", ".join(items[:limit]) + more


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def in_megabytes(size: int) -> str:
    return f"{size / 1024 / 1024:,.1f} MB"
