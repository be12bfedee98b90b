"""The tree beside the card: opens at what waits, finds, filters, and holds still while calls arrive."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLineEdit
from pytestqt.qtbot import QtBot

from inbox_app.gateway.base import Call
from inbox_app.models.call_tree import STATE
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ROW_TREE
from inbox_app.views.call_pane import CallPane
from inbox_app.widgets.call_view import CallHeader
from inbox_app.widgets.filter_chip import FilterChip
from inbox_app.widgets.payload_view import PayloadView
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.segments import Segments
from tests.support.builders import NOW, call
from tests.support.drivers import press


def deep_run() -> list[Call]:
    """A question six levels down, beside work that is done."""
    path = ["", "0", "0/0", "0/0/0", "0/0/0/0", "0/0/0/0/0"]
    return [
        call("", parent=None, name="top", state="running", seconds=None),
        *[
            call(of, parent=of.rpartition("/")[0], name=f"level{at}", state="running", seconds=None)
            for at, of in enumerate(path)
            if of
        ],
        call(
            "0/0/0/0/0/0",
            parent="0/0/0/0/0",
            name="ask",
            kind="input",
            state="waiting",
            seconds=None,
            input={"question": "?"},
        ),
        *[call(str(at), name=f"work{at}", output={"n": at}, output_size=8) for at in range(1, 9)],
        call("9", name="bad", state="failed", code="execution-failed", message="it <b>broke</b>"),
        call("10", name="old", replayed=True),
    ]


def current(pane: CallPane) -> str:
    number = pane.view.current_number()
    return pane.model.calls.call(number).name if number else ""


def visible(pane: CallPane) -> list[str]:
    """Names of the rows that are open, top to bottom."""
    names: list[str] = []
    index = pane.model.index(0, 0)
    while index.isValid():
        names.append(str(index.data()))
        index = pane.view.indexBelow(index)
    return names


def chip(pane: CallPane, word: str) -> FilterChip:
    return next(item for item in pane.findChildren(FilterChip) if item.accessibleName().startswith(word))


def find_field(pane: CallPane) -> QLineEdit:
    found = pane.findChild(QLineEdit)
    assert isinstance(found, QLineEdit)
    return found


def test_the_way_to_the_waiting_call_is_open_and_it_is_current(calls: CallPane) -> None:
    calls.load(deep_run())
    assert current(calls) == "ask"
    assert "ask" in visible(calls)


def test_go_to_card_by_click_and_by_key(calls: CallPane) -> None:
    asked: list[str] = []
    calls.go_to_card.connect(asked.append)
    calls.load(deep_run())
    view = calls.view
    cell = view.visualRect(view.currentIndex().siblingAtColumn(STATE))
    link = view._painter.link_rect(cell, calls.model, calls.model.node(view.currentIndex()))
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=link.center())
    view.setFocus()
    press(view, Qt.Key.Key_Return)
    assert asked == ["0/0/0/0/0/0"] * 2
    QTest.mouseClick(
        view.viewport(), Qt.MouseButton.LeftButton, pos=cell.topLeft() + (link.topLeft() - cell.topLeft()) / 4
    )
    assert len(asked) == 2


def test_levels(calls: CallPane) -> None:
    calls.load(deep_run())
    levels = next(item for item in calls.findChildren(Segments) if item.count() == 4)
    levels.setCurrentIndex(0)
    assert visible(calls) == ["top"]
    levels.setCurrentIndex(1)
    assert len(visible(calls)) == 12
    levels.setCurrentIndex(3)
    assert len(visible(calls)) == len(calls.model.calls)


def test_a_click_on_the_arrow_opens_and_closes(calls: CallPane) -> None:
    calls.load(deep_run())
    view = calls.view
    top = calls.model.index(0, 0)
    spot = view._painter.toggle_rect(view.visualRect(top), calls.model, calls.model.node(top)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    assert not view.isExpanded(top)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    assert view.isExpanded(top)


def test_arrow_keys_open_and_close(calls: CallPane) -> None:
    calls.load(deep_run())
    calls.view.show_number(2)
    calls.view.setFocus()
    press(calls.view, Qt.Key.Key_Left)
    assert visible(calls) == ["top"]
    press(calls.view, Qt.Key.Key_Right)
    assert len(visible(calls)) > 1


def test_find_opens_closed_parents_and_goes_round(calls: CallPane, qtbot: QtBot) -> None:
    calls.load(deep_run())
    next(item for item in calls.findChildren(Segments) if item.count() == 4).setCurrentIndex(0)
    calls.view.setFocus()
    press(calls.view, "f")
    assert find_field(calls).hasFocus()
    press(calls, "level")
    assert current(calls) == "level1"
    seen = [current(calls)]
    for _ in range(5):
        press(calls, Qt.Key.Key_Return)
        seen.append(current(calls))
    assert seen == ["level1", "level2", "level3", "level4", "level5", "level1"]
    assert "level5" in visible(calls)
    assert any(label.text() == "1 of 5" for label in calls.findChildren(PlainLabel))
    calls.view.setFocus()
    press(calls.view, "n")
    assert current(calls) == "level2"
    press(calls.view, "n", modifier=Qt.KeyboardModifier.ShiftModifier)
    assert current(calls) == "level1"


def test_nothing_found_is_said(calls: CallPane) -> None:
    calls.load(deep_run())
    find_field(calls).setText("no such call")
    assert any(label.text() == "Nothing found" for label in calls.findChildren(PlainLabel))
    assert current(calls) == "ask"


def test_filters_count_and_show_only_their_kind(calls: CallPane) -> None:
    calls.load(deep_run())
    assert [chip(calls, word).accessibleName() for word in ("Errors", "Waiting", "Replayed")] == [
        "Errors 1",
        "Waiting 1",
        "Replayed 1",
    ]
    chip(calls, "Errors").click()
    assert visible(calls) == ["top", "bad"]
    chip(calls, "Replayed").click()
    assert visible(calls) == ["top", "bad", "old"]
    find_field(calls).setText("work3")
    assert current(calls) == "work3"
    assert not chip(calls, "Errors").isChecked()


def test_new_calls_leave_the_place_and_the_choice_alone(calls: CallPane, qtbot: QtBot) -> None:
    first = [call("", parent=None, name="top", state="running", seconds=None)]
    calls.load(first + [call(str(at * 2), name=f"n{at}") for at in range(100)])
    number = calls.model.calls.number("100")
    assert number is not None
    calls.view.show_number(number)
    calls.view.verticalScrollBar().setValue(40)
    where = calls.view.visualRect(calls.view.currentIndex()).y()
    calls.apply([call(str(at * 2 + 1), name=f"new{at}", state="running", seconds=None) for at in range(30)])
    qtbot.waitUntil(lambda: len(calls.model.calls) == 131)
    assert current(calls) == "n50"
    assert calls.view.visualRect(calls.view.currentIndex()).y() == where
    assert "new3" in visible(calls)


def test_many_changes_are_taken_over_at_once(calls: CallPane, qtbot: QtBot) -> None:
    calls.load([call("", parent=None, state="running", seconds=None)])
    batches: list[int] = []
    calls.count_changed.connect(batches.append)
    for at in range(200):
        calls.apply([call(str(at), state="running", seconds=None)])
        calls.apply([call(str(at), state="ok")])
    qtbot.waitUntil(lambda: len(calls.model.calls) == 201)
    assert batches == [201]
    assert {calls.model.calls.call(number).state for number in calls.model.calls.walk()} == {"running", "ok"}


def test_the_selected_call_shows_its_values_below(calls: CallPane) -> None:
    calls.load(deep_run())
    value = calls.findChild(PayloadView)
    assert isinstance(value, PayloadView)
    assert '"question":' in value.text()
    calls.show_call("9")
    assert "it <b>broke</b>" in value.text()
    calls.show_call("3")
    assert value.text().split() == ['"n":', "3"]


def test_a_value_that_was_too_large_is_said_to_be(calls: CallPane) -> None:
    calls.load([call("", parent=None, output_size=88_000, input={"a": 1}, input_size=8)])
    assert any("88 KB, too large" in label.text() for label in calls.findChildren(PlainLabel))


def test_clock_skew_is_told(calls: CallPane) -> None:
    calls.load([call("", parent=None, started_at=NOW - 400), call("0", name="early", started_at=NOW - 712)])
    told = [label.text() for label in calls.findChildren(PlainLabel) if "clock" in label.text() and label.isVisible()]
    assert told == ["The clock of early is 5m 12s behind its parent. Raw times are shown, nothing was moved."]


def test_everything_draws_in_any_width(calls: CallPane) -> None:
    broken = [call("o", parent="gone"), call("c", parent="c"), call("9", name="other")]
    calls.load(deep_run() + broken)
    for width in (300, 440, 640, 1200):
        calls.resize(width, 500)
        assert not calls.grab().isNull()


def test_every_control_has_a_name(calls: CallPane) -> None:
    calls.load(deep_run())
    for widget in [*calls.findChildren(QAbstractButton), *calls.findChildren(QLineEdit), calls.view]:
        assert widget.accessibleName()


def test_a_very_deep_tree_opens(calls: CallPane) -> None:
    chain = [call("", parent=None, name="top")] + [
        call(f"d{at}", parent=f"d{at - 1}" if at else "", name=f"n{at}") for at in range(1500)
    ]
    chain.append(call("ask", parent="d1499", name="ask", kind="input", state="waiting", seconds=None))
    calls.load(chain)
    assert current(calls) == "ask"
    assert not calls.grab().isNull()


def test_a_tree_that_was_loaded_out_of_sight_begins_with_its_root(theme: Theme, qtbot: QtBot) -> None:
    pane = CallPane(theme, clock=lambda: NOW)
    qtbot.addWidget(pane)
    pane.resize(900, 10)
    pane.load(deep_run())
    pane.resize(900, 460)
    pane.show()
    assert pane.view.verticalScrollBar().maximum() > 0
    assert pane.view.verticalScrollBar().value() == 0
    assert current(pane) == "ask"


@pytest.mark.parametrize("width", [140, 264])
def test_a_folded_wait_is_named_in_the_head(theme: Theme, qtbot: QtBot, width: int) -> None:
    """Also where ticks would take its room: it is the one word the bars cannot be read without."""
    pane = CallPane(theme, clock=lambda: NOW)
    qtbot.addWidget(pane)
    start = NOW - 300
    pane.load(
        [
            call("", parent=None, name="top", state="running", started_at=start, seconds=None),
            call("0", name="work", started_at=start, seconds=0.03),
            call("1", name="ask", kind="input", state="waiting", started_at=start + 0.03, seconds=None),
        ]
    )
    head = pane.view.header()
    assert isinstance(head, CallHeader)
    words = head.tick_words(QRect(500, 0, width, 28), pane.model)
    assert "wait folded" in [word for _, word in words]
    spots = sorted((x, x + theme.metrics("label").horizontalAdvance(word)) for x, word in words)
    assert spots[0][0] >= 500
    assert spots[-1][1] <= 500 + width
    assert all(first[1] < second[0] for first, second in pairwise(spots))


def test_a_low_pane_keeps_the_tree_and_gives_up_the_values(calls: CallPane, qtbot: QtBot) -> None:
    calls.load(deep_run())
    values = calls.findChild(PayloadView)
    assert values is not None
    assert values.isVisible()
    values.setFocus()
    calls.resize(900, 160)
    assert not values.isVisible()
    assert calls.view.hasFocus()
    qtbot.waitUntil(lambda: calls.view.viewport().height() >= 2 * ROW_TREE)
    calls.resize(900, 600)
    assert values.isVisible()


def test_a_low_pane_shows_the_values_in_place_of_the_tree_and_leads_back(calls: CallPane, qtbot: QtBot) -> None:
    calls.resize(900, 200)
    calls.load(deep_run())
    values = calls.findChild(PayloadView)
    assert values is not None
    calls.show_call("3")
    calls.view.setFocus()
    press(calls, Qt.Key.Key_Return)
    assert values.isVisible()
    assert not calls.view.isVisible()
    focused = calls.focusWidget()
    assert focused is not None
    assert focused.isVisible()
    press(calls, Qt.Key.Key_Escape)
    assert calls.view.hasFocus()
    assert calls.view.isVisible()
    assert not values.isVisible()
    assert current(calls) == "work3"
    qtbot.waitUntil(lambda: calls.view.viewport().height() >= 2 * ROW_TREE)
    calls.show_call("3")
    rect = calls.view.visualRect(calls.view.currentIndex())
    QTest.mouseClick(calls.view.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    QTest.mouseDClick(calls.view.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    assert values.isVisible()
    button(calls, "Back to the tree").click()
    assert calls.view.hasFocus()
    button(calls, "Show input and output").setFocus()
    press(calls, Qt.Key.Key_Space)
    assert values.isVisible()
    calls.view.setFocus()
    assert calls.view.isVisible()
    press(calls, Qt.Key.Key_Return, "f")
    assert find_field(calls).hasFocus()
    assert find_field(calls).isVisible()


def test_a_pane_that_grows_shows_both_again(calls: CallPane) -> None:
    calls.resize(900, 200)
    calls.load(deep_run())
    calls.show_call("3")
    calls.view.setFocus()
    press(calls, Qt.Key.Key_Return)
    assert not calls.view.isVisible()
    button(calls, "Back to the tree").setFocus()
    calls.resize(900, 600)
    assert calls.view.isVisible()
    assert calls.view.hasFocus()
    assert not any(
        item.text() == "Back to the tree" for item in calls.findChildren(QAbstractButton) if item.isVisible()
    )


def button(pane: CallPane, word: str) -> QAbstractButton:
    return next(item for item in pane.findChildren(QAbstractButton) if item.text() == word and item.isVisible())
