"""What keeps a runtime from opening, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inbox_app.gateway.base import GatewayError
from inbox_app.widgets.hidden_text import reveal


def problem_lines(error: GatewayError) -> list[str]:
    """Every error of every repository: its file, below it what is wrong and what to do. Empty for other errors."""
    problems: list[Mapping[str, Any]] = [
        problem for problem in error.details.get("problems", ()) if problem["severity"] == "error"
    ]
    several = len({problem["repository"] for problem in problems}) > 1
    return [_line(problem, whole_path=several) for problem in problems]


def problem_roots(error: GatewayError) -> list[str]:
    """The repositories that cannot be used."""
    return list(dict.fromkeys(reveal(problem["repository"]) for problem in error.details.get("problems", ())))


def _line(problem: Mapping[str, Any], *, whole_path: bool) -> str:
    file = f"{problem['repository']}/{problem['file']}" if whole_path else problem["file"]
    place = f":{problem['line']}:{problem['column']}" if problem["line"] is not None else ""
    key = f" [{problem['key']}]" if problem["key"] else ""
    return reveal(f"{file}{place}{key}") + "\n" + reveal(f"{problem['message']} {problem['remedy']}")
