"""Deadlines of questions: when they are over, and what becomes of the call then (contract decision 7).

Silence never approves: unless the author wrote a value for this case, the call fails.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from runtime_core.approvals.questions import expired_value, read
from runtime_core.journal.base import Recorded
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText, JsonValue, dumps
from runtime_core.wire.runs import LATEST, PauseRow, instant, iso

CODE: Final = "pause-expired"
"""Of the error that a call gets whose question nobody answered in time."""

_SHOWN: Final = 200


def expires_at(spec: JsonText, asked_at: float) -> float | None:
    """The deadline of a question that is asked for the first time; seconds since the epoch."""
    asked = read(spec)
    timeout = asked.get("timeoutMs")
    if isinstance(timeout, int | float):
        return min(asked_at + timeout / 1000, LATEST)
    return instant(asked.get("expiresAt"))


def is_over(pause: PauseRow, now: float) -> bool:
    """Whether an open question has missed its deadline: nothing but `expired` may happen to it any more."""
    return pause.outcome is None and pause.expires_at is not None and pause.expires_at <= now


def expired(pause: PauseRow, now: float) -> PauseRow:
    """The question, closed because nobody answered it in time."""
    return replace(pause, outcome="expired", answered_at=now)


def expiry(pause: PauseRow) -> Recorded:
    """What the call of an expired question leaves: the author's value, or an error with `CODE`."""
    on_expire = read(pause.spec).get("onExpire")
    if isinstance(on_expire, dict):
        return Recorded("ok", expired_value(pause.kind, on_expire["value"]))
    error: dict[str, JsonValue] = {
        "name": "Error",
        "code": CODE,
        "message": f"{_named(pause)} was not answered before its deadline, {iso(pause.expires_at)}. "
        "Nothing was decided. Ask again if it still matters.",
    }
    return Recorded("error", dumps(error))


def too_late(pause: PauseRow, status: str) -> RuntimeFault:
    """The refusal of an answer to a question whose deadline has passed."""
    return RuntimeFault(
        "pause_expired",
        f"The answer came too late and was not counted: the question {pause.id} expired at {iso(pause.expires_at)}.",
        status=status,
        pause_id=pause.id,
        expires_at=iso(pause.expires_at),
    )


def _named(pause: PauseRow) -> str:
    words = str(read(pause.spec)["question"])
    return f'The question "{words if len(words) <= _SHOWN else words[:_SHOWN] + "…"}" ({pause.id})'
