"""OpenAPI documents of every version as tools: names, parameters, what is sent, and documents that mean harm."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_core.connections.naming import named, split
from runtime_core.connections.openapi import Document, Operation
from runtime_core.connections.openapi_request import BadParameter, request_of
from runtime_core.connections.openapi_schema import SchemaCopy
from runtime_core.connections.openapi_text import SIZE_LIMIT, BadDocument, parsed
from runtime_core.repo.params import check_schema, check_value


def document(paths: dict[str, Any], version: str = "3.0.3", **more: Any) -> Document:
    key = "swagger" if version.startswith("2") else "openapi"
    return Document(parsed(json.dumps({key: version, "paths": paths, **more}).encode()))


def only(paths: dict[str, Any], version: str = "3.0.3", **more: Any) -> Operation:
    found = document(paths, version, **more)
    return found.operation(next(iter(found.entries.values())))


def with_body(schema: Any, version: str = "3.0.3", kind: str = "application/json", **more: Any) -> Operation:
    body = {"required": True, "content": {kind: {"schema": schema}}}
    return only({"/things": {"post": {"requestBody": body}}}, version, **more)


def with_query(*parameters: dict[str, Any], version: str = "3.0.3") -> Operation:
    return only({"/things": {"get": {"parameters": [{"in": "query", **item} for item in parameters]}}}, version)


def problem(operation: Operation, value: Any) -> str | None:
    return check_value(operation.schema, value, what="the parameters", whose="the schema")


# Names ---------------------------------------------------------------------------------------------------------------


def test_names_hold_letters_digits_and_underscores_and_are_numbered_when_taken() -> None:
    originals = ["listUsers", "get-user/v2", "get_user_v2", "日本", "a.b", "discover", "x" * 500]
    assert list(named(originals, taken=["discover"])) == [
        *("listUsers", "get_user_v2", "get_user_v2_2", "unnamed", "a_b", "discover_2", "x" * 100),
    ]


@given(st.lists(st.text(max_size=8), unique=True, max_size=30))
def test_every_original_gets_a_name_of_its_own(originals: list[str]) -> None:
    found = named(originals)
    assert list(found.values()) == originals
    assert all(name.isascii() and name.replace("_", "a").isalnum() for name in found)


def test_the_longest_owner_of_a_name_counts() -> None:
    assert split("a__b__c", ["a", "a__b", "b"]) == ("a__b", "c")
    assert split("a__", ["a"]) is None
    assert split("other__x", ["a"]) is None


def test_an_operation_without_an_id_is_named_by_method_and_path() -> None:
    found = document({"/users/{id}": {"get": {}, "delete": {"operationId": "removeUser"}}})
    assert [(entry.name, entry.method) for entry in found.entries.values()] == [
        ("get_users_id", "GET"),
        ("removeUser", "DELETE"),
    ]


def test_an_operation_is_found_by_the_id_that_stands_in_the_document_too() -> None:
    found = document({"/a": {"get": {"operationId": "things.list"}}})
    assert found.entry("things_list") is found.entry("things.list")
    assert found.entry("things") is None


# What is asked for ---------------------------------------------------------------------------------------------------


def test_parameters_are_told_by_place_and_those_of_the_path_are_needed() -> None:
    shared = [{"name": "id", "in": "path", "schema": {"type": "integer"}}]
    own = [
        {"name": "limit", "in": "query", "required": True, "schema": {"type": "integer", "maximum": 10}},
        {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
        {"name": "Authorization", "in": "header", "required": True, "schema": {"type": "string"}},
        {"name": "crumb", "in": "cookie", "schema": {"type": "string"}},
    ]
    operation = only({"/users/{id}/{part}": {"parameters": shared, "get": {"parameters": own}}})
    assert problem(operation, {"path": {"id": 1, "part": "x"}, "query": {"limit": 3}}) is None
    assert problem(operation, {"path": {"id": 1, "part": "x"}, "query": {"limit": 11}}) is not None
    assert problem(operation, {"path": {"id": "x", "part": "x"}, "query": {"limit": 1}}) is not None
    assert problem(operation, {"path": {"id": 1}, "query": {"limit": 1}}) is not None
    assert problem(operation, {"query": {"limit": 1}}) is not None
    assert problem(operation, {"path": {"id": 1, "part": "x"}}) is not None
    assert problem(operation, {"path": {"id": 1, "part": "x"}, "query": {"limit": 1, "other": 1}}) is not None
    assert set(operation.schema["properties"]["header"]["properties"]) == {"X-Trace"}


def test_an_operations_own_parameter_goes_before_that_of_its_path() -> None:
    shared = [{"name": "q", "in": "query", "schema": {"type": "integer"}}]
    own = [{"name": "q", "in": "query", "schema": {"type": "boolean"}}]
    operation = only({"/a": {"parameters": shared, "get": {"parameters": own}}})
    assert problem(operation, {"query": {"q": True}}) is None
    assert problem(operation, {"query": {"q": 1}}) is not None


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string", "nullable": True}, [None, "x"], [1]),
        ({"type": "string", "nullable": True, "enum": ["a"]}, [None, "a"], ["b"]),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, [0.1], [0]),
        ({"type": "number", "maximum": 5, "exclusiveMaximum": False}, [5], [5.1]),
        ({"allOf": [{"type": "object"}], "nullable": True}, [None, {}], [1]),
        ({"type": "object", "required": True}, [{}], [1]),
    ],
)
def test_the_dialect_of_openapi_3_0_counts(schema: Any, good: list[Any], bad: list[Any]) -> None:
    operation = with_body(schema)
    assert [problem(operation, {"body": value}) for value in good] == [None] * len(good)
    assert all(problem(operation, {"body": value}) for value in bad)


def test_openapi_3_1_is_plain_json_schema() -> None:
    schema = {"type": ["string", "null"], "if": {"const": "a"}, "then": {"minLength": 2}}
    operation = with_body(schema, "3.1.0")
    assert problem(operation, {"body": None}) is None
    assert problem(operation, {"body": "a"}) is not None


def test_what_the_server_sets_is_not_needed() -> None:
    schema = {"type": "object", "required": ["id", "n"], "properties": {"id": {"type": "integer", "readOnly": True}}}
    operation = with_body(schema)
    assert problem(operation, {"body": {"n": 1}}) is None
    assert problem(operation, {"body": {}}) is not None


def test_references_are_followed_also_in_circles_and_with_odd_names() -> None:
    schemas = {
        "Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}, "n/~": {}}},
        "a/b~c d": {"type": "integer"},
        "b": {"type": "object", "properties": {"odd": {"$ref": "#/components/schemas/a~1b~0c%20d"}}},
        "c": {"allOf": [{"$ref": "#/components/schemas/b"}, {"$ref": "#/components/schemas/Node"}]},
    }
    operation = with_body({"$ref": "#/components/schemas/c"}, components={"schemas": schemas})
    assert problem(operation, {"body": {"odd": 1, "next": {"next": {"next": {}}}}}) is None
    assert problem(operation, {"body": {"odd": "x"}}) is not None
    assert problem(operation, {"body": {"next": {"next": {"next": 1}}}}) is not None


def test_parameters_bodies_and_paths_may_be_references() -> None:
    components = {
        "parameters": {"Limit": {"name": "limit", "in": "query", "schema": {"type": "integer"}}},
        "requestBodies": {"Thing": {"content": {"application/json": {"schema": {"type": "array"}}}}},
        "pathItems": {"Things": {"post": {"operationId": "make", "requestBody": {"$ref": "#/x"}}}},
    }
    found = document(
        {"/a": {"post": {"parameters": [{"$ref": "#/components/parameters/Limit"}],
                         "requestBody": {"$ref": "#/components/requestBodies/Thing"}}},
         "/b": {"$ref": "#/components/pathItems/Things"}},
        components=components,
        x={"$ref": "#/components/requestBodies/Thing"},
    )  # fmt: skip
    first, second = (found.operation(entry) for entry in found.entries.values())
    assert problem(first, {"query": {"limit": 1}, "body": []}) is None
    assert problem(first, {"query": {"limit": "x"}}) is not None
    assert problem(second, {"body": {}}) is not None


# What is sent --------------------------------------------------------------------------------------------------------


def test_values_are_written_as_the_document_says() -> None:
    array: dict[str, Any] = {"type": "array", "items": {}}
    operation = with_query(
        {"name": "many", "schema": array},
        {"name": "joined", "explode": False, "schema": array},
        {"name": "piped", "style": "pipeDelimited", "explode": False, "schema": array},
        {"name": "deep", "style": "deepObject", "schema": {"type": "object"}},
        {"name": "spread", "schema": {"type": "object"}},
        {"name": "flat", "explode": False, "schema": {"type": "object"}},
        {"name": "coded", "content": {"application/json": {"schema": {"type": "object"}}}},
        {"name": "flag", "schema": {"type": "boolean"}},
        {"name": "gone", "schema": {"type": "string", "nullable": True}},
    )
    query = {
        "many": ["a", 2],
        "joined": ["a", "b"],
        "piped": ["a", "b"],
        "deep": {"x": 1},
        "spread": {"y": True},
        "flat": {"a": 1, "b": 2},
        "coded": {"z": [1]},
        "flag": False,
        "gone": None,
    }
    assert problem(operation, {"query": query}) is None
    assert request_of(operation, {"query": query}).params == {
        "many": ["a", "2"],
        "joined": ["a,b"],
        "piped": ["a|b"],
        "deep[x]": ["1"],
        "y": ["true"],
        "flat": ["a,1,b,2"],
        "coded": ['{"z":[1]}'],
        "flag": ["false"],
    }


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("a b/c?d#e%", "/users/a%20b%2Fc%3Fd%23e%25/x"),
        ("ä", "/users/%C3%A4/x"),
        (7, "/users/7/x"),
        (["a", "b,"], "/users/a%2Cb%2C/x"),
    ],
)
def test_a_path_value_stays_one_segment(value: Any, sent: str) -> None:
    assert request_of(only({"/users/{id}/x": {"get": {}}}), {"path": {"id": value}}).endpoint == sent


@pytest.mark.parametrize("value", ["", ".", "..", []])
def test_a_path_value_never_leads_elsewhere(value: Any) -> None:
    with pytest.raises(BadParameter, match="names another path"):
        request_of(only({"/users/{id}/x": {"get": {}}}), {"path": {"id": value}})


def test_a_value_that_looks_like_another_placeholder_is_a_value() -> None:
    operation = only({"/{a}/{b}": {"get": {}}})
    assert request_of(operation, {"path": {"a": "{b}", "b": "x"}}).endpoint == "/%7Bb%7D/x"


@pytest.mark.parametrize(
    ("kind", "body", "data"),
    [
        ("application/json", {"a": 1}, {"a": 1}),
        ("application/json", "text", '"text"'),
        ("application/json", None, "null"),
        ("application/vnd.x+json", [1], [1]),
        ("application/x-www-form-urlencoded", {"a": "b"}, {"a": "b"}),
        ("text/plain", "as it is", "as it is"),
    ],
)
def test_a_body_is_sent_as_what_the_document_takes(kind: str, body: Any, data: Any) -> None:
    request = request_of(with_body({}, kind=kind), {"body": body})
    assert (request.method, request.data, request.headers["Content-Type"]) == ("POST", data, kind)


# Swagger 2 -----------------------------------------------------------------------------------------------------------


def test_swagger_2_is_read_as_well() -> None:
    paths = {
        "/pets/{id}": {
            "get": {
                "operationId": "pets",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "type": "integer", "format": "int64"},
                    {"name": "tags", "in": "query", "type": "array", "items": {"type": "string"}},
                    {"name": "kinds", "in": "query", "type": "array", "collectionFormat": "multi", "items": {}},
                ],
            },
            "put": {
                "parameters": [{"name": "b", "in": "body", "required": True, "schema": {"$ref": "#/definitions/P"}}]
            },
            "post": {"parameters": [{"name": "n", "in": "formData", "required": True, "type": "string"}]},
            "patch": {"parameters": [{"name": "f", "in": "formData", "type": "file"}]},
        }
    }
    found = document(
        paths,
        "2.0",
        host="api.example.com",
        basePath="/v2",
        schemes=["http", "https"],
        definitions={
            "P": {"type": "object", "required": ["n"], "properties": {"n": {"x-nullable": True, "type": "string"}}}
        },
    )
    entries = {entry.method: entry for entry in found.entries.values()}
    get, put, post = (found.operation(entries[method]) for method in ("GET", "PUT", "POST"))
    asked = {"path": {"id": 1}, "query": {"tags": ["a", "b"], "kinds": ["a", "b"]}}
    assert problem(get, asked) is None
    assert request_of(get, asked).params == {"tags": ["a,b"], "kinds": ["a", "b"]}
    assert problem(put, {"path": {"id": 1}, "body": {"n": None}}) is None
    assert problem(put, {"path": {"id": 1}, "body": {}}) is not None
    assert post.content_type == "application/x-www-form-urlencoded"
    assert problem(post, {"path": {"id": 1}, "body": {}}) is not None
    with pytest.raises(BadDocument, match="uploads files"):
        found.operation(entries["PATCH"])
    assert found.server == "https://api.example.com/v2"


@pytest.mark.parametrize("level", ["path", "operation"])
def test_an_operation_of_another_server_cannot_be_called(level: str) -> None:
    def found(url: str) -> Document:
        own: dict[str, Any] = {"servers": [{"url": url}]}
        other, operation = (own, {}) if level == "path" else ({}, own)
        paths = {"/a": {**other, "get": operation}, "/b": {"get": {}}}
        return Document({"openapi": "3.1.0", "servers": [{"url": "https://one.example/v1"}], "paths": paths})

    for url in ("https://two.example/v1", "https://one.example/v2", "/v1"):
        document = found(url)
        bad, good = document.entries.values()
        with pytest.raises(BadDocument, match=f"GET /a cannot be called: it has a server of its own, {url}"):
            document.operation(bad, "https://three.example")
        assert document.operation(bad, url).path == "/a"
        assert document.operation(good).path == "/b"
    same = found("https://one.example/v1")
    assert same.operation(next(iter(same.entries.values()))).path == "/a"


# Documents that cannot be used ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"parameters": [{"$ref": "other.json#/x"}]}, "points outside"),
        ({"parameters": [{"$ref": "http://169.254.169.254/x"}]}, "points outside"),
        ({"parameters": [{"$ref": "#/nowhere"}]}, "leads to nothing"),
        ({"parameters": [{"$ref": "#/loop"}]}, "in a circle"),
        ({"parameters": [{"$ref": 7}]}, "points outside"),
        ({"parameters": ["x"]}, "no name"),
        ({"parameters": [{"name": "c", "in": "cookie", "required": True}]}, "cookie c"),
        ({"parameters": [{"name": "q", "in": "query", "schema": {"type": "strin"}}]}, "'strin' is no type"),
        ({"parameters": [{"name": "q", "in": "query", "schema": 7}]}, "is no schema"),
        ({"parameters": [{"name": "q", "in": "query", "schema": {"required": [{}]}}]}, "is no required"),
        ({"parameters": [{"name": "q", "in": "query", "schema": {"pattern": "("}}]}, "is no pattern"),
        ({"parameters": [{"name": "q", "in": "query", "schema": {"maxLength": -1}}]}, "is no maxLength"),
        ({"requestBody": {"content": {"multipart/form-data": {}}}}, "multipart/form-data"),
        ({"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/loop"}}}}}, "in a circle"),
    ],
)
def test_a_bad_operation_says_why_and_leaves_the_others_alone(operation: dict[str, Any], reason: str) -> None:
    found = document(
        {"/bad": {"get": operation}, "/good": {"get": {}}}, loop={"$ref": "#/pool"}, pool={"$ref": "#/loop"}
    )
    bad, good = found.entries.values()
    with pytest.raises(BadDocument, match=reason):
        found.operation(bad)
    assert found.operation(good).path == "/good"


def test_schemas_that_grow_without_end_are_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"properties": {"x": deep}}
    wide = {f"s{n}": {"properties": {"x": {"$ref": f"#/components/schemas/s{n + 1}"}}} for n in range(500)}
    with pytest.raises(BadDocument, match="too deeply"):
        with_body(deep)
    with pytest.raises(BadDocument, match="more than 300"):
        with_body({"$ref": "#/components/schemas/s0"}, components={"schemas": wide | {"s500": {}}})


def test_a_schema_that_is_itself_checks_nothing_and_ends() -> None:
    schemas = {"A": {"allOf": [{"$ref": "#/components/schemas/A"}]}}
    operation = with_body({"$ref": "#/components/schemas/A"}, components={"schemas": schemas})
    assert problem(operation, {"body": 1}) is not None


ALIASES = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ALIASES, "holds too much"),
        ("a: &a [*a]\n", "refers to itself|nested too deeply"),
        ("[" * 100_000, "YAML|nested"),
        ("x: !!python/object/apply:os.system ['true']\n", "no valid YAML"),
        ("x: .nan\n", "no JSON value"),
        ("- 1\n", "no object"),
        ('{"openapi": "3.0.0", "openapi": "3.1.0"}', "appears twice"),
        ('{"openapi": ', "no valid JSON"),
        ("\ud800".encode("utf-16", "surrogatepass"), "not UTF-8"),
        (b"x: " + b"y" * SIZE_LIMIT, "larger than 8 MB"),
        ("", "no object"),
    ],
    ids=["aliases", "itself", "deep", "code", "nan", "list", "twice", "half", "bytes", "large", "empty"],
)
def test_a_text_that_means_harm_is_refused_with_a_reason(text: str | bytes, reason: str) -> None:
    with pytest.raises(BadDocument, match=reason):
        parsed(text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize("version", [None, "1.2", "4.0", 7, {}])
def test_only_openapi_and_swagger_documents_are_read(version: Any) -> None:
    with pytest.raises(BadDocument, match="no OpenAPI document"):
        Document({"openapi": version, "paths": {}})


def test_yaml_is_read_as_json_has_it() -> None:
    text = (
        "openapi: 3.1.0\npaths:\n  /a:\n    get:\n      responses: {200: {description: at 2020-01-01}}\nd: 2020-01-01\n"
    )
    assert parsed(b"\xef\xbb\xbf" + text.encode())["d"] == "2020-01-01"
    assert list(Document(parsed(text.encode())).entries) == ["get_a"]
    merged = "b: &b {x: 1}\nc: {<<: *b, y: 2}\n"
    assert parsed(merged.encode())["c"] == {"x": 1, "y": 2}


KEYS = st.sampled_from(["/a", "get", "parameters", "name", "in", "schema", "$ref", "content", "type", "required"])
PIECES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just({"$ref": "#/paths"}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["paths", "servers", "components", "definitions", "host", "tags"]), PIECES))
def test_no_document_brings_the_reader_down(pieces: dict[str, Any]) -> None:
    for version in ({"openapi": "3.0.0"}, {"swagger": "2.0"}):
        found = Document({**version, **pieces})
        assert isinstance(found.server, str | None)
        for entry in found.entries.values():
            with contextlib.suppress(BadDocument):
                assert found.operation(entry).name == entry.name


KEYWORDS = st.sampled_from(
    [
        *(
            "type",
            "enum",
            "const",
            "properties",
            "items",
            "required",
            "additionalProperties",
            "allOf",
            "not",
            "pattern",
        ),
        *("minimum", "exclusiveMinimum", "multipleOf", "maxLength", "minItems", "uniqueItems", "dependentRequired"),
        *("nullable", "readOnly", "format", "title", "default", "prefixItems", "patternProperties", "contains", "then"),
    ]
)
VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["string", "(", "a|b"])
)
SCHEMAS = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYWORDS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.dictionaries(KEYWORDS, SCHEMAS, max_size=4))
def test_what_is_taken_over_is_json_schema(schema: dict[str, Any]) -> None:
    with contextlib.suppress(BadDocument):
        assert [problem for problem in check_schema(with_body(schema).schema) if not problem.tolerable] == []


@pytest.mark.parametrize("keyword", ["maxLength", "minItems", "maxProperties", "multipleOf", "minimum"])
@pytest.mark.parametrize("value", ["1e999", "-1e999"])
def test_a_number_that_nothing_holds_makes_one_bad_operation(keyword: str, value: str) -> None:
    schema = f'{{"type": "string", "{keyword}": {value}}}'
    body = f'{{"content": {{"application/json": {{"schema": {schema}}}}}}}'
    paths = f'{{"/bad": {{"post": {{"requestBody": {body}}}}}, "/good": {{"get": {{}}}}}}'
    found = Document(parsed(f'{{"openapi": "3.1.0", "paths": {paths}}}'.encode()))
    bad, good = found.entries.values()
    with pytest.raises(BadDocument, match=f"is no {keyword}"):
        found.operation(bad)
    assert found.operation(good).path == "/good"


def test_an_operation_that_nobody_foresaw_is_a_bad_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise RecursionError("deeper than anybody thought")

    monkeypatch.setattr(SchemaCopy, "definitions", fails)
    with pytest.raises(BadDocument, match=r"GET /things cannot be called: .*RecursionError"):
        only({"/things": {"get": {}}})


def test_a_large_document_is_read_at_once() -> None:
    paths = {f"/things{n}/{{id}}": {"get": {"operationId": f"op{n}"}} for n in range(4_000)}
    found = Document(parsed(yaml.safe_dump({"openapi": "3.0.0", "paths": paths}).encode()))
    assert len(found.entries) == 4_000
    with pytest.raises(BadDocument, match="more than 5000"):
        Document({"openapi": "3.0.0", "paths": {f"/{n}": {"get": {}} for n in range(5_001)}})
