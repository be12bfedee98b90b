"""What is shown of a value is all of it, and a copy of it is the original."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from inbox_app.gateway import values
from inbox_app.theme.theme import Theme
from inbox_app.widgets.hidden_text import _ends, count_hidden, is_blank, original, pieces, reveal, shown
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.payload_lines import payload_lines
from inbox_app.widgets.payload_view import PayloadView

HIDDEN = [0x202A, 0x202E, 0x2066, 0x2069, 0x200B, 0x200F, 0x2028, 0x2029, 0x2060, 0xFEFF, 0xAD, 0x34F, 0x61C, 0x115F,
          0x1160, 0x180E, 0x3164, 0xFFA0, 0xE0020, 0xE007F, 0xE0100, 0xFE0F, 0x1BCA0, 0x1D173, 0, 7, 27, 127, 128, 159,
          0xD800]  # fmt: skip


@pytest.mark.parametrize("code", HIDDEN)
def test_a_character_that_does_not_show_is_marked(code: int) -> None:
    text = f"a{chr(code)}b"
    assert count_hidden(text) == 1
    assert reveal(text) == f"a⟨U+{code:04X}⟩b"
    assert shown(text)[0] == f"a\u2066\u2009U+{code:04X}\u2009\u2069b"


@pytest.mark.parametrize(
    "text", ["plain", "é e\u0301 ñ", "العربية (ar)", "漢字", "🌍", "a\tb\nc", "  two  ", "עלות 1,250.00 (ILS)"]
)
def test_ordinary_text_has_no_marks(text: str) -> None:
    assert count_hidden(text) == 0
    assert reveal(text) == text


def test_a_long_run_of_blanks_is_counted() -> None:
    assert reveal("ok" + "\u00a0" * 400 + "; rm -rf /") == "ok⟨400 blanks⟩; rm -rf /"


@pytest.mark.parametrize("text", ["", " ", "\u00a0", "\u200b\u2060", "\n\t\r "])
def test_nothing_to_see_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(text + ".")


@given(st.text(alphabet=st.characters() | st.sampled_from([chr(code) for code in HIDDEN]) | st.just(" ")))
@settings(deadline=None)
def test_pieces_are_the_text(text: str) -> None:
    parts = pieces(text)
    assert "".join(part.text for part in parts) == text
    assert original(parts, 0, None) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=90),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=40), inner, max_size=5),
    max_leaves=25,
)


@given(json_values)
@settings(deadline=None)
def test_the_lines_hold_the_whole_value(value: object) -> None:
    """Every key and scalar stands in the lines as JSON, in its order."""
    text = "\n".join(line.text for line in payload_lines(value))
    at = 0
    for word in words(value):
        found = text.find(word, at)
        assert found >= 0
        at = found + len(word)


def words(value: object) -> list[str]:
    if isinstance(value, dict) and value:
        return [word for key, inner in value.items() for word in (values.pretty(key), *words(inner))]
    if isinstance(value, list) and value:
        return [word for inner in value for word in words(inner)]
    return [values.pretty(value)]


@pytest.fixture
def view(theme: Theme, qtbot: QtBot) -> PayloadView:
    made = PayloadView(theme, "Payload")
    qtbot.addWidget(made)
    made.resize(420, 300)
    made.show()
    return made


def test_copying_all_gives_the_value_back(view: PayloadView) -> None:
    value = values.parse('{"amount": 120.00, "big": 3544790567247868102, "note": "prod\\u200buction", "l": [[1, []]]}')
    view.show_value(value)
    view.select_all()
    view.copy()
    assert values.canonical(values.parse(QGuiApplication.clipboard().text())) == values.canonical(value)


def test_copying_a_part_gives_the_original_characters(view: PayloadView) -> None:
    view.show_value({"a": "x\u202ey"})
    view.select_all()
    assert view._anchor is not None
    view._anchor = type(view._anchor)(0, 6)
    assert view.selected_text() == '"x\u202ey"'


def test_every_character_of_a_long_line_is_in_some_row(view: PayloadView) -> None:
    text = "".join(chr(0x21 + at % 90) for at in range(5000)) + "\u200b" + "漢" * 500
    view.show_value({"s": text, "t": 1})
    rows = [view._row(row)[2] for row in range(view._row_count)]
    line = view._lines[0]
    assert "".join(rows) == line.shown()[0] + view._lines[1].text
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    assert view.verticalScrollBar().maximum() > 50
    view.viewport().repaint()


@pytest.mark.parametrize("key", ["מפתח", "\u202egnp.exe مفتاح", "plain"])
def test_a_key_stands_left_of_its_value_whatever_runs_from_right_to_left(view: PayloadView, key: str) -> None:
    view.show_value({key: "ערך", "inner": {"א": "ב"}})
    for row in range(view._row_count):
        text, _, value_at = view._lines[row].shown()
        layout, _ = view._layout_row(row, 0, text)
        line = layout.lineAt(0)
        places = [
            min(place.x() for run in line.glyphRuns(at, length) for place in run.positions())
            for at, length in ((0, value_at), (value_at, len(text) - value_at))
        ]
        assert places == sorted(places)
        assert min(place.x() for run in line.glyphRuns(0, 1) for place in run.positions()) == 0
    text = view._lines[1].shown()[0]
    layout, _ = view._layout_row(1, 0, text)
    line = layout.lineAt(0)
    first, second = (line.glyphRuns(text.index(char), 1)[0].positions()[0].x() for char in "אב")
    assert first < second
    view.select_all()
    assert values.parse(view.selected_text()) == {key: "ערך", "inner": {"א": "ב"}}


@pytest.mark.parametrize(
    "text", ["האם לפרסם? abc \u202eevil\u202c مرحبا", "abc \u202eevil\u202c שלום def", "\u202eab\u202c"]
)
@pytest.mark.parametrize("width", [600, 120])
def test_each_mark_of_a_title_is_drawn_whole_and_over_nothing_else(
    theme: Theme, qtbot: QtBot, text: str, width: int
) -> None:
    label = MarkedLabel(text, theme, "title", lines=1 if width == 120 else None)
    qtbot.addWidget(label)
    label.resize(width, label.heightForWidth(width))
    layout, tags = label._fitted(width)
    assert layout.lineCount() == 1
    assert len(tags) == 2 if width == 600 else len(tags) < 3
    line = layout.lineAt(0)
    grounds = [_ends(line, tag.start, tag.length) for tag in tags]
    for at, char in enumerate(layout.text()):
        inside = any(tag.start <= at < tag.start + tag.length for tag in tags)
        for run in line.glyphRuns(at, 1) if char.isprintable() else ():
            for place in run.positions():
                assert any(left <= place.x() < right for left, right in grounds) == inside


def test_a_large_value_arrives_in_parts(view: PayloadView, qtbot: QtBot) -> None:
    value = {f"k{at}": {"n": at, "text": "x" * 60} for at in range(20_000)}
    view.show_value(value)
    assert 0 < view.line_count < 80_000
    qtbot.waitUntil(lambda: view.is_complete, timeout=30_000)
    assert view.line_count == 80_000


@pytest.mark.parametrize(
    "value", [None, False, 0, "", [], {}, "x", {"": {}}, [[]], values.parse("[" * 400 + "]" * 400)]
)
def test_any_value_can_be_drawn(view: PayloadView, value: object) -> None:
    view.show_value(value)
    view.viewport().repaint()
    assert view.line_count >= 1
