"""Closing the window while an answer is held or a run is at work: asks first, because closing would cut them off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QWidget

from inbox_app.cards.base import short_label
from inbox_app.commands.sending import Sender
from inbox_app.models.wording import first_line
from inbox_app.state.outbox import Outbox
from inbox_app.theme.theme import Theme
from inbox_app.widgets.dialogs import ChoiceDialog
from inbox_app.widgets.hidden_text import reveal

LOOK_MS = 250


class Leaving(QObject):
    """``working`` names the tools of the runs that this process advances."""

    def __init__(
        self, theme: Theme, outbox: Outbox, sender: Sender, working: Callable[[], Sequence[str]], window: QWidget
    ) -> None:
        super().__init__(window)
        self._theme = theme
        self._outbox = outbox
        self._sender = sender
        self._working = working
        self._window = window
        self._anyway = False
        self._waiting: ChoiceDialog | None = None
        self._look = QTimer(self)
        self._look.setInterval(LOOK_MS)
        self._look.timeout.connect(self._on_look)
        sender.changed.connect(self._on_sending_changed)

    def may_close(self) -> bool:
        """Whether nothing would be cut off; asks the operator if something would."""
        if any(item.state == "held" for item in self._outbox.all()):
            self._ask_about_answer()
        elif self._is_busy and not self._anyway:
            self._ask_about_work()
        else:
            return True
        return False

    @property
    def _is_busy(self) -> bool:
        return self._outbox.is_busy or bool(self._working())

    def _ask_about_answer(self) -> None:
        held = [item.wish for item in self._outbox.all() if item.state == "held"]
        wish = held[-1]
        question = first_line(reveal(wish.pause.question)) or self.tr("No question text")
        text = self.tr("“{0}” is the answer to “{1}”. It has not been sent.").format(short_label(wish.label), question)
        if len(held) > 1:
            text += " " + self.tr("{0} more are held.").format(len(held) - 1)
        dialog = self._open(self.tr("An answer is still held"), text, (self.tr("Keep as draft"), self.tr("Send now")))
        dialog.chosen.connect(self._on_answer_way)
        dialog.rejected.connect(self._sender.start_clock)
        self._sender.stop_clock()

    @Slot(int)
    def _on_answer_way(self, way: int) -> None:
        if way == 1:
            self._sender.send_now()
            self._wait()
        else:
            self._sender.close()
            self._window.close()

    def _ask_about_work(self) -> None:
        text = (
            self._what_goes_on()
            + " "
            + self.tr(
                "A call that runs when the window closes gets a few seconds. One that takes longer is cut off, and "
                "nobody knows then whether it was done."
            )
        )
        dialog = self._open(self.tr("A run is at work"), text, (self.tr("Leave anyway"), self.tr("Wait, then close")))
        dialog.chosen.connect(self._on_work_way)

    @Slot(int)
    def _on_work_way(self, way: int) -> None:
        if way == 1:
            self._wait()
        else:
            self._leave()

    def _wait(self) -> None:
        """Nothing else can be done meanwhile but to stay or to leave."""
        self._waiting = self._open(self.tr("Closing"), self._when(), (self.tr("Leave anyway"),))
        self._waiting.chosen.connect(self._leave)
        self._waiting.rejected.connect(self._stay)
        self._look.start()

    def _what_goes_on(self) -> str:
        working = self._working()
        if not working:
            return self.tr("An answer is being sent.")
        first = reveal(first_line(working[0]))
        if len(working) == 1:
            return self.tr("“{0}” is at work.").format(first)
        return self.tr("“{0}” and {1} more are at work.").format(first, len(working) - 1)

    def _when(self) -> str:
        return self._what_goes_on() + " " + self.tr("The window closes when that is done.")

    @Slot()
    def _on_look(self) -> None:
        if self._waiting is None:
            return
        if self._is_busy:
            self._waiting.show_text(self._when())
        else:
            self._leave()

    @Slot()
    def _leave(self) -> None:
        self._stay()
        self._anyway = True
        self._window.close()

    @Slot()
    def _stay(self) -> None:
        self._look.stop()
        dialog, self._waiting = self._waiting, None
        if dialog is not None:
            dialog.close()

    @Slot(str)
    def _on_sending_changed(self, pause_id: str) -> None:
        """An answer that was not taken keeps the window open."""
        sending = self._outbox.get(pause_id)
        if sending is not None and sending.state in ("failed", "refused"):
            self._stay()

    def _open(self, title: str, text: str, ways: Sequence[str]) -> ChoiceDialog:
        dialog = ChoiceDialog(self._theme, title, text, ways, self.tr("Stay"), self._window)
        dialog.open()
        return dialog
