"""What a document has to look like, and which key it has (contract 1.4)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_core.tools.fields import described, key_of, problem_of
from runtime_core.wire.json import loads

TEXT = {"type": "string"}
LEGS = {"type": "array", "item": {"type": "object", "fields": {"hub": TEXT, "km": {"type": "number", "min": 0}}}}


@pytest.mark.parametrize(
    ("definition", "good", "bad"),
    [
        (TEXT, ['""', '"a"'], ["1", "null", "[]", "{}", "true"]),
        ({"type": "ref", "store": "hubs"}, ['"h1"'], ["1", "null"]),
        ({"type": "number"}, ["0", "-1.5", "1e400", "12345678901234567890123"], ['"1"', "true", "null"]),
        ({"type": "number", "min": 0, "max": 1.5}, ["0", "-0", "1.50"], ["-0.01", "1.51", "1e400"]),
        ({"type": "boolean"}, ["true", "false"], ["0", '"true"', "null"]),
        (
            {"type": "datetime"},
            ['"2026-09-01"', '"2026-09-01T08:15:00.000Z"'],
            ["1", '"today"', '"2026-13-01"', "null"],
        ),
        ({"type": "enum", "values": ["a", 1]}, ['"a"', "1", "1.0"], ['"A"', "true", "null", '"1"']),
        ({"type": "array", "item": TEXT}, ["[]", '["a"]'], ["{}", '["a", 1]', "[null]", "null"]),
        ({"type": "object", "fields": {}}, ["{}", '{"any": 1}'], ["[]", "null", '"{}"']),
        (LEGS, ['[{"hub": "a", "km": 1, "more": 2}]'], ['[{"hub": "a"}]', '[{"hub": "a", "km": -1}]', "[[]]"]),
    ],
)
def test_a_value_fits_its_definition_or_not(definition: dict[str, Any], good: list[str], bad: list[str]) -> None:
    for text in good:
        assert problem_of({"f": definition}, {"f": loads(text)}) is None, text
    for text in bad:
        problem = problem_of({"f": definition}, {"f": loads(text)})
        assert problem is not None, text
        assert problem.startswith("f"), problem
    nullable = {"f": {**definition, "nullable": True}}
    assert problem_of(nullable, {"f": None}) is None
    assert problem_of(nullable, {}) == "f is missing; write null if there is none"


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ("[]", "the value is [] and should be an object with the fields id, legs"),
        ('{"legs": []}', "id is missing"),
        ('{"id": 1, "legs": []}', "id should be a text, and is 1"),
        ('{"id": "a", "legs": [{"hub": "b"}]}', "legs[0].km is missing"),
        ('{"id": "a", "legs": [{"hub": "b", "km": -2}]}', "legs[0].km should be a number from 0, and is -2"),
    ],
)
def test_a_problem_names_the_field(payload: str, said: str) -> None:
    assert problem_of({"id": TEXT, "legs": LEGS}, loads(payload)) == said


@pytest.mark.parametrize(
    ("template", "payload", "key"),
    [
        ("{id}", '{"id": "p 1/ä"}', "p 1/ä"),
        ("{a}-{b}", '{"a": "x", "b": 7}', "x-7"),
        ("fixed", "{}", "fixed"),
        ("{n}", '{"n": 1.0}', "1"),
        ("{n}", '{"n": 1.50}', "1.5"),
        ("{n}", '{"n": 12345678901234567890123}', "12345678901234567890123"),
        ("{n}", '{"n": true}', "true"),
        ("{id}", '{"id": ""}', None),
        ("{a}-{b}", '{"a": "x", "b": null}', None),
    ],
)
def test_the_key_is_made_of_the_fields(template: str, payload: str, key: str | None) -> None:
    values = loads(payload)
    assert isinstance(values, dict)
    assert key_of(template, values) == key


def test_a_field_is_described_for_a_model() -> None:
    assert described(LEGS) == "a list, each an object"
    assert described({"type": "enum", "values": ["a"], "nullable": True}) == 'one of "a" or null'
