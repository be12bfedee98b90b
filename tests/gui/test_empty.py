"""What the window says while there is nothing to read, and that it is true."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from inbox_app.gateway.base import Batch, GatewayError, Pause
from tests.gui.test_window import Scene, Start, start, texts
from tests.support.builders import pause
from tests.support.fake_gateway import FakeGateway

__all__ = ["start"]


class SlowGateway(FakeGateway):
    """Opens when it is told to."""

    def __init__(self, pauses: Sequence[Pause]) -> None:
        super().__init__(pauses)
        self.go = asyncio.Event()

    async def open(self) -> None:
        await self.go.wait()
        await super().open()


def test_nothing_waiting_says_so_and_a_question_then_appears(start: Start, qtbot: QtBot) -> None:
    scene = start(wait=False)
    qtbot.waitUntil(lambda: scene.gateway.opened)
    qtbot.waitUntil(lambda: "Nothing is waiting" in texts(scene.window.inbox))
    scene.gateway.push(Batch(opened=[pause(1)], total=1))
    qtbot.waitUntil(scene.window.inbox.table.isVisible)
    assert scene.desk.new_count == 0


def test_a_gateway_that_does_not_open_is_explained_and_can_be_tried_again(start: Start, qtbot: QtBot) -> None:
    gateway = FakeGateway(
        [pause(1)], refuse=GatewayError("data_folder_unusable", "The data folder is <b>read-only</b>.")
    )
    scene = start(gateway=gateway, wait=False)
    qtbot.waitUntil(lambda: "The data folder is <b>read-only</b>." in texts(scene.window.inbox))
    gateway.refuse = None
    again = next(button for button in scene.window.inbox.empty.findChildren(QPushButton) if button.isVisible())
    qtbot.mouseClick(again, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(scene.window.inbox.table.isVisible)
    assert scene.connects == 2


def said(scene: Scene) -> str:
    return " ".join(text for text in texts(scene.window.reading) if text)


def test_the_reading_pane_says_why_it_is_empty(start: Start, qtbot: QtBot) -> None:
    gateway = FakeGateway(refuse=GatewayError("data_folder_unusable", "The disk is full."))
    scene = start(gateway=gateway, wait=False)
    assert "Nothing" not in said(scene)
    qtbot.waitUntil(lambda: "Built-in is not available The disk is full." in said(scene))
    scene.gateway = FakeGateway()
    scene.desk.connect_to(scene.connect)
    qtbot.waitUntil(lambda: "Nothing is waiting" in said(scene))
    scene.gateway.push(Batch(opened=[pause(1)], total=1))
    qtbot.waitUntil(lambda: "Choose a question" in said(scene))
    assert "Nothing is waiting" not in said(scene)


def test_a_runtime_that_opens_slowly_says_so(start: Start, qtbot: QtBot) -> None:
    gateway = SlowGateway([pause(1)])
    scene = start(gateway=gateway, wait=False)
    assert "Opening the runtime…" not in said(scene)
    qtbot.waitUntil(lambda: "Opening the runtime…" in said(scene))
    assert "Opening the runtime…" in texts(scene.window.inbox)
    gateway.go.set()
    qtbot.waitUntil(lambda: scene.desk.pause is not None)


def test_every_error_of_a_repository_has_its_own_lines(start: Start, qtbot: QtBot) -> None:
    problem = {"repository": "/r", "severity": "error", "file": "amodal.json", "line": 2, "column": 1, "key": None}
    problems = [
        {**problem, "message": "This is not JSON.", "remedy": "Correct it."},
        {**problem, "file": "tools/x/tool.json", "key": "description", "message": "Missing.", "remedy": "Say it."},
        {**problem, "severity": "warning", "message": "Odd.", "remedy": ""},
    ]
    refuse = GatewayError("CONFIG_PARSE_FAILED", "many words", {"problems": problems})
    scene = start(gateway=FakeGateway(refuse=refuse), wait=False)
    area = scene.window.inbox.empty.findChild(QPlainTextEdit)
    assert area is not None
    qtbot.waitUntil(area.isVisible)
    assert area.toPlainText().split("\n\n") == [
        "amodal.json:2:1\nThis is not JSON. Correct it.",
        "tools/x/tool.json:2:1 [description]\nMissing. Say it.",
    ]
    assert area.isReadOnly()
    assert "Cannot be used: /r" in texts(scene.window.inbox)
