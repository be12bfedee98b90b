"""Lossless JSON (decision 19): what goes in comes out, digit for digit, and what is not JSON never does."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_core.wire.json import MAX_DEPTH, JsonError, Number, content_size, digest, dumps, loads, pretty

VALUES = [
    "true",
    "false",
    "null",
    "0",
    "-0",
    "1",
    "-1",
    "1.0",
    "1.50",
    "1e3",
    "0.1",
    "0.2",
    "0.2345678901234568",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1E400",
    "1e-400",
    "-0.0",
    "1E+2",
    '""',
    '" "',
    '"0"',
    '"false"',
    '"null"',
    '"\\u00e9"',
    '"e\\u0301"',
    '"\\ufb00"',
    '"\\u0130"',
    '"\\ud83c\\udf0d"',
    '"\\ud800"',
    '"\\u202e\\u200b\\u0000\\u001f\\u007f\\u2028"',
    "[]",
    "{}",
    "[null]",
    '{"":1}',
    '{"a":{"a":[1.0,1]}}',
    "9" * 5000,
    "-" + "9" * 5000,
    "0." + "1" * 4000,
]


def read_by_others(text: str) -> Any:
    return json.loads(text, parse_int=str, parse_float=str)


@pytest.mark.parametrize("text", VALUES, ids=lambda text: text[:30])
def test_text_survives_reading_and_writing(text: str) -> None:
    assert dumps(loads(text)) == text
    assert dumps({"deep": [loads(text)]}) == f'{{"deep":[{text}]}}'
    assert loads(pretty(loads(text))) == loads(text)
    assert read_by_others(dumps(loads(text))) == read_by_others(text)


def test_large_values_survive() -> None:
    for value in ("x" * 1_000_000, list(range(100_000))):
        assert loads(dumps(value)) == value


def test_composed_and_decomposed_letters_stay_different() -> None:
    assert loads('"é"') != loads('"e\u0301"')
    assert dumps("é") == '"\\u00e9"'


def test_numbers_compute_and_print_as_written() -> None:
    number = loads("1.50")
    assert isinstance(number, Number)
    assert (number, number + 1, str(number), repr(number)) == (1.5, 2.5, "1.50", "1.50")
    for again in (copy.deepcopy(number), pickle.loads(pickle.dumps(number))):
        assert isinstance(again, Number)
        assert again.text == "1.50"
    assert isinstance(loads("18446744073709551616"), int)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ('{"a":1,"a":2}', 1, 8, '"a" appears twice'),
        ('{"b":{"a":1,\n  "a":2}}', 2, 3, "twice"),
        ('[{"a":1},{"a":1}, {"o":{"a":1},\n"a":2,"a":3}]', 2, 7, "twice"),
        ('{"a":"a", "o":["a"], "\\u0061":2}', 1, 22, "twice"),
        ("[1,\n NaN]", 2, 2, "NaN"),
        ('["no NaN, \\" NaN", NaN]', 1, 20, "NaN"),
        ("[Infinity]", 1, 2, "Infinity"),
        ('{"a":-Infinity}', 1, 6, "-Infinity"),
        ('["NaN", NaN]', 1, 9, "NaN"),
        ("", 1, 1, "Expecting value"),
        ("{\n'a': 1}", 2, 1, ""),
        ('{"a":1} x', 1, 9, "Extra data"),
        ("01", 1, 2, "Extra data"),
        ("1.", 1, 2, ""),
        (".5", 1, 1, ""),
        ("+1", 1, 1, ""),
        ('"\t"', 1, 2, "control character"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), 1, MAX_DEPTH + 1, "nested deeper"),
        ("[" * 100_000 + "]" * 100_000, 1, MAX_DEPTH + 1, "nested deeper"),
    ],
    ids=lambda value: str(value)[:25],
)
def test_what_is_not_acceptable_is_refused_with_its_place(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(JsonError) as caught:
        loads(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert words in str(caught.value)


def test_bytes_are_utf8_with_or_without_a_byte_order_mark() -> None:
    assert loads('\ufeff{"a":1}'.encode()) == {"a": 1}
    assert loads("\ufeff[]") == []
    with pytest.raises(JsonError) as caught:
        loads(b'{"a":1,\n"b\xff":2}')
    assert (caught.value.line, caught.value.column) == (2, 3)


def test_nesting_up_to_the_limit_is_fine() -> None:
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert dumps(loads(text)) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), [{"a": float("nan")}]])
def test_what_is_no_number_is_never_written(value: Any) -> None:
    with pytest.raises(ValueError, match="not a JSON number"):
        dumps(value)


@pytest.mark.parametrize("value", [object(), {1: 2}, {None: 1}, b"x", {1, 2}, 1j, [object()]])
def test_what_is_no_plain_data_is_never_written(value: Any) -> None:
    with pytest.raises(TypeError):
        dumps(value)


def test_a_value_that_contains_itself_ends() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="nested deeper"):
        dumps(loop)


def test_output_is_ascii_and_pretty_output_is_for_people() -> None:
    value = {"é": ["ﬀ", 1], "b": {}}
    assert dumps(value).isascii()
    assert pretty(value) == '{\n  "é": [\n    "ﬀ",\n    1\n  ],\n  "b": {}\n}'


def test_the_digest_ignores_the_order_of_keys_and_counts_digits() -> None:
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest(loads("1.50")) != digest(loads("1.5"))
    assert digest(1) != digest("1")
    assert digest([1, 2]) != digest([2, 1])


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=25,
)
NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
TEXTS = st.recursive(
    NUMBERS | st.sampled_from(["null", "true", "false"]) | st.text().map(dumps),
    lambda inner: (
        st.lists(inner).map(lambda items: f"[{','.join(items)}]")
        | st.dictionaries(st.text().map(dumps), inner).map(
            lambda items: "{" + ",".join(f"{key}:{value}" for key, value in items.items()) + "}"
        )
    ),
    max_leaves=25,
)


@settings(deadline=None)
@given(PLAIN)
def test_every_plain_value_comes_back_equal(value: Any) -> None:
    text = dumps(value)
    assert text.isascii()
    assert loads(text) == value == json.loads(text)
    assert loads(pretty(value)) == value
    assert dumps(loads(text)) == text


@settings(deadline=None)
@given(TEXTS)
def test_every_compact_text_comes_back_letter_by_letter(text: str) -> None:
    assert dumps(loads(text)) == text
    assert dumps(loads(pretty(loads(text)))) == text


@settings(deadline=None)
@given(TEXTS)
def test_sorting_keys_changes_nothing_else(text: str) -> None:
    value = loads(text)
    assert loads(dumps(value, sort_keys=True)) == value
    assert digest(value) == digest(loads(dumps(value, sort_keys=True)))


class Place:
    """Where reading stopped; only a place inside the text exists."""

    def __init__(self, error: JsonError, text: str | bytes) -> None:
        lines = (text if isinstance(text, bytes) else text.encode(errors="replace")).count(b"\n") + 1
        if not (1 <= error.line <= lines and error.column >= 1):
            raise AssertionError(f"{error} is not in {text!r}")


def read_or_place(text: str | bytes) -> Any:
    try:
        return loads(text)
    except JsonError as error:
        return Place(error, text)


@settings(deadline=None)
@given(st.text())
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    value = read_or_place(text)
    assert isinstance(value, Place) or loads(dumps(value)) == value


@settings(deadline=None)
@given(st.binary())
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    value = read_or_place(data)
    assert isinstance(value, Place) or loads(dumps(value)) == value


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
def test_a_text_has_the_size_of_its_characters_however_it_is_escaped(text: str, plain: bool) -> None:
    assert content_size(json.dumps(text, ensure_ascii=not plain)) == len(text.encode()) + 2


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (r'"\\u0041"', 8),  # a backslash, then five characters
        (r'"\\\u0041"', 4),
        (r'"\u00e9\u07ff\u0800\uD83D\uDE00\n\/"', 15),
        (r'{"a\"": "\\"}', 11),
        ("[1.50, -0]", 10),
    ],
)
def test_the_size_of_escapes(text: str, size: int) -> None:
    assert content_size(text) == size
