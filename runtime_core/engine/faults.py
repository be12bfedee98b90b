"""Calls of handlers that are made to go wrong, to see what the handlers make of it (evals, "ready-made checks")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from runtime_core.engine.failures import CallFailed

Fault = Literal["fails", "missing"]
"""The call fails, or it finds nothing."""

Faults = Mapping[str, Fault]
"""By the name of a tool or specialist."""


def check_fault(faults: Faults, name: str, *, agent: bool = False) -> None:
    """Raises `CallFailed` if calls of this name are to fail."""
    if faults.get(name) != "fails":
        return
    if agent:
        raise CallFailed("subagent-failed", f'The agent "{name}" failed: the eval makes it fail.', agent=name)
    text = f'Tool "{name}" failed: the eval makes it fail.'
    raise CallFailed("execution-failed", text, tool=name, cause={"name": "Error", "message": "the eval makes it fail"})
