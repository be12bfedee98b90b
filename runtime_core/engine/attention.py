"""Questions the runtime asks itself, because only a person can know (decision 13)."""

from __future__ import annotations

from runtime_core.approvals import questions
from runtime_core.engine.parking import pause_id
from runtime_core.hosts.base import HandlerCall
from runtime_core.journal.base import Claim
from runtime_core.wire.json import JsonText, JsonValue, dumps, loads
from runtime_core.wire.runs import Entry, PauseRow, slot


def interrupted_call(call: HandlerCall, started_at: float) -> JsonText:
    """The spec of the question about a call that was in flight when its process died."""
    spec = questions.read(questions.attention(call.kind, call.name, started_at))
    context: dict[str, JsonValue] = {call.kind: call.name, "params": loads(call.args)}
    return dumps({**spec, "context": context})


def stuck_run(claim: Claim, reason: str, at: float) -> tuple[PauseRow, Entry]:
    """The question about a run that cannot go on here, and the entry that its answer removes.

    The entry is no call of the handler: its number is negative, and no leg is shown it.
    """
    run = claim.run
    number = -claim.epoch
    spec = dumps(
        {
            "question": f"{run.tool} cannot go on: {reason}",
            "inputType": "choice",
            "options": [{"value": "run-again", "label": "Try again", "sub": "Goes on where the run stopped"}],
            "context": {"tool": run.tool, "repository": run.repo, "params": loads(run.params)},
            "allowEdits": False,
        }
    )
    pause = PauseRow(
        id=pause_id(run.id, "", attention_epoch=claim.epoch),
        run_id=run.id,
        slot=slot("", number),
        kind="attention",
        tool=run.tool,
        names=(run.tool,),
        spec=spec,
        fingerprint=questions.fingerprint("attention", spec),
        asked_at=at,
        requested_by=run.created_by,
        scope=run.scope,
        parent_session=run.parent_session,
    )
    return pause, Entry("", number, "tool", run.tool, "", "started", None, at, epoch=claim.epoch)
