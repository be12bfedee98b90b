"""Parameters against a tool's schema (decision 26), with every digit counted."""

from __future__ import annotations

import socket
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_core.repo.bundle import Tool
from runtime_core.repo.params import check_params, check_schema, check_value, misfits
from runtime_core.wire.json import dumps, loads


def tool(schema: str) -> Tool:
    parameters: Any = loads(schema)
    return Tool("ship", "Ships.", parameters, "amodal/tools/ship/handler.ts", "typescript")


TICKET = tool(
    '{"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}, "required": ["id"]}'
)


def test_fitting_parameters_pass_and_extra_ones_are_allowed_unless_the_schema_says_no() -> None:
    assert check_params(TICKET, '{"id": "a", "n": 3, "more": true}') is None
    closed = tool('{"properties": {}, "additionalProperties": false}')
    assert "'more'" in (check_params(closed, '{"more": true}') or "")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ("{}", "'id' is a required property"),
        ('{"id": 5}', "id: 5 should be string"),
        ('{"id": "a", "n": true}', "n: true should be integer"),
        ('{"id": "a", "n": 1.50}', "n: 1.50 should be integer"),
        ('[{"id": "a"}]', "should be object"),
        ("null", "null should be object"),
        ('{"id": ', "not valid JSON"),
    ],
)
def test_what_does_not_fit_is_named_with_its_path(params: str, words: str) -> None:
    assert words in (check_params(TICKET, params) or "")


def test_paths_lead_into_lists() -> None:
    schema = tool('{"properties": {"items": {"items": {"properties": {"id": {"enum": ["a", 1.50]}}}}}}')
    assert (
        check_params(schema, '{"items": [{"id": "a"}, {"id": "b"}]}') == 'items[1].id: "b" should be one of "a", 1.50'
    )


def test_a_tool_without_a_schema_takes_anything() -> None:
    assert check_params(tool("{}"), "not even JSON") is None


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ('{"maximum": 9007199254740993}', "9007199254740993", True),
        ('{"maximum": 9007199254740993}', "9007199254740994", False),
        ('{"maximum": 0.1}', "0.10000000000000000001", False),
        ('{"const": 18446744073709551616}', "18446744073709551617", False),
        ('{"const": 1.5}', "1.50", True),
        ('{"multipleOf": 0.01}', "120.10", True),
        ('{"multipleOf": 0.01}', "120.105", False),
        ('{"multipleOf": 3}', "9007199254740993", True),
        ('{"multipleOf": 3}', "9007199254740994", False),
        ('{"type": "integer"}', "1.0", True),
        ('{"type": "integer"}', "1e3", True),
        ('{"type": "integer"}', "-0", True),
        ('{"type": "integer"}', "1E-400", False),
        ('{"type": "number"}', "1E400", True),
        ('{"maximum": 1}', "1E400", False),
        ('{"maximum": 1}', "1E99999999999999999999", False),
        ('{"minimum": 0, "multipleOf": 2}', "1E99999999", False),
        ('{"uniqueItems": true}', "[1, 1.0]", False),
        ('{"uniqueItems": true}', "[0.1, 0.10000000000000000001]", True),
        ('{"type": "number"}', "true", False),
    ],
)
def test_numbers_count_as_they_are_written(schema: str, value: str, fits: bool) -> None:
    assert (check_params(tool(schema), value) is None) == fits


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [
        ("^p_(?<id>[0-9]+)$", "p_12", True),
        ("^p_[0-9]+$", "p_12\n", False),
        (r"^\d+$", "٣", False),
        (r"^[\d.]+$", "1.2", True),
        (r"^\w+$", "é", False),
        (r"^(?<a>.)\k<a>$", "xx", True),
        (r"^(?<a>.)\k<a>$", "xy", False),
        (r"^\$\[$", "$[", True),
        (r"^[$[]+$", "$[", True),
        (r"(?<=a)b", "ab", True),
        (r"^\\p$", "\\p", True),
    ],
)
def test_patterns_are_javascript(pattern: str, value: str, fits: bool) -> None:
    schema = tool(dumps({"pattern": pattern}))
    assert check_schema(schema.parameters) == []
    assert (check_params(schema, dumps(value)) is None) == fits


def test_local_references_work_in_old_and_new_drafts() -> None:
    for schema in (
        '{"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "string"}}}',
        '{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#/definitions/b"}},'
        ' "definitions": {"b": {"type": "string"}}}',
    ):
        assert check_schema(tool(schema).parameters) == []
        assert check_params(tool(schema), '{"a": "x"}') is None
        assert check_params(tool(schema), '{"a": 1}') == "a: 1 should be string"


def test_data_that_looks_like_a_reference_is_data() -> None:
    schema = tool('{"properties": {"$ref": {"const": {"$ref": "https://example.invalid/"}}}}')
    assert check_schema(schema.parameters) == []
    assert check_params(schema, '{"$ref": {"$ref": "https://example.invalid/"}}') is None


def test_nothing_is_ever_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a schema reached for the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    schema = tool('{"properties": {"a": {"$ref": "http://example.invalid/a.json"}}}')
    (problem,) = check_schema(schema.parameters)
    assert problem.key == ("properties", "a", "$ref")
    assert "does not exist" in (check_params(schema, '{"a": 1}') or "")


def test_a_schema_or_value_without_end_is_reported_and_not_a_crash() -> None:
    assert "too deeply" in (check_params(tool('{"$ref": "#"}'), "1") or "")
    deep = '{"a":' * 450 + "1" + "}" * 450
    recursive = tool('{"properties": {"a": {"$ref": "#"}}, "type": ["object", "integer"]}')
    assert check_params(recursive, deep) in (None, "the parameters are nested too deeply to be checked")


def test_messages_stay_short() -> None:
    assert len(check_params(tool('{"type": "integer"}'), dumps("x" * 1_000_000)) or "") < 400
    assert len(check_params(tool('{"maxLength": 3}'), dumps("x" * 1_000_000)) or "") < 400


@settings(deadline=None)
@given(st.integers(), st.integers())
def test_bounds_are_exact_for_integers_of_any_size(bound: int, value: int) -> None:
    schema = Tool("t", "d", {"maximum": bound}, "e", "python")
    assert (check_params(schema, str(value)) is None) == (value <= bound)


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=12), st.integers(1, 10**6))
def test_multiples_are_exact_for_decimals(value: Any, step: int) -> None:
    text = f"{value:f}"
    schema = tool(f'{{"multipleOf": 0.{step:06d}}}')
    expected = (Fraction(value) / Fraction(step, 10**6)).denominator == 1
    assert (check_params(schema, text) is None) == expected


REPEATED: dict[str, object] = {
    f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(60)
}
ENDLESS = "^(a|aa)+$"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": ENDLESS}, "a" * 60 + "b"),
        ({"additionalProperties": False, "patternProperties": {ENDLESS: {}}}, {"a" * 60 + "b": 1}),
        ({"$defs": {**REPEATED, "d60": {"type": "string"}}, "$ref": "#/$defs/d0"}, "x"),
    ],
)
def test_a_schema_cannot_hold_up_whoever_checks_with_it(schema: dict[str, Any], value: Any) -> None:
    assert all(problem.tolerable for problem in check_schema(schema))
    found = check_value(schema, value, what="the value", whose="the schema of ship")
    assert found == "the value cannot be checked against the schema of ship within 1 s"


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ({"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": False}, {"ab": "x"}, True),
        ({"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": False}, {"ab": 1}, False),
        ({"patternProperties": {"^a": {}}, "additionalProperties": False}, {"b": 1}, False),
        ({"properties": {"b": {}}, "additionalProperties": {"type": "number"}}, {"b": "x", "c": 1}, True),
        ({"properties": {"b": {}}, "additionalProperties": {"type": "number"}}, {"b": "x", "c": "x"}, False),
        ({"uniqueItems": True}, [1, True, "1", [1], [True], {"a": 1}, {"a": "1"}], True),
        ({"uniqueItems": True}, [{"a": [1, 2.0]}, {"a": [1.0, 2]}], False),
        ({"uniqueItems": False}, [1, 1], True),
        ({"pattern": "^a{e}\\m$"}, "a{e}m", True),
        ({"pattern": "^(?<x>a|b)\\k<x>$"}, "ab", False),
    ],
)
def test_keywords_of_our_own_say_what_the_standard_says(schema: dict[str, Any], value: Any, fits: bool) -> None:
    assert check_schema(schema) == []
    assert (check_value(schema, value, what="it", whose="the schema") is None) is fits


def test_what_the_library_would_match_without_a_time_limit_is_left_unchecked() -> None:
    schema: dict[str, Any] = {"patternProperties": {ENDLESS: {}}, "unevaluatedProperties": False}
    (problem,) = check_schema(schema)
    assert problem.tolerable
    assert check_value(schema, {"b": 1}, what="it", whose="the schema") is None
    alone: dict[str, Any] = {"unevaluatedProperties": False, "properties": {"a": {}}}
    assert check_value(alone, {"b": 1}, what="it", whose="the schema") is not None


def found(schema: str, value: str) -> list[tuple[tuple[str | int, ...], str, bool]]:
    rules: Any = loads(schema)
    return [(one.path, one.message, one.is_missing) for one in misfits(rules, loads(value))]


def test_every_misfit_is_told_at_its_own_place() -> None:
    schema = (
        '{"properties": {"a": {"type": "integer"}, "list": {"items": {"required": ["x", "y"]}}},'
        ' "required": ["a", "b"]}'
    )
    assert found(schema, '{"a": "no", "list": [{"x": 1}, {}]}') == [
        (("a",), '"no" should be integer', False),
        (("list", 0, "y"), "is required", True),
        (("list", 1, "x"), "is required", True),
        (("list", 1, "y"), "is required", True),
        (("b",), "is required", True),
    ]
    assert found(schema, '{"a": 1, "b": null}') == []


def test_of_several_ways_the_nearest_is_told() -> None:
    schema = '{"anyOf": [{"type": "null"}, {"type": "object", "properties": {"n": {"maximum": 3}}}]}'
    assert found(schema, '{"n": 4}') == [(("n",), "4 is greater than the maximum of 3", False)]


@pytest.mark.parametrize("schema", ['{"oneOf": [{"$ref": "#"}]}', '{"allOf": [{"$ref": "#"}, {"$ref": "#"}]}'])
def test_a_schema_that_leads_back_to_itself_comes_to_an_end(schema: str) -> None:
    rules: Any = loads(schema)
    assert check_value(rules, 1, what="the parameters", whose="the schema") is not None
    assert found(schema, "1") == []
