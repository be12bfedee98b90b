"""Who may answer a question (contract decision 14)."""

from __future__ import annotations

from typing import Any, cast

from runtime_core.approvals.questions import read
from runtime_core.wire.json import JsonText
from runtime_core.wire.runs import PauseRow


def eligible(spec: JsonText, who: str, requested_by: str) -> tuple[bool, str]:
    """Whether ``who`` may answer, and if not why, as a sentence. An empty ``who`` is a caller without an identity.

    Exclusion wins; an absent list of answerers means anybody, an empty one nobody.
    """
    asked = read(spec)
    answerers = cast("list[str] | None", asked.get("eligibleAnswerers"))
    excluded = cast("list[str]", asked.get("excludeAnswerers") or [])
    if who in excluded:
        started = ", as it is your own request" if who == requested_by else ""
        return False, f"{who} is excluded from answering this question{started}."
    if answerers is None:
        if excluded and not who:
            return False, "Some people are excluded from answering this question, so it takes a known identity."
        return True, ""
    if not answerers:
        return False, "Nobody may answer this question: its list of answerers is empty."
    if who not in answerers:
        return False, f"{who or 'A caller without an identity'} is not among those who may answer this question."
    return True, ""


def pause_wire(pause: PauseRow, who: str | None, *, status: str) -> dict[str, Any]:
    """The pause object (decision 21), with ``eligible`` and ``reason`` for ``who`` if that is known."""
    wire = pause.to_wire(status=status)
    if who is not None:
        wire["eligible"], wire["reason"] = eligible(pause.spec, who, pause.requested_by)
    return wire
