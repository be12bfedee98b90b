"""Evals as the application knows them. Plain data, as `gateway.base`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from inbox_app.gateway.base import Json


@dataclass(frozen=True, slots=True)
class EvalCall:
    """A call that was made for an eval, in order; ``depth`` counts the calls above it. ``error``: why it failed."""

    name: str
    parameters: Json = None
    result: Json = None
    error: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class EvalVerdict:
    """How one assertion came out. ``passed`` None: nobody could judge it. ``judged``: by a model."""

    text: str
    passed: bool | None
    reason: str = ""
    judged: bool = False


@dataclass(frozen=True, slots=True)
class EvalResult:
    """How an eval went. ``error``: why it could not be carried out. Times are in seconds.

    ``model`` and ``judge`` as ``provider:name``, "" for none; ``raw`` as the runtime tells it (contract 11.4).
    """

    id: int
    at: float
    passed: bool
    response: str = ""
    error: str = ""
    verdicts: Sequence[EvalVerdict] = ()
    calls: Sequence[EvalCall] = ()
    duration_s: float = 0.0
    turns: int = 0
    tokens: int = 0
    model: str = ""
    judge: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True, slots=True)
class EvalInfo:
    """An eval of an opened repository. ``asks``: its query, or the tool that it starts with its input.

    ``agent``: whom it asks, "" of one that starts a ``tool``. ``problem``: why its file cannot be used.
    """

    repository: str
    name: str
    title: str
    file: str = ""
    description: str = ""
    context: str = ""
    asks: str = ""
    agent: str = ""
    tool: str = ""
    assertions: Sequence[str] = ()
    problem: str = ""
    last: EvalResult | None = None

    @property
    def id(self) -> str:
        return f"{self.repository}\n{self.name}"


@dataclass(frozen=True, slots=True)
class EvalRun:
    """What to carry out. ``names`` None: all evals of the repository. ``limit_s``: for each eval, None for the usual.

    ``ready_made``: the situations of durable tools; ``names`` are then those of tools, started with ``input``.
    """

    repository: str
    names: Sequence[str] | None = None
    model: str | None = None
    judge: str | None = None
    limit_s: float | None = None
    ready_made: bool = False
    input: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class EvalStarted:
    name: str
    title: str


@dataclass(frozen=True, slots=True)
class EvalEnded:
    name: str
    title: str
    result: EvalResult


EvalEvent: TypeAlias = EvalStarted | EvalEnded


class EvalGateway(Protocol):
    """Every coroutine may raise `GatewayError`."""

    async def evals(self) -> Sequence[EvalInfo]:
        """Those of the opened repositories, by repository and name."""
        ...

    async def results(self, repository: str, name: str, limit: int = 20) -> Sequence[EvalResult]:
        """How an eval went before, latest first."""
        ...

    def run(self, asked: EvalRun) -> AsyncIterator[EvalEvent]:
        """Carry evals out, one after the other; whoever stops listening stops them. Raises `GatewayError`."""
        ...
