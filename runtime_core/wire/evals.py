"""Results of evals as the journal keeps them (contract 11)."""

from __future__ import annotations

from dataclasses import dataclass

from runtime_core.wire.json import JsonText


@dataclass(frozen=True, slots=True)
class EvalRow:
    """How one eval went. ``repo`` is the absolute path of the agent repository, ``at`` when it began, in seconds since
    the epoch; ``body`` the JSON text of what `evals.result.EvalResult` says of it."""

    repo: str
    eval: str
    at: float
    passed: bool
    body: JsonText
    id: int = 0
