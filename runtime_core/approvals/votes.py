"""Answers to a question that takes several people (contract decision 7).

Equal answers add up, one refusal refuses, and nobody counts twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runtime_core.approvals.questions import quorum
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText, digest, loads
from runtime_core.wire.runs import PauseRow, Vote


def counted(pause: PauseRow, answered: PauseRow, status: str) -> PauseRow:
    """The question after one more answer: ``answered``, with all votes, if this decides it, else still open.

    ``answered`` is what ``pause`` becomes if this answer is enough. Raises `RuntimeFault` votes_differ.
    """
    if quorum(pause.spec) < 2:
        return answered
    vote = _vote(answered)
    votes = (*pause.votes, vote)
    if answered.outcome != "refused":
        if pause.votes and not _agree(pause.kind, pause.votes[0], vote):
            raise _differs(pause, status)
        if len(votes) < quorum(pause.spec):
            return replace(pause, votes=votes)
    return replace(answered, votes=votes)


def voted_already(pause: PauseRow, who: str, status: str, reason: str) -> RuntimeFault | None:
    """The refusal of a second answer by the same person."""
    if all(vote.who != who for vote in pause.votes):
        return None
    return RuntimeFault("already_voted", reason, **_details(pause, status))


def _vote(answered: PauseRow) -> Vote:
    assert answered.answered_by is not None
    assert answered.answer is not None
    assert answered.answered_at is not None
    return Vote(answered.answered_by, answered.answer, answered.edits, answered.note, answered.answered_at)


def _agree(kind: str, one: Vote, other: Vote) -> bool:
    """Approvals agree however they are worded; everything else must be equal as JSON."""
    return (kind == "approval" or _same(one.value, other.value)) and _same(one.edits, other.edits)


def _same(one: JsonText | None, other: JsonText | None) -> bool:
    if one is None or other is None:
        return one is other
    return digest(loads(one)) == digest(loads(other))


def _differs(pause: PauseRow, status: str) -> RuntimeFault:
    first = pause.votes[0]
    given = first.value + (f" with edits {first.edits}" if first.edits is not None else "")
    given = given if len(given) <= 200 else given[:200] + "…"
    return RuntimeFault(
        "votes_differ",
        f"{quorum(pause.spec)} people have to give the same answer to {pause.id}, and {first.who} answered {given}. "
        "Yours is another one and was not counted. Give the same, or refuse if the question can be refused, "
        "or cancel the session.",
        **_details(pause, status),
    )


def _details(pause: PauseRow, status: str) -> dict[str, Any]:
    return {"status": status, "pause_id": pause.id, "votes": pause.to_wire(status=status)["votes"]}
