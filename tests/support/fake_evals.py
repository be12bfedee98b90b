"""Evals for tests of the window: what is listed, what a run tells, and short ways to make both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence

from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.evals import (
    EvalCall,
    EvalEnded,
    EvalEvent,
    EvalInfo,
    EvalResult,
    EvalRun,
    EvalStarted,
    EvalVerdict,
)
from tests.support.builders import NOW

DESK = "/agents/support-desk"
HOLDS = EvalVerdict("contains: damage-2", True, "the response contains it")
BROKEN = EvalVerdict("tool_called: save_review", False, "save_review was not called; called were: review_ticket")
JUDGED = EvalVerdict("Should name who decides", True, "It names the policy reviewer.", judged=True)
NOT_JUDGED = EvalVerdict("Should NOT promise a refund", None, "it is not judged: there is no model", judged=True)


def result(
    id: int = 1,
    *,
    passed: bool = True,
    verdicts: Sequence[EvalVerdict] = (HOLDS, JUDGED),
    error: str = "",
    response: str = "The reviewers agree: a replacement is allowed by rule damage-2.",
    calls: Sequence[EvalCall] = (),
    at: float = NOW - 200,
    model: str = "anthropic:claude",
) -> EvalResult:
    return EvalResult(
        id, at, passed, response, error, verdicts, calls, duration_s=2.41, turns=2, tokens=1284, model=model
    )


def info(
    name: str = "review",
    *,
    repository: str = DESK,
    title: str = "A review names its rule",
    last: EvalResult | None = None,
    problem: str = "",
    tool: str = "",
    asks: str = "Review t-1042",
    assertions: Sequence[str] = ("contains: damage-2", "Should name who decides"),
    description: str = "Both reviewers are heard before anything is promised.",
) -> EvalInfo:
    return EvalInfo(
        repository=repository,
        name=name,
        title=title,
        file=f"evals/{name}.md",
        description=description,
        asks="" if problem else asks,
        agent="" if tool or problem else "default",
        tool=tool,
        assertions=assertions,
        problem=problem,
        last=last,
    )


class FakeEvals:
    """Implements `EvalGateway`. A run goes on with what is told to it, until None."""

    def __init__(self, *infos: EvalInfo, past: Mapping[str, Sequence[EvalResult]] | None = None) -> None:
        self.infos = list(infos)
        self.past = dict(past or {})
        self.asked: list[EvalRun] = []
        self.refuse: GatewayError | None = None
        self.stopped = 0
        self._told: asyncio.Queue[EvalEvent | GatewayError | None] = asyncio.Queue()

    def tell(self, *events: EvalEvent | GatewayError | None) -> None:
        for event in events:
            self._told.put_nowait(event)

    def end(self, name: str, ended: EvalResult) -> None:
        self.past[name] = [ended, *self.past.get(name, ())]
        self.tell(EvalEnded(name, name, ended))

    async def evals(self) -> Sequence[EvalInfo]:
        if self.refuse is not None:
            raise self.refuse
        return self.infos

    async def results(self, repository: str, name: str, limit: int = 20) -> Sequence[EvalResult]:
        return self.past.get(name, [])[:limit]

    async def run(self, asked: EvalRun) -> AsyncGenerator[EvalEvent]:
        self.asked.append(asked)
        try:
            while (event := await self._told.get()) is not None:
                if isinstance(event, GatewayError):
                    raise event
                yield event
        finally:
            self.stopped += 1


def started(name: str, title: str = "A review names its rule") -> EvalStarted:
    return EvalStarted(name, title)
