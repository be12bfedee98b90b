"""Answering in the whole window while other people answer too: nothing typed for one question reaches another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QMainWindow, QPlainTextEdit
from pytestqt.qtbot import QtBot

from inbox_app.cards.decision_bar import ClickButton
from inbox_app.commands.registry import CommandAction
from inbox_app.gateway.base import Answer, Batch, CutOff, GatewayError, Outcome, Votes
from inbox_app.theme.theme import Theme
from inbox_app.views.inbox_pane import InboxPane
from inbox_app.widgets.dialogs import ChoiceDialog
from inbox_app.widgets.line_field import LineField
from inbox_app.widgets.option_row import OptionRow
from inbox_app.widgets.surface import NeutralFrame
from tests.gui import test_window
from tests.gui.test_window import Scene, Start, start, texts
from tests.support.builders import NOW, decision, detail, option, pause, run
from tests.support.fake_gateway import FakeGateway

__all__ = ["start"]


@pytest.mark.parametrize("ends", ["answered", "cancelled", "expired", "not yours"])
def test_what_is_typed_into_a_question_that_closes_becomes_no_command(start: Start, qtbot: QtBot, ends: str) -> None:
    asked, others = pause(1, input_type="text"), [pause(number) for number in (2, 3, 4)]
    scene = start(gateway=FakeGateway([asked, *others]))
    scene.wait_awake(qtbot)
    field = next(item for item in scene.window.reading.findChildren(QPlainTextEdit) if item.isVisible())
    field.setFocus()
    scene.press("wait until ")
    if ends == "not yours":
        scene.gateway.push(Batch(opened=[replace(asked, eligible=False, reason="Taken.")]))
    else:
        made = decision(asked.id, outcome=ends, value="cli")
        scene.gateway.details[asked.run_id] = detail(run(id=asked.run_id, status="running"), decisions=[made])
        scene.gateway.push(Batch(closed=[asked.id], total=3))
    qtbot.waitUntil(field.isReadOnly)
    scene.press("the job can run", "JKYNREZ1.?")
    scene.wait_awake(qtbot)
    scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
    assert scene.current == asked.id
    assert field.hasFocus()
    assert not any(scene.drafts.get(other.id) for other in others)
    assert scene.gateway.answers == []
    assert not any(dialog.isVisible() for dialog in QApplication.topLevelWidgets() if dialog is not scene.window)
    if ends == "expired":
        qtbot.waitUntil(lambda: isinstance(QApplication.focusWidget(), NeutralFrame))
        scene.press("j")
    else:
        scene.press(Qt.Key.Key_Escape, "j")
    assert scene.current != asked.id


def test_a_held_answer_is_undone_from_within_its_field(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1, input_type="text")])
    scene.wait_awake(qtbot)
    next(item for item in scene.window.reading.findChildren(QPlainTextEdit) if item.isVisible()).setFocus()
    scene.press("some words")
    qtbot.waitUntil(lambda: scene.desk.can_send)
    scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
    assert scene.desk.can_undo
    scene.press(Qt.Key.Key_Z, modifier=Qt.KeyboardModifier.ControlModifier)
    assert not scene.desk.can_undo


@pytest.mark.parametrize("kind", ["text", "yesno"])
@pytest.mark.parametrize("by", ["key", "click"])
@pytest.mark.parametrize("undo_seconds", [30.0, 0.0], ids=["held", "sent"])
def test_after_sending_from_a_field_the_keys_are_commands(
    start: Start, qtbot: QtBot, kind: str, by: str, undo_seconds: float
) -> None:
    asked = pause(1, input_type=kind)
    scene = start([asked, pause(2)], undo_seconds=undo_seconds)
    scene.wait_awake(qtbot)
    if kind == "text":
        scene.press(Qt.Key.Key_Return)
    else:
        scene.press("y", "r")
    assert isinstance(QApplication.focusWidget(), QLineEdit | QPlainTextEdit)
    scene.press("some words")
    qtbot.waitUntil(lambda: scene.desk.can_send)
    if by == "key":
        scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
    else:
        send = next(item for item in scene.window.reading.findChildren(ClickButton) if item.text().startswith("Send"))
        qtbot.mouseClick(send, Qt.MouseButton.LeftButton)
    if not undo_seconds:
        qtbot.waitUntil(lambda: len(scene.gateway.answers) == 1)
    assert scene.desk.can_undo == bool(undo_seconds)
    assert isinstance(QApplication.focusWidget(), NeutralFrame)
    scene.press("j")
    assert scene.current != asked.id
    scene.press("k")
    assert scene.current == asked.id
    scene.press("z")
    assert not scene.desk.can_undo


def test_an_edit_and_a_pick_come_back_together(start: Start, qtbot: QtBot) -> None:
    asked = pause(1, kind="approval", allow_edits=True, context={"amount": "1.50", "n": 3})
    scene = start([asked, pause(2)])
    scene.wait_awake(qtbot)
    scene.press("e")
    field = next(item for item in scene.window.reading.findChildren(LineField) if item.accessibleName() == "amount")
    field.setFocus()
    scene.press("0", Qt.Key.Key_Escape)
    scene.wait_awake(qtbot)
    scene.press("y", "j")
    kept = scene.drafts.get(asked.id)
    assert kept is not None
    assert kept.pick == 0
    assert kept.edits is not None
    scene.wait_awake(qtbot)
    scene.press("n", "k")
    assert scene.current == asked.id
    assert scene.drafts.get(asked.id) == kept
    assert [row.isChecked() for row in scene.window.reading.findChildren(OptionRow)] == [True, False]
    qtbot.waitUntil(lambda: scene.desk.can_send)
    scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
    scene.press("j", "k")
    scene.desk.undo()
    assert scene.drafts.get(asked.id) == kept


def test_a_pick_that_follows_the_move_at_once_is_kept(
    start: Start, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_window, "fast_clock", time.monotonic)
    asked = pause(2)
    scene = start([pause(1), asked])
    scene.wait_awake(qtbot)
    scene.press("j", "y")
    scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
    kept = scene.drafts.get(asked.id)
    assert kept is not None
    assert kept.pick == 0
    assert not scene.desk.can_undo
    qtbot.waitUntil(lambda: scene.desk.can_send)
    assert scene.gateway.answers == []


def test_an_answer_that_was_undone_is_sent_again_by_its_keys(
    start: Start, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_window, "fast_clock", time.monotonic)  # a second click is ignored for as long as it says
    scene = start([pause(1)], undo_seconds=1.0)
    scene.wait_awake(qtbot)
    scene.press("y")
    qtbot.waitUntil(lambda: scene.desk.can_send)
    scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
    scene.press("z")
    assert not scene.desk.can_undo
    send = next(item for item in scene.window.reading.findChildren(ClickButton) if item.text().startswith("Send"))
    qtbot.waitUntil(send.isEnabled)
    scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
    assert scene.desk.can_undo
    qtbot.waitUntil(lambda: [answer.value for answer in scene.gateway.answers] == ["yes"])


@pytest.mark.parametrize("key", ["y", "Y"])
def test_commands_work_from_a_payload_that_is_read(start: Start, qtbot: QtBot, key: str) -> None:
    scene = start([pause(1, context={"a": 1}), pause(2)])
    scene.wait_awake(qtbot)
    scene.desk.show_tab("payload")
    for _ in range(30):
        scene.press(Qt.Key.Key_Tab)
        focus = QApplication.focusWidget()
        if focus is not None and focus.accessibleName() == "Payload":
            break
    scene.press(key)
    assert [row.isChecked() for row in scene.window.reading.findChildren(OptionRow)] == [True, False]
    assert not isinstance(QApplication.focusWidget(), QLineEdit)


@pytest.mark.parametrize("hold", [True, False], ids=["held", "sent"])
def test_an_answer_that_came_too_late_shows_the_real_one(start: Start, qtbot: QtBot, hold: bool) -> None:
    asked, following = pause(1, id="a.0", run_id="a"), pause(2, id="a.1", run_id="a", question="And now?")
    made = decision(asked.id, value="no", by="local:tom")
    scene = start(gateway=FakeGateway([asked]), undo_seconds=30.0 if hold else 0.0)
    scene.gateway.details["a"] = detail(run(id="a", status="running"), pauses=[asked])
    qtbot.waitUntil(lambda: scene.desk.pause is not None)
    scene.wait_awake(qtbot)
    scene.press("y")
    scene.gateway.reply = GatewayError("pause_superseded", "Not open.", {"answered_by": "local:tom"})
    closed = detail(run(id="a", status="awaiting-input"), pauses=[following], decisions=[made])
    if not hold:
        scene.gateway.details["a"] = closed
    scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
    if hold:
        assert scene.desk.can_undo
        scene.gateway.details["a"] = closed
        scene.gateway.push(Batch(closed=[asked.id], opened=[following], total=1))
    qtbot.waitUntil(lambda: any(text.startswith("Answered by local:tom at") for text in texts(scene.window.reading)))
    assert any(': "no". Your pick is kept' in text for text in texts(scene.window.reading))
    assert not scene.desk.can_undo
    assert len(scene.gateway.answers) == (0 if hold else 1)
    assert scene.drafts.get(asked.id) is not None
    link = next(item for item in scene.window.reading.findChildren(QAbstractButton) if item.text() == "Next question")
    if hold:
        qtbot.waitUntil(link.isVisible)
        qtbot.wait(100)
        qtbot.mouseClick(link, Qt.MouseButton.LeftButton)
        assert scene.current == following.id


@pytest.fixture
def closing(start: Start, qtbot: QtBot) -> Callable[[], tuple[Scene, list[bool]]]:
    """A window with a held answer that is about to close, and the notes it made of having closed."""

    def make() -> tuple[Scene, list[bool]]:
        scene = start([pause(1, question="Refund C-88?"), pause(2)], undo_seconds=1.0)
        scene.wait_awake(qtbot)
        scene.press("y")
        qtbot.waitUntil(lambda: scene.desk.can_send)
        scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
        closed: list[bool] = []
        scene.window.closed.connect(lambda: closed.append(True))
        scene.desk.quit()
        assert closed == []
        return scene, closed

    return make


def press_way(scene: Scene, qtbot: QtBot, words: str) -> None:
    dialog = scene.window.findChild(ChoiceDialog)
    assert isinstance(dialog, ChoiceDialog)
    assert "“Yes” is the answer to “Refund C-88?”. It has not been sent." in texts(dialog)
    button = next(item for item in dialog.findChildren(QAbstractButton) if item.text() == words)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


Closing = Callable[[], tuple[Scene, list[bool]]]


def test_closing_with_a_held_answer_can_send_it_first(closing: Closing, qtbot: QtBot) -> None:
    scene, closed = closing()
    press_way(scene, qtbot, "Send now")
    qtbot.waitUntil(lambda: closed == [True])
    assert [answer.value for answer in scene.gateway.answers] == ["yes"]


def test_closing_with_a_held_answer_can_keep_it_as_a_draft(closing: Closing, qtbot: QtBot) -> None:
    scene, closed = closing()
    qtbot.wait(1200)
    assert scene.gateway.answers == []
    press_way(scene, qtbot, "Keep as draft")
    assert closed == [True]
    assert scene.drafts.get(pause(1).id) is not None
    qtbot.wait(100)
    assert scene.gateway.answers == []


def test_an_answer_that_is_not_taken_keeps_the_window_open(closing: Closing, qtbot: QtBot) -> None:
    scene, closed = closing()
    scene.gateway.reply = GatewayError("CONNECTION_FAILED", "Gone.")
    press_way(scene, qtbot, "Send now")
    qtbot.waitUntil(lambda: "Not sent. Gone." in texts(scene.window.reading))
    assert closed == []


def test_staying_goes_on_with_what_was_left_of_the_time(closing: Closing, qtbot: QtBot) -> None:
    scene, closed = closing()
    qtbot.wait(1200)
    press_way(scene, qtbot, "Stay")
    assert scene.desk.can_undo
    assert scene.gateway.answers == []
    qtbot.waitUntil(lambda: len(scene.gateway.answers) == 1)
    assert closed == []


def way(scene: Scene, words: str) -> QAbstractButton:
    return next(
        item
        for dialog in scene.window.findChildren(ChoiceDialog)
        if dialog.isVisible()
        for item in dialog.findChildren(QAbstractButton)
        if item.text() == words
    )


def test_closing_while_a_run_is_at_work_waits_for_it_if_told_to(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1)])
    closed: list[bool] = []
    scene.window.closed.connect(lambda: closed.append(True))
    scene.gateway.working = ["charge_card", "refund"]
    scene.window.close()
    qtbot.mouseClick(way(scene, "Stay"), Qt.MouseButton.LeftButton)
    scene.window.close()
    qtbot.mouseClick(way(scene, "Wait, then close"), Qt.MouseButton.LeftButton)
    words = texts(scene.window)
    assert any("“charge_card” and 1 more are at work. The window closes when that is done." in word for word in words)
    scene.gateway.working = ["refund"]
    qtbot.waitUntil(lambda: any("“refund” is at work. The window" in word for word in texts(scene.window)))
    assert closed == []
    scene.gateway.working = []
    qtbot.waitUntil(lambda: closed == [True])


def test_a_run_at_work_can_be_left_and_waiting_for_it_given_up(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1)])
    closed: list[bool] = []
    scene.window.closed.connect(lambda: closed.append(True))
    scene.gateway.working = ["charge_card"]
    scene.window.close()
    qtbot.mouseClick(way(scene, "Wait, then close"), Qt.MouseButton.LeftButton)
    qtbot.mouseClick(way(scene, "Stay"), Qt.MouseButton.LeftButton)
    scene.gateway.working = []
    qtbot.wait(400)
    assert closed == []
    scene.gateway.working = ["charge_card"]
    scene.window.close()
    qtbot.mouseClick(way(scene, "Leave anyway"), Qt.MouseButton.LeftButton)
    assert closed == [True]


@pytest.mark.parametrize(
    ("kind", "works"),
    [("yesno", {"pick_yes", "pick_no", "write_note"}), ("text", set()), ("date", {"write_note"})],
)
def test_the_menu_offers_only_what_does_something(start: Start, qtbot: QtBot, kind: str, works: set[str]) -> None:
    scene = start([pause(1, input_type=kind)], undo_seconds=30.0)
    scene.wait_awake(qtbot)
    watched = {"pick_yes", "pick_no", "write_note"}

    def enabled() -> set[str]:
        found = [action for action in scene.window.findChildren(CommandAction) if action.isEnabled()]
        return {action.command.id for action in found} & watched

    assert enabled() == works
    if kind == "yesno":
        scene.press("y")
        qtbot.waitUntil(lambda: scene.desk.can_send)
        scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
        assert enabled() == set()


def test_a_list_that_fills_before_its_window_is_active_has_the_keys(theme: Theme, qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    pane = InboxPane(theme, window)
    window.setCentralWidget(pane)
    pane.setFocus()
    pane.show_table(True)
    assert window.focusWidget() is pane.table


def test_an_answer_that_has_arrived_is_told_while_its_run_goes_on_and_stays_to_be_seen(
    start: Start, qtbot: QtBot
) -> None:
    gate = asyncio.Event()

    class Slow(FakeGateway):
        async def answer(self, answer: Answer) -> Outcome:
            self.answers.append(answer)
            await gate.wait()
            return Outcome("complete", answer.run_id)

    asked = pause(1, kind="attention", options=[option("again", "Run it again")], cut_off=CutOff("tool", "pay", NOW))
    scene = start(gateway=Slow([asked, pause(2)]), undo_seconds=0.0)
    scene.wait_awake(qtbot)
    scene.press("2", "{}")
    qtbot.waitUntil(lambda: scene.desk.can_send)
    scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: "Sending. You can move on" in texts(scene.window.reading))
    scene.gateway.push(Batch(closed=[asked.id], outcomes={asked.id: "answered"}, total=1))
    qtbot.waitUntil(lambda: "Answered. The run goes on" in texts(scene.window.reading))
    gate.set()
    qtbot.waitUntil(lambda: any("The run is complete" in text for text in texts(scene.window.reading)))
    scene.desk._show_pause(pause(2).id)
    scene.desk._show_pause(asked.id)
    assert [row.isChecked() for row in scene.window.reading.findChildren(OptionRow)] == [False, True]
    assert any(item.toPlainText() == "{}" for item in scene.window.reading.findChildren(QPlainTextEdit))
    assert "Waited" in texts(scene.window.reading)
    assert "Waiting" not in texts(scene.window.reading)


def test_what_was_read_to_its_end_is_not_asked_to_be_read_again(start: Start, qtbot: QtBot) -> None:
    asked = pause(1, context={f"field {at}": "x" for at in range(80)})
    scene = start([asked, pause(2)])
    scene.wait_awake(qtbot)
    qtbot.waitUntil(lambda: any("not yet seen" in text for text in texts(scene.window.reading)))
    scene.press(Qt.Key.Key_Return)
    scene.window.reading.focus_home()

    def turned() -> bool:
        scene.press(Qt.Key.Key_Space)
        return "All read" in texts(scene.window.reading)

    qtbot.waitUntil(turned)
    scene.press("j", "k")
    assert scene.current == asked.id
    qtbot.waitUntil(lambda: "All read" in texts(scene.window.reading))
    qtbot.wait(400)
    assert "All read" in texts(scene.window.reading)
    scene.gateway.push(Batch(opened=[replace(asked, fingerprint="e" * 64, context={"new": ["y"] * 90})]))
    qtbot.waitUntil(lambda: any("changed since" in text for text in texts(scene.window.reading)))
    show = next(item for item in scene.window.reading.findChildren(QAbstractButton) if item.text() == "Show it again")
    qtbot.mouseClick(show, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: any("not yet seen" in text for text in texts(scene.window.reading)))


def test_a_vote_that_somebody_else_refused_is_told_as_counted(start: Start, qtbot: QtBot) -> None:
    asked = pause(1, votes=Votes(2, ("local:test",), "local:test"), eligible=False)
    scene = start([asked, pause(2)])
    scene.desk._on_go_to_pause(asked.id)
    made = decision(asked.id, outcome="refused", value="no", by="local:tom")
    scene.gateway.details[asked.run_id] = detail(run(id=asked.run_id, status="running"), decisions=[made])
    scene.gateway.push(Batch(closed=[asked.id], outcomes={asked.id: "refused"}, total=1))
    qtbot.waitUntil(lambda: any(text.startswith("Refused by local:tom") for text in texts(scene.window.reading)))
    assert any(text.endswith("Your answer was counted") for text in texts(scene.window.reading))
