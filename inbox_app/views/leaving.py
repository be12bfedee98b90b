"""Closing the window while an answer is held: asks first, because closing would take the answer back."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from inbox_app.cards.base import short_label
from inbox_app.commands.sending import Sender
from inbox_app.models.wording import first_line
from inbox_app.state.outbox import Outbox
from inbox_app.theme.theme import Theme
from inbox_app.widgets.dialogs import ChoiceDialog
from inbox_app.widgets.hidden_text import reveal


class Leaving(QObject):
    def __init__(self, theme: Theme, outbox: Outbox, sender: Sender, window: QWidget) -> None:
        super().__init__(window)
        self._theme = theme
        self._outbox = outbox
        self._sender = sender
        self._window = window
        self._closing = False
        sender.changed.connect(self._on_sending_changed)

    def may_close(self) -> bool:
        """Whether nothing is held; asks the operator if something is."""
        held = [item.wish for item in self._outbox.all() if item.state == "held"]
        if not held:
            return True
        wish = held[-1]
        question = first_line(reveal(wish.pause.question)) or self.tr("No question text")
        text = self.tr("“{0}” is the answer to “{1}”. It has not been sent.").format(short_label(wish.label), question)
        if len(held) > 1:
            text += " " + self.tr("{0} more are held.").format(len(held) - 1)
        ways = (self.tr("Keep as draft"), self.tr("Send now"))
        title = self.tr("An answer is still held")
        dialog = ChoiceDialog(self._theme, title, text, ways, self.tr("Stay"), self._window)
        dialog.chosen.connect(self._on_chosen)
        dialog.rejected.connect(self._sender.start_clock)
        self._sender.stop_clock()
        dialog.open()
        return False

    @Slot(int)
    def _on_chosen(self, way: int) -> None:
        if way == 1:
            self._closing = True
            self._sender.send_now()
        else:
            self._sender.close()
            self._window.close()

    @Slot(str)
    def _on_sending_changed(self, pause_id: str) -> None:
        """After `Send now`; an answer that was not taken keeps the window open."""
        if not self._closing:
            return
        sending = self._outbox.get(pause_id)
        if sending is not None and sending.state in ("failed", "refused"):
            self._closing = False
        elif not self._outbox.is_busy:
            self._window.close()
