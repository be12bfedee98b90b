"""Runs that stopped because the code no longer fits: what is shown, and every way on, in the whole window."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication
from pytestqt.qtbot import QtBot

from inbox_app.gateway.base import Batch, GatewayError, Outcome, Run, Side
from inbox_app.widgets.dialogs import ConfirmDialog
from tests.gui.test_window import Scene, Start, start, texts
from tests.support import scenes
from tests.support.builders import NEW_CODE, OLD_CODE, detail, divergence, pause, run, stopped_run
from tests.support.drivers import controls
from tests.support.fake_gateway import FakeGateway

__all__ = ["start"]

OLD, NEW, CANCEL = "Go on with the old code…", "Try the present code…", "Cancel run…"
CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


class Slow(FakeGateway):
    """Lets nobody go on before it is told to."""

    def __init__(self, of: Run) -> None:
        super().__init__(going=[of], details=[detail(of)])
        self.released = asyncio.Event()

    async def resume(self, run_id: str, revision: str | None) -> Outcome:
        self.resumed.append((run_id, revision))
        await self.released.wait()
        return Outcome("running", run_id)


def look(start: Start, qtbot: QtBot, of: Run, gateway: FakeGateway | None = None) -> Scene:
    """The run, selected in the history."""
    scene = start(gateway=gateway or FakeGateway(going=[of], details=[detail(of)]), wait=False)
    scene.desk.show_view("history")
    qtbot.waitUntil(lambda: scene.window.history.table.model().rowCount() == 2)
    scene.press("j")
    qtbot.waitUntil(lambda: scene.desk.run_id == of.id and bool(ways(scene)))
    return scene


def ways(scene: Scene) -> list[str]:
    return [button.text() for button in buttons(scene) if button.text().endswith("…")]


def buttons(scene: Scene) -> list[QAbstractButton]:
    return [item for item in scene.window.reading.findChildren(QAbstractButton) if item.isVisible()]


def button(scene: Scene, text: str) -> QAbstractButton:
    return next(item for item in buttons(scene) if item.text() == text)


def dialog(scene: Scene) -> ConfirmDialog:
    return next(item for item in scene.window.findChildren(ConfirmDialog) if item.isVisible())


def confirm(scene: Scene, text: str) -> None:
    do = next(item for item in dialog(scene).findChildren(QAbstractButton) if item.text() == text)
    QTest.mouseClick(do, Qt.MouseButton.LeftButton)


def test_what_differs_is_shown_with_both_codes(start: Start, qtbot: QtBot) -> None:
    scene = look(start, qtbot, stopped_run(1))
    said = " | ".join(texts(scene.window.reading))
    for part in (
        "refund_payment: Diverged",
        "The code no longer makes the calls that are recorded. Nothing new was executed",
        "refund_payment, call number 3",
        'callTool "charge_card"  {"customer": "C-88", "amount": 120.00}',
        'callTool "charge_card"  {"customer": "C-88", "amount": 95.00}',
        "$.amount",
        "120.00",
        "95.00",
        f"recorded by {OLD_CODE[:12]}, now {NEW_CODE[:12]}",
        "waits until somebody chooses a way on",
    ):
        assert part in said, part
    assert scene.window.history.table.model().index(1, 0).data().startswith("refund_payment, Diverged")


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (divergence(code="content_changed", path="$.question"), "The question is no longer the one that was shown"),
        (divergence(new=OLD_CODE), "The handler does not repeat itself"),
        (divergence(attempted=None), "Nothing: the handler ended or failed before it"),
        (divergence(attempted=Side('step "hash\u202e"')), 'step "hash⟨U+202E⟩"'),
        (divergence(was="", now='"new"'), "nothing"),
    ],
)
def test_every_kind_of_divergence_has_its_words(start: Start, qtbot: QtBot, found: object, says: str) -> None:
    of = stopped_run(1, found=found)  # pyright: ignore[reportArgumentType]
    assert says in " | ".join(texts(look(start, qtbot, of).window.reading))


@pytest.mark.parametrize("by", ["button", "key"])
@pytest.mark.parametrize(
    ("way", "key", "do", "revision"),
    [(OLD, Qt.Key.Key_O, "Go on", OLD_CODE), (NEW, Qt.Key.Key_P, "Try it", None)],
    ids=["old", "new"],
)
def test_a_way_on_is_asked_about_and_then_taken_once(
    start: Start, qtbot: QtBot, by: str, way: str, key: Qt.Key, do: str, revision: str | None
) -> None:
    of = stopped_run(1)
    scene = look(start, qtbot, of)
    if by == "button":
        QTest.mouseClick(button(scene, way), Qt.MouseButton.LeftButton)
    else:
        scene.press(key, modifier=CTRL_SHIFT)
    asked = dialog(scene)
    QTest.keyClick(asked, Qt.Key.Key_Return)
    assert scene.gateway.resumed == []
    assert of.id in " ".join(texts(asked))
    confirm(scene, do)
    qtbot.waitUntil(lambda: scene.gateway.resumed == [(of.id, revision)])


def test_leaving_it_does_nothing(start: Start, qtbot: QtBot) -> None:
    scene = look(start, qtbot, stopped_run(1))
    QTest.mouseClick(button(scene, OLD), Qt.MouseButton.LeftButton)
    confirm(scene, "Leave it")
    assert scene.gateway.resumed == []


def test_cancelling_is_one_of_the_ways(start: Start, qtbot: QtBot) -> None:
    of = stopped_run(1)
    scene = look(start, qtbot, of)
    QTest.mouseClick(button(scene, CANCEL), Qt.MouseButton.LeftButton)
    confirm(scene, "Cancel the run")
    qtbot.waitUntil(lambda: scene.gateway.cancelled == [of.id])


def test_while_it_goes_on_nothing_else_can_be_pressed(start: Start, qtbot: QtBot) -> None:
    of = stopped_run(1)
    gateway = Slow(of)
    scene = look(start, qtbot, of, gateway)
    button(scene, NEW).setFocus()
    scene.press(Qt.Key.Key_Space)
    confirm(scene, "Try it")
    qtbot.waitUntil(lambda: gateway.resumed == [(of.id, None)])
    assert not any(button(scene, way).isEnabled() for way in (OLD, NEW, CANCEL))
    assert "Going on: the recorded calls are replayed" in texts(scene.window.reading)
    scene.press(Qt.Key.Key_O, modifier=CTRL_SHIFT)
    assert not any(item.isVisible() for item in scene.window.findChildren(ConfirmDialog))
    gateway.released.set()
    qtbot.waitUntil(lambda: button(scene, NEW).isEnabled())
    assert gateway.resumed == [(of.id, None)]


def test_a_refusal_is_said_beside_the_ways_and_goes_with_the_next_try(start: Start, qtbot: QtBot) -> None:
    of = stopped_run(1)
    scene = look(start, qtbot, of)
    scene.gateway.reply = GatewayError("revision_not_stored", "The code 3f2a is not stored. There is: 9b41.")
    QTest.mouseClick(button(scene, OLD), Qt.MouseButton.LeftButton)
    confirm(scene, "Go on")
    qtbot.waitUntil(lambda: "The code 3f2a is not stored. There is: 9b41." in texts(scene.window.reading))
    assert not scene.window.notice.isVisible()
    scene.gateway.reply = Outcome("complete", of.id)
    QTest.mouseClick(button(scene, NEW), Qt.MouseButton.LeftButton)
    confirm(scene, "Try it")
    qtbot.waitUntil(lambda: "The code 3f2a is not stored. There is: 9b41." not in texts(scene.window.reading))


def test_old_code_that_is_not_stored_cannot_be_chosen_and_says_why(start: Start, qtbot: QtBot) -> None:
    scene = look(start, qtbot, stopped_run(1, stored=False))
    assert not button(scene, OLD).isEnabled()
    assert "not stored" in button(scene, OLD).accessibleDescription()
    scene.press(Qt.Key.Key_O, modifier=CTRL_SHIFT)
    assert not any(item.isVisible() for item in scene.window.findChildren(ConfirmDialog))
    assert button(scene, NEW).isEnabled()


def test_where_the_code_is_the_same_there_is_no_old_code_to_go_back_to(start: Start, qtbot: QtBot) -> None:
    scene = look(start, qtbot, stopped_run(1, found=divergence(new=OLD_CODE)))
    assert ways(scene) == [NEW, CANCEL]


def test_a_run_that_goes_on_loses_the_ways(start: Start, qtbot: QtBot) -> None:
    of = stopped_run(1)
    scene = look(start, qtbot, of)
    going = replace(of, status="running", error=None, divergence=None, updated_at=of.updated_at + 1)
    scene.gateway.details[of.id] = detail(going)
    button(scene, NEW).setFocus()
    scene.gateway.push(Batch(runs=[going]))
    qtbot.waitUntil(lambda: "refund_payment: Running" in texts(scene.window.reading))
    assert ways(scene) == []
    focus = QApplication.focusWidget()
    assert focus is not None
    assert focus.isVisible()


def test_the_ways_are_named_and_reached_in_order(start: Start, qtbot: QtBot) -> None:
    scene = look(start, qtbot, stopped_run(1))
    assert all(item.accessibleName() for item in controls(scene.window.reading) if item.isVisible())
    assert all(button(scene, way).accessibleDescription() for way in (OLD, NEW, CANCEL))
    scene.window.reading.focus_home()
    reached: list[str] = []
    for _ in range(8):
        scene.press(Qt.Key.Key_Tab)
        focus = QApplication.focusWidget()
        reached.append(focus.accessibleName() if focus is not None else "")
    places = [reached.index(way) for way in (OLD, NEW, CANCEL)]
    assert places == sorted(places)


def test_a_stopped_run_is_listed_even_while_its_question_waits_in_the_inbox(start: Start, qtbot: QtBot) -> None:
    of = stopped_run(1)
    asked = pause(1, run_id=of.id, stopped=True)
    scene = start(gateway=FakeGateway([asked, pause(2)], going=[of], details=[detail(of, pauses=[asked])]))
    row = scene.window.inbox.table.model().index(1, 0).data()
    assert "Run stopped" in row
    QTest.mouseClick(button(scene, "See what differs"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: scene.desk.view == "history" and scene.current == of.id)
    qtbot.waitUntil(lambda: NEW in ways(scene))


def test_a_stuck_run_may_go_on_with_the_old_code(start: Start, qtbot: QtBot) -> None:
    stuck = replace(stopped_run(1), status="needs-attention", divergence=None, error=None)
    asked = pause(1, run_id=stuck.id, kind="attention", input_type="choice", options=scenes.attention().options)
    scene = start(gateway=FakeGateway([asked], details=[detail(stuck, pauses=[asked])]))
    qtbot.waitUntil(lambda: scene.desk.can_resume(True))
    assert not scene.desk.can_resume(False)
    scene.press(Qt.Key.Key_O, modifier=CTRL_SHIFT)
    confirm(scene, "Go on")
    qtbot.waitUntil(lambda: scene.gateway.resumed == [(stuck.id, OLD_CODE)])


def test_a_run_says_which_code_it_ran_on_its_warnings_and_that_its_journal_is_gone(start: Start, qtbot: QtBot) -> None:
    made = scenes.decided()
    pruned = run(61, tool="old_work", result={"ok": True}, pruned_at=1.7e9)
    scene = start(gateway=FakeGateway(ended=[made.run, pruned], details=[made]), wait=False)
    scene.desk.show_view("history")
    qtbot.waitUntil(lambda: scene.window.history.table.model().rowCount() == 3)
    scene.press("j")
    qtbot.waitUntil(lambda: "2 warnings of this run" in texts(scene.window.reading))
    said = " | ".join(texts(scene.window.reading))
    assert "500 of 1,000" in said
    assert f"Started on {OLD_CODE[:12]}" in said
    assert f"Ran on {NEW_CODE[:12]} from leg 2" in said
    scene.press("j")
    qtbot.waitUntil(lambda: any("Its journal was removed" in text for text in texts(scene.window.reading)))


def test_an_expired_run_is_told_from_a_failed_one(start: Start, qtbot: QtBot) -> None:
    error = {"code": "pause-expired", "message": "Nobody answered in time."}
    runs = [run(71, status="expired", error=error), run(72, status="failed", error=error)]
    scene = start(gateway=FakeGateway(ended=runs), wait=False)
    scene.desk.show_view("history")
    qtbot.waitUntil(lambda: scene.window.history.table.model().rowCount() == 3)
    table = scene.window.history.table.model()
    rows = [table.index(at, 0).data() for at in (1, 2)]
    assert any("Expired" in row for row in rows)
    assert any("Failed: pause-expired" in row for row in rows)


def test_a_try_in_vain_is_told_beside_the_ways(start: Start, qtbot: QtBot) -> None:
    of = stopped_run(1)
    scene = look(start, qtbot, of)
    scene.gateway.reply = Outcome("diverged", of.id)
    QTest.mouseClick(button(scene, NEW), Qt.MouseButton.LeftButton)
    confirm(scene, "Try it")
    qtbot.waitUntil(lambda: any("it stopped again" in text for text in texts(scene.window.reading)))
    assert any(text.startswith("Tried ") for text in texts(scene.window.reading))


def test_the_sidebar_counts_runs_that_wait_for_a_way_on(start: Start, qtbot: QtBot) -> None:
    of, other = stopped_run(1), stopped_run(2)
    asked = pause(7, kind="attention", run_id="dur_attention")
    stuck = [run(id="dur_attention", status="needs-attention"), run(id="dur_stuck", status="needs-attention")]
    scene = start(gateway=FakeGateway([pause(5), asked], going=[of, *stuck]))

    def told() -> str:
        return scene.window.sidebar.findChildren(QAbstractButton)[1].accessibleName()

    qtbot.waitUntil(lambda: told() == "History, 2 runs wait for a way on")
    scene.gateway.push(Batch(runs=[other]))
    qtbot.waitUntil(lambda: told() == "History, 3 runs wait for a way on")
    over = [replace(item, status="cancelled", finished_at=item.updated_at) for item in (of, other)]
    scene.gateway.push(Batch(runs=over))
    qtbot.waitUntil(lambda: told() == "History, 1 run waits for a way on")
    scene.gateway.push(Batch(runs=[replace(stuck[1], status="completed", finished_at=stuck[1].updated_at)]))
    qtbot.waitUntil(lambda: told() == "History")
