"""Who may answer a question (contract decision 14)."""

from __future__ import annotations

import time
from typing import Any, cast

from runtime_core.approvals.deadlines import is_over
from runtime_core.approvals.questions import quorum, read
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
    if not who and quorum(spec) > 1:
        return False, "This question takes several people, so it takes a known identity."
    if answerers is None:
        if excluded and not who:
            return False, "Some people are excluded from answering this question, so it takes a known identity."
        return True, ""
    if not answerers:
        return False, "Nobody may answer this question: its list of answerers is empty."
    if who not in answerers:
        return False, f"{who or 'A caller without an identity'} is not among those who may answer this question."
    return True, ""


def may_answer(pause: PauseRow, who: str) -> tuple[bool, str]:
    """As `eligible`, and whether ``who`` has already said what they think where it takes several people."""
    if any(vote.who == who for vote in pause.votes):
        given = f"{len(pause.votes)} of {quorum(pause.spec)} answers are given"
        return False, f"{who} has already answered this question. {given}; the next must come from somebody else."
    return eligible(pause.spec, who, pause.requested_by)


def pause_wire(pause: PauseRow, who: str | None, *, status: str) -> dict[str, Any]:
    """The pause object (decision 21), with ``eligible`` and ``reason`` for ``who`` if that is known."""
    wire = pause.to_wire(status=status)
    if who is not None:
        wire["eligible"], wire["reason"] = may_answer(pause, who)
        if pause.outcome is None and status == "diverged":
            wire["eligible"], wire["reason"] = False, "The run stopped as diverged: resume or cancel it first."
        if is_over(pause, time.time()):
            wire["eligible"], wire["reason"] = False, "The deadline of this question has passed."
    return wire
