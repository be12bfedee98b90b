"""What came of an eval (contract 11.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime_core.agents.turns import Usage
from runtime_core.wire.json import JsonText, loads


@dataclass(frozen=True, slots=True)
class CallMade:
    """A tool or specialist that was called, by the model or below; in the order in which they began.

    ``parameters`` and ``result`` are JSON text, ``result`` None of a call that failed or did not end; ``depth`` counts
    the calls above it; ``effect`` what may be repeated (decision 13).
    """

    name: str
    kind: str = "tool"
    parameters: JsonText = "{}"
    result: JsonText | None = None
    error: str = ""
    began_at: float = 0.0
    depth: int = 0

    def to_wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "parameters": loads(self.parameters),
            "depth": self.depth,
        }
        return {**wire, "error": self.error} if self.error else wire


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one assertion, or one situation, came out. ``passed`` None: nobody could judge it, which is no pass."""

    text: str
    passed: bool | None
    reason: str
    negated: bool = False
    judged: bool = False

    def to_wire(self) -> dict[str, Any]:
        wire = {"text": self.text, "negated": self.negated, "passed": self.passed is True, "reason": self.reason}
        return {**wire, "judged": self.judged, "notJudged": self.passed is None}


@dataclass(frozen=True, slots=True)
class EvalResult:
    """``at`` in seconds since the epoch, ``latency_s`` until the agent had answered, ``duration_s`` in all.

    ``error``: why it could not be carried out, which is no pass whatever else is said.
    """

    name: str
    title: str
    at: float
    response: str = ""
    calls: Sequence[CallMade] = ()
    verdicts: Sequence[Verdict] = ()
    error: str = ""
    turns: int = 0
    latency_s: float = 0.0
    duration_s: float = 0.0
    model: str = ""
    judge: str = ""
    usage: Usage = field(default_factory=Usage)
    judge_usage: Usage = field(default_factory=Usage)
    asked: str = ""
    """What it asked, or started."""

    @property
    def passed(self) -> bool:
        return not self.error and bool(self.verdicts) and all(verdict.passed for verdict in self.verdicts)

    def to_wire(self) -> dict[str, Any]:
        """``{"evalName", "passed", "result"}`` as in contract 11.4, with more beside."""
        results = [loads(call.result) if call.result is not None else None for call in self.calls]
        result: dict[str, Any] = {
            "response": self.response,
            "toolCalls": [call.to_wire() for call in self.calls],
            "toolResults": results,
            "assertions": [verdict.to_wire() for verdict in self.verdicts],
            "durationMs": round(self.duration_s * 1000),
            "latencyMs": round(self.latency_s * 1000),
            "turns": self.turns,
            "usage": self.usage.to_wire(),
            "judgeUsage": self.judge_usage.to_wire(),
            "model": self.model,
            "judge": self.judge,
            "query": self.asked,
        }
        if self.error:
            result["error"] = self.error
        return {"evalName": self.name, "title": self.title, "passed": self.passed, "result": result}
