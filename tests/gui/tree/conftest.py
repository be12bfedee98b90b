"""The pane with the call tree of a run."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from inbox_app.theme.theme import Theme
from inbox_app.views.call_pane import CallPane
from tests.support.builders import NOW


def _clock() -> float:
    return NOW


@pytest.fixture
def calls(theme: Theme, qtbot: QtBot) -> CallPane:
    made = CallPane(theme, clock=_clock)
    qtbot.addWidget(made)
    made.resize(900, 600)
    made.show()
    qtbot.waitUntil(made.isActiveWindow)
    return made
