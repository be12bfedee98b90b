"""Editing one field changes one field; everything else is sent digit for digit as it was asked."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from inbox_app.cards.edits import EditPanel, FieldRow
from inbox_app.gateway import values
from inbox_app.gateway.base import Pause
from inbox_app.state.drafts import Draft
from inbox_app.widgets.check_box import CheckBox
from inbox_app.widgets.segments import Segments
from inbox_app.widgets.text_area import TextArea
from tests.gui.cards.conftest import Bench
from tests.gui.cards.test_cards import VALUES
from tests.support.builders import pause

PAYLOAD = (
    '{"n": 3, "ok": false, "items": [1, "1", 2.50], "when": null, "x": 1.50, "big": 3544790567247868102,'
    ' "text": "return for prod\\u200buction unit", "long": "one\\ntwo", "deep": {"a": [1e400, -0]}}'
)


def editable(text: str = PAYLOAD, **changes: object) -> Pause:
    return pause(id="p", kind="approval", allow_edits=True, context=values.parse(text), has_context=True, **changes)  # pyright: ignore[reportArgumentType]


def panel(bench: Bench) -> EditPanel:
    found = bench.pane.findChild(EditPanel)
    assert isinstance(found, EditPanel)
    return found


def row(bench: Bench, key: str) -> FieldRow:
    return next(item for item in panel(bench).findChildren(FieldRow) if item._key == key)


def line(bench: Bench, key: str) -> QLineEdit:
    found = row(bench, key).findChild(QLineEdit)
    assert isinstance(found, QLineEdit)
    return found


def views(bench: Bench) -> Segments:
    return next(item for item in bench.pane.findChildren(Segments) if item.tabText(1) == "JSON")


def json_area(bench: Bench) -> TextArea:
    return next(item for item in panel(bench).findChildren(TextArea) if item.accessibleName() == "Payload as JSON")


def answer(bench: Bench) -> None:
    bench.press("y")
    bench.time += 5
    bench.send()


def expected(key: str, text: str) -> str:
    return values.canonical({**values.parse(PAYLOAD), key: values.parse(text)})


def test_nothing_edited_sends_no_edits(bench: Bench) -> None:
    bench.show(editable())
    bench.wake()
    bench.press("e")
    answer(bench)
    assert [(wish.value, wish.has_edits, wish.edits) for wish in bench.wishes] == [("yes", False, None)]


@pytest.mark.parametrize(
    ("key", "typed", "as_json"), [("n", "4", "4"), ("x", "95.00", "95.00"), ("big", "7", "7"), ("x", "-1e9", "-1e9")]
)
def test_one_number_changes_and_the_rest_keeps_its_digits(bench: Bench, key: str, typed: str, as_json: str) -> None:
    bench.show(editable())
    bench.wake()
    bench.press("e")
    line(bench, key).setFocus()
    line(bench, key).selectAll()
    bench.press(typed)
    bench.pane.focus_home()
    answer(bench)
    assert [wish.has_edits for wish in bench.wishes] == [True]
    assert values.canonical(bench.wishes[0].edits) == expected(key, as_json)


def test_text_stays_text_even_if_it_looks_like_something_else(bench: Bench) -> None:
    bench.show(editable())
    bench.wake()
    line(bench, "text").setText("null")
    answer(bench)
    assert values.canonical(bench.wishes[0].edits) == expected("text", '"null"')


def test_text_of_several_lines_keeps_them(bench: Bench) -> None:
    bench.show(editable())
    bench.wake()
    area = row(bench, "long").findChild(TextArea)
    assert isinstance(area, TextArea)
    area.insertPlainText("zero\n")
    answer(bench)
    assert values.canonical(bench.wishes[0].edits) == expected("long", '"zero\\none\\ntwo"')


def test_a_yes_or_no_field_is_ticked(bench: Bench) -> None:
    bench.show(editable())
    bench.wake()
    bench.press("e")
    tick = row(bench, "ok").findChild(CheckBox)
    assert isinstance(tick, CheckBox)
    QTest.mouseClick(tick, Qt.MouseButton.LeftButton)
    answer(bench)
    assert values.canonical(bench.wishes[0].edits) == expected("ok", "true")


@pytest.mark.parametrize("typed", ["", "abc", "1,5", "NaN", "0x10", "true"])
def test_a_number_field_takes_numbers_only(bench: Bench, typed: str) -> None:
    bench.show(editable())
    bench.wake()
    line(bench, "x").setText(typed)
    answer(bench)
    assert bench.wishes == []
    assert panel(bench).problem() == "x is not a number"


def test_an_edit_taken_back_is_no_edit(bench: Bench) -> None:
    bench.show(editable())
    bench.wake()
    line(bench, "x").setText("2")
    line(bench, "x").setText("1.50")
    answer(bench)
    assert [wish.has_edits for wish in bench.wishes] == [False]


def test_the_json_view_can_change_anything(bench: Bench) -> None:
    bench.show(editable())
    bench.wake()
    bench.press("e")
    views(bench).setCurrentIndex(1)
    json_area(bench).set_text('{"n": 3, "new": [1.0]}')
    answer(bench)
    assert values.canonical(bench.wishes[0].edits) == '{"n":3,"new":[1.0]}'
    assert views(bench).currentIndex() == 1
    views(bench).setCurrentIndex(0)
    assert views(bench).currentIndex() == 1


def test_an_empty_object_is_an_edit(bench: Bench) -> None:
    bench.show(editable())
    bench.wake()
    views(bench).setCurrentIndex(1)
    json_area(bench).set_text("{}")
    answer(bench)
    assert [(wish.has_edits, wish.edits) for wish in bench.wishes] == [(True, {})]


@pytest.mark.parametrize("text", ["{", '{"a": 1, "a": 2}', "[1,]", "NaN", ""])
def test_broken_json_is_not_sent(bench: Bench, text: str) -> None:
    bench.show(editable())
    bench.wake()
    views(bench).setCurrentIndex(1)
    json_area(bench).set_text(text)
    answer(bench)
    assert bench.wishes == []


@pytest.mark.parametrize("text", VALUES)
def test_form_and_json_show_the_same_value(bench: Bench, text: str) -> None:
    payload = f'{{"other": 1, "value": {text}}}'
    bench.show(editable(payload))
    bench.wake()
    views(bench).setCurrentIndex(1)
    assert values.canonical(values.parse(json_area(bench).text())) == values.canonical(values.parse(payload))
    views(bench).setCurrentIndex(0)
    assert views(bench).currentIndex() == 0
    line(bench, "other").setText("2")
    answer(bench)
    assert values.canonical(bench.wishes[0].edits) == values.canonical(values.parse(payload.replace("1", "2", 1)))


@pytest.mark.parametrize("text", ["[1, 2.50]", '"words"', "7", "{}"])
def test_what_is_no_object_is_edited_as_json(bench: Bench, text: str) -> None:
    bench.show(editable(text))
    bench.wake()
    assert not views(bench).isTabVisible(0)
    json_area(bench).set_text("[3.0]")
    answer(bench)
    assert values.canonical(bench.wishes[0].edits) == "[3.0]"


@pytest.mark.parametrize("edits", ['{"n": 4', PAYLOAD.replace("1.50", "95.00"), '{"n": 1}'])
def test_a_draft_of_an_edit_comes_back(bench: Bench, edits: str) -> None:
    bench.show(editable(), Draft("p", "f" * 64, edits=edits))
    bench.wake()
    answer(bench)
    if edits.endswith("}"):
        assert values.canonical(bench.wishes[0].edits) == values.canonical(values.parse(edits))
    else:
        assert bench.wishes == []
        assert json_area(bench).text() == edits


def test_an_edit_is_kept_as_a_draft_and_reverted_away(bench: Bench) -> None:
    bench.show(editable())
    bench.wake()
    line(bench, "n").setText("4")
    kept = bench.drafts[-1].edits
    assert kept is not None
    assert values.canonical(values.parse(kept)) == expected("n", "4")
    panel(bench)._revert.click()
    assert bench.drafts[-1].edits is None
    answer(bench)
    assert [wish.has_edits for wish in bench.wishes] == [False]


def test_the_card_shows_the_payload_as_it_will_be_sent(bench: Bench) -> None:
    bench.show(editable())
    bench.wake()
    line(bench, "x").setText("95.00")
    payload = bench.pane._card_page._payload
    assert payload is not None
    assert "95.00" in payload.view.text()
    assert "1.50" not in payload.view.text()


@pytest.mark.parametrize("changes", [{"allow_edits": False}, {"eligible": False}])
def test_without_leave_there_is_no_editing(bench: Bench, changes: dict[str, bool]) -> None:
    asked = pause(context={"n": 1}, **{"allow_edits": True, **changes})  # pyright: ignore[reportArgumentType]
    bench.show(asked)
    bench.time += 1
    bench.qtbot.wait(100)
    bench.pane.show_tab("payload")
    assert not panel(bench).isVisible()
