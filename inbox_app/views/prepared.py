"""What the operator prepared on the pages of one question, as a wish to send and as a draft to keep."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from inbox_app.cards.bar_states import Kept
from inbox_app.cards.base import short_label
from inbox_app.gateway.base import Pause
from inbox_app.state.drafts import Draft
from inbox_app.state.outbox import Wish
from inbox_app.views.card_page import CardPage
from inbox_app.views.payload_page import PayloadPage


class Prepared:
    """Reads both pages; the pause it is asked about is the one they show."""

    def __init__(self, card_page: CardPage, payload_page: PayloadPage) -> None:
        self._card_page = card_page
        self._payload_page = payload_page

    def wish(self, pause: Pause) -> tuple[Wish | None, str]:
        """What would be sent, and what is missing ("" if nothing is)."""
        card, payload = self._card_page.card, self._payload_page
        if card is None:
            return None, ""
        if payload.problem():
            words = QCoreApplication.translate("Prepared", "Correct {field} to send")
            return None, words.format(field=short_label(payload.problem_field()))
        picked = card.picked()
        if picked is None:
            return None, card.problem()
        has_edits = payload.has_edits
        edits = payload.edits() if has_edits else None
        draft = self.draft(pause)
        wish = Wish(pause, picked.value, picked.label, edits, has_edits, self._note, card.is_typed, draft)
        return wish, card.problem()

    def kept(self, draft: Draft | None) -> Kept:
        """What is kept of an answer that was not sent."""
        if draft is None or draft.is_empty:
            return ""
        card = self._card_page.card
        return "text" if card is not None and card.is_typed else "pick"

    @property
    def can_correct(self) -> bool:
        """Whether it is the edit that keeps the answer from being sent."""
        return bool(self._payload_page.problem())

    def draft(self, pause: Pause) -> Draft:
        draft = Draft(pause.id, pause.fingerprint, edits=self._payload_page.draft_text(), note=self._note)
        card = self._card_page.card
        return draft if card is None else card.draft(draft)

    def restore(self, draft: Draft) -> None:
        """Put a draft back without counting it as a change."""
        if self._card_page.card is not None:
            self._card_page.card.restore(draft)
        note = self._card_page.note
        if note is not None:
            note.blockSignals(True)
            note.setText(draft.note)
            note.blockSignals(False)

    def show_edits(self, pause: Pause) -> None:
        """Show on the card what the payload will be; while it is not valid, the last valid one stays."""
        payload = self._payload_page
        if pause.allow_edits and not payload.problem():
            self._card_page.show_edited(pause.context, payload.edits() if payload.has_edits else pause.context)

    @property
    def _note(self) -> str:
        return self._card_page.note.text() if self._card_page.note is not None else ""
