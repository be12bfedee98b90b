"""What whoever checks a repository is told of its OpenAPI documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime_core.connections.openapi_check import Described, described
from runtime_core.repo.bundle import Bundle, Connection, Tool
from tests.unit.connections.calling import Kept
from tests.unit.tools.provider import said, serving

RESPONSES = {"200": {"description": "Done."}}
GOOD: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Shipments", "version": "1"},
    "paths": {"/shipments": {"get": {"operationId": "listShipments", "responses": RESPONSES}}},
}


def checked(
    root: Path, document: Any, source: str = "openapi.json", uses: tuple[str, ...] = (), base: str = "https://x.example"
) -> Described:
    folder = root / "connections" / "api"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "openapi.json").write_text(document if isinstance(document, str) else json.dumps(document))
    given = Connection("api", "connections/api", "rest", {"openapi": {"source": source}, "baseUrl": base})
    tool = Tool("ship", "It ships.", {}, "amodal/tools/ship/handler.ts", "typescript", tools=uses)
    bundle = Bundle(root, "x", "1", "r", {"ship": tool}, {}, {}, connections={"api": given})
    return described(bundle, Kept())


def test_the_operations_of_a_good_document_are_listed_without_a_word(tmp_path: Path) -> None:
    found = checked(tmp_path, GOOD, uses=("api__listShipments", "api__discover", "other"))
    assert found.operations == {"api": [{"name": "listShipments", "method": "GET", "path": "/shipments"}]}
    assert found.problems == []


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("other.json", "There is no OpenAPI document other.json"),
        ("../../../../../etc/passwd", "is outside of the repository"),
        ("../../.env", "names that begin with a dot"),
        ("../../.git/config", "names that begin with a dot"),
        ("linked.json", "names that begin with a dot"),
        ("env:NOT_SET_ANYWHERE", "which is not set"),
    ],
)
def test_a_source_that_leads_to_no_document_is_told_where_it_stands(tmp_path: Path, source: str, reason: str) -> None:
    (tmp_path / ".git").mkdir()
    for name in (".env", ".git/config"):
        (tmp_path / name).write_text(json.dumps(GOOD))
    (tmp_path / "connections" / "api").mkdir(parents=True)
    (tmp_path / "connections" / "api" / "linked.json").symlink_to(tmp_path / ".env")
    found = checked(tmp_path, GOOD, source=source)
    assert found.operations == {}
    [problem] = found.problems
    assert (problem.file, problem.key) == ("connections/api/spec.json", "openapi.source")
    assert reason in problem.message


def test_an_operation_that_cannot_be_called_is_listed_with_the_reason(tmp_path: Path) -> None:
    upload = {"requestBody": {"content": {"multipart/form-data": {}}}, "responses": RESPONSES}
    found = checked(tmp_path, {**GOOD, "paths": {"/files": {"post": upload}}})
    assert "multipart/form-data" in found.operations["api"][0]["unavailable"]
    [problem] = found.problems
    assert (problem.severity, problem.file) == ("warning", "connections/api/openapi.json")
    assert "POST /files cannot be called" in problem.message


@pytest.mark.parametrize(
    ("servers", "reason"),
    [
        ({}, "names no server"),
        ({"servers": []}, "names no server"),
        ({"servers": [{"url": "/v1"}]}, "names a server that cannot be used: the base URL has to begin with http"),
        ({"servers": [{"url": "https://{region}.example.com"}]}, "a server with variables, https://{region}.example"),
        (
            {"servers": [{"url": "ftp://example.com"}]},
            "names a server that cannot be used: the base URL has to begin with http",
        ),
        ({"servers": [{"url": "https://me:pw@example.com"}]}, "contains a user or a password"),
        ({"servers": [{"url": "https://["}]}, "cannot be used: https://["),
    ],
)
def test_a_server_that_cannot_be_used_is_said_where_there_is_no_base_url(
    tmp_path: Path, servers: dict[str, Any], reason: str
) -> None:
    [problem] = checked(tmp_path / "one", GOOD | servers, base="").problems
    assert (problem.severity, problem.file, problem.key) == ("warning", "connections/api/spec.json", "baseUrl")
    assert reason in problem.message
    assert checked(tmp_path / "two", GOOD | servers).problems == []


def test_an_operation_that_is_not_there_is_missed_where_it_is_used(tmp_path: Path) -> None:
    [problem] = checked(tmp_path, GOOD, uses=("api__listShipment",)).problems
    assert (problem.file, problem.key) == ("amodal/tools/ship/tool.json", "uses.tools")
    assert 'Did you mean "api__listShipments"?' in problem.remedy


@pytest.mark.parametrize(
    ("document", "source", "reason"),
    [
        ("{", "openapi.json", "no valid JSON"),
        ({**GOOD, "info": {}}, "openapi.json", "departs from OpenAPI 3.0.3: info: 'title' is a required property"),
        ({"swagger": "2.0", "paths": {}}, "openapi.json", "departs from OpenAPI 2.0: 'info' is a required property"),
        ({"openapi": "3.1.0", "paths": {}}, "openapi.json", "departs from OpenAPI 3.1.0: 'info' is a required"),
    ],
)
def test_what_is_wrong_with_a_document_is_said(tmp_path: Path, document: Any, source: str, reason: str) -> None:
    [problem] = checked(tmp_path, document, source).problems
    assert (problem.severity, problem.file) == ("warning", f"connections/api/{source}")
    assert reason in problem.message


def test_nothing_is_fetched(tmp_path: Path) -> None:
    with serving(said({})) as server:
        response = {"description": "x", "content": {"application/json": {"schema": {"$ref": f"{server.url}/schema"}}}}
        body = {"operationId": "x", "responses": {"200": response}}
        checked(tmp_path / "one", {**GOOD, "paths": {"/x": {"get": body}}})
        found = checked(tmp_path / "two", GOOD, f"{server.url}/openapi.json")
    assert server.seen == []
    assert found == Described({}, [])
