"""The evals of the embedded runtime: what is told of them comes over to the loop of whoever runs them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from inbox_app.gateway.embedded_catalog import Call
    from runtime_core.runtime import Runtime

Wire = dict[str, Any]


class EmbeddedEvals:
    """Implements `EvalGateway`. ``runtime`` gives the open runtime."""

    def __init__(self, call: Call, runtime: Callable[[], Runtime]) -> None:
        self._call = call
        self._runtime = runtime

    async def evals(self) -> Sequence[EvalInfo]:
        return [_info(one) for one in await self._call(self._evals())]

    async def results(self, repository: str, name: str, limit: int = 20) -> Sequence[EvalResult]:
        return [_result(one) for one in await self._call(self._results(Path(repository), name, limit))]

    async def run(self, asked: EvalRun) -> AsyncGenerator[EvalEvent]:
        here = asyncio.get_running_loop()
        told: asyncio.Queue[Wire | None] = asyncio.Queue()
        work = asyncio.create_task(
            self._call(self._pump(asked, lambda event: here.call_soon_threadsafe(told.put_nowait, event)))
        )
        work.add_done_callback(lambda _: here.call_soon(told.put_nowait, None))
        try:
            while (event := await told.get()) is not None:
                if event["type"] == "agent_error":
                    raise GatewayError("eval_failed", event["error"])
                if event["type"] == "eval_start":
                    yield EvalStarted(event["evalName"], event["title"])
                elif event["type"] == "eval_complete":
                    yield EvalEnded(event["evalName"], event["title"], _result(event))
            await work
        finally:
            work.cancel()
            with suppress(GatewayError, asyncio.CancelledError):
                await work

    # Below here everything runs on the runtime's loop.

    async def _evals(self) -> Sequence[Wire]:
        runtime = self._runtime()
        roots = [one.root for one in await runtime.catalog.listed() if one.bundle is not None]
        return [one for root in roots for one in await runtime.evals.listed(root)]

    async def _results(self, root: Path, name: str, limit: int) -> Sequence[Wire]:
        return await self._runtime().evals.results(root, name, limit)

    async def _pump(self, asked: EvalRun, push: Callable[[Wire], object]) -> None:
        from runtime_core.evals.suite import EVAL_S, EvalRequest

        request = EvalRequest(
            root=Path(asked.repository),
            names=asked.names,
            model=asked.model,
            judge=asked.judge,
            limit_s=EVAL_S if asked.limit_s is None else asked.limit_s,
            ready_made=asked.ready_made,
            input=asked.input,
        )
        async with aclosing(self._runtime().evals.run(request)) as events:
            async for event in events:
                push(event)


def _info(wire: Mapping[str, Any]) -> EvalInfo:
    return EvalInfo(
        repository=wire["repository"],
        name=wire["name"],
        title=wire["title"],
        file=wire["file"],
        description=wire["description"],
        context=wire["context"],
        asks=wire["query"],
        agent=wire["agent"],
        tool=wire["tool"],
        assertions=tuple(wire["assertions"]),
        problem=wire["problem"],
        last=None if wire["last"] is None else _result(wire["last"]),
    )


def _result(wire: Mapping[str, Any]) -> EvalResult:
    """Tolerant of what an earlier version stored."""
    ran: Mapping[str, Any] = wire.get("result") or {}
    usages: list[Mapping[str, Any]] = [ran.get("usage") or {}, ran.get("judgeUsage") or {}]
    results: Sequence[Any] = ran.get("toolResults") or ()
    return EvalResult(
        id=wire["id"],
        at=datetime.fromisoformat(wire["at"]).timestamp(),
        passed=wire["passed"],
        response=ran.get("response", ""),
        error=ran.get("error", ""),
        verdicts=[_verdict(one) for one in ran.get("assertions") or ()],
        calls=[
            _call(one, results[number] if number < len(results) else None)
            for number, one in enumerate(ran.get("toolCalls") or ())
        ],
        duration_s=ran.get("durationMs", 0) / 1000,
        turns=ran.get("turns", 0),
        tokens=sum(usage.get("total_tokens", 0) for usage in usages),
        model=ran.get("model", ""),
        judge=ran.get("judge", ""),
        raw=wire,
    )


def _verdict(wire: Mapping[str, Any]) -> EvalVerdict:
    passed = None if wire.get("notJudged") else wire["passed"]
    return EvalVerdict(wire["text"], passed, wire.get("reason", ""), wire.get("judged", False))


def _call(wire: Mapping[str, Any], result: Any) -> EvalCall:
    return EvalCall(wire["name"], wire.get("parameters"), result, wire.get("error", ""), wire.get("depth", 0))
