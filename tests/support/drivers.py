"""Ways to drive the window in tests: asyncio on Qt's loop, keys as a person presses them, what a screen reader sees."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import qasync
from PySide6.QtCore import QElapsedTimer, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QLineEdit,
    QWidget,
)

from inbox_app import loop

WAIT_MS = 5000


class Wheel:
    """An asyncio loop that turns whenever Qt does (`qtbot.waitUntil`, `QTest.qWait`), while it is engaged."""

    def __init__(self, app: QApplication) -> None:
        self._loop = qasync.QEventLoop(app, already_running=True)
        self._release()
        self.errors: list[BaseException] = []
        self.tasks = loop.Tasks(self.errors.append)

    def engage(self) -> None:
        self.errors.clear()
        self.tasks.on_error = self.errors.append
        asyncio.set_event_loop(self._loop)
        asyncio.events._set_running_loop(self._loop)

    def disengage(self) -> None:
        """End what still runs; a task that failed unseen fails the test."""
        closing = self._loop.create_task(self.tasks.close())
        try:
            turn_until(closing.done)
        finally:
            self._release()
        if self.errors:
            raise self.errors[0]

    def close(self) -> None:
        self._loop.stop()
        self._loop.close()

    def _release(self) -> None:
        asyncio.events._set_running_loop(None)
        asyncio.set_event_loop(None)


def turn_until(done: Callable[[], bool], limit_ms: int = WAIT_MS) -> None:
    timer = QElapsedTimer()
    timer.start()
    while not done():
        assert timer.elapsed() < limit_ms, "it did not come to an end"
        QTest.qWait(5)


def press(widget: QWidget, *keys: Qt.Key | str, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Press keys where the focus is, as the window system would: shortcuts of the window see them first."""
    for key in keys:
        target = QApplication.focusWidget() or widget
        if isinstance(key, str):
            QTest.keyClicks(target, key, modifier)
        else:
            QTest.keyClick(target, key, modifier)


def controls(root: QWidget) -> Iterator[QWidget]:
    """Everything a person can operate: buttons, fields, lists and whatever takes the focus."""
    for widget in root.findChildren(QWidget):
        operable = isinstance(widget, QAbstractButton | QLineEdit | QAbstractItemView)
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus or operable:
            yield widget
