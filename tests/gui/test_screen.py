"""The window on screens that are smaller than it would like to be."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inbox_app.theme.theme import Theme
from inbox_app.views.main_window import MainWindow


@pytest.mark.parametrize("scale", [1, 2, 3])
def test_the_window_never_exceeds_its_screen(
    theme: Theme, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, scale: int
) -> None:
    """A design drawn twice as large on the same screen is a screen of half the size."""

    def px(size: float) -> int:
        return round(size * scale)

    monkeypatch.setattr(theme, "px", px)
    window = MainWindow(theme)
    qtbot.addWidget(window)
    window.fit_screen()
    window.move(500, 500)
    window.show()
    window.fit_screen()
    room = QApplication.primaryScreen().availableGeometry()
    assert room.contains(window.frameGeometry())
    assert room.size().expandedTo(window.minimumSize()) == room.size()


def test_a_window_that_fits_stays_as_it_is(theme: Theme, qtbot: QtBot) -> None:
    window = MainWindow(theme)
    qtbot.addWidget(window)
    window.show()
    window.fit_screen()
    window.resize(window.width(), 600)
    window.move(0, 20)
    before = window.geometry()
    window.fit_screen()
    assert window.geometry() == before
