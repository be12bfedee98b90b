"""The pauses of a run: what a handler asks, and what the runtime asks because only a person knows (decision 13)."""

from __future__ import annotations

from typing import Literal

from runtime_core.approvals import deadlines, questions
from runtime_core.hosts.base import HandlerCall
from runtime_core.journal.base import Claim
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.json import JsonText, JsonValue, dumps, loads
from runtime_core.wire.runs import Entry, PauseRow, SlotPath, slot

PauseKind = Literal["input", "approval", "attention"]


def question(claim: Claim, names: tuple[str, ...], at: SlotPath, call: HandlerCall, now: float) -> PauseRow:
    """What a handler asked with ``requestInput`` or ``waitForApproval``. Raises `QuestionError`."""
    kind = call.kind
    assert kind in ("input", "approval")
    return _pause(claim, kind, at, names, questions.question(kind, call.args), now)


def interrupted_call(
    claim: Claim, names: tuple[str, ...], at: SlotPath, call: HandlerCall, intent: Entry, now: float
) -> PauseRow:
    """What to do about a call that was in flight when its process died."""
    spec = questions.read(questions.attention(call.kind, call.name, intent.started_at))
    context: dict[str, JsonValue] = {call.kind: call.name, "params": loads(call.args)}
    return _pause(claim, "attention", at, (*names, call.name), dumps({**spec, "context": context}), now)


def stuck_run(claim: Claim, reason: str, now: float) -> tuple[PauseRow, Entry]:
    """What to do about a run that cannot go on here, and the entry that the answer removes.

    The entry is no call of the handler: its number is negative, and no leg is shown it.
    """
    run = claim.run
    number = -claim.epoch
    spec = dumps(
        {
            "question": f"{run.tool} cannot go on: {reason}",
            "inputType": "choice",
            "options": [{"value": "run-again", "label": "Try again", "sub": "Goes on where the run stopped"}],
            "context": {"tool": run.tool, "repository": run.repo, "params": run.input},
            "allowEdits": False,
        }
    )
    at = slot("", number)
    entry = Entry("", number, "tool", run.tool, "", "started", None, now, epoch=claim.epoch)
    return _pause(claim, "attention", at, (run.tool,), spec, now), entry


def _pause(claim: Claim, kind: PauseKind, at: SlotPath, names: tuple[str, ...], spec: JsonText, now: float) -> PauseRow:
    run = claim.run
    suffix = f".a{claim.epoch}" if kind == "attention" else ""
    return PauseRow(
        id=f"{run.id}.{at.replace('/', '-')}{suffix}",
        run_id=run.id,
        slot=at,
        kind=kind,
        tool=run.tool,
        names=names,
        spec=spec,
        fingerprint=fingerprint(kind, spec),
        asked_at=now,
        expires_at=deadlines.expires_at(spec, now),
        requested_by=run.created_by,
        scope=run.scope,
        parent_session=run.parent_session,
    )
