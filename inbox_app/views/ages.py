"""When the times in a list have to be drawn again: seldom, but by the second while a deadline is near."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

CALM_MS: Final = 15_000
NEAR_MS: Final = 1000
NEAR_S: Final = 90.0
"""From here on seconds count, and a little earlier, so that none is missed."""


class Ages(QObject):
    due = Signal()

    def __init__(
        self, next_deadline: Callable[[float], float | None], clock: Callable[[], float], parent: QObject
    ) -> None:
        """``next_deadline`` is the first one after a given time; None if there is none."""
        super().__init__(parent)
        self._next_deadline = next_deadline
        self._clock = clock
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._on_due)
        self._timer.start(CALM_MS)

    @Slot()
    def wind(self) -> None:
        """A deadline may be new: look sooner if it is near."""
        wait = self._wait()
        if wait < self._timer.remainingTime():
            self._timer.start(wait)

    def stop(self) -> None:
        self._timer.stop()

    def _wait(self) -> int:
        now = self._clock()
        deadline = self._next_deadline(now)
        if deadline is None:
            return CALM_MS
        left = deadline - now
        return NEAR_MS if left <= NEAR_S else min(CALM_MS, round((left - NEAR_S) * 1000) + 1)

    @Slot()
    def _on_due(self) -> None:
        self.due.emit()
        self._timer.start(self._wait())
