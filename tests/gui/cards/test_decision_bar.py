"""Picking and sending are two acts, and neither happens by accident."""

from __future__ import annotations

import os
from random import Random

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QScrollBar, QWidget

from inbox_app.cards.decision_bar import ClickButton
from inbox_app.gateway.base import Decision, Outcome, Pause
from inbox_app.state.drafts import Draft
from inbox_app.state.outbox import Outbox, Sending
from inbox_app.widgets.option_row import OptionRow
from tests.gui.cards.conftest import Bench
from tests.gui.cards.test_cards import KINDS, choice
from tests.support.builders import NOW, decision, pause
from tests.support.drivers import controls, press

KEYS = int(os.environ.get("RANDOM_KEYS", "250"))
"""Random keys for every kind of card and place of the focus; the goal is checked with 10,000."""


def words(bench: Bench) -> str:
    return bench.pane.bar._text.text()


def buttons(bench: Bench) -> list[str]:
    return [button.text() for button in bench.pane.bar.findChildren(QAbstractButton) if button.isVisible()]


def send_button(bench: Bench) -> ClickButton:
    return bench.pane.bar._send


def held(bench: Bench, key: str = "1") -> tuple[Outbox, Sending]:
    """Answer the shown question and put the answer into the undo window, as the window does."""
    bench.press(key)
    bench.send()
    outbox = Outbox(5)
    sending = outbox.hold(bench.wishes[-1], NOW)
    assert sending is not None
    bench.pane.set_outbox_state(sending)
    return outbox, sending


def picked(bench: Bench) -> list[bool]:
    return [row.isChecked() for row in bench.pane.findChildren(OptionRow)]


def test_a_card_sleeps_for_a_moment(bench: Bench) -> None:
    bench.show(choice("a", "b"))
    QTest.mouseClick(bench.pane.findChildren(OptionRow)[0], Qt.MouseButton.LeftButton)
    assert picked(bench) == [False, False]
    assert "Controls wake" in words(bench)
    assert buttons(bench) == ["Pick 1 or 2 to send"]
    bench.time += 0.6
    bench.qtbot.wait(120)
    assert not bench.pane.bar.is_awake
    bench.wake(0.2)
    bench.press("1")
    assert buttons(bench) == ["Send “Option 0” to Built-in"]


@pytest.mark.parametrize(("kind", "key"), [("yesno", "n"), ("choice", "2")])
def test_a_key_pressed_while_the_card_sleeps_picks_but_does_not_send(bench: Bench, kind: str, key: str) -> None:
    bench.show(KINDS[kind])
    QTest.keyClick(bench.pane, Qt.Key.Key_J)
    bench.time += 0.1
    bench.press(key)
    assert picked(bench)[:2] == [False, True]
    bench.send()
    assert bench.wishes == []
    assert not bench.pane.bar.is_awake
    bench.wake()
    bench.send()
    assert len(bench.wishes) == 1


def test_a_key_that_was_down_before_the_card_was_shown_does_not_pick(bench: Bench) -> None:
    bench.show(choice("x", "y", "z"))
    bench.field.setFocus()
    QTest.keyPress(bench.field, Qt.Key.Key_2)
    bench.time += 1.6
    bench.show(choice("a", "b"))
    bench.time += 0.1
    QTest.keyPress(bench.pane, Qt.Key.Key_2)  # goes on being down
    assert picked(bench) == [False, False]
    QTest.keyRelease(bench.pane, Qt.Key.Key_2)
    bench.time += 0.1
    bench.press("2")
    assert picked(bench) == [False, True]


def test_what_was_typed_just_before_the_card_was_shown_does_not_pick(bench: Bench) -> None:
    bench.field.setFocus()
    bench.press("sea")
    bench.time += 0.2
    bench.show(choice("a", "b"))
    bench.time += 1.2
    bench.press("2")
    assert picked(bench) == [False, False]
    bench.time += 0.2
    bench.press("2")
    assert picked(bench) == [False, True]


def test_a_draft_that_is_complete_still_has_to_wake(bench: Bench) -> None:
    bench.show(KINDS["yesno"])
    bench.wake()
    bench.press("y")
    again = bench.drafts[-1]
    bench.pane.show_pause(KINDS["yesno"], again)
    bench.send()
    assert bench.wishes == []
    bench.wake()
    bench.send()
    assert len(bench.wishes) == 1


def test_a_key_that_is_down_keeps_the_card_asleep(bench: Bench) -> None:
    bench.show(choice("a"))
    QTest.keyPress(bench.pane, Qt.Key.Key_J)
    bench.time += 2.0
    bench.qtbot.wait(120)
    assert not bench.pane.bar.is_awake
    QTest.keyRelease(bench.pane, Qt.Key.Key_J)
    bench.wake(0)


def test_a_key_whose_release_never_came_does_not_keep_it_asleep_for_ever(bench: Bench) -> None:
    bench.show(choice("a"))
    QTest.keyPress(bench.pane, Qt.Key.Key_J)
    bench.wake(5)


def test_typing_elsewhere_keeps_the_card_asleep(bench: Bench) -> None:
    bench.field.setFocus()
    bench.press("sea")
    bench.pane.show_pause(choice("a"))
    bench.time += 1.4
    bench.qtbot.wait(120)
    assert not bench.pane.bar.is_awake
    bench.press("r")
    bench.time += 1.4
    bench.qtbot.wait(120)
    assert not bench.pane.bar.is_awake
    bench.wake(0.2)
    assert bench.field.text() == "sear"
    assert bench.focus is bench.field


def test_keys_in_a_field_neither_pick_nor_send(bench: Bench) -> None:
    bench.show(pause())
    bench.wake()
    bench.field.setFocus()
    bench.press("yes 1 2 n", Qt.Key.Key_Return, " ", "y", Qt.Key.Key_Return)
    assert bench.field.text() == "yes 1 2 n y"
    assert not any(row.isChecked() for row in bench.pane.findChildren(OptionRow))
    assert bench.wishes == []


@pytest.mark.parametrize("kind", KINDS)
def test_enter_and_space_never_send(bench: Bench, kind: str) -> None:
    bench.show(KINDS[kind])
    bench.wake()
    bench.press("1", "y")
    for widget in [bench.pane, *controls(bench.pane)]:
        if widget.isVisible():
            widget.setFocus(Qt.FocusReason.TabFocusReason)
            bench.press(Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
    assert bench.wishes == []


def test_the_focused_send_button_is_deaf_to_keys(bench: Bench) -> None:
    bench.show(pause())
    bench.wake()
    bench.press("y")
    send_button(bench).setFocus(Qt.FocusReason.TabFocusReason)
    press(send_button(bench), Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Select)
    assert bench.wishes == []
    QTest.mouseClick(send_button(bench), Qt.MouseButton.LeftButton)
    assert len(bench.wishes) == 1


def test_a_double_click_sends_once_and_does_not_undo(bench: Bench) -> None:
    bench.show(pause())
    bench.wake()
    bench.press("y")
    where = send_button(bench).geometry().center()
    QTest.mouseClick(send_button(bench), Qt.MouseButton.LeftButton)
    sending = Outbox(5).hold(bench.wishes[0], NOW)
    bench.pane.set_outbox_state(sending)
    under = bench.pane.bar.childAt(where)
    assert under is None or not isinstance(under, QAbstractButton)
    QTest.mouseClick(under or bench.pane.bar, Qt.MouseButton.LeftButton)
    assert len(bench.wishes) == 1
    assert bench.undone == []


def test_send_pressed_twice_asks_once(bench: Bench) -> None:
    bench.show(pause())
    bench.wake()
    bench.press("y")
    bench.send()
    bench.send()
    assert len(bench.wishes) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_random_keys_send_nothing(bench: Bench, kind: str) -> None:
    random = Random(f"{kind} 7")
    special = [
        Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Escape,
        Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End,
        Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_Select, Qt.Key.Key_Y, Qt.Key.Key_1, Qt.Key.Key_2,
    ]  # fmt: skip
    bench.show(KINDS[kind])
    bench.wake()
    for _ in range(KEYS):
        chosen = random.random()
        if chosen < 0.55:
            key = random.choice(special)
        elif chosen < 0.9:
            key = Qt.Key(random.choice(b"abcdefghijklmnopqrstuvwxyz0123456789.,/-".upper()))
        else:
            key = Qt.Key(random.randint(0x20, 0x5F))
        modifier = random.choice(
            [Qt.KeyboardModifier.NoModifier] * 6 + [Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.AltModifier]
        )
        bench.press(key, modifier=modifier)
        bench.time += 0.07
        if random.random() < 0.03:
            random.choice([widget for widget in controls(bench.window) if widget.isVisible()]).setFocus()
    assert bench.wishes == []
    assert bench.retried == []


def test_new_content_is_never_swapped_under_the_reader(bench: Bench) -> None:
    asked = choice("a", "b", id="p", fingerprint="one")
    bench.show(asked)
    bench.wake()
    bench.press("2")
    changed = choice("a", "c", id="p", fingerprint="two")
    bench.pane.update_pause(changed)
    assert words(bench) == "This request changed since you read it"
    bench.send()
    assert bench.wishes == []
    bench.unlock()
    QTest.mouseClick(bench.pane.bar._right, Qt.MouseButton.LeftButton)
    bench.wake()
    assert not any(row.isChecked() for row in bench.pane.findChildren(OptionRow))
    bench.press("2")
    bench.send()
    assert [(wish.value, wish.pause.fingerprint) for wish in bench.wishes] == [("c", "two")]


def test_a_new_deadline_changes_only_the_facts(bench: Bench) -> None:
    bench.show(pause(id="p"))
    bench.wake()
    bench.press("y")
    bench.pane.update_pause(pause(id="p", expires_at=NOW + 600))
    bench.send()
    assert len(bench.wishes) == 1
    assert bench.wishes[0].pause.expires_at == NOW + 600


def test_what_is_sent_names_its_target(bench: Bench) -> None:
    bench.show(pause(connection="release desk"), production=True)
    bench.wake()
    bench.press("y")
    assert buttons(bench) == ["Send “Yes” to PROD release desk"]


def test_not_yours_says_why_and_cannot_be_answered(bench: Bench) -> None:
    bench.show(pause(eligible=False, reason="Only ops-leads can answer."))
    bench.time += 1
    bench.qtbot.wait(120)
    bench.press("y")
    bench.send()
    assert words(bench) == "Only ops-leads can answer."
    assert bench.wishes == []
    assert buttons(bench) == []


def test_held_can_be_undone_by_key_and_click_and_then_changed(bench: Bench) -> None:
    bench.show(choice("a", "b"))
    bench.wake()
    held(bench)
    assert words(bench) == "Sending “Option 0” in 5s"
    assert buttons(bench) == ["Undo"]
    bench.press("2")
    assert [row.isChecked() for row in bench.pane.findChildren(OptionRow)] == [True, False]
    bench.press("z")
    assert len(bench.undone) == 1
    bench.pane.set_outbox_state(None)
    bench.unlock()
    bench.press("2")
    bench.send()
    assert [wish.value for wish in bench.wishes] == ["a", "b"]


def test_failed_keeps_the_answer_and_can_be_sent_again(bench: Bench) -> None:
    bench.show(pause())
    bench.wake()
    outbox, sending = held(bench, "y")
    outbox.due(NOW + 9)
    bench.pane.set_outbox_state(outbox.failed(sending.pause_id, "CONNECTION_FAILED", "The runtime was not reached."))
    assert words(bench) == "Not sent. The runtime was not reached."
    bench.unlock()
    bench.pane.bar._right.setFocus()
    bench.press(Qt.Key.Key_Space, Qt.Key.Key_Return)
    assert bench.retried == []
    QTest.mouseClick(bench.pane.bar._right, Qt.MouseButton.LeftButton)
    assert bench.retried == [sending.pause_id]
    bench.unlock()
    bench.send()
    assert len(bench.retried) == 2
    assert len(bench.wishes) == 1


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("content_changed", "This request changed since you read it"),
        ("pause_superseded", "Answered by tom. Your pick is kept"),
        ("run_cancelled", "It was cancelled."),
        ("pause_expired", "Expired: your answer came too late and was not counted. Your pick is kept"),
        ("answerer_not_allowed", "It was cancelled."),
        ("edits_invalid", "Not taken. It was cancelled."),
    ],
)
def test_every_refusal_is_said(bench: Bench, code: str, says: str) -> None:
    bench.show(pause())
    bench.wake()
    outbox, sending = held(bench, "y")
    outbox.due(NOW + 9)
    bench.pane.set_outbox_state(
        outbox.failed(
            sending.pause_id, code, "It was cancelled.", {"answered_by": "tom", "answered_at": "2027-01-15T08:00:00Z"}
        )
    )
    assert words(bench).replace('"', "") == says
    bench.unlock()
    bench.send()
    assert len(bench.wishes) == 1


@pytest.mark.parametrize(
    ("outcome", "says", "offers"),
    [
        (Outcome("complete", "r"), "Answered. The run is complete", []),
        (Outcome("running", "r"), "Answered. The run goes on", []),
        (Outcome("failed", "r", reason="boom"), "Answered. The run failed: boom", []),
        (
            Outcome("awaiting-input", "r", pause=pause(id="next", question="Confirm the window?", asked_at=NOW + 60)),
            "Answered. The run asks again: Confirm the window?",
            ["Next question"],
        ),
        (
            Outcome("awaiting-input", "r", pause=pause(2, id="next", question="Confirm the window?")),
            "Answered. The run still asks: Confirm the window?",
            ["Next question"],
        ),
    ],
)
def test_the_reply_is_told(bench: Bench, outcome: Outcome, says: str, offers: list[str]) -> None:
    followed: list[str] = []
    bench.pane.go_to_pause.connect(followed.append)
    bench.show(pause())
    bench.wake()
    outbox, sending = held(bench, "y")
    outbox.due(NOW + 9)
    bench.pane.set_outbox_state(outbox.get(sending.pause_id))
    assert words(bench) == "Sending. You can move on"
    bench.pane.set_outbox_state(outbox.succeeded(sending.pause_id, outcome))
    assert words(bench) == says
    assert buttons(bench) == offers
    if offers:
        QTest.mouseClick(bench.pane.bar._right, Qt.MouseButton.LeftButton)
        assert followed == []
        bench.unlock()
        QTest.mouseClick(bench.pane.bar._right, Qt.MouseButton.LeftButton)
        assert followed == ["next"]


@pytest.mark.parametrize(
    ("ended", "says"),
    [
        (decision("p", value="no", by="tom"), "Answered by tom at"),
        (decision("p", outcome="cancelled"), "This run was cancelled. Nothing was sent"),
        (decision("p", outcome="superseded"), "The run no longer asks this. Your pick is kept"),
        (decision("p", outcome="expired"), "Expired"),
        (None, "The run no longer asks this. Your pick is kept"),
    ],
)
def test_closed_elsewhere_is_read_only_and_keeps_the_draft(bench: Bench, ended: Decision | None, says: str) -> None:
    bench.show(choice("a", "b", id="p"))
    bench.wake()
    bench.press("1")
    kept = list(bench.drafts)
    bench.pane.close_pause(ended)
    assert words(bench).startswith(says)
    bench.press("2")
    bench.send()
    assert bench.wishes == []
    assert bench.drafts == kept
    assert [row.isChecked() for row in bench.pane.findChildren(OptionRow)] == [True, False]


@pytest.mark.parametrize("ended", [decision("p", value="no", by="tom"), None])
def test_a_text_that_came_too_late_is_called_a_text(bench: Bench, ended: Decision | None) -> None:
    bench.show(pause(id="p", input_type="text"), Draft("p", "f" * 64, text="so far"))
    bench.pane.close_pause(ended)
    assert words(bench).endswith(". Your text is kept under History")


def test_no_focus_change_lands_on_a_button_without_a_key_or_click(bench: Bench) -> None:
    bench.show(pause())
    bench.wake()
    bench.press("y")
    send_button(bench).setFocus()
    outbox = Outbox(5)
    bench.pane.bar.send()
    bench.pane.set_outbox_state(outbox.hold(bench.wishes[0], NOW))
    assert not isinstance(bench.focus, QAbstractButton)
    bench.pane.bar._left.setFocus()
    outbox.due(NOW + 9)
    bench.pane.set_outbox_state(outbox.get(bench.wishes[0].pause.id))
    assert not isinstance(bench.focus, QAbstractButton)
    row = bench.pane.findChild(OptionRow)
    assert isinstance(row, QWidget)
    row.setFocus()
    bench.pane.show_pause(choice("a", "b"))
    assert not isinstance(bench.focus, QAbstractButton | QLineEdit)


def test_the_bar_keeps_its_height_between_states(bench: Bench) -> None:
    bench.show(pause())
    bench.wake()
    height = bench.pane.bar.height()
    outbox, _ = held(bench, "y")
    assert bench.pane.bar.height() == height
    outbox.due(NOW + 9)
    bench.pane.set_outbox_state(outbox.failed(bench.wishes[0].pause.id, "x", "long words " * 60))
    bench.qtbot.wait(20)
    assert bench.pane.bar.height() == height


@pytest.mark.parametrize("width", [440, 560, 800])
def test_the_bar_is_never_pushed_out(bench: Bench, width: int) -> None:
    asked: Pause = choice("a", "b", question="Why? " * 500, context={"text": "x" * 4000, "lines": list(range(300))})
    bench.window.resize(width, 600)
    bench.show(asked)
    bench.wake()
    bench.press("1")
    bar = bench.pane.bar
    assert bench.window.width() == width
    assert bench.pane.rect().contains(bar.mapTo(bench.pane, bar.rect().bottomRight()))
    for button in bar.findChildren(QAbstractButton):
        if button.isVisible():
            assert bar.rect().contains(button.geometry())
    assert "not yet seen" in words(bench)


def test_the_unseen_rest_is_counted_down_to_nothing(bench: Bench) -> None:
    bench.show(choice("a", context={f"k{at}": at for at in range(200)}))
    bench.wake()
    bench.press("1")
    bench.qtbot.waitUntil(lambda: "lines not yet seen" in words(bench))
    bench.read_all()
    assert words(bench) == "All read, picked Option 0"


def scroll_bar(bench: Bench) -> QScrollBar:
    return bench.pane._card_page.verticalScrollBar()


def test_what_was_skipped_is_not_read(bench: Bench) -> None:
    bench.show(choice("a", context={f"k{at}": at for at in range(200)}))
    bench.wake()
    bench.press("1")
    bar = scroll_bar(bench)
    bench.qtbot.waitUntil(lambda: bar.maximum() > 3000 and bench.pane.bar.unseen > 150)  # every row is there
    first = bench.pane.bar.unseen
    bar.setValue(bar.maximum())
    bench.qtbot.waitUntil(lambda: 0 < bench.pane.bar.unseen < first)
    for at in range(0, bar.maximum(), 100):
        bar.setValue(at)  # flies by
    bar.setValue(bar.maximum())
    bench.qtbot.wait(400)
    assert bench.pane.bar.unseen > first / 2
    bench.send()
    assert bench.wishes == []
    assert buttons(bench) == ["Show them", "Read all to send"]
    assert not send_button(bench).isEnabled()
    QTest.mouseClick(bench.pane.bar._left, Qt.MouseButton.LeftButton)
    assert bar.value() < bar.maximum() / 2
    bench.read_all()
    bench.send()
    assert len(bench.wishes) == 1


def test_space_and_the_page_keys_read_a_long_card(bench: Bench) -> None:
    bench.show(choice("a", context={f"k{at}": at for at in range(200)}))
    bench.wake()
    bench.pane.focus_home()
    bar = scroll_bar(bench)
    bench.press(Qt.Key.Key_PageDown)
    down = bar.value()
    assert down > 100
    bench.press(Qt.Key.Key_PageUp)
    assert bar.value() == 0
    bench.qtbot.waitUntil(lambda: bench.pane.bar.unseen > 0)
    while bench.pane.bar.unseen:
        before = bench.pane.bar.unseen
        bench.press(Qt.Key.Key_Space)
        bench.qtbot.waitUntil(lambda before=before: bench.pane.bar.unseen < before)
    assert bar.value() == bar.maximum()
    assert bench.wishes == []


def test_a_card_that_fits_is_read_at_once(bench: Bench) -> None:
    bench.show(choice("a", context={"k": 1}))
    bench.wake()
    bench.press("1")
    assert buttons(bench) == ["Send “Option 0” to Built-in"]
