"""Answers on their way out: held for the undo window, then sent, exactly one per pause.

No timers and no network here: `Outbox` is a state machine with the time as an argument. Whoever drives it asks
`next_due`, sends what `due` returns, and reports with `succeeded` or `failed`::

    hold ──► held ──► sending ──► done
              │          ├──────► refused   (final: changed, elsewhere, cancelled, expired, not yours)
              ▼ undo     └──────► failed    (network or runtime: retry sends the same answer with the same key)
            (draft)                  └─► sending
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal
from uuid import uuid4

from inbox_app.gateway.base import Answer, Json, Outcome, Pause
from inbox_app.state.drafts import Draft

SendState = Literal["held", "sending", "done", "refused", "failed"]
Refusal = Literal["changed", "elsewhere", "cancelled", "expired", "not-yours", "rejected", ""]
"""Why an answer was not taken, in the words of the decision bar; ``rejected``: the answer itself was not acceptable."""

UNDO_SECONDS: Final = 5.0
UNDO_MOST: Final = 30.0
DEADLINE_MARGIN: Final = 2.0

_REFUSALS: Final[Mapping[str, Refusal]] = {
    "content_changed": "changed",
    "pause_superseded": "elsewhere",
    "not_awaiting_input": "elsewhere",
    "run_cancelled": "cancelled",
    "pause_expired": "expired",
    "answerer_not_allowed": "not-yours",
    "already_voted": "not-yours",
    "NOT_FOUND": "cancelled",
    "VALIDATION_ERROR": "rejected",
    "edits_not_allowed": "rejected",
    "edits_invalid": "rejected",
    "votes_differ": "rejected",
    "idempotency_mismatch": "rejected",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What the operator wants to answer, bound to the pause exactly as it was shown. ``label`` names the value.

    ``typed``: in the operator's own words, not one of several to pick. ``draft``: the same, to be shown once more.
    """

    pause: Pause
    value: Json
    label: str
    edits: Json = None
    has_edits: bool = False
    note: str = ""
    typed: bool = False
    draft: Draft | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Sending:
    """One answer on its way. ``leaves_at`` counts only while held; ``code`` and ``message`` once it was not taken.

    ``accepted``: the runtime has an answer to the question, and the run goes on. ``outcome``, ``by`` (the identity it
    was recorded under) and ``done_at`` once the run has come to rest.
    """

    wish: Wish
    answer: Answer
    state: SendState
    held_at: float
    leaves_at: float
    refusal: Refusal = ""
    code: str = ""
    message: str = ""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outcome: Outcome | None = None
    by: str = ""
    done_at: float = 0.0
    accepted: bool = False

    @property
    def pause_id(self) -> str:
        return self.wish.pause.id

    @property
    def is_one_of_several(self) -> bool:
        """Whether the answer was taken and its question is still open: it takes more people."""
        outcome = self.outcome
        return outcome is not None and outcome.pause is not None and outcome.pause.id == self.pause_id


class Outbox:
    def __init__(self, undo_seconds: float = UNDO_SECONDS) -> None:
        self._undo = min(max(undo_seconds, 0.0), UNDO_MOST)
        self._sendings: dict[str, Sending] = {}

    def get(self, pause_id: str) -> Sending | None:
        return self._sendings.get(pause_id)

    def all(self) -> list[Sending]:
        """Oldest first."""
        return list(self._sendings.values())

    def hold(self, wish: Wish, now: float) -> Sending | None:
        """Take an answer into the undo window. None if one for the same pause is already on its way or done.

        The window is shorter when the deadline is nearer, so that waiting never lets a pause expire.
        """
        before = self._sendings.get(wish.pause.id)
        if before is not None and before.state in ("held", "sending", "done"):
            return None
        window = self._undo
        if wish.pause.expires_at is not None:
            window = min(window, max(0.0, wish.pause.expires_at - DEADLINE_MARGIN - now))
        sending = Sending(wish, _answer(wish), "held", now, now + window)
        self._sendings.pop(wish.pause.id, None)
        self._sendings[wish.pause.id] = sending
        return sending

    def delay(self, seconds: float) -> None:
        """Held answers leave later: the operator was asked something meanwhile."""
        for item in [item for item in self._sendings.values() if item.state == "held"]:
            self._move(item, "held", held_at=item.held_at + seconds, leaves_at=item.leaves_at + seconds)

    def undo(self, pause_id: str, now: float) -> Wish | None:
        """Take back an answer that is still held; None if it has left. Nothing of it was sent."""
        sending = self._sendings.get(pause_id)
        if sending is None or sending.state != "held" or now >= sending.leaves_at:
            return None
        del self._sendings[pause_id]
        return sending.wish

    def withdraw(self, pause_id: str) -> bool:
        """The pause was closed elsewhere: an answer that is still held has nowhere to go. Whether there was one."""
        sending = self._sendings.get(pause_id)
        if sending is None or sending.state != "held":
            return False
        del self._sendings[pause_id]
        return True

    def last_held(self) -> Sending | None:
        held = [sending for sending in self._sendings.values() if sending.state == "held"]
        return held[-1] if held else None

    @property
    def is_busy(self) -> bool:
        """Whether an answer is held or being sent."""
        return any(item.state in ("held", "sending") for item in self._sendings.values())

    def next_due(self) -> float | None:
        """When the next held answer leaves."""
        return min((item.leaves_at for item in self._sendings.values() if item.state == "held"), default=None)

    def due(self, now: float) -> list[Sending]:
        """Answers whose window has passed. They are ``sending`` from here on and are returned only once."""
        leaving = [item for item in self._sendings.values() if item.state == "held" and item.leaves_at <= now]
        return [self._move(item, "sending") for item in leaving]

    def retry(self, pause_id: str) -> Sending | None:
        """Send a failed answer again, the same one with the same key; None if there is nothing to retry."""
        sending = self._sendings.get(pause_id)
        if sending is None or sending.state != "failed":
            return None
        return self._move(sending, "sending", refusal="", code="", message="", details={})

    def accepted(self, pause_id: str) -> Sending | None:
        """The question was answered while its answer is being sent; None if that is known or none is."""
        sending = self._sendings.get(pause_id)
        if sending is None or sending.state != "sending" or sending.accepted:
            return None
        return self._move(sending, "sending", accepted=True)

    def succeeded(self, pause_id: str, outcome: Outcome, by: str = "", now: float = 0.0) -> Sending | None:
        """The runtime took the answer; None if nothing was being sent for this pause."""
        sending = self._sendings.get(pause_id)
        if sending is None or sending.state != "sending":
            return None
        return self._move(sending, "done", outcome=outcome, by=by, done_at=now)

    def failed(
        self, pause_id: str, code: str, message: str, details: Mapping[str, Any] | None = None
    ) -> Sending | None:
        """The runtime refused the answer (its code says why), or it could not be reached or broke (any other code)."""
        sending = self._sendings.get(pause_id)
        if sending is None or sending.state != "sending":
            return None
        refusal = _REFUSALS.get(code, "")
        state: SendState = "refused" if refusal else "failed"
        return self._move(
            sending, state, refusal=refusal, code=code, message=message, details=dict(details or {}), accepted=False
        )

    def forget(self, pause_id: str) -> None:
        """Drop an answer that has come to an end; one that is held or being sent stays."""
        sending = self._sendings.get(pause_id)
        if sending is not None and sending.state not in ("held", "sending"):
            del self._sendings[pause_id]

    def take_back_all(self) -> list[Wish]:
        """The program closes: held answers become drafts again. Those being sent are out of reach."""
        held = [item for item in self._sendings.values() if item.state == "held"]
        for item in held:
            del self._sendings[item.pause_id]
        return [item.wish for item in held]

    def _move(self, sending: Sending, state: SendState, **changes: Any) -> Sending:
        moved = replace(sending, state=state, **changes)
        self._sendings[sending.pause_id] = moved
        return moved


def _answer(wish: Wish) -> Answer:
    """What is posted. Extensions go only to a runtime whose pause carried them (contract decision 3)."""
    pause = wish.pause
    knows = pause.fingerprint is not None
    return Answer(
        run_id=pause.run_id,
        value=wish.value,
        pause_id=pause.id if knows else None,
        fingerprint=pause.fingerprint,
        edits=wish.edits if wish.has_edits else None,
        has_edits=wish.has_edits,
        note=wish.note,
        key=uuid4().hex if knows else None,
    )
