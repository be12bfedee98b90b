"""The list of runs that go on or have ended, in the whole window."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QPushButton
from pytestqt.qtbot import QtBot

from inbox_app.gateway.base import Batch, GatewayError, RunDetail
from inbox_app.state.drafts import Draft
from inbox_app.widgets.dialogs import ConfirmDialog
from tests.gui.test_window import Start, start, texts
from tests.support import scenes
from tests.support.builders import decision, detail, pause, run
from tests.support.fake_gateway import FakeGateway

__all__ = ["start"]


def test_history_lists_ended_runs_and_shows_the_chosen_one(start: Start, qtbot: QtBot) -> None:
    gateway = FakeGateway([pause(1)], ended=scenes.ended(), details=scenes.details())
    scene = start(gateway=gateway)
    scene.press("g", "h")
    qtbot.waitUntil(lambda: scene.window.history.table.model().rowCount() == 1 + 5)
    scene.press("j", "j")
    chosen = scenes.ended()[1]
    assert scene.current == chosen.id
    qtbot.waitUntil(lambda: scene.desk.run_id == chosen.id)
    qtbot.waitUntil(lambda: any("smoke tests failed" in text for text in texts(scene.window.reading)))
    assert not scene.desk.run_is_open
    gateway.push(Batch(runs=[run(400, tool="just_now", ended_at=2e9)]))
    qtbot.waitUntil(lambda: scene.window.history.table.model().rowCount() == 1 + 6)
    assert scene.current == chosen.id
    assert "6 ended" in texts(scene.window.history)


def test_a_run_that_goes_on_is_found_followed_and_cancelled(start: Start, qtbot: QtBot) -> None:
    """An answered run that still works is neither asked about nor ended: it stands in the history."""
    asked, going = pause(1), run(50, tool="long_work", status="running", input={"order": "7731"})
    gateway = FakeGateway([asked, pause(2)], ended=scenes.ended(), going=[run(1, status="awaiting-input"), going])
    scene = start(gateway=gateway)
    scene.press("g", "h")
    table = scene.window.history.table
    qtbot.waitUntil(lambda: table.model().rowCount() == 2 + 1 + 5)
    assert "1 going on, 5 ended" in texts(scene.window.history)
    assert "7731" in table.model().index(1, 0).data()
    scene.press("j")
    qtbot.waitUntil(lambda: scene.desk.run_id == going.id and scene.desk.run_is_open)
    assert gateway.followed[-1] == going.id
    scene.desk.cancel_run()
    dialog = scene.window.findChild(ConfirmDialog)
    assert dialog is not None
    button = next(button for button in dialog.findChildren(QPushButton) if button.text() == "Cancel the run")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: gateway.cancelled == [going.id])
    gateway.push(Batch(closed=[asked.id], outcomes={asked.id: "answered"}, runs=[run(1, status="running")], total=1))
    qtbot.waitUntil(lambda: table.model().rowCount() == 2 + 2 + 5)
    assert scene.current == going.id
    ended = replace(going, status="cancelled", finished_at=2e9, updated_at=2e9)
    gateway.push(Batch(runs=[ended]))
    qtbot.waitUntil(lambda: "1 going on, 6 ended" in texts(scene.window.history))
    assert scene.current == going.id
    assert table.model().index(2, 0).data().startswith("long_work, Cancelled")
    scene.desk.move(1)
    qtbot.waitUntil(lambda: table.model().index(3, 0).data().startswith("long_work, Cancelled"))


def test_history_opened_before_the_runtime_is_there_fills_later(start: Start, qtbot: QtBot) -> None:
    scene = start(gateway=FakeGateway([pause(1)], ended=scenes.ended()), wait=False)
    scene.desk.show_view("history")
    qtbot.waitUntil(lambda: scene.window.history.table.model().rowCount() == 1 + 5)
    scene.gateway.push(Batch(opened=[pause(1)], reset=True, total=1))
    qtbot.wait(50)
    assert scene.window.history.table.model().rowCount() == 1 + 5


def test_details_that_cannot_be_read_are_said(start: Start, qtbot: QtBot) -> None:
    class Broken(FakeGateway):
        async def run(self, run_id: str) -> RunDetail:
            raise GatewayError("NOT_FOUND", "the run is gone")

    scene = start(gateway=Broken([pause(1)], ended=scenes.ended()))
    scene.press("g", "h")
    qtbot.waitUntil(lambda: scene.window.history.table.model().rowCount() == 1 + 5)
    scene.press("j")
    qtbot.waitUntil(lambda: "the run is gone" in texts(scene.window.reading))


def test_what_was_written_for_a_question_that_ended_is_read_and_copied_in_its_run(start: Start, qtbot: QtBot) -> None:
    asked, written = pause(1, input_type="text"), "line one\nline\u200btwo <b>" + "x" * 6000
    scene = start([asked, pause(2)])
    scene.drafts.put(Draft(asked.id, asked.fingerprint, text=written, note="because"))
    scene.press("j", "k")
    made = decision(asked.id, outcome="expired")
    over = run(id=asked.run_id, status="failed")
    scene.gateway.details[over.id] = detail(over, decisions=[made])
    scene.gateway.push(Batch(closed=[asked.id], outcomes={asked.id: "expired"}, runs=[over], total=1))
    qtbot.waitUntil(lambda: any("Your text is kept under History" in text for text in texts(scene.window.reading)))
    scene.desk._on_go_to_run(asked.run_id)
    qtbot.waitUntil(lambda: any(text.endswith(": Failed") for text in texts(scene.window.reading)))
    scene.desk.show_tab("history")
    list_of = scene.window.reading.decisions
    qtbot.waitUntil(lambda: "Your draft, not sent" in texts(list_of))
    assert any(text.startswith("line one") for text in texts(list_of))
    copy = {item.accessibleName(): item for item in list_of.findChildren(QAbstractButton)}
    qtbot.mouseClick(copy["Copy: Text"], Qt.MouseButton.LeftButton)
    assert QApplication.clipboard().text() == written
    qtbot.mouseClick(copy["Copy: Reason"], Qt.MouseButton.LeftButton)
    assert QApplication.clipboard().text() == "because"
