"""`stores/<name>.json`: contract 1.4."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_core.repo.loader import load_bundle
from tests.unit.repo.building import Repository

PARCELS: dict[str, Any] = {
    "name": "parcels",
    "_comment_purpose": "kept out of it",
    "key": "{parcel_id}",
    "schema": {
        "parcel_id": {"type": "string"},
        "carrier": {"type": "enum", "values": ["road", "air"]},
        "weight_kg": {"type": "number", "nullable": True, "min": 0, "max": 30.5},
        "legs": {"type": "array", "item": {"type": "object", "fields": {"hub": {"type": "string"}}}},
        "extra": {"type": "object", "fields": {}},
        "shipper": {"type": "ref", "store": "shippers"},
        "created_at": {"type": "datetime"},
    },
    "indexed": ["carrier", "created_at"],
    "deletable": True,
}


def test_the_flat_form(repository: Repository) -> None:
    repository.store("shippers", folder="stores")
    repository.write("amodal/stores/parcels.json", PARCELS)
    bundle = load_bundle(repository.root)
    assert bundle.problems == ()
    store = bundle.stores["parcels"]
    assert (store.file, store.key, store.indexed) == (
        "amodal/stores/parcels.json",
        "{parcel_id}",
        ("carrier", "created_at"),
    )
    assert store.schema == PARCELS["schema"]
    assert (store.deletable, store.shared, store.ttl_s) == (True, False, None)
    assert bundle.stores["shippers"].file == "stores/shippers.json"


def test_the_older_form_with_an_entity(repository: Repository) -> None:
    entity = {"name": "Order", "key": "{year}-{number}", "schema": {"year": {"type": "number"}, "number": NUMBER}}
    repository.write(
        "stores/purchase-orders.json",
        {"name": "purchase-orders", "entity": entity, "ttl": 60, "shared": True, "history": {"versions": 3}},
    )
    store = load_bundle(repository.root).stores["purchase-orders"]
    assert (store.key, list(store.schema), store.ttl_s, store.shared) == (
        "{year}-{number}",
        ["year", "number"],
        60,
        True,
    )


NUMBER = {"type": "number"}


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"key": "{parcel}"}, "key", 'Did you mean "parcel_id"?'),
        ({"key": "{legs}"}, "key", "array or an object"),
        ({"key": "parcel_id"}, "key", 'Write "{parcel_id}"'),
        ({"key": "one"}, "key", "same for every document"),
        ({"key": "{parcel_id"}, "key", "braces"),
        ({"key": 5}, "key", "should be a text"),
        ({"key": None}, "key", "should be a text"),
        ({"name": "parcel"}, "name", 'differs from that of the file, "parcels"'),
        ({"deletable": "yes"}, "deletable", "true or false"),
        ({"schema": []}, "schema", "object"),
        ({"schema": {"parcel_id": "string"}}, "schema.parcel_id", 'such as {"type": "string"}'),
        ({"schema": {"parcel_id": {"type": "text"}}}, "schema.parcel_id.type", "Write string, number"),
        ({"schema": {"parcel_id": {}}}, "schema.parcel_id.type", "required"),
        ({"schema": {"parcel_id": {"type": "enum", "values": []}}}, "schema.parcel_id", "needs values"),
        ({"schema": {"parcel_id": {"type": "ref"}}}, "schema.parcel_id", "needs store"),
        (
            {"schema": {"parcel_id": {"type": "string"}, "a": {"type": "array", "item": {"type": "object"}}}},
            "schema.a.item",
            "needs fields",
        ),
        (
            {"schema": {"parcel_id": NUMBER, "a": {"type": "object", "fields": {"b": {"type": "array", "item": 1}}}}},
            "schema.a.fields.b.item",
            "object",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_key(
    repository: Repository, changes: dict[str, Any], key: str, words: str
) -> None:
    repository.store("shippers")
    repository.write("amodal/stores/parcels.json", {**PARCELS, **changes})
    problem = repository.only_error()
    assert (problem.file, problem.key) == ("amodal/stores/parcels.json", key)
    assert words in str(problem)
    assert problem.line is not None


def test_a_name_that_no_tool_can_have(repository: Repository) -> None:
    repository.store("Parcels")
    assert '"Parcels" cannot be the name of a store' in repository.only_error().message


def test_hints_that_lead_nowhere_are_only_warned_about(repository: Repository) -> None:
    repository.write("amodal/stores/parcels.json", {**PARCELS, "indexed": ["carier", "carrier"]})
    bundle = load_bundle(repository.root)
    assert bundle.stores["parcels"].indexed == ("carrier",)
    assert {(problem.severity, problem.key) for problem in bundle.problems} == {
        ("warning", "indexed"),
        ("warning", "schema.shipper"),
    }
    assert all(problem.line is not None for problem in bundle.problems)


def test_the_newer_place_wins(repository: Repository) -> None:
    repository.store("parcels", deletable=True)
    repository.store("parcels", folder="stores")
    bundle = load_bundle(repository.root)
    assert bundle.stores["parcels"].deletable
    (warning,) = bundle.problems
    assert (warning.file, warning.remedy) == ("stores/parcels.json", "Remove stores/parcels.json.")


def test_a_schema_that_is_nested_without_end_is_refused(repository: Repository) -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        deep = {"type": "array", "item": deep}
    repository.write("amodal/stores/parcels.json", {"key": "{id}", "schema": {"id": NUMBER, "deep": deep}})
    assert "nested too deeply" in repository.only_error().message


def test_numbers_that_no_value_can_be_are_refused(repository: Repository) -> None:
    repository.store("parcels", schema={"id": {"type": "number", "min": 5, "max": 1}})
    problem = repository.only_error()
    assert (problem.key, problem.message) == ("schema.id.min", "No value is at least 5 and at most 1.")


def test_a_time_to_live_that_is_no_number_is_said(repository: Repository) -> None:
    repository.store("parcels", ttl="1 day")
    assert repository.only_warning().key == "ttl"
