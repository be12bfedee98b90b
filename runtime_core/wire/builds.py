"""Builds of repositories, on this computer and on the platform, and the switches of built-in tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal, cast

BuildKind = Literal["local", "platform"]
BuildState = Literal["running", "succeeded", "failed", "cancelled", "unknown"]
"""``unknown``: it was not told how it ended."""

Level = Literal["info", "warning", "error"]

FailureKind = Literal[
    "typescript",
    "python",
    "dependency",
    "manifest",
    "validation",
    "network",
    "authorization",
    "not-found",
    "rate-limit",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a build log. ``stage``: the part of the build it belongs to; ``at``: Unix seconds, if it is told."""

    text: str
    level: Level = "info"
    stage: str = ""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """One cause of a failed build: the lines of the log that tell it, where it is, and what to do about it."""

    kind: FailureKind
    lines: Sequence[str]
    advice: str
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Touched:
    """A run that waits and whose code changed. ``verdict``: ok, diverged, cannot-tell or skipped."""

    run_id: str
    tool: str
    status: str
    verdict: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a build found different from the one before. ``others``: that and which other parts of it changed."""

    added: Sequence[str] = ()
    removed: Sequence[str] = ()
    changed: Sequence[str] = ()
    agents_added: Sequence[str] = ()
    agents_removed: Sequence[str] = ()
    agents_changed: Sequence[str] = ()

    @property
    def is_empty(self) -> bool:
        return not any(asdict(self).values())


@dataclass(frozen=True, slots=True)
class Build:
    """One build. ``repo``: path of the repository, "" where none was named. Times are in Unix seconds.

    Of the platform: ``remote`` is its id there, ``branch``, ``environment`` and ``agent`` what was asked for. Of this
    computer: ``revision`` and ``previous`` are the digests of the code now and before, ``inventory`` the digest of each
    tool (``tool NAME``) and agent (``agent NAME``), ``touched`` the waiting runs whose code changed.
    """

    id: str
    repo: str
    kind: BuildKind
    state: BuildState
    started_at: float
    ended_at: float | None = None
    who: str = ""
    remote: str = ""
    branch: str = ""
    environment: str = ""
    agent: str = ""
    revision: str = ""
    previous: str = ""
    changes: Changes = Changes()
    inventory: Mapping[str, str] = field(default_factory=dict[str, str])
    touched: Sequence[Touched] = ()
    failures: Sequence[Failure] = ()
    log: Sequence[Line] = ()

    @property
    def is_over(self) -> bool:
        return self.state != "running"

    def body(self) -> dict[str, Any]:
        """Everything that has no column of its own."""
        whole = asdict(self)
        return {name: value for name, value in whole.items() if name not in COLUMNS}

    def to_wire(self) -> dict[str, Any]:
        whole = asdict(self)
        del whole["inventory"]
        return whole


COLUMNS: Final = ("id", "repo", "kind", "state", "started_at", "ended_at", "remote")


def build_of(columns: Sequence[Any], body: Mapping[str, Any]) -> Build:
    """The build whose row has these `COLUMNS` and this `Build.body`."""
    identity, repo, kind, state, started_at, ended_at, remote = columns
    return Build(
        id=identity,
        repo=repo,
        kind=kind,
        state=state,
        started_at=started_at,
        ended_at=ended_at,
        remote=remote or "",
        **{name: _read(name, value) for name, value in body.items()},
    )


def problem_in_body(body: Mapping[str, Any]) -> str | None:
    """What is wrong with a `Build.body`, as the end of a sentence; None if it can be read."""
    try:
        build_of(("", "", "local", "unknown", 0.0, None, None), body)
    except (TypeError, AttributeError, KeyError):
        return "is not what is kept of a build"
    return None


def _read(name: str, value: Any) -> Any:
    if name == "changes":
        return Changes(**{kind: tuple(names) for kind, names in cast("dict[str, list[str]]", value).items()})
    if name == "failures":
        return tuple(replace(Failure(**one), lines=tuple(one["lines"])) for one in cast("list[dict[str, Any]]", value))
    make = {"touched": Touched, "log": Line}.get(name)
    return value if make is None else tuple(make(**item) for item in cast("list[dict[str, Any]]", value))


@dataclass(frozen=True, slots=True)
class Switch:
    """Whether a built-in tool of a repository is on, who said so, and when (Unix seconds)."""

    tool: str
    is_on: bool
    who: str
    at: float
