"""The whole window with conversations in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget
from pytestqt.qtbot import QtBot

from inbox_app.chat.call_part import CallPart
from inbox_app.chat.composer import Composer
from inbox_app.chat.question import Clocks, QuestionPart
from inbox_app.chat.section import ChatSection
from inbox_app.chat.transcript import Transcript
from inbox_app.gateway.base import Pause, RunDetail
from inbox_app.gateway.catalog import Repository
from inbox_app.state.memory import Memory
from inbox_app.widgets.prose import Prose
from inbox_app.widgets.text_area import TextArea
from tests.gui.test_window import Scene, Start, fast_clock, start, texts
from tests.support.fake_chats import FakeCatalog, FakeChats, support_desk
from tests.support.fake_gateway import FakeGateway

__all__ = ["start"]


class Chat:
    """The window showing the chat, and short ways to look at it."""

    def __init__(self, scene: Scene, chats: FakeChats, qtbot: QtBot) -> None:
        self.scene = scene
        self.chats = chats
        self.qtbot = qtbot
        self.transcript = scene.window.findChildren(Transcript)[0]
        self.composer = scene.window.findChildren(Composer)[0]

    @property
    def gateway(self) -> FakeGateway:
        return self.scene.gateway

    @property
    def field(self) -> TextArea:
        return self.composer._field

    @property
    def said(self) -> list[str]:
        """Every text of the conversation that is in sight."""
        return [prose.text for prose in self.transcript.findChildren(Prose) if prose.isVisible()]

    @property
    def words(self) -> list[str]:
        return texts(self.scene.window)

    @property
    def rows(self) -> list[str]:
        """The calls, as a screen reader says them."""
        rows = [row for row in self.transcript.findChildren(CallPart) if row.isVisible()]
        return [row.accessibleName() for row in sorted(rows, key=lambda row: row.mapTo(self.transcript, row.pos()).y())]

    @property
    def questions(self) -> Sequence[QuestionPart]:
        return self.transcript.questions

    def row(self, call_id: str) -> CallPart:
        return next(row for row in self.transcript.findChildren(CallPart) if row.call.id == call_id)

    def button(self, text: str) -> QAbstractButton:
        found = [one for one in self.scene.window.findChildren(QAbstractButton) if one.text() == text]
        seen = [one for one in found if one.isVisible()]
        assert seen, f"no button {text}"
        return seen[0]

    def open(self, number: int = 1) -> None:
        self.qtbot.waitUntil(lambda: self.scene.window.list_pane.table.model().rowCount() >= number)
        self.scene.window.list_pane.table.select_row(number - 1)
        self.qtbot.waitUntil(lambda: bool(self.transcript.logs))

    def write(self, text: str) -> None:
        self.composer.take_keys()
        self.scene.press(text)

    def enter(self, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        self.scene.press(Qt.Key.Key_Return, modifier=modifier)

    def say(self, text: str) -> None:
        count = len(self.chats.asked)
        self.write(text)
        self.enter()
        self.qtbot.waitUntil(lambda: len(self.chats.asked) > count)

    def wait(self, holds: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(holds)

    def focused(self) -> QWidget | None:
        return QApplication.focusWidget()


Open = Callable[..., Chat]


@pytest.fixture
def chat(start: Start, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Open:
    def fast(wall: Callable[[], float]) -> Clocks:
        return Clocks(wall, fast_clock)

    monkeypatch.setattr("inbox_app.chat.section.Clocks", fast)

    def make(
        chats: FakeChats | None = None,
        *,
        pauses: Sequence[Pause] = (),
        details: Sequence[RunDetail] = (),
        repositories: Sequence[Repository] | None = None,
        memory: Memory | None = None,
        undo_seconds: float = 0.0,
    ) -> Chat:
        chats = chats or FakeChats()
        gateway = FakeGateway(pauses, details=details)
        gateway.chats = chats
        gateway.catalog = FakeCatalog(*(repositories if repositories is not None else [support_desk()]))
        scene = start(gateway=gateway, wait=False, memory=memory, undo_seconds=undo_seconds)
        qtbot.waitUntil(lambda: scene.desk.has_view("chat") and scene.desk._inbox.loaded)
        scene.desk.show_view("chat")
        found = Chat(scene, chats, qtbot)
        section = scene.desk._section
        assert isinstance(section, ChatSection)
        qtbot.waitUntil(lambda: section._partners.repositories is not None and section._list.loaded)
        return found

    return make
