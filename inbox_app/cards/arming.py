"""Keeps a card asleep until the operator can have seen it, so that no key meant for something else decides."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

ARM_SECONDS: Final = 0.7
QUIET_SECONDS: Final = 1.5
LOST_SECONDS: Final = 3.0
TICK_MS: Final = 50

_KEY_DOWN: Final = frozenset({QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride})
_MODIFIERS: Final = frozenset(
    {
        Qt.Key.Key_Shift,
        Qt.Key.Key_Control,
        Qt.Key.Key_Alt,
        Qt.Key.Key_AltGr,
        Qt.Key.Key_Meta,
        Qt.Key.Key_CapsLock,
        Qt.Key.Key_NumLock,
    }
)


class KeyWatch(QObject):
    """Which keys are down and when somebody typed into a field last, anywhere in the program."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._clock = clock
        self._down: dict[int, float] = {}
        self._went_down_at = float("-inf")
        self._pressed_at = float("-inf")
        self._typed_at = float("-inf")
        app = QApplication.instance()
        if app is not None:
            app.installEventFilter(self)

    @property
    def is_any_down(self) -> bool:
        """A key that is held repeats; one of which nothing was heard for a while was let go somewhere else."""
        return bool(self._down) and self._clock() - self._pressed_at < LOST_SECONDS

    @property
    def went_down_at(self) -> float:
        """When the key that was heard last went down; one that repeats went down when it was pressed."""
        return self._went_down_at

    @property
    def typed_at(self) -> float:
        return self._typed_at

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in _KEY_DOWN and isinstance(event, QKeyEvent):
            if not self.is_any_down:
                self._down.clear()
            self._pressed_at = self._clock()
            since = float("-inf") if event.isAutoRepeat() else self._pressed_at
            self._went_down_at = self._down.setdefault(_key(event), since)
            if kind == QEvent.Type.KeyPress and _is_typing(watched, event):
                self._typed_at = self._clock()
        elif kind == QEvent.Type.KeyRelease and isinstance(event, QKeyEvent):
            if not event.isAutoRepeat():
                self._down.pop(_key(event), None)
        elif kind == QEvent.Type.InputMethod:
            self._typed_at = self._clock()
        elif kind in (QEvent.Type.ApplicationDeactivate, QEvent.Type.WindowDeactivate):
            self._down.clear()  # their releases go to somebody else
        return False


class Arming(QObject):
    """Counts down from `start`; ``armed`` is emitted once when the card may wake, ``ticked`` while it waits."""

    armed = Signal()
    ticked = Signal()

    def __init__(
        self, keys: KeyWatch, clock: Callable[[], float] = time.monotonic, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._keys = keys
        self._clock = clock
        self._started_at = 0.0
        self._is_armed = False
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._on_tick)

    @property
    def is_armed(self) -> bool:
        return self._is_armed

    @property
    def may_pick(self) -> bool:
        """Whether the key that is pressed is meant for what is shown; sending waits until all is armed."""
        if self._is_armed:
            return True
        is_quiet = self._clock() >= self._keys.typed_at + QUIET_SECONDS
        return is_quiet and self._keys.went_down_at > self._started_at

    @property
    def seconds_left(self) -> float:
        """At least this long; more if keys stay down."""
        now = self._clock()
        return max(0.0, self._started_at + ARM_SECONDS - now, self._keys.typed_at + QUIET_SECONDS - now)

    def start(self) -> None:
        self._is_armed = False
        self._started_at = self._clock()
        self._timer.start()

    def stop(self) -> None:
        self._is_armed = False
        self._timer.stop()

    @Slot()
    def _on_tick(self) -> None:
        if self.seconds_left > 0 or self._keys.is_any_down:
            self.ticked.emit()
            return
        self._timer.stop()
        self._is_armed = True
        self.armed.emit()


def _key(event: QKeyEvent) -> int:
    """Which key it is, whatever it means with the modifiers of the moment."""
    return event.nativeScanCode() or event.key()


def _is_typing(watched: QObject, event: QKeyEvent) -> bool:
    """Whether a key goes into a text field (keys that move between rows are not typing)."""
    if not isinstance(watched, QWidget) or not watched.testAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled):
        return False
    return not (event.modifiers() & Qt.KeyboardModifier.ControlModifier) and event.key() not in _MODIFIERS
