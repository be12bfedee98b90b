"""Whether a dry replay did again what was recorded, and in which words it did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from runtime_core.engine.divergence import describe, first_difference
from runtime_core.engine.rehearsal import Ending
from runtime_core.wire.json import JsonText, loads
from runtime_core.wire.runs import PauseRow, RunRow

_NOT_BY_HANDLER: Final = frozenset({"deadline", "host-lost", "host-hung", "out-of-memory", "journal-limit"})
"""Codes of runs that the runtime ended, whatever their handlers did."""


@dataclass(frozen=True, slots=True)
class Stand:
    """Where recorded legs left a run: its handler returned or failed with ``value``, or every branch waits."""

    kind: Literal["returned", "failed", "waits"]
    value: JsonText | None = None

    @property
    def is_repeatable(self) -> bool:
        return self.kind != "failed" or _error(self.value).get("code") not in _NOT_BY_HANDLER


def stand_of(run: RunRow, pauses: Sequence[PauseRow]) -> Stand | None:
    """None for a run that was stopped on its way: nothing says how far it had come."""
    if run.status == "completed":
        return Stand("returned", run.result)
    if run.status in ("failed", "expired"):
        return Stand("failed", run.error)
    is_stuck = any(pause.outcome is None and pause.slot.startswith("-") for pause in pauses)
    waits = run.status in ("awaiting-input", "sleeping", "needs-attention") and not is_stuck
    return Stand("waits") if waits else None


def deviation(stand: Stand, ending: Ending) -> str | None:
    """What a replay did otherwise, as the rest of a sentence that begins with the tool; None if it did the same."""
    if stand.kind == "waits":
        return _went_on(ending)
    if ending.kind == "waits":
        done = "returned a result" if stand.kind == "returned" else "failed"
        return f"{_next(ending)}, where it had {done}"
    if ending.kind != stand.kind:
        return f"{_ended(ending)}, where it had {_ended(Ending(stand.kind, stand.value))}"
    if stand.kind == "returned":
        found = first_difference(loads(stand.value or "null"), loads(ending.value or "null"))
        return f"returns another result. First difference: {found}" if found is not None else None
    same = _error(stand.value).get("message") == _error(ending.value).get("message")
    return None if same else f"{_ended(ending)}, where it had {_ended(Ending('failed', stand.value))}"


def _went_on(ending: Ending) -> str | None:
    if ending.kind != "waits":
        return f"{_ended(ending)}, where it had waited"
    return f"{_next(ending)}, which is not recorded" if ending.calls or ending.questions else None


def _next(ending: Ending) -> str:
    if ending.calls:
        call = ending.calls[0]
        return f"makes the call {describe(call.kind, call.name)} in {' > '.join(call.names)}"
    if ending.questions:
        question: Any = loads(ending.questions[0].spec)
        return f'asks "{question["question"]}"'
    return "waits"


def _ended(ending: Ending) -> str:
    return "returned a result" if ending.kind == "returned" else f"failed: {_error(ending.value).get('message')}"


def _error(text: JsonText | None) -> dict[str, Any]:
    error = loads(text) if text is not None else None
    return error if isinstance(error, dict) else {}
