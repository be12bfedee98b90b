"""Where the loader collects what is wrong, so that a person sees all of it at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Final, Literal

from runtime_core.repo.bundle import Ignored, Problem

NOT_FOUND: Final = "CONFIG_NOT_FOUND"
PARSE_FAILED: Final = "CONFIG_PARSE_FAILED"
INVALID: Final = "CONFIG_VALIDATION_FAILED"
ENV_NOT_SET: Final = "ENV_NOT_SET"
READ_FAILED: Final = "READ_FAILED"
"""The loader codes of contract 1.2."""


PROBLEM_LIMIT: Final = 200
"""More errors than that are not looked for, more warnings are not listed."""
IGNORED_LIMIT: Final = 200


class TooManyProblems(Exception):  # noqa: N818
    """There are more than `PROBLEM_LIMIT` errors."""


class Report:
    """The problems of one repository, in the order in which they were found, and what in it is no item."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._counts = {"error": 0, "warning": 0}
        self._ignored: dict[str, str] = {}
        self._not_listed = 0

    @property
    def failed(self) -> bool:
        return any(problem.severity == "error" for problem in self.problems)

    def error(self, code: str, file: str, message: str, remedy: str, **place: str | int | None) -> None:
        self._add("error", code, file, message, remedy, place)

    def warning(self, code: str, file: str, message: str, remedy: str, **place: str | int | None) -> None:
        self._add("warning", code, file, message, remedy, place)

    @property
    def is_full(self) -> bool:
        """Whether further warnings would not be listed."""
        return self._counts["warning"] > PROBLEM_LIMIT

    def close(self) -> None:
        """Say that not every warning is listed."""
        if self.is_full:
            self.problems.append(Problem("warning", INVALID, ".", "There are more warnings than are listed.", ""))

    def ignore(self, path: str, reason: str) -> None:
        """Note a file or folder that is no item; folders end with a slash."""
        if path in self._ignored or len(self._ignored) < IGNORED_LIMIT:
            self._ignored.setdefault(printable(path), reason)
        else:
            self._not_listed += 1

    @property
    def ignored(self) -> tuple[Ignored, ...]:
        listed = [Ignored(path, reason) for path, reason in sorted(self._ignored.items())]
        rest = [Ignored("…", f"{self._not_listed} more that are not listed")] if self._not_listed else []
        return (*listed, *rest)

    def _add(
        self,
        severity: Literal["error", "warning"],
        code: str,
        file: str,
        message: str,
        remedy: str,
        place: dict[str, str | int | None],
    ) -> None:
        self._counts[severity] += 1
        if self._counts[severity] > PROBLEM_LIMIT:
            if severity == "error":
                raise TooManyProblems
            return
        shown = {key: printable(value) if isinstance(value, str) else value for key, value in place.items()}
        self.problems.append(
            Problem(severity, code, printable(file), printable(message), printable(remedy), **shown)  # pyright: ignore[reportArgumentType]
        )


class PartReport(Report):
    """The problems of a part that the rest does without: none of them stops the bundle.

    ``consequence`` is said with each one that leaves the part out; ``failure`` is the first of them, with its file and
    key and what to do.
    """

    def __init__(self, whole: Report, consequence: str) -> None:
        super().__init__()
        self._whole = whole
        self._consequence = consequence
        self.failure: str | None = None

    def error(self, code: str, file: str, message: str, remedy: str, **place: str | int | None) -> None:
        self._whole.warning(code, file, f"{message} {self._consequence}", remedy, **place)
        key = f" [{place['key']}]" if place.get("key") else ""
        self.failure = self.failure or printable(f"{file}{key}: {message} {remedy}".rstrip())

    def warning(self, code: str, file: str, message: str, remedy: str, **place: str | int | None) -> None:
        self._whole.warning(code, file, message, remedy, **place)

    def ignore(self, path: str, reason: str) -> None:
        self._whole.ignore(path, reason)

    @property
    def failed(self) -> bool:
        return self.failure is not None


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


_NAME_LIMIT: Final = 80
_COMPARED: Final = 1000


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`` Did you mean "x"?`` for the closest known name, or nothing."""
    close = get_close_matches(name[:_NAME_LIMIT], list(islice(known, _COMPARED)), n=1, cutoff=0.7)
    return f' Did you mean "{close[0]}"?' if close else ""
