"""Drives the outbox: holds a wish for the undo window, sends it once, reports what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from inbox_app.gateway.base import Gateway, GatewayError
from inbox_app.state.drafts import Drafts
from inbox_app.state.outbox import Outbox, Sending, Wish


class Sender(QObject):
    """The one way from a wish to the gateway.

    ``spawn`` starts a coroutine on the loop of the window. ``changed`` carries the id of the pause whose `Sending`
    changed (None in the outbox: undone, it is a draft again). Connect ``RequestPane.answer_requested`` to `hold`,
    ``undo_requested`` to `undo`, ``retry_requested`` to `retry`.
    """

    changed = Signal(str)

    def __init__(
        self,
        outbox: Outbox,
        drafts: Drafts,
        gateway_of: Callable[[str], Gateway],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        *,
        clock: Callable[[], float] = time.time,
        parent: QObject | None = None,
    ) -> None:
        """``gateway_of`` finds the gateway of a connection by name; ``clock`` is seconds since the epoch."""
        super().__init__(parent)
        self._outbox = outbox
        self._drafts = drafts
        self._gateway_of = gateway_of
        self._spawn = spawn
        self._clock = clock
        self._stopped_at: float | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._on_due)

    @Slot(object)
    def hold(self, wish: Wish) -> None:
        if self._outbox.hold(wish, self._clock()) is not None:
            self.changed.emit(wish.pause.id)
            self._on_due()

    @Slot(str)
    def undo(self, pause_id: str) -> None:
        """Take one held answer back; with an empty id the latest."""
        if not pause_id:
            last = self._outbox.last_held()
            pause_id = last.pause_id if last else ""
        if self._outbox.undo(pause_id, self._clock()) is not None:
            self.changed.emit(pause_id)
            self._wind()

    @Slot(str)
    def retry(self, pause_id: str) -> None:
        sending = self._outbox.retry(pause_id)
        if sending is not None:
            self._send(sending)

    def stop_clock(self) -> None:
        """Nothing leaves until `start_clock` or `send_now`: the operator is asked what to do with it."""
        self._stopped_at = self._clock()
        self._timer.stop()

    @Slot()
    def start_clock(self) -> None:
        if self._stopped_at is not None:
            self._outbox.delay(self._clock() - self._stopped_at)
            self._stopped_at = None
        self._wind()

    def send_now(self) -> None:
        """Send what is held without waiting for its window to pass."""
        self._stopped_at = None
        for sending in self._outbox.due(float("inf")):
            self._send(sending)
        self._wind()

    def withdraw(self, pause_ids: Sequence[str]) -> None:
        """These pauses were closed elsewhere: what is held for them becomes a draft again at once."""
        for pause_id in pause_ids:
            if self._outbox.withdraw(pause_id):
                self.changed.emit(pause_id)
        self._wind()

    def accept(self, pause_ids: Iterable[str]) -> None:
        """These questions were answered: what is being sent for them has arrived."""
        for pause_id in pause_ids:
            if self._outbox.accepted(pause_id) is not None:
                self.changed.emit(pause_id)

    def close(self) -> None:
        """Held answers stay behind as drafts; nothing of them is sent."""
        self._timer.stop()
        self._outbox.take_back_all()

    @Slot()
    def _on_due(self) -> None:
        for sending in self._outbox.due(self._clock()):
            self._send(sending)
        self._wind()

    def _wind(self) -> None:
        due = self._outbox.next_due()
        if due is None or self._stopped_at is not None:
            self._timer.stop()
        else:
            self._timer.start(max(0, round((due - self._clock()) * 1000)) + 1)

    def _send(self, sending: Sending) -> None:
        self.changed.emit(sending.pause_id)
        self._spawn(self._deliver(sending), f"answer {sending.pause_id}")

    async def _deliver(self, sending: Sending) -> None:
        pause = sending.wish.pause
        try:
            gateway = self._gateway_of(pause.connection)
            outcome = await gateway.answer(sending.answer)
        except GatewayError as error:
            self._outbox.failed(pause.id, error.code, error.message, error.details)
        except Exception as error:  # the answer is kept and can be sent again, whatever broke
            self._outbox.failed(pause.id, "INTERNAL_ERROR", str(error) or type(error).__name__)
            self.changed.emit(pause.id)
            raise
        else:
            self._drafts.drop(pause.id)
            self._outbox.succeeded(pause.id, outcome, gateway.identity, self._clock())
        self.changed.emit(pause.id)
