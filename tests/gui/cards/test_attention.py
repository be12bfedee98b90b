"""A call that was cut off: what is known of it, and the three ways to go on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from inbox_app.cards.attention import AttentionCard
from inbox_app.cards.choice import ChoiceCard
from inbox_app.cards.json_field import JsonField
from inbox_app.gateway import values
from inbox_app.gateway.base import CutOff
from inbox_app.state.drafts import Draft
from inbox_app.views.card_page import CardPage
from inbox_app.widgets.option_row import OptionRow
from inbox_app.widgets.payload_view import PayloadView
from inbox_app.widgets.plain_label import PlainLabel
from tests.gui.cards.conftest import Bench
from tests.gui.cards.test_cards import VALUES
from tests.support import scenes
from tests.support.builders import NOW, option, pause
from tests.support.drivers import controls


def field(bench: Bench) -> QPlainTextEdit:
    card = bench.pane.findChild(AttentionCard)
    assert isinstance(card, AttentionCard)
    found = card.findChild(QPlainTextEdit)
    assert isinstance(found, QPlainTextEdit)
    return found


def shown(bench: Bench) -> str:
    return " | ".join(label.text() for label in bench.pane.findChildren(PlainLabel) if label.isVisible())


def open_card(bench: Bench, draft: Draft | None = None) -> None:
    bench.show(scenes.attention(), draft)
    bench.wake()
    bench.read_all()


def test_the_card_tells_which_call_it_was_and_that_it_may_have_run(bench: Bench) -> None:
    open_card(bench)
    text = shown(bench)
    for part in ("charge_card", "Tool", "Began", "It may have run", "Run it again", "Let the call fail", "Use this"):
        assert part in text
    view = next(view for view in bench.pane.findChildren(PayloadView) if view.isVisible())
    assert '"customer"' in view.text()
    assert "Parameters of the call" in text


@pytest.mark.parametrize(("key", "value"), [("1", "run-again"), ("2", "fail")])
def test_the_two_ways_without_a_result(bench: Bench, key: str, value: str) -> None:
    open_card(bench)
    bench.press(key)
    assert not field(bench).isVisible()
    bench.send()
    assert [wish.value for wish in bench.wishes] == [value]


@pytest.mark.parametrize("text", VALUES)
def test_a_typed_result_keeps_its_type_and_digits(bench: Bench, text: str) -> None:
    open_card(bench)
    bench.press("3")
    assert field(bench).hasFocus()
    field(bench).insertPlainText(text)
    bench.read_all()
    bench.send()
    assert [values.canonical(wish.value) for wish in bench.wishes] == [
        values.canonical({"use_result": values.parse(text)})
    ]


def test_the_result_of_a_subagent_is_a_text(bench: Bench) -> None:
    call = scenes.attention().cut_off
    assert call is not None
    bench.show(replace(scenes.attention(), cut_off=replace(call, kind="subagent")), None)
    bench.wake()
    bench.read_all()
    bench.press("3")
    assert field(bench).placeholderText() == 'The text of its answer, in quotes: "done"'
    field(bench).insertPlainText('{"done": true}')
    bench.send()
    assert bench.wishes == []
    field(bench).setPlainText('"Looks fine."')
    bench.send()
    assert [wish.value for wish in bench.wishes] == [{"use_result": "Looks fine."}]


def test_a_pasted_result_is_taken_as_it_is(bench: Bench) -> None:
    open_card(bench)
    bench.press("3")
    QApplication.clipboard().setText('{\n  "receipt": 9007199254740993,\n  "charged": 120.00\n}')
    bench.press(Qt.Key.Key_V, modifier=Qt.KeyboardModifier.ControlModifier)
    bench.read_all()
    assert "object, 2 fields" in shown(bench)
    bench.send()
    assert values.compact(bench.wishes[0].value) == '{"use_result": {"receipt": 9007199254740993, "charged": 120.00}}'


def test_bad_json_is_not_sent_and_its_place_is_named_and_marked(bench: Bench) -> None:
    open_card(bench)
    bench.press("3", '{"a": 1,', Qt.Key.Key_Return, '"b": }')
    assert "(line 2, column 6)" in shown(bench)
    marks = field(bench).extraSelections()
    assert [mark.cursor.selectedText() for mark in marks] == ["}"]
    assert "Correct the JSON to send" in [
        button.text() for button in bench.pane.bar.findChildren(type(bench.pane.bar._send))
    ]
    bench.send()
    assert bench.wishes == []
    bench.press(Qt.Key.Key_Backspace, "2}")
    assert field(bench).extraSelections() == []
    bench.read_all()
    bench.send()
    assert len(bench.wishes) == 1


def test_the_place_of_an_error_is_right_after_characters_beyond_the_basic_plane(bench: Bench) -> None:
    open_card(bench)
    bench.press("3")
    field(bench).setPlainText('["🙂🙂", nope]')
    assert [mark.cursor.selectedText() for mark in field(bench).extraSelections()] == ["nope]"]


def test_without_a_result_nothing_is_sent(bench: Bench) -> None:
    open_card(bench)
    bench.press("3")
    bench.send()
    assert bench.wishes == []
    bench.press(" ")
    bench.send()
    assert bench.wishes == []
    assert "Write the result to send" in bench.pane.bar._send.text()


def test_what_was_typed_stays_when_another_way_is_looked_at(bench: Bench) -> None:
    open_card(bench)
    bench.press("3", '"kept"')
    bench.pane.leave()
    bench.press("1")
    assert not field(bench).isVisible()
    bench.press("3")
    assert field(bench).toPlainText() == '"kept"'


def test_a_draft_comes_back_with_its_text_and_is_no_change(bench: Bench) -> None:
    asked = scenes.attention()
    open_card(bench, Draft(asked.id, asked.fingerprint, pick=2, text='{"id": 7}'))
    assert bench.drafts == []
    assert field(bench).toPlainText() == '{"id": 7}'
    assert not field(bench).hasFocus()
    bench.send()
    assert [wish.value for wish in bench.wishes] == [{"use_result": {"id": 7}}]


def test_keys_typed_into_the_result_are_no_commands(bench: Bench) -> None:
    open_card(bench)
    bench.press("3", "12yzj")
    assert field(bench).toPlainText() == "12yzj"
    assert [row.isChecked() for row in bench.pane.findChildren(OptionRow)] == [False, False, True]


def test_a_closed_card_can_be_read_but_not_changed(bench: Bench) -> None:
    open_card(bench)
    bench.press("3", '"half"')
    bench.pane.close_pause(None)
    assert field(bench).isReadOnly()
    bench.press("x")
    bench.pane.leave()
    bench.press("1")
    assert field(bench).toPlainText() == '"half"'
    assert bench.pane.bar._text.text().endswith("Your text is kept under History")


def test_tab_reaches_the_ways_then_the_result_then_the_reason(bench: Bench) -> None:
    open_card(bench)
    bench.press("3")
    names: list[str] = []
    bench.pane.focus_home()
    for _ in range(9):
        bench.press(Qt.Key.Key_Tab)
        names.append(bench.focus.accessibleName() if bench.focus is not None else "")
    expected = ["Use this result", "Result of the call, as JSON", "Reason, sent to the agent and kept in the record"]
    places = [names.index(name) for name in expected]
    assert places == sorted(places)
    assert all(item.accessibleName() for item in controls(bench.pane) if item.isVisible())


def test_a_run_that_cannot_go_on_offers_to_try_again(bench: Bench) -> None:
    """The attention of a stuck run is about no call: there is no result to give."""
    bench.show(
        pause(
            kind="attention",
            input_type="choice",
            question="refund cannot go on: its tool is not there any more",
            options=[option("run-again", "Try again", "Goes on where the run stopped")],
            context={"tool": "refund", "repository": "desk", "params": {}},
        )
    )
    bench.wake()
    assert bench.pane.findChild(ChoiceCard) is not None
    assert "Try again" in shown(bench)
    bench.press("1")
    bench.read_all()
    bench.send()
    assert [wish.value for wish in bench.wishes] == ["run-again"]


def test_a_call_without_a_name_or_time_is_still_shown(bench: Bench) -> None:
    asked = scenes.attention()
    assert asked.cut_off is not None
    bench.show(replace(asked, cut_off=replace(asked.cut_off, name="", began_at=None, kind="odd", params=None)))
    text = shown(bench)
    assert "No name" in text
    assert "unknown" in text


def test_the_field_for_the_result_comes_into_view_whole(bench: Bench) -> None:
    bench.window.resize(900, 480)
    asked = pause(
        1,
        kind="attention",
        options=[option("again", "Run it again", "x " * 300), option("fail", "Fail it", "y " * 300)],
        cut_off=CutOff("tool", "pay", NOW),
    )
    bench.show(asked)
    bench.wake()
    bench.pane.pick(3)
    page, field = bench.pane.findChild(CardPage), bench.pane.findChild(JsonField)
    assert isinstance(page, CardPage)
    assert isinstance(field, JsonField)

    def in_view() -> bool:
        top = field.mapTo(page.viewport(), QPoint(0, 0)).y()
        return field.height() > 0 and top >= 0 and top + field.height() <= page.viewport().height()

    bench.qtbot.waitUntil(in_view)
