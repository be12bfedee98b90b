"""The sample that talks, in the window, with the runtime that really runs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from inbox_app.chat.section import ChatSection
from inbox_app.gateway.embedded import EmbeddedGateway
from inbox_app.state.drafts import Drafts
from inbox_app.state.memory import Memory
from inbox_app.state.outbox import Outbox
from inbox_app.theme.theme import Theme
from inbox_app.views.desk import Desk
from inbox_app.views.main_window import MainWindow
from inbox_app.views.request_pane import RequestPane
from tests.architecture.lints import ROOT
from tests.gui.chat.conftest import Chat
from tests.gui.test_window import Scene, texts
from tests.support.drivers import Wheel, turn_until
from tests.support.fake_chats import FakeChats
from tests.support.fake_gateway import FakeGateway

LONG_MS = 30_000


class RealScene(Scene):
    """A window over a runtime of its own."""

    def __init__(self, theme: Theme, qtbot: QtBot, wheel: Wheel, data: Path) -> None:
        self.gateway = FakeGateway()
        self.window = MainWindow(theme)
        self.drafts = Drafts(None)
        self.memory = Memory(None)
        reading = RequestPane(theme)
        self.desk = Desk(self.window, reading, theme, wheel.tasks.spawn, self.drafts, Outbox(0.0), memory=self.memory)
        wheel.tasks.on_error = self.desk.report
        with qtbot.waitActive(self.window):
            self.window.show()
            self.window.activateWindow()
        sample = ROOT / "resources" / "samples" / "support-desk"
        self.desk.connect_to(lambda: EmbeddedGateway(data, repositories=[sample], trust=True))


@pytest.fixture
def it(theme: Theme, qtbot: QtBot, wheel: Wheel, tmp_path: Path) -> Iterator[Chat]:
    scene = RealScene(theme, qtbot, wheel, tmp_path)
    qtbot.waitUntil(lambda: scene.desk.has_view("chat") and scene.desk._inbox.loaded, timeout=LONG_MS)
    scene.desk.show_view("chat")
    section = scene.desk._section
    assert isinstance(section, ChatSection)
    qtbot.waitUntil(lambda: bool(section._partners.all) and section._list.loaded, timeout=LONG_MS)
    yield Chat(scene, FakeChats(), qtbot)
    closing = wheel.tasks.spawn(scene.desk.close(), "close")
    turn_until(closing.done, LONG_MS)
    scene.window.close()


def said(it: Chat, qtbot: QtBot, text: str, answer: str) -> None:
    it.write(text)
    it.enter()
    qtbot.waitUntil(lambda: any(answer in word for word in it.said), timeout=LONG_MS)
    qtbot.waitUntil(lambda: not it.transcript.logs[-1].is_running, timeout=LONG_MS)


def test_a_conversation_reviews_asks_and_obeys(it: Chat, qtbot: QtBot) -> None:
    said(it, qtbot, "Review t-1042", "The reviewers agree")
    rows = [row.partition(",")[0] for row in it.rows]
    assert rows[:2] == ["Reviewed t-1042", "Loaded t-1042"]
    assert {"tone-reviewer", "policy-reviewer"} < set(rows)
    said(it, qtbot, "Yes", "as soon as you have chosen")
    qtbot.waitUntil(lambda: len(it.questions) == 1, timeout=LONG_MS)
    part = it.questions[0]
    part.enter()
    qtbot.waitUntil(lambda: any(text.startswith("All read") for text in texts(part)))
    it.scene.press("2")
    qtbot.waitUntil(lambda: it.scene.desk.can_send)
    it.enter(Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: any("The run is complete" in text for text in texts(part)), timeout=LONG_MS)
    it.write("close account C-511")
    it.enter()
    qtbot.waitUntil(lambda: any(one.is_answerable for one in it.questions), timeout=LONG_MS)
    gate = next(one for one in it.questions if one.is_answerable)
    gate.enter()
    qtbot.waitUntil(lambda: any(text.startswith("All read") for text in texts(gate)))
    it.scene.press("n")
    qtbot.waitUntil(lambda: it.scene.desk.can_send)
    it.enter(Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: "The account stays open." in it.said, timeout=LONG_MS)
    qtbot.waitUntil(lambda: not it.transcript.logs[-1].is_running, timeout=LONG_MS)
    said(it, qtbot, "status t-1042", "t-1042")
    section = it.scene.desk._section
    assert isinstance(section, ChatSection)
    qtbot.waitUntil(lambda: not section._busy(), timeout=LONG_MS)
    ends = [(log.end, len(log.calls)) for log in it.transcript.logs]
    it.scene.desk.act("chat.new")
    section._talks.clear()
    it.open(1)
    assert [(log.end, len(log.calls)) for log in it.transcript.logs] == ends
