"""An answer in the operator's own words."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from inbox_app.cards.base import Card, Picked, short_label
from inbox_app.gateway import schemas
from inbox_app.gateway.base import Pause
from inbox_app.state.drafts import Draft
from inbox_app.theme.theme import Theme
from inbox_app.widgets.hidden_text import count_hidden, is_blank
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.text_area import TextArea


class TextCard(Card):
    """The text is sent exactly as typed; one with nothing to see in it is not sent."""

    takes_note = False

    def __init__(self, theme: Theme, pause: Pause, parent: QWidget | None = None) -> None:
        super().__init__(theme, pause, parent)
        self._add_label(self.tr("Answer"))
        self._field = TextArea(theme, self.tr("Answer"), parent=self)
        self._add_inset(self._field)
        self._notice = PlainLabel("", theme, "meta", "due", self)
        self._notice.hide()
        self._add_inset(self._notice)
        self._field.textChanged.connect(self._on_text_changed)

    def picked(self) -> Picked | None:
        text = self._field.text()
        return None if is_blank(text) else Picked(text, short_label(text))

    @property
    def is_typed(self) -> bool:
        return True

    def problem(self) -> str:
        text = self._field.text()
        if not text:
            return self.tr("Write an answer to send")
        if is_blank(text):
            return self.tr("Only blanks: write an answer to send")
        return self.tr("Correct the answer to send") if self._misfit() else ""

    def _misfit(self) -> str:
        """What breaks the rules of the question; they are for the text only where there is nothing to edit."""
        text = self._field.text()
        return "" if self._pause.allow_edits or is_blank(text) else schemas.problem(self._pause.schema, text)

    def restore(self, draft: Draft) -> None:
        self._field.blockSignals(True)
        self._field.set_text(draft.text)
        self._field.blockSignals(False)
        self._show_notice()

    def draft(self, draft: Draft) -> Draft:
        return replace(draft, text=self._field.text())

    def focus_stop(self) -> QWidget | None:
        return self._field

    def _on_state_changed(self) -> None:
        self._field.set_locked(self._closed)

    def _show_notice(self) -> None:
        count = count_hidden(self._field.text())
        one, many = (
            self.tr("1 hidden character, sent as typed"),
            self.tr("%n hidden characters, sent as typed", "", count),
        )
        misfit = self._misfit()
        self._field.set_wrong(bool(misfit))
        self._notice.set_role("failed" if misfit else "due")
        self._notice.setText(misfit or (one if count == 1 else many))
        self._notice.setVisible(count > 0 or bool(misfit))

    @Slot()
    def _on_text_changed(self) -> None:
        self._show_notice()
        self.changed.emit()
