"""Where the loader collects what is wrong, so that a person sees all of it at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final, Literal

from runtime_core.repo.bundle import Problem

NOT_FOUND: Final = "CONFIG_NOT_FOUND"
PARSE_FAILED: Final = "CONFIG_PARSE_FAILED"
INVALID: Final = "CONFIG_VALIDATION_FAILED"
ENV_NOT_SET: Final = "ENV_NOT_SET"
READ_FAILED: Final = "READ_FAILED"
"""The loader codes of contract 1.2."""


class Report:
    """The problems of one repository, in the order in which they were found."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    @property
    def failed(self) -> bool:
        return any(problem.severity == "error" for problem in self.problems)

    def error(self, code: str, file: str, message: str, remedy: str, **place: str | int | None) -> None:
        self._add("error", code, file, message, remedy, place)

    def warning(self, code: str, file: str, message: str, remedy: str, **place: str | int | None) -> None:
        self._add("warning", code, file, message, remedy, place)

    def _add(
        self,
        severity: Literal["error", "warning"],
        code: str,
        file: str,
        message: str,
        remedy: str,
        place: dict[str, str | int | None],
    ) -> None:
        shown = {key: printable(value) if isinstance(value, str) else value for key, value in place.items()}
        self.problems.append(
            Problem(severity, code, printable(file), printable(message), printable(remedy), **shown)  # pyright: ignore[reportArgumentType]
        )


_PLACE: Final = re.compile(r":(\d+)(?::(\d+))?")


def report_unread(file: str, reason: str, is_passing: bool, report: Report) -> None:
    """A definition in code that leaves out only what it defines; line and column where the reason names them."""
    at = reason.find(f"{file}:")
    found = _PLACE.match(reason, at + len(file)) if at >= 0 else None
    line, column = (int(number) if number else None for number in found.groups()) if found else (None, None)
    remedy = "" if is_passing else "Correct it; until then what it defines is left out."
    report.warning(PARSE_FAILED, file, f"The definition cannot be read: {reason}.", remedy, line=line, column=column)


def printable(text: str) -> str:
    """File names and keys may hold what is no text (lone surrogates); it is shown as question marks."""
    return text.encode("utf-8", "replace").decode()


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`` Did you mean "x"?`` for the closest known name, or nothing."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f' Did you mean "{close[0]}"?' if close else ""
