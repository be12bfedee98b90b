"""A window with the reading pane, a field beside it, the answering commands, and clocks that a test can set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMainWindow, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from inbox_app.commands import answering
from inbox_app.commands.registry import build_actions
from inbox_app.gateway.base import Pause
from inbox_app.state.drafts import Draft
from inbox_app.state.outbox import Wish
from inbox_app.theme.theme import Theme
from inbox_app.views.request_pane import RequestPane
from tests.support.builders import NOW
from tests.support.drivers import press


class BenchDesk:
    """As much of the desk as answering needs; everything goes straight to the pane."""

    view = "inbox"

    def __init__(self, pane: RequestPane) -> None:
        self._pane = pane

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pane, name)


class Bench(QObject):
    def __init__(self, theme: Theme, qtbot: QtBot) -> None:
        super().__init__()
        self.qtbot = qtbot
        self.time = 100.0
        self.now = NOW
        self.wishes: list[Wish] = []
        self.drafts: list[Draft] = []
        self.undone: list[str] = []
        self.retried: list[str] = []
        self.window = QMainWindow()
        body = QWidget(self.window)
        column = QVBoxLayout(body)
        self.field = QLineEdit(body)
        self.pane = RequestPane(theme, clock=self.clock, steady_clock=self.steady, parent=body)
        column.addWidget(self.field)
        column.addWidget(self.pane, 1)
        self.window.setCentralWidget(body)
        self.window.addActions(build_actions(BenchDesk(self.pane), self.window, answering.COMMANDS))  # pyright: ignore[reportArgumentType]
        self.pane.answer_requested.connect(self.wishes.append)
        self.pane.draft_changed.connect(self.drafts.append)
        self.pane.undo_requested.connect(self.undone.append)
        self.pane.retry_requested.connect(self.retried.append)
        qtbot.addWidget(self.window)
        self.window.resize(900, 800)
        self.window.show()
        qtbot.waitUntil(self.window.isActiveWindow)

    def clock(self) -> float:
        return self.now

    def steady(self) -> float:
        return self.time

    def show(self, pause: Pause, draft: Draft | None = None, *, production: bool = False) -> None:
        """Show a question; it sleeps until `wake`."""
        self.pane.show_pause(pause, draft, production=production)
        self.pane.focus_home()

    def wake(self, seconds: float = 0.8) -> None:
        """Let time pass and wait until the card is awake."""
        self.time += seconds
        self.qtbot.waitUntil(lambda: self.pane.bar.is_awake)

    def read_all(self) -> None:
        """Page through a long card, as its bar offers."""
        bar = self.pane.bar
        self.qtbot.wait(20)
        while bar.unseen:
            before = bar.unseen
            QTest.mouseClick(bar._left, Qt.MouseButton.LeftButton)
            self.qtbot.waitUntil(lambda before=before: bar.unseen < before)

    def unlock(self) -> None:
        """Let the moment pass in which a second click is ignored."""
        self.time += 1.0

    def press(self, *keys: Qt.Key | str, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        press(self.window, *keys, modifier=modifier)

    def send(self) -> None:
        self.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)

    @property
    def focus(self) -> QWidget | None:
        return QApplication.focusWidget()


@pytest.fixture
def bench(theme: Theme, qtbot: QtBot) -> Iterator[Bench]:
    made = Bench(theme, qtbot)
    yield made
    made.window.close()
