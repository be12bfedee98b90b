"""What a caller is told about a run: ``{"sessionId", "session_id", "outcome", "result"}`` (decisions 3, 15, 21)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from runtime_core.approvals.eligibility import pause_wire
from runtime_core.approvals.questions import read
from runtime_core.engine.failures import failure_text
from runtime_core.hosts.base import HandlerFailure
from runtime_core.wire.json import JsonText, JsonValue, dumps, loads
from runtime_core.wire.runs import PauseRow, RunRow, iso

_WAITS: Final = {"awaiting-input": "waits for a person", "sleeping": "sleeps"}


def of_run(run: RunRow, open_pauses: Sequence[PauseRow], who: str) -> dict[str, Any]:
    """``open_pauses``: the one to be shown first; ``who`` is the caller."""
    status = run.shown_status
    if status == "completed":
        return _reply(run.id, {"kind": "complete"}, run.result)
    if open_pauses and status in ("awaiting-input", "needs-attention"):
        return _reply(run.id, {**pause_wire(open_pauses[0], who, status=status), "kind": status})
    outcome: dict[str, Any] = {"kind": status, "session_id": run.id}
    error = _error_of(run)
    if error is not None:
        message = error.get("message", "")
        outcome["reason"] = _reason(run.tool, error) if status == "failed" else message
        outcome["code"] = error.get("code")
        outcome |= {"at": error["at"]} if "at" in error else {}
    if status == "sleeping":
        outcome["wake_at"] = iso(run.wake_at)
    return _reply(run.id, outcome)


def inline_result(result: JsonText) -> dict[str, Any]:
    return _reply(None, {"kind": "complete"}, result)


def inline_failure(tool: str, failure: HandlerFailure, at: str | None) -> dict[str, Any]:
    """``at``: where it was thrown, if that is known."""
    code = failure.code or "execution-failed"
    told = {"kind": "failed", "reason": failure_text(tool, failure), "code": code}
    return _reply(None, told if at is None else {**told, "at": at})


def told_to_model(run: RunRow, pauses: Sequence[PauseRow]) -> JsonText:
    """The result of a durable tool that a model has selected and that has not finished (contract 7.4)."""
    told: dict[str, JsonValue] = {"durable": True, "status": "running", "session_id": run.id}
    asked = next((pause for pause in pauses if pause.outcome is None and pause.kind == "input"), None)
    if asked is not None:
        spec = read(asked.spec)
        told |= {"status": "awaiting_operator", "question": spec.get("question"), "context": spec.get("context")}
        more = {"input_type": spec.get("inputType"), "options": spec.get("options")}
        told |= {key: value for key, value in more.items() if value is not None}
        told["allow_edits"] = spec.get("allowEdits") is True
    waits = _WAITS.get(run.status, f"is {run.shown_status}, and a person decides what becomes of it,")
    message = f"{run.tool} {waits} as run {run.id}. Its result does not come in this turn. Do not call it again."
    return dumps(told | {"message": message})


def _reason(tool: str, error: dict[str, Any]) -> str:
    return failure_text(tool, HandlerFailure(str(error.get("name")), str(error.get("message")), error.get("code")))


def _reply(run_id: str | None, outcome: dict[str, Any], result: JsonText | None = None) -> dict[str, Any]:
    return {
        "sessionId": run_id,
        "session_id": run_id,
        "outcome": outcome,
        "result": loads(result) if result is not None else None,
    }


def _error_of(run: RunRow) -> dict[str, Any] | None:
    error = loads(run.error) if run.error is not None else None
    return error if isinstance(error, dict) else None
