"""Every card: nothing is picked by itself, values keep their types, and text from elsewhere stays text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QPlainTextEdit

from inbox_app.cards.choice import ChoiceCard
from inbox_app.cards.registry import card_class
from inbox_app.cards.text import TextCard
from inbox_app.cards.unknown import UnknownCard
from inbox_app.cards.yesno import YesNoCard
from inbox_app.gateway import values
from inbox_app.gateway.base import Pause
from inbox_app.state.drafts import Draft
from inbox_app.widgets.check_box import CheckBox
from inbox_app.widgets.option_row import OptionRow
from inbox_app.widgets.plain_label import PlainLabel
from tests.gui.cards.conftest import Bench
from tests.support.builders import option, pause

VALUES = [
    "false", "0", "-0", '""', "null", '"0"', '"false"', "[]", "{}", "true", "1", "1.0", "1.50", "1e3",
    "0.2345678901234568", "9007199254740993", "18446744073709551616", "1E400", "1e-400", '" "', '"é"', '"e\\u0301"',
    "[null]", '{"": 1}', '"\\ud800"',
]  # fmt: skip


def choice(*values_: Any, **changes: Any) -> Pause:
    options = [option(value, f"Option {at}") for at, value in enumerate(values_)]
    return pause(input_type="choice", options=options, **changes)


def unknown(**changes: Any) -> Pause:
    return pause(input_type="date-range", raw={"input_type": "date-range", "more": [1]}, **changes)


KINDS: dict[str, Pause] = {
    "choice": choice("a", "b", "c"),
    "recommended": pause(
        input_type="choice", options=[option("a", "A", recommended=True), option("b", "B", recommended=True)]
    ),
    "yesno": pause(),
    "text": pause(input_type="text"),
    "unknown": unknown(),
    "no options": pause(input_type="choice", options=[]),
    "edits": pause(kind="approval", allow_edits=True, context={"n": 1, "s": "x"}),
}


def rows(bench: Bench) -> list[OptionRow]:
    return bench.pane.findChildren(OptionRow)


def answer_field(bench: Bench) -> QPlainTextEdit:
    """The field of the card, shown or not."""
    card = bench.pane.findChild(TextCard) or bench.pane.findChild(UnknownCard)
    assert isinstance(card, TextCard | UnknownCard)
    field = card.findChild(QPlainTextEdit)
    assert isinstance(field, QPlainTextEdit)
    return field


def json_switch(bench: Bench) -> CheckBox:
    card = bench.pane.findChild(UnknownCard)
    assert isinstance(card, UnknownCard)
    switch = card.findChild(CheckBox)
    assert isinstance(switch, CheckBox)
    return switch


@pytest.mark.parametrize(
    ("question", "card"),
    [
        (choice(1), ChoiceCard),
        (pause(), YesNoCard),
        (pause(options=[option(True, "Do it")]), ChoiceCard),
        (pause(input_type="text"), TextCard),
        (pause(input_type="choice"), UnknownCard),
        (pause(input_type="choice", options=[]), UnknownCard),
        (pause(input_type="multi-choice", options=[option(1)]), UnknownCard),
        (pause(kind="attention", input_type="text"), UnknownCard),
    ],
)
def test_the_question_decides_the_card(question: Pause, card: type) -> None:
    assert card_class(question) is card


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_picked_or_sendable_by_itself(bench: Bench, kind: str) -> None:
    bench.show(KINDS[kind])
    bench.wake()
    assert not any(button.isChecked() for button in bench.pane.findChildren(OptionRow))
    bench.send()
    assert bench.wishes == []
    assert not bench.pane.can_send


@pytest.mark.parametrize("text", VALUES)
def test_a_choice_sends_its_own_value_with_its_type(bench: Bench, text: str) -> None:
    value = values.parse(text)
    bench.show(choice("other", value))
    bench.wake()
    bench.press("2")
    bench.send()
    assert [values.canonical(wish.value) for wish in bench.wishes] == [values.canonical(value)]
    assert type(bench.wishes[0].value) is type(value)


@pytest.mark.parametrize(("key", "value", "label"), [("Y", "yes", "Yes"), ("n", "no", "No")])
def test_yes_and_no_are_sent_as_words(bench: Bench, key: str, value: str, label: str) -> None:
    bench.show(pause())
    bench.wake()
    bench.press(key)
    bench.send()
    assert [(wish.value, wish.label) for wish in bench.wishes] == [(value, label)]


@pytest.mark.parametrize(
    "text", ["yes 1 2 n\n \n", "  padded  ", "a\tb", "\u00a0no-break\u00a0", "line\nline", "x\u200by", "🌍 é"]
)
def test_text_is_sent_exactly_as_typed(bench: Bench, text: str) -> None:
    bench.show(pause(input_type="text"))
    bench.wake()
    field = answer_field(bench)
    field.setFocus()
    for part in text:
        if part == "\n":
            bench.press(Qt.Key.Key_Return)
        elif part.isascii() and part.isprintable():
            bench.press(part)
        else:
            field.insertPlainText(part)
    bench.send()
    assert [wish.value for wish in bench.wishes] == [text]


@pytest.mark.parametrize("text", ["", " ", "\u00a0\u00a0", "\u200b", "\n\n \t"])
def test_blank_text_is_blocked_with_a_reason(bench: Bench, text: str) -> None:
    bench.show(pause(input_type="text"))
    bench.wake()
    answer_field(bench).insertPlainText(text)
    bench.send()
    assert bench.wishes == []
    assert any("write an answer" in button.text().lower() for button in bench.pane.bar.findChildren(QAbstractButton))


@pytest.mark.parametrize("text", VALUES)
@pytest.mark.parametrize("kind", ["unknown", "no options"])
def test_an_unknown_question_takes_a_typed_json_value_behind_a_switch(bench: Bench, kind: str, text: str) -> None:
    bench.show(KINDS[kind])
    bench.wake()
    field, switch = answer_field(bench), json_switch(bench)
    assert not field.isVisible()
    QTest.mouseClick(switch, Qt.MouseButton.LeftButton)
    field.insertPlainText(text)
    bench.send()
    assert [values.canonical(wish.value) for wish in bench.wishes] == [values.canonical(values.parse(text))]


@pytest.mark.parametrize("kind", ["unknown", "no options"])
def test_the_way_to_answer_an_unknown_question_is_the_first_thing_of_its_card(bench: Bench, kind: str) -> None:
    bench.show(replace(KINDS[kind], raw={f"k{at}": at for at in range(90)}))
    bench.wake()
    assert bench.pane.bar._send.text() == "Tick “Answer with a JSON value” to send"
    bench.pane.enter()
    assert bench.focus is json_switch(bench)
    bench.press(Qt.Key.Key_Space, '"2026-12-24"')
    assert answer_field(bench).toPlainText() == '"2026-12-24"'
    bench.time += 5
    bench.qtbot.wait(20)
    bench.read_all()
    bench.qtbot.waitUntil(lambda: bench.pane.can_send)
    assert bench.pane.bar._text.text().startswith("All read, wrote")
    bench.send()
    assert [wish.value for wish in bench.wishes] == ["2026-12-24"]


def test_labels_of_many_options_stand_in_one_line(bench: Bench) -> None:
    bench.show(choice(*range(12)))
    lefts = {row._name.mapTo(bench.pane, QPoint(0, 0)).x() for row in rows(bench)}
    assert len(lefts) == 1
    assert all(row.height() <= 40 for row in rows(bench))


@pytest.mark.parametrize("text", ["", "{", "NaN", "yes", '{"a":1,"a":2}', "1 2"])
def test_what_is_not_json_is_not_sent(bench: Bench, text: str) -> None:
    bench.show(unknown())
    bench.wake()
    field, switch = answer_field(bench), json_switch(bench)
    QTest.mouseClick(switch, Qt.MouseButton.LeftButton)
    field.insertPlainText(text)
    bench.send()
    assert bench.wishes == []


def test_options_that_look_alike_show_their_values(bench: Bench) -> None:
    bench.show(
        pause(
            input_type="choice",
            options=[option(1, "Same"), option(2, "same "), option(3, "Sa\u200bme"), option(4, "Other")],
        )
    )
    names = [row.accessibleName() for row in rows(bench)]
    assert names == ["Same 1", "same  2", "Sa⟨U+200B⟩me 3", "Other"]


@pytest.mark.parametrize("count", [1, 9, 10, 200])
def test_every_option_can_be_reached_and_picked(bench: Bench, count: int) -> None:
    bench.show(choice(*range(count)))
    bench.wake()
    last = rows(bench)[-1]
    rows(bench)[0].setFocus()
    for _ in range(count - 1):
        bench.press(Qt.Key.Key_Down)
    assert bench.focus is last
    bench.press(Qt.Key.Key_Space)
    assert last.isChecked()
    bench.read_all()
    bench.send()
    assert [wish.value for wish in bench.wishes] == [count - 1]


def test_a_click_anywhere_in_the_row_picks_and_a_second_one_keeps_it(bench: Bench) -> None:
    bench.show(choice("a", "b"))
    bench.wake()
    row = rows(bench)[1]
    for _ in range(2):
        QTest.mouseClick(row, Qt.MouseButton.LeftButton, pos=row.rect().bottomRight())
        assert row.isChecked()
    assert bench.wishes == []


def test_arrow_keys_move_without_picking(bench: Bench) -> None:
    bench.show(choice("a", "b", "c"))
    bench.wake()
    rows(bench)[0].setFocus()
    bench.press(Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Up)
    assert bench.focus is rows(bench)[1]
    assert not any(row.isChecked() for row in rows(bench))


HOSTILE = [
    "<b>x</b>",
    "&amp; R&D & Ops",
    '<img src="http://127.0.0.1:9/p">',
    "a < b && c > d",
    "rm ~/\u202ecod.x",
    "%s {0} {x}",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_elsewhere_is_shown_literally(bench: Bench, text: str) -> None:
    bench.show(
        pause(
            question=text,
            input_type="choice",
            options=[option(text, text, text)],
            path=(text, text),
            context={text: text},
        )
    )
    bench.wake()
    bench.press("1")
    shown = text.replace("\u202e", "⟨U+202E⟩")
    texts = [label.text() for label in bench.pane.findChildren(PlainLabel)]
    assert sum(shown in label for label in texts) >= 4
    assert any(shown in button.text() for button in bench.pane.bar.findChildren(QAbstractButton))
    bench.send()
    assert [wish.value for wish in bench.wishes] == [text]


def test_an_ampersand_in_a_label_makes_no_shortcut(bench: Bench) -> None:
    bench.show(pause(input_type="choice", options=[option(1, "R&Do it")]))
    bench.wake()
    bench.press("1")
    for button in bench.pane.findChildren(QAbstractButton):
        assert button.shortcut().isEmpty()
    bench.press("d", modifier=Qt.KeyboardModifier.AltModifier)
    assert bench.wishes == []


def test_a_reason_goes_along_as_a_note(bench: Bench) -> None:
    bench.show(pause())
    bench.wake()
    bench.press("n", "r")
    assert isinstance(bench.focus, QLineEdit)
    bench.press("wrong region 1y")
    bench.time += 5
    bench.send()
    assert [(wish.value, wish.note) for wish in bench.wishes] == [("no", "wrong region 1y")]


@pytest.mark.parametrize(
    ("question", "draft", "value"),
    [
        (choice("a", "b", id="p"), Draft("p", "f" * 64, pick=1), "b"),
        (pause(id="p"), Draft("p", "f" * 64, pick=0), "yes"),
        (pause(id="p", input_type="text"), Draft("p", "f" * 64, text=" kept "), " kept "),
        (unknown(id="p"), Draft("p", "f" * 64, text="[1.50]"), values.parse("[1.50]")),
    ],
)
def test_a_draft_comes_back(bench: Bench, question: Pause, draft: Draft, value: object) -> None:
    bench.show(question, draft)
    bench.wake()
    bench.send()
    assert [values.canonical(wish.value) for wish in bench.wishes] == [values.canonical(value)]


def test_a_pick_made_for_other_options_does_not_come_back(bench: Bench) -> None:
    bench.show(choice("a", "b", id="p", fingerprint="new"), Draft("p", "old", pick=1, note="why"))
    bench.wake()
    assert not any(row.isChecked() for row in rows(bench))
    bench.press("1")
    bench.send()
    assert [(wish.value, wish.note) for wish in bench.wishes] == [("a", "why")]


def test_every_change_is_kept_as_a_draft(bench: Bench) -> None:
    bench.show(choice("a", "b", id="p"))
    bench.wake()
    bench.press("2", "r", "because")
    assert bench.drafts[-1] == Draft("p", "f" * 64, pick=1, note="because")


def test_a_hundred_cards_leave_nothing_behind(bench: Bench) -> None:
    for number in range(100):
        bench.show(list(KINDS.values())[number % len(KINDS)])
        bench.qtbot.wait(0)
    bench.qtbot.waitUntil(lambda: len(bench.pane.findChildren(UnknownCard) + bench.pane.findChildren(ChoiceCard)) <= 1)
