"""The way of the keyboard through the reading pane: into the card, along its parts, to the bar."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from inbox_app.widgets.option_row import OptionRow
from inbox_app.widgets.tab_strip import TabStrip
from tests.gui.cards.conftest import Bench
from tests.gui.cards.test_cards import KINDS, choice
from tests.gui.cards.test_edits import editable, line
from tests.support.builders import detail, pause, run


def tour(bench: Bench, key: Qt.Key = Qt.Key.Key_Tab) -> list[QWidget]:
    """What Tab reaches from the head on until it leaves the pane."""
    bench.pane.focus_home()
    found: list[QWidget] = []
    for _ in range(60):
        bench.press(key)
        assert bench.focus is not None
        if not bench.pane.isAncestorOf(bench.focus) or bench.focus in found:
            break
        found.append(bench.focus)
    return found


def assert_downwards(bench: Bench, stops: list[QWidget]) -> None:
    bar = bench.pane.bar
    body = [stop for stop in stops if not bar.isAncestorOf(stop)]
    assert stops[: len(body)] == body
    heights = [stop.mapTo(bench.pane, QPoint(0, stop.height() // 2)).y() for stop in body]
    assert heights == sorted(heights)
    sides = [stop.x() for stop in stops[len(body) :]]
    assert sides == sorted(sides)


@pytest.mark.parametrize("kind", KINDS)
def test_tab_goes_down_the_card_and_ends_at_the_bar(bench: Bench, kind: str) -> None:
    bench.window.resize(900, 2000)
    bench.show(KINDS[kind])
    bench.wake()
    bench.qtbot.wait(20)
    assert_downwards(bench, tour(bench))


def test_tab_reaches_send_on_a_card_that_is_complete(bench: Bench) -> None:
    bench.show(choice("a", "b"))
    bench.wake()
    bench.press("1")
    assert tour(bench)[-1] is bench.pane.bar._send


def test_tab_goes_down_the_form_also_after_reverting(bench: Bench) -> None:
    bench.window.resize(900, 1200)
    bench.show(editable())
    bench.wake()
    bench.press("y", "e")
    for _ in range(2):
        stops = tour(bench)
        assert_downwards(bench, stops)
        assert "n" in [stop.accessibleName() for stop in stops]
        line(bench, "n").setText("7")
        bench.pane._payload_page._panel._on_revert()
        bench.pane.focus_home()


def test_what_the_keyboard_reaches_is_in_view(bench: Bench) -> None:
    bench.show(choice(*range(30)))
    bench.wake()
    bench.pane.enter()
    view = bench.pane._card_page.viewport()

    def is_in_view(row: OptionRow) -> bool:
        return view.rect().contains(row.mapTo(view, row.rect().center()))

    for _ in range(29):
        bench.press(Qt.Key.Key_Down)
        row = bench.focus
        assert isinstance(row, OptionRow)
        bench.qtbot.waitUntil(lambda row=row: is_in_view(row))
    bench.press("1")
    first = bench.pane.findChildren(OptionRow)[0]
    bench.qtbot.waitUntil(lambda: is_in_view(first))


def test_entering_a_card_shows_where_the_keyboard_is_and_picks_nothing(bench: Bench) -> None:
    bench.show(choice("a", "b"))
    bench.wake()
    bench.pane.enter()
    row = bench.focus
    assert isinstance(row, OptionRow)
    assert row._ring
    assert not any(item.isChecked() for item in bench.pane.findChildren(OptionRow))
    assert bench.drafts == []


def test_the_ring_goes_with_the_pick_while_the_keyboard_is_in_the_options(bench: Bench) -> None:
    bench.show(choice("a", "b", "c"))
    bench.wake()
    rows = bench.pane.findChildren(OptionRow)
    bench.press("3")
    assert not any(row.hasFocus() for row in rows)
    bench.pane.enter()
    assert rows[2].hasFocus()
    bench.press("2")
    assert rows[1].hasFocus()
    assert rows[1]._ring
    assert [row.isChecked() for row in rows] == [False, True, False]


def test_entering_a_text_card_puts_the_caret_into_its_field(bench: Bench) -> None:
    bench.show(pause(input_type="text"))
    bench.wake()
    bench.pane.enter()
    bench.press("yes, y and n")
    field = bench.focus
    assert isinstance(field, QPlainTextEdit)
    assert field.toPlainText() == "yes, y and n"


def test_entering_what_cannot_be_answered_leaves_the_keys_to_the_commands(bench: Bench) -> None:
    bench.show(pause(input_type="text", eligible=False, reason="Not yours."))
    bench.pane.enter()
    assert isinstance(bench.focus, TabStrip)
    assert bench.focus._ring
    bench.pane.show_run(detail(run()))
    bench.pane.enter()
    assert isinstance(bench.focus, TabStrip)
