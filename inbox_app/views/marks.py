"""What the operator has done about a question and the runtime does not know yet, as a row of the list says it."""

from __future__ import annotations

from typing import Final

from inbox_app.state.drafts import Drafts
from inbox_app.state.outbox import Outbox, SendState
from inbox_app.state.requests import Mark

_MARKS: Final[dict[SendState, Mark]] = {
    "held": "held",
    "sending": "sending",
    "done": "answered",
    "failed": "failed",
    "refused": "",
}


class Marks:
    def __init__(self, drafts: Drafts, outbox: Outbox) -> None:
        self._drafts = drafts
        self._outbox = outbox

    def of(self, pause_id: str) -> tuple[Mark, float | None]:
        """The mark, and when a held answer leaves."""
        sending = self._outbox.get(pause_id)
        if sending is not None and _MARKS[sending.state] and not sending.is_one_of_several:
            return "answered" if sending.accepted else _MARKS[sending.state], sending.leaves_at
        return ("draft" if self._drafts.get(pause_id) else ""), None
