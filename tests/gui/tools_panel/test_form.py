"""The form of a JSON Schema: what it offers, what it sends, and that nothing is lost on the way through it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from inbox_app.gateway import schemas, values
from inbox_app.gateway.base import Json
from inbox_app.theme.theme import Theme
from inbox_app.tools_panel.form import SchemaForm
from inbox_app.widgets.plain_label import PlainLabel
from tests.support.drivers import controls

DIGITS = 3544790567247868102

ORDER: Json = {
    "type": "object",
    "required": ["id", "amount"],
    "properties": {
        "id": {"type": "integer", "description": "The order."},
        "amount": {"type": "number", "minimum": 0, "maximum": 500},
        "currency": {"enum": ["EUR", "USD"], "default": "EUR"},
        "note": {"type": ["string", "null"]},
        "notify": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "address": {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]},
        "payment": {
            "oneOf": [
                {"type": "object", "properties": {"by": {"const": "card"}, "last": {"type": "string"}}},
                {"type": "object", "properties": {"by": {"const": "bank"}, "iban": {"type": "string"}}},
            ]
        },
    },
}


@pytest.fixture(scope="session", autouse=True)
def check_is_there() -> None:
    schemas.load()


@pytest.fixture
def form(theme: Theme, qtbot: QtBot) -> SchemaForm:
    form = SchemaForm(theme)
    form.resize(720, 900)
    qtbot.addWidget(form)
    form.show()
    return form


def field(form: SchemaForm, name: str) -> Any:
    """What a screen reader calls so."""
    return next(widget for widget in form.findChildren(QWidget) if widget.accessibleName() == name and _shown(widget))


def _shown(widget: QWidget) -> bool:
    return widget.isVisible()


def focused() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


def press(form: SchemaForm, name: str) -> None:
    button = field(form, name)
    assert isinstance(button, QAbstractButton)
    button.click()


def type_into(form: SchemaForm, name: str, text: str) -> None:
    target = field(form, name)
    target.setFocus()
    QTest.keyClicks(target, text)


def problems(form: SchemaForm) -> dict[str, str]:
    return {wrong.spoken: wrong.problem for wrong in form.wrong()}


def test_a_schema_too_large_for_a_form_says_so_and_begins_with_a_value(form: SchemaForm) -> None:
    large: Json = {"type": "object", "properties": {f"f{at}": {"type": "string"} for at in range(1001)}}
    form.show_schema(large)
    assert form.value() == {}
    assert form.wrong() == []
    assert not form.shows_json
    said = "1001 fields are too many for a form. Write them as JSON."
    assert any(label.text() == said for label in form.findChildren(PlainLabel) if label.isVisible())
    form.put_text(form.text())
    assert not form.shows_json


def test_what_is_not_filled_in_is_not_sent(form: SchemaForm) -> None:
    form.show_schema(ORDER)
    assert form.value() == {}
    assert problems(form) == {}
    form.tell_missing()
    assert problems(form) == {"id": "is required", "amount": "is required"}


def test_typed_numbers_keep_their_digits(form: SchemaForm) -> None:
    form.show_schema(ORDER)
    type_into(form, "id", str(DIGITS))
    type_into(form, "amount", "0.10")
    assert values.compact(form.value()) == f'{{"id": {DIGITS}, "amount": 0.10}}'


def test_a_number_that_is_none_is_told_and_its_text_is_kept_as_json(form: SchemaForm) -> None:
    form.show_schema(ORDER)
    type_into(form, "amount", "12,5")
    with pytest.raises(values.BadJsonError, match="amount is not a number"):
        form.value()
    form.show_json()
    assert '"amount": 12,5' in form.text()
    assert not form.show_form()
    assert form.shows_json
    field(form, "Input as JSON").setPlainText('{"amount": 12.5}')
    assert form.show_form()
    assert field(form, "amount").text() == "12.5"


def test_what_breaks_the_schema_is_told_at_its_field(form: SchemaForm) -> None:
    form.show_schema(ORDER)
    form.set_value({"id": 1, "amount": 700, "address": {"street": 5}})
    assert problems(form) == {
        "amount": "700 is greater than the maximum of 500",
        "address › street": "5 should be string",
    }
    first = form.focus_problem()
    assert first is not None
    assert QApplication.focusWidget() is field(form, "amount")


def test_a_choice_sends_its_value_and_nothing_before_one_is_made(form: SchemaForm) -> None:
    form.show_schema(ORDER)
    box = field(form, "currency")
    assert isinstance(box, QComboBox)
    assert "EUR" in box.itemText(0)
    assert "default" in box.itemText(0)
    box.setCurrentIndex(2)
    assert form.value() == {"currency": "USD"}
    box.setCurrentIndex(0)
    assert form.value() == {}


def test_yes_no_has_three_states(form: SchemaForm) -> None:
    form.show_schema(ORDER)
    segments = field(form, "notify")
    for index, sent in ((1, {"notify": True}), (2, {"notify": False}), (0, {})):
        segments.setCurrentIndex(index)
        assert form.value() == sent


def test_an_empty_text_is_sent_only_when_asked_for(form: SchemaForm) -> None:
    form.show_schema({"properties": {"name": {"type": "string"}}})
    type_into(form, "name", "a")
    QTest.keyClick(field(form, "name"), Qt.Key.Key_Backspace)
    assert form.value() == {}
    press(form, "Send name as an empty text")
    assert form.value() == {"name": ""}
    press(form, "Leave name out")
    assert form.value() == {}


def test_null_is_one_of_several_things(form: SchemaForm) -> None:
    form.show_schema(ORDER)
    field(form, "note: what it is").setCurrentIndex(2)
    assert form.value() == {"note": None}
    field(form, "note: what it is").setCurrentIndex(1)
    type_into(form, "note", "x")
    assert form.value() == {"note": "x"}


def test_a_variant_is_told_apart_by_its_constant(form: SchemaForm) -> None:
    form.show_schema(ORDER)
    form.set_value({"payment": {"by": "bank", "iban": "DE1"}})
    box = field(form, "payment: what it is")
    assert box.currentText() == "bank"
    assert [box.itemText(at) for at in range(3)] == ["not sent", "card", "bank"]
    assert form.value() == {"payment": {"by": "bank", "iban": "DE1"}}


def test_items_are_added_moved_and_removed(form: SchemaForm) -> None:
    form.show_schema(ORDER)
    press(form, "Send tags")
    assert form.value() == {"tags": []}
    for word in "abc":
        press(form, "Add to tags")
        QTest.keyClicks(focused(), word)
    press(form, "Move tags 3 up")
    assert QApplication.focusWidget() is field(form, "Move tags 2 up")
    assert form.value() == {"tags": ["a", "c", "b"]}
    press(form, "Remove tags 1")
    assert form.value() == {"tags": ["c", "b"]}


def test_what_was_left_out_comes_back(form: SchemaForm) -> None:
    form.show_schema(ORDER)
    press(form, "Send address")
    type_into(form, "address › street", "Kade 1")
    press(form, "Leave address out")
    assert form.value() == {}
    press(form, "Send address")
    assert form.value() == {"address": {"street": "Kade 1"}}


def test_fields_of_any_name_can_be_added_but_not_twice(form: SchemaForm) -> None:
    form.show_schema({"type": "object", "additionalProperties": {"type": "integer"}})
    for number, name in enumerate(("a", "b"), 1):
        press(form, "Add a field")
        QTest.keyClicks(focused(), name)
        numbers = [line for line in form.findChildren(QLineEdit) if line.accessibleName() != "Name of the field"]
        QTest.keyClicks(numbers[-1], str(number))
    assert form.value() == {"a": 1, "b": 2}
    names = [line for line in form.findChildren(QLineEdit) if line.accessibleName() == "Name of the field"]
    names[1].setText("a")
    with pytest.raises(values.BadJsonError, match="twice"):
        form.value()


def test_a_schema_that_contains_itself_grows_as_far_as_it_is_filled_in(form: SchemaForm) -> None:
    form.show_schema(
        {
            "$ref": "#/$defs/node",
            "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        }
    )
    assert form.value() == {}
    press(form, "Send next")
    press(form, "Send next › next")
    assert form.value() == {"next": {"next": {}}}
    deep: Json = {}
    for _ in range(40):
        deep = {"next": deep}
    form.set_value(deep)
    assert form.value() == deep


def test_hidden_characters_are_shown(form: SchemaForm) -> None:
    form.show_schema(ORDER)
    form.set_value({"tags": ["prod\u200buction"]})
    assert any("U+200B" in label.accessibleName() or "U+200B" in str(label.property("text")) for label in _labels(form))
    form.show_json()
    assert "\\u200b" in form.text()


def _labels(form: SchemaForm) -> list[QWidget]:
    return [widget for widget in form.findChildren(QWidget) if widget.isVisible() and widget.property("text")]


def test_every_control_has_a_name(form: SchemaForm) -> None:
    form.show_schema(ORDER)
    form.set_value({"tags": ["a", "b"], "address": {"street": "x"}, "more": [1], "payment": {"by": "card"}})
    nameless = [
        type(widget).__name__ for widget in controls(form) if widget.isVisible() and not widget.accessibleName()
    ]
    assert nameless == []


def test_typing_a_line_break_makes_a_text_of_two_lines(form: SchemaForm) -> None:
    form.show_schema({"properties": {"name": {"type": "string"}}})
    target = field(form, "name")
    assert isinstance(target, QPlainTextEdit)
    QTest.keyClicks(target, "a")
    QTest.keyClick(target, Qt.Key.Key_Return)
    QTest.keyClicks(target, "b")
    assert form.value() == {"name": "a\nb"}


# Whatever the schema says and whatever is put in: what comes out is the same.

NAMES = st.sampled_from(["a", "b", "c d", "ü", "x\ny", ""])
TEXTS = st.text(max_size=6) | st.sampled_from(["a\r\nb", "\u2029", "\u200b", "\ud800", "\u00a0 ", "null", "\x00"])
NUMBERS = st.sampled_from(["0.1", "-0", "1.0", "1e400", "3544790567247868102", "12.500", "7"]).map(values.parse)
SCALARS = st.none() | st.booleans() | NUMBERS | st.integers() | TEXTS


def _containers(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)


ANY = st.recursive(SCALARS, _containers, max_leaves=6)


def _objects(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=3)},
        optional={
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
        },
    )


SIMPLE: list[Json] = [
    {"type": "string"},
    {"type": "string", "format": "date"},
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
    {"type": "null"},
    {"type": ["integer", "null"]},
    {"$ref": "#"},
    {"$ref": "#/nowhere"},
    {},
]


def _keyword(name: str, inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({name: inner})


def _compound(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return (
        _objects(inner)
        | st.fixed_dictionaries({"type": st.just("array"), "items": inner})
        | _keyword("oneOf", st.lists(inner, min_size=1, max_size=3))
        | _keyword("allOf", st.lists(inner, min_size=1, max_size=2))
    )


SCHEMAS = st.recursive(
    st.sampled_from(SIMPLE) | _keyword("enum", st.lists(SCALARS, min_size=1, max_size=3)) | _keyword("const", SCALARS),
    _compound,
    max_leaves=5,
)


SELF: Json = {"$ref": "#"}


@example(schema={"oneOf": [SELF]}, value=1)
@example(schema={"oneOf": [SELF, SELF, SELF]}, value={"a": 1})
@example(schema={"allOf": [SELF, SELF]}, value=None)
@example(schema={"type": "object", "properties": {"a": {"anyOf": [SELF, {"type": "null"}]}}}, value={"a": {"a": {}}})
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schema=SCHEMAS, value=ANY)
def test_every_value_goes_through_every_form_unchanged(theme: Theme, schema: Json, value: Json) -> None:
    form = SchemaForm(theme)
    form.show_schema(schema)
    try:
        form.set_value(value)
        assert values.canonical(form.value()) == values.canonical(value)
        form.show_json()
        assert values.canonical(values.parse(form.text())) == values.canonical(value)
        assert form.show_form()
        assert values.canonical(form.value()) == values.canonical(value)
        text = form.text()
        form.show_schema(schema)
        form.put_text(text)
        assert form.text() == text
    finally:
        form.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


KEYWORDS = [
    "type",
    "properties",
    "items",
    "enum",
    "oneOf",
    "anyOf",
    "allOf",
    "required",
    "default",
    "format",
    "title",
    "description",
    "additionalProperties",
    "maxLength",
    "$ref",
    "prefixItems",
]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schema=st.dictionaries(st.sampled_from(KEYWORDS), ANY | SCHEMAS, max_size=4), value=ANY)
def test_a_schema_that_is_none_makes_a_form_all_the_same(theme: Theme, schema: Json, value: Json) -> None:
    form = SchemaForm(theme)
    try:
        form.show_schema(schema)
        form.set_value(value)
        assert values.canonical(form.value()) == values.canonical(value)
    finally:
        form.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
