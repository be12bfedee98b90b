"""For tests with widgets: stable fonts, no blinking caret, no nested loops in tasks, nothing left behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from inbox_app import loop
from inbox_app.theme.theme import Theme
from tests.support.drivers import Wheel


@pytest.fixture(scope="session")
def session_theme(qapp: QApplication) -> Theme:
    theme = Theme("light", bundled_fonts=True, parent=qapp)
    theme.apply(qapp)
    qapp.setCursorFlashTime(0)
    return theme


@pytest.fixture
def theme(session_theme: Theme) -> Iterator[Theme]:
    """The theme of the application, light again after each test."""
    yield session_theme
    session_theme.set_palette("light")


@pytest.fixture(scope="session")
def session_wheel(qapp: QApplication) -> Iterator[Wheel]:
    wheel = Wheel(qapp)
    yield wheel
    wheel.close()


@pytest.fixture
def wheel(session_wheel: Wheel) -> Iterator[Wheel]:
    """asyncio riding on Qt: tasks started with ``wheel.tasks.spawn`` run while the test waits with `qtbot`."""
    session_wheel.engage()
    yield session_wheel
    session_wheel.disengage()


@pytest.fixture(autouse=True)
def no_nested_loops(qapp: QApplication, session_theme: Theme) -> None:
    loop.forbid_nested_loops()


@pytest.fixture(autouse=True)
def no_button_pressed(qapp: QApplication) -> None:
    """A press whose widget went before its release leaves Qt with the button down, under which nothing scrolls."""
    for button in (Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton):
        if QApplication.mouseButtons() & button:
            away = QWidget()
            away.show()
            QTest.mouseRelease(away, button)
            away.close()
    assert not QApplication.mouseButtons()


@pytest.fixture(autouse=True)
def nothing_left(qapp: QApplication) -> Iterator[None]:
    """A test that leaves a window or a thread behind fails here, not in the next one."""
    threads = set(threading.enumerate())
    yield
    for widget in qapp.topLevelWidgets():
        if widget.isVisible():
            widget.hide()
        widget.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    pools = ("asyncio_", "Dummy-")  # of asyncio, and of qasync, whose threads have no name
    left = [thread.name for thread in set(threading.enumerate()) - threads if not thread.name.startswith(pools)]
    assert not left, f"threads left running: {left}"
