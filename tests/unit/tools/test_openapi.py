"""Operations of OpenAPI documents as tools of handlers and models, against a server on this machine."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from runtime_core.connections.client import Connections
from runtime_core.connections.openapi_source import FETCH_S, OpenApiDocuments
from runtime_core.repo.bundle import Bundle, Connection
from runtime_core.repo.policy import FieldRestriction, Policy
from runtime_core.tools.base import Caller, ReadyTool, ToolFailed
from runtime_core.tools.openapi import OpenApiTools
from runtime_core.wire.json import dumps, loads
from tests.unit.connections.calling import Kept
from tests.unit.engine.workshop import Repo, bench, play
from tests.unit.tools.provider import Answer, Seen, Server, said, serving

DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "paths": {
        "/shipments": {
            "get": {
                "operationId": "listShipments",
                "summary": "List all shipments",
                "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer"}}],
            },
            "post": {
                "operationId": "create-shipment",
                "summary": "Book a new shipment",
                "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}},
            },
        },
        "/shipments/{id}": {
            "get": {"operationId": "getShipment", "summary": "One shipment"},
            "delete": {"operationId": "dropShipment", "deprecated": True, "summary": "Cancel a shipment"},
        },
        "/customers": {"get": {"operationId": "listCustomers", "description": "Everybody who ever shipped."}},
        "/upload": {"post": {"requestBody": {"content": {"multipart/form-data": {}}}}},
    },
}


async def _nobody(name: str, task: str, input: str | None) -> str:
    raise AssertionError("nobody calls a subagent here")


class Desk:
    """The tools of one connection called ``api``. ``spec`` is its spec.json, ``document`` the file beside it."""

    def __init__(self, folder: Path, spec: dict[str, Any], document: Any = DOCUMENT, **connection: Any) -> None:
        home = folder / "repo" / "connections" / "api"
        home.mkdir(parents=True, exist_ok=True)
        (home / "openapi.json").write_text(document if isinstance(document, str) else json.dumps(document))
        spec = {"openapi": {"source": "openapi.json", "exposure": "discovery"}, **spec}
        given = Connection("api", "connections/api", "rest", spec, **connection)
        self.bundle = Bundle(folder / "repo", "x", "1", "r", {}, {}, {}, connections={"api": given})
        self.secrets = Kept({"DOCUMENT": f"{spec.get('at', '')}", "TOKEN": "very-secret"})
        self.folder = folder / "openapi"

    def play(self, *calls: tuple[str, Any]) -> list[Any]:
        async def story() -> list[Any]:
            connections, documents = Connections(self.secrets), OpenApiDocuments(self.folder, self.secrets)
            tools = OpenApiTools(documents, connections)
            try:
                return [await self._call(tools.find(self.bundle, f"api__{name}"), params) for name, params in calls]
            finally:
                await asyncio.gather(connections.close(), documents.close())

        return asyncio.run(story())

    def names(self) -> list[str]:
        return [
            *OpenApiTools(OpenApiDocuments(self.folder, self.secrets), Connections(self.secrets)).names(self.bundle)
        ]

    async def _call(self, tool: ReadyTool | None, params: Any) -> Any:
        assert tool is not None
        caller = Caller(self.bundle, "", "ann", lambda kind, value: None, _nobody, call_id="c-1")
        try:
            return loads(await tool.call(dumps(params), caller))
        except ToolFailed as failed:
            return failed


def echo(seen: Seen) -> Answer:
    told = {"method": seen.method, "path": seen.path, "body": seen.body}
    return 200, {"content-type": "application/json"}, json.dumps(told).encode()


# Finding operations ---------------------------------------------------------------------------------------------------


def test_what_fits_best_comes_first_and_deprecated_operations_last(tmp_path: Path) -> None:
    found = Desk(tmp_path, {"baseUrl": "http://127.0.0.1:9"}).play(
        *(("discover", {"query": query}) for query in ("list shipments", "book", "shipment cancel", "zebra", ""))
    )
    names = [[operation["name"] for operation in result["operations"]] for result in found]
    assert names[0][0] == "api__listShipments"
    assert names[1][0] == "api__create_shipment"
    assert "api__dropShipment" in names[2]
    assert names[3] == []
    assert len(names[4]) == 6
    first = found[0]["operations"][0]
    assert (first["method"], first["path"], first["summary"]) == ("GET", "/shipments", "List all shipments")
    assert first["parameters"]["properties"]["query"]["properties"] == {"limit": {"type": "integer"}}


def test_an_operation_that_cannot_be_called_is_found_with_the_reason(tmp_path: Path) -> None:
    [found] = Desk(tmp_path, {}).play(("discover", {"query": "upload"}))
    assert "multipart/form-data" in found["operations"][0]["unavailable"]


def test_a_search_is_bounded(tmp_path: Path) -> None:
    wide = {f"p{n}": {"type": "string", "description": "x" * 100} for n in range(200)}
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": wide, "required": ["p1"]}}}}
    paths = {f"/things{n}": {"post": {"summary": "thing " * 500, "requestBody": body}} for n in range(50)}
    [found] = Desk(tmp_path, {}, {"openapi": "3.0.0", "paths": paths}).play(("discover", {"query": "thing"}))
    assert (len(found["operations"]), found["total"]) == (10, 50)
    assert len(dumps(found)) < 80_000
    assert found["operations"][0]["parameters"]["properties"]["body"]["required"] == ["p1"]


def test_the_names_of_a_local_document_are_known_without_asking_anybody(tmp_path: Path) -> None:
    names = Desk(tmp_path, {}).names()
    assert names[:3] == ["api__discover", "api__listShipments", "api__create_shipment"]


# Calling them ---------------------------------------------------------------------------------------------------------


def test_a_call_sends_what_the_document_says(tmp_path: Path) -> None:
    with serving(echo) as server:
        desk = Desk(tmp_path, {"baseUrl": f"{server.url}/v1", "auth": {"type": "bearer", "token": "env:TOKEN"}})
        got, made, spelled = desk.play(
            ("getShipment", {"path": {"id": "SH/1"}}),
            ("create_shipment", {"body": {"value": 1.50}}),
            ("create-shipment", {"body": {}}),
        )
    assert got == {"method": "GET", "path": "/v1/shipments/SH%2F1", "body": None}
    assert made == {"method": "POST", "path": "/v1/shipments", "body": {"value": 1.5}}
    assert spelled["method"] == "POST"
    assert {seen.headers["Authorization"] for seen in server.seen} == {"Bearer very-secret"}
    assert [seen.headers.get("Idempotency-Key") for seen in server.seen] == [None, "c-1", "c-1"]


def test_digits_of_a_reply_are_kept(tmp_path: Path) -> None:
    with serving(
        lambda _: (200, {"content-type": "application/json"}, b'{"value": 10000000000000000000.10}')
    ) as server:
        [got] = Desk(tmp_path, {"baseUrl": server.url}).play(("listShipments", {}))
    assert dumps(got) == '{"value":10000000000000000000.10}'


def test_a_reply_that_is_an_error_fails_the_call(tmp_path: Path) -> None:
    with serving(said({"error": "no such shipment"}, 404)) as server:
        [failed] = Desk(tmp_path, {"baseUrl": server.url}).play(("getShipment", {"path": {"id": "x"}}))
    assert isinstance(failed, ToolFailed)
    assert (failed.code, "404" in failed.message, "api" in failed.message) == ("http-404", True, True)


def test_a_reply_that_is_an_error_shows_no_restricted_field(tmp_path: Path) -> None:
    body = {"error": "taken", "customer": {"name": "A", "iban": "DE1"}}
    policy = Policy(restrictions=(FieldRestriction("Customer", "iban", "never_retrieve"),))
    with serving(said(body, 409)) as server:
        desk = Desk(tmp_path, {"baseUrl": server.url}, policy=policy)
        (failed,) = desk.play(("create_shipment", {"body": {}}))
    assert isinstance(failed, ToolFailed)
    assert failed.message.endswith('The answer: {"error":"taken","customer":{"name":"A"}}')


def test_an_operation_that_only_reads_may_be_made_again(tmp_path: Path) -> None:
    methods = ("get", "head", "options", "post", "delete")
    document = {"openapi": "3.1.0", "paths": {"/x": {method: {"operationId": method} for method in methods}}}
    desk = Desk(tmp_path, {"baseUrl": "http://127.0.0.1:9"}, document)
    tools = OpenApiTools(OpenApiDocuments(desk.folder, desk.secrets), Connections(desk.secrets))
    effects = {method: tool.effect for method in methods if (tool := tools.find(desk.bundle, f"api__{method}"))}
    assert effects == {"get": "read", "head": "read", "options": "read", "post": "once", "delete": "once"}


def test_the_address_may_stand_in_the_document(tmp_path: Path) -> None:
    with serving(echo) as server:
        document = {**DOCUMENT, "servers": [{"url": f"{server.url}/v2"}]}
        [got] = Desk(tmp_path, {}, document).play(("listShipments", {}))
    assert got["path"] == "/v2/shipments"


@pytest.mark.parametrize(
    ("spec", "document", "name", "reason"),
    [
        ({}, "{", "listShipments", "openapi.json cannot be used: it is no valid JSON"),
        ({}, "[]", "discover", "openapi.json cannot be used"),
        ({"openapi": {"source": "other.json"}}, DOCUMENT, "discover", "There is no OpenAPI document other.json"),
        ({"openapi": {"source": "../../../x.json"}}, DOCUMENT, "discover", "outside of the repository"),
        ({"openapi": {"source": "/etc/hostname"}}, DOCUMENT, "discover", "outside of the repository"),
        ({"openapi": {"source": "env:MISSING"}}, DOCUMENT, "discover", "MISSING, which is not set"),
        ({"openapi": {"source": "http://127.0.0.1:9/x"}}, DOCUMENT, "discover", "cannot be fetched"),
        ({}, DOCUMENT, "post_upload", "multipart/form-data"),
    ],
)
def test_a_document_that_cannot_be_used_says_why_when_it_is_used(
    tmp_path: Path, spec: dict[str, Any], document: Any, name: str, reason: str
) -> None:
    [failed] = Desk(tmp_path, spec, document).play((name, {"query": "x"}))
    assert isinstance(failed, ToolFailed)
    assert reason in failed.message


def test_a_connection_that_is_unavailable_fails_with_its_reason(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {}, unavailable="its policy.json is no JSON")
    [failed] = desk.play(("listShipments", {}))
    assert isinstance(failed, ToolFailed)
    assert "its policy.json is no JSON" in failed.message
    assert desk.names() == ["api__discover"]


def test_a_document_that_changes_is_read_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {})
    assert "api__listShipments" in desk.names()
    fresh = json.dumps({"openapi": "3.1.0", "paths": {"/other": {"get": {}}}})
    (desk.bundle.root / "connections" / "api" / "openapi.json").write_text(fresh)
    assert desk.names() == ["api__discover", "api__get_other"]


def test_a_large_document_is_read_when_it_is_first_used(tmp_path: Path) -> None:
    with serving(echo) as server:
        document = {**DOCUMENT, "x-words": "word " * 100_000}
        desk = Desk(tmp_path, {"baseUrl": server.url}, document)
        assert desk.names() == ["api__discover"]
        refused, got = desk.play(("getShipment", {}), ("getShipment", {"path": {"id": "1"}}))
    assert isinstance(refused, ToolFailed)
    assert refused.code == "invalid-params"
    assert got["path"] == "/shipments/1"


# Documents of other systems ------------------------------------------------------------------------------------------


def document_of(server: Server) -> Answer:
    return 200, {"content-type": "application/json"}, json.dumps(DOCUMENT).encode()


def test_a_document_of_another_system_is_fetched_once_and_there_offline(tmp_path: Path) -> None:
    def answer(seen: Seen) -> Answer:
        return document_of(server) if seen.path == "/spec?token=hidden" else echo(seen)

    with serving(answer) as server:
        spec = {"baseUrl": server.url, "openapi": {"source": f"{server.url}/spec?token=hidden"}}
        desk = Desk(tmp_path, spec)
        assert desk.names() == ["api__discover"]
        refused, got, unknown, found = desk.play(
            ("listShipments", {"query": {"limit": "many"}}),
            ("listShipments", {"query": {"limit": 2}}),
            ("discover", {"query": "customers"}),
            ("getShipment", {"path": {"id": "1"}}),
        )
        assert "api__listShipments" in desk.names()
        assert got["path"] == "/shipments?limit=2"
        assert unknown["operations"][0]["name"] == "api__listCustomers"
        assert found["path"] == "/shipments/1"
        assert [seen.path for seen in server.seen].count("/spec?token=hidden") == 1
        assert isinstance(refused, ToolFailed)
        assert refused.code == "invalid-params"
    [offline] = Desk(tmp_path, spec).play(("discover", {"query": "shipments"}))
    assert len(offline["operations"]) == 4


def test_a_fetched_document_may_not_say_where_credentials_go(tmp_path: Path) -> None:
    with serving(echo) as elsewhere, serving(lambda _: hostile) as server:
        document = {**DOCUMENT, "servers": [{"url": elsewhere.url}]}
        hostile = (200, {"content-type": "application/json"}, json.dumps(document).encode())
        desk = Desk(tmp_path, {"openapi": {"source": f"{server.url}/spec"}, "headers": {"X-Key": "env:TOKEN"}})
        [failed] = desk.play(("listShipments", {}))
    assert isinstance(failed, ToolFailed)
    assert elsewhere.seen == []


@pytest.mark.parametrize(
    ("server", "expected"),
    [("/v1", "/v1"), ("v1", "/docs/v1"), ("../v1/", "/v1"), ("?", "/docs/spec"), (".", "/docs"), (None, "")],
)
def test_the_server_of_a_fetched_document_is_read_by_the_rules_of_addresses(
    tmp_path: Path, server: str | None, expected: str
) -> None:
    given = {**DOCUMENT, **({} if server is None else {"servers": [{"url": server}]})}

    def answer(seen: Seen) -> Answer:
        document = (200, {"content-type": "application/json"}, json.dumps(given).encode())
        return document if seen.path == "/docs/spec" else echo(seen)

    with serving(answer) as web:
        [got] = Desk(tmp_path, {"openapi": {"source": f"{web.url}/docs/spec"}}).play(("listShipments", {}))
    assert got["path"] == f"{expected}/shipments"


@pytest.mark.parametrize(
    "url", ["//127.0.0.1:9/v5", "http://127.0.0.1:9", "https://{host}/v1", "http://me:pw@{own}/v1"]
)
def test_a_server_that_a_fetched_document_may_not_name_is_refused_with_the_reason(tmp_path: Path, url: str) -> None:
    def answer(_: Seen) -> Answer:
        document = {**DOCUMENT, "servers": [{"url": url.replace("{own}", web.url.removeprefix("http://"))}]}
        return 200, {"content-type": "application/json"}, json.dumps(document).encode()

    with serving(answer) as web:
        desk = Desk(tmp_path, {"openapi": {"source": f"{web.url}/spec?key=hidden"}, "headers": {"X-Key": "env:TOKEN"}})
        [failed] = desk.play(("listShipments", {}))
    assert isinstance(failed, ToolFailed)
    assert failed.code == "connection-unavailable"
    assert "connections/api/spec.json [baseUrl]: it is missing, and the OpenAPI document http://127" in str(failed)
    assert [part in str(failed) for part in ("which is not where", "with variables", "a user or a")].count(True) == 1
    assert "hidden" not in str(failed)
    assert "pw" not in str(failed)
    assert len(web.seen) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((500, {}, b"secret words"), "the reply is 500"),
        ((200, {}, b"<html>"), "cannot be used"),
        ((302, {"location": "/spec"}, b""), "cannot be fetched"),
        ((200, {}, b" " * (8 * 1024 * 1024 + 1)), "larger than 8 MB"),
    ],
    ids=["error", "no document", "round in circles", "large"],
)
def test_what_is_no_document_is_not_kept(tmp_path: Path, answer: Answer, reason: str) -> None:
    with serving(lambda _: answer) as server:
        desk = Desk(tmp_path, {"openapi": {"source": f"{server.url}/spec?token=hidden"}})
        failed, again = desk.play(("discover", {"query": ""}), ("listShipments", {}))
        server.fresh(lambda _: document_of(server))
        [found] = desk.play(("discover", {"query": "book"}))
    assert isinstance(failed, ToolFailed)
    assert isinstance(again, ToolFailed)
    assert reason in failed.message
    assert "hidden" not in failed.message
    assert "secret words" not in failed.message
    assert found["operations"]
    assert FETCH_S < 30


# In a runtime --------------------------------------------------------------------------------------------------------


TS = """
const found = await ctx.callTool("api__discover", {query: "list shipments"});
const name = found.operations[0].name;
try { await ctx.callTool(name, {query: {limit: "many"}}); } catch (error) {
  return {name, code: error.code, got: await ctx.callTool(name, {query: {limit: 2}})};
}
"""
PY = """
found = await ctx.call_tool("api__discover", {"query": "list shipments"})
name = found["operations"][0]["name"]
try:
    await ctx.call_tool(name, {"query": {"limit": "many"}})
except CompositeCallError as error:
    return {"name": name, "code": error.code, "got": await ctx.call_tool(name, {"query": {"limit": 2}})}
"""
USED = ("api__discover", "api__listShipments")


def _repository(root: Path, url: str, **files: Any) -> Repo:
    repo = Repo(root)
    repo.file("connections/api/spec.json", {"baseUrl": url, "openapi": {"source": "openapi.json"}})
    repo.file("connections/api/openapi.json", DOCUMENT)
    for name, content in files.items():
        repo.file(f"connections/api/{name}.json", content)
    return repo


@pytest.mark.parametrize("handler", [{"ts": TS}, {"py": PY}], ids=["ts", "py"])
def test_handlers_that_are_durable_call_operations(tmp_path: Path, handler: dict[str, str]) -> None:
    with serving(echo) as server:
        repo = _repository(tmp_path / "repo", server.url)
        repo.durable("ship", tools=USED, **handler)

        async def story() -> Any:
            async with bench(repo, tmp_path / "data") as desk:
                return (await desk.run("ship"))["result"]

        result = play(story())
    assert result["name"] == "api__listShipments"
    assert result["code"] == "invalid-params"
    assert result["got"]["path"] == "/shipments?limit=2"
    assert len(server.seen) == 1


@pytest.mark.parametrize("name", USED)
def test_handlers_that_are_not_durable_may_not(tmp_path: Path, name: str) -> None:
    with serving(echo) as server:
        repo = _repository(tmp_path / "repo", server.url)
        body = f'await ctx.call_tool("{name}", {{"query": "x"}})'
        repo.tool(
            "ship", tools=USED, py=f"try:\n    {body}\nexcept CompositeCallError as error:\n    return error.code"
        )

        async def story() -> Any:
            async with bench(repo, tmp_path / "data") as desk:
                return (await desk.run("ship"))["result"]

        code = play(story())
    assert code == "confirmation-unsupported"
    assert server.seen == []


def test_the_policy_of_a_connection_holds_for_operations_that_models_select(tmp_path: Path) -> None:
    policy = {
        "endpoints": {"POST /shipments": {"returns": [], "confirm": "never", "reason": "Nobody books."}},
        "fieldRestrictions": [{"entity": "S", "field": "path", "policy": "never_retrieve", "sensitivity": "pii"}],
    }
    with serving(echo) as server:
        repo = _repository(tmp_path / "repo", server.url, policy=policy)
        repo.agent("booker", connections=["api"], tools=["api__listShipments"])
        repo.durable("ask", agents=("booker",), py='return await ctx.call_subagent("booker", "book")')
        model = repo.script(
            {"tool_calls": [{"name": "api__create_shipment", "args": {"body": {}}}]},
            {"tool_calls": [{"name": "api__listShipments", "args": {}}]},
            {"text": "done"},
        )

        async def story() -> list[dict[str, Any]]:
            async with bench(repo, tmp_path / "data", model=model) as desk:
                run = await desk.run("ask")
                return [*(await desk.spans(run["session_id"])).values()]

        spans = {span["name"]: span for span in play(story())}
    assert "Nobody books." in json.dumps(spans["api__create_shipment"])
    assert "/shipments" not in json.dumps(spans["api__listShipments"])
    assert [seen.method for seen in server.seen] == ["GET"]
