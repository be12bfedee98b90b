"""Tells at once when the deadline of the shown question has passed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

LOOK_AGAIN_S: Final = 20.0
"""A machine may sleep and a clock may be set: the time is looked at again and again."""


class Deadline(QObject):
    passed = Signal()

    def __init__(self, clock: Callable[[], float], parent: QObject) -> None:
        super().__init__(parent)
        self._clock = clock
        self._at: float | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._on_due)

    def watch(self, at: float | None) -> None:
        """Seconds since the epoch; None: there is none. A deadline that has passed already is not told."""
        self._at = at
        self._timer.stop()
        if at is not None and self._clock() < at:
            self._wind(at)

    def _wind(self, at: float) -> None:
        self._timer.start(max(1, math.ceil(min(at - self._clock(), LOOK_AGAIN_S) * 1000)))

    @Slot()
    def _on_due(self) -> None:
        if self._at is None:
            return
        if self._clock() < self._at:
            self._wind(self._at)
        else:
            self.passed.emit()
