"""Shows the answer that is held while the operator reads something else, with the way back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Slot

from inbox_app.cards.base import short_label
from inbox_app.state.outbox import Outbox
from inbox_app.widgets.toast import Countdown, Toast


class UndoToast(QObject):
    def __init__(
        self, toast: Toast, outbox: Outbox, *, clock: Callable[[], float] = time.time, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._toast = toast
        self._outbox = outbox
        self._clock = clock
        self._looking_at: str | None = None
        self._countdown = Countdown(self)
        self._countdown.ticked.connect(self.refresh)

    def look_at(self, pause_id: str | None) -> None:
        """The bar of the shown question says the same, so the toast is for the others."""
        self._looking_at = pause_id
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        held = self._outbox.last_held()
        shown = held is not None and held.pause_id != self._looking_at
        self._countdown.run(shown)
        if held is None or not shown:
            self._toast.hide()
            return
        left = max(0.0, held.leaves_at - self._clock())
        whole = max(0.001, held.leaves_at - held.held_at)
        wish = held.wish
        text = self.tr("Sending “{0}” for “{1}” to {2} in {3}s").format(
            short_label(wish.label), short_label(wish.pause.question), wish.pause.connection, math.ceil(left)
        )
        self._toast.show_text("undo-2", text, left / whole)
