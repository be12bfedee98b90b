"""Editing one field changes one field; everything else is sent digit for digit as it was asked."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QWidget

from inbox_app.cards.edits import EditPanel
from inbox_app.cards.field_row import FieldRow
from inbox_app.cards.payload_part import Payload
from inbox_app.gateway import schemas, values
from inbox_app.gateway.base import Pause
from inbox_app.state.drafts import Draft
from inbox_app.state.outbox import Outbox, Wish
from inbox_app.widgets.check_box import CheckBox
from inbox_app.widgets.plain_label import PlainLabel
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


def said(root: QWidget) -> list[str]:
    return [label.text() for label in root.findChildren(PlainLabel) if label.isVisible() and label.text()]


def sent_words(bench: Bench) -> str:
    part = next(item for item in panel(bench).findChildren(Payload))
    return " | ".join(said(part)) if part.isVisible() else ""


def test_a_field_shows_the_characters_that_do_not_show(bench: Bench) -> None:
    bench.show(editable())
    bench.press("e")
    assert "shown: return for prod⟨U+200B⟩uction unit" in said(row(bench, "text"))
    assert "Hidden 1" in said(row(bench, "text"))
    assert "1 hidden character in “text”" in said(panel(bench))
    link = next(item for item in panel(bench).findChildren(QAbstractButton) if item.text() == "Go to it")
    QTest.mouseClick(link, Qt.MouseButton.LeftButton)
    assert line(bench, "text").hasFocus()
    line(bench, "text").setText("return for production unit")
    assert not link.isVisible()
    assert "Edited" in said(row(bench, "text"))


def test_a_yes_or_no_field_says_what_it_is(bench: Bench) -> None:
    bench.show(editable())
    bench.press("e")
    box = row(bench, "ok").findChild(CheckBox)
    assert isinstance(box, CheckBox)
    assert box.text() == "false"
    box.click()
    assert box.text() == "true"
    assert "was false" in said(row(bench, "ok"))


def test_one_place_is_one_place(bench: Bench) -> None:
    bench.show(editable('{"a": 1.5, "b": 1.50}'))
    bench.press("e")
    assert "number, 1 place" in said(row(bench, "a"))
    assert "number, 2 places" in said(row(bench, "b"))


def test_a_number_of_many_digits_fits_its_field(bench: Bench) -> None:
    bench.show(editable('{"a": 3544790567247868102123}'))
    bench.press("e")
    field = line(bench, "a")
    assert field.fontMetrics().horizontalAdvance(field.text()) + 20 < field.width()


def test_what_is_wrong_is_marked_and_the_bar_leads_to_it(bench: Bench) -> None:
    bench.show(editable())
    bench.wake()
    bench.press("y", "e")
    line(bench, "n").setText("three")
    assert line(bench, "n").property("wrong")
    assert not line(bench, "x").property("wrong")
    assert "n is not a number" in said(row(bench, "n"))
    right = bench.pane.bar._right
    assert right.isVisible()
    assert right.text() == "Correct n to send"
    bench.pane.show_tab("card")
    right.setFocus()
    bench.press(Qt.Key.Key_Return)
    assert line(bench, "n").hasFocus()
    bench.pane.show_tab("card")
    QTest.mouseClick(right, Qt.MouseButton.LeftButton)
    assert line(bench, "n").hasFocus()
    line(bench, "n").setText("4")
    assert not line(bench, "n").property("wrong")
    assert not right.isVisible()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"n": 3, "x": 1.50}', None),
        ('{"n": 4, "x": 1.50}', "n: 4, was 3"),
        ('{"x": 1.50}', "n: left out, was 3"),
        ('{"n": 3, "x": 1.50, "more": [1]}', "more: [1], new"),
        ("7", 'The payload is now a number. It was {"n": 3, "x": 1.50}'),
        ("null", 'The payload is now empty (null). It was {"n": 3, "x": 1.50}'),
        ('{"n": 3, "x": 1.5}', "x: 1.5, was 1.50"),
    ],
)
def test_what_will_be_sent_is_shown_with_what_it_was(bench: Bench, text: str, says: str | None) -> None:
    bench.show(editable('{"n": 3, "x": 1.50}'))
    bench.press("e")
    views(bench).setCurrentIndex(1)
    json_area(bench).set_text(text)
    assert (says in sent_words(bench)) if says else not sent_words(bench)
    assert "Everything sent" not in [views(bench).tabText(at) for at in range(3)]
    bench.pane.show_tab("card")
    assert [label for label in said(bench.pane) if "was" in label or "new" in label] == ([says] if says else [])


SCHEMA = {
    "type": "object",
    "properties": {"n": {"maximum": 5}, "items": {"items": {"type": "number"}}, "text": {"minLength": 3}},
    "required": ["n"],
}


@pytest.fixture
def checked() -> None:
    """The check of schemas is loaded, as the window does in a thread."""
    schemas.load()


def test_an_edit_that_breaks_the_rules_of_the_question_is_said_at_its_field(bench: Bench, checked: None) -> None:
    bench.show(editable(schema=SCHEMA))
    bench.press("e")
    line(bench, "n").setFocus()
    bench.press(Qt.Key.Key_End, Qt.Key.Key_Backspace, "9")
    assert "9 is greater than the maximum of 5" in row(bench, "n").problem()
    assert row(bench, "text").problem() == ""
    answer(bench)
    assert bench.wishes == []
    line(bench, "n").setFocus()
    bench.press(Qt.Key.Key_End, Qt.Key.Key_Backspace, Qt.Key.Key_Backspace, "4")
    assert row(bench, "n").problem() == ""


def test_what_was_not_edited_is_not_judged(bench: Bench, checked: None) -> None:
    """Only an edit has to fit; the payload itself may break the rules and is then sent without edits."""
    bench.show(editable(schema={"properties": {"n": {"maximum": 1}}}))
    bench.press("e")
    assert panel(bench).problem() == ""


def test_a_broken_rule_in_the_json_is_said_below_it(bench: Bench, checked: None) -> None:
    bench.show(editable(schema=SCHEMA))
    bench.press("e")
    views(bench).setCurrentIndex(1)
    json_area(bench).setPlainText('{"text": "a"}')
    said = " ".join(label.text() for label in panel(bench).findChildren(PlainLabel) if label.isVisible())
    assert "'n' is a required property" in said or "minLength" in said or "too short" in said
    answer(bench)
    assert bench.wishes == []


def test_numbers_are_judged_as_they_are_written(bench: Bench, checked: None) -> None:
    bench.show(editable('{"x": 1.50}', schema=values.parse('{"properties": {"x": {"multipleOf": 0.1}}}')))
    bench.press("e")
    line(bench, "x").setFocus()
    bench.press(Qt.Key.Key_End, Qt.Key.Key_Backspace, Qt.Key.Key_Backspace, "30")
    assert row(bench, "x").problem() == ""


def test_an_edit_the_runtime_refuses_leads_back_to_its_field(bench: Bench) -> None:
    asked = editable(schema=SCHEMA)
    bench.show(asked, Draft("p", "f" * 64, pick=0, edits='{"n": 3}'))
    bench.wake()
    sent = Wish(asked, "yes", "Yes", {"n": 9}, True)
    outbox = Outbox(0)
    outbox.hold(sent, 0.0)
    outbox.due(1.0)
    refused = outbox.failed("p", "edits_invalid", "edits do not fit the schema of the question p: n: 9 is too much")
    bench.pane.set_outbox_state(refused)
    assert "n: 9 is too much" in bench.pane.bar._text.text()
    QTest.mouseClick(bench.pane.bar._right, Qt.MouseButton.LeftButton)
    said = [label.text() for label in panel(bench).findChildren(PlainLabel) if label.isVisible()]
    assert "n: 9 is too much" in said
    assert bench.pane.is_answerable


def test_a_text_that_breaks_the_rules_of_the_question_is_not_sent(bench: Bench, checked: None) -> None:
    bench.show(pause(id="p", input_type="text", schema={"pattern": "^[A-Z]{2}[0-9]+$"}))
    bench.wake()
    field = next(area for area in bench.pane.findChildren(TextArea) if area.isVisible())
    field.setFocus()
    bench.press("no")
    assert bench.pane.bar._send.text() == "Correct the answer to send"
    bench.send()
    assert bench.wishes == []
    field.setPlainText("AB12")
    bench.send()
    assert [wish.value for wish in bench.wishes] == ["AB12"]
