"""Decision 27: what an inline composite may not call and a durable tool may, each category for itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.compat.services import Request, Service, service
from tests.e2e.office import Office, office
from tests.unit.engine.workshop import Repo

CALL = {
    "ts": """
try {
  return { got: await ctx.callTool(params.tool, params.given) };
} catch (error) {
  return { name: error.name, code: error.code, tool: error.toolName };
}""",
    "py": """
try:
    return {'got': await ctx.call_tool(params['tool'], params['given'])}
except CompositeCallError as error:
    return {'name': error.name, 'code': error.code, 'tool': error.tool_name}""",
}
GUARDED = {
    "ts": "export default {{ id: '{id}', exposure: {{ kind: '{kind}' }}, base: {{}}, async handle(ctx) {{\n"
    "  return await ctx.request('erp', '/orders', {{ method: 'POST', data: ctx.input }});\n}} }};\n",
    "py": "async def handle(ctx):\n"
    "    return await ctx.request('erp', '/orders', {{'method': 'POST', 'data': ctx.input}})\n"
    "\n\ntool = {{'id': '{id}', 'exposure': {{'kind': '{kind}'}}, 'base': {{}}}}\n",
}
CONFIRM = {
    "ts": "return await ctx.request('erp', '/orders', { method: 'POST', data: params });",
    "py": "return await ctx.request('erp', '/orders', {'method': 'POST', 'data': params})",
}
ORDERS: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Orders", "version": "1"},
    "paths": {
        "/orders/{id}": {
            "get": {
                "operationId": "getOrder",
                "summary": "One order",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "it"}},
            }
        },
        "/orders": {
            "post": {
                "operationId": "createOrder",
                "summary": "Create an order",
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {"201": {"description": "it"}},
            }
        },
    },
}
MAIL = {"to": ["ann@example.com"], "subject": "Hello", "body": "Read this."}
CATEGORIES: dict[str, tuple[str, Any]] = {
    "requires-confirmation": ("guarded", {"n": 1}),
    "operator-gated": ("gated", {"n": 1}),
    "request": ("request", {"connection": "erp", "method": "GET", "endpoint": "/orders/7"}),
    "an operation that reads": ("erp__getOrder", {"path": {"id": "7"}}),
    "an operation that writes": ("erp__createOrder", {"body": {"n": 1}}),
    "discover": ("erp__discover", {"query": "order"}),
    "reading mail": ("read_messages", {"query": "", "limit": 5}),
    "sending mail": ("send_message", MAIL),
    "an MCP tool": ("files__echo", {"text": "hi"}),
}
REACHES = {
    "requires-confirmation": ["POST /orders"],
    "operator-gated": ["POST /orders"],
    "request": ["GET /orders/7"],
    "an operation that reads": ["GET /orders/7"],
    "an operation that writes": ["POST /orders"],
}


def answer(request: Request) -> tuple[int, Any]:
    return 200, {"path": request.path, "body": request.json}


@pytest.fixture(scope="module")
def erp() -> Iterator[Service]:
    with service(answer) as found:
        yield found


@pytest.fixture(scope="module", params=["ts", "py"])
def desk(request: pytest.FixtureRequest, erp: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    language: str = request.param
    folder = tmp_path_factory.mktemp(f"confirmations_{language}")
    program = Path(__file__).with_name("mcp_server.py")
    servers = {"files": {"transport": "stdio", "command": sys.executable, "args": [str(program)]}}
    repo = Repo(folder / "repo", mcp={"servers": servers})
    connection = {"baseUrl": erp.url, "openapi": {"source": "./openapi.json", "exposure": "discovery"}}
    repo.file("amodal/connections/erp/spec.json", connection)
    repo.file("amodal/connections/erp/openapi.json", ORDERS)
    repo.file("amodal/connections/mailbox/spec.json", {"protocol": "gmail", "fromAddress": "desk@example.com"})
    repo.file("amodal/connections/mailbox/inbox/one.eml", "From: bob@example.com\nSubject: Hello\n\nA question.\n")
    for name, kind in (("guarded", "requires-confirmation"), ("gated", "operator-gated")):
        repo.file(f"amodal/tools/{name}/tool.{language}", GUARDED[language].format(id=name, kind=kind))
    for name, confirm in (("confirmed", True), ("reviewed", "review")):
        repo.tool(name, **{language: CONFIRM[language]}, confirm=confirm)  # pyright: ignore[reportArgumentType]
    names = (*(tool for tool, _ in CATEGORIES.values()), "confirmed", "reviewed")
    repo.tool("inline", **{language: CALL[language]}, tools=names)  # pyright: ignore[reportArgumentType]
    repo.durable("durable", **{language: CALL[language]}, tools=names)
    with office(repo, folder / "data") as opened:
        opened.wait(opened.runtime.trust(repo.root, who="ann"))
        yield opened


def reached(erp: Service) -> list[str]:
    return [f"{request.method} {request.path}" for request in erp.asked]


@pytest.mark.parametrize("category", CATEGORIES)
def test_an_inline_composite_is_refused_before_anything_leaves(desk: Office, erp: Service, category: str) -> None:
    tool, given = CATEGORIES[category]
    erp.forget()
    done = desk.run("inline", {"tool": tool, "given": given})["result"]
    assert done == {"name": "CompositeCallError", "code": "confirmation-unsupported", "tool": tool}
    assert reached(erp) == []


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_durable_tool_calls_it_and_nobody_is_asked(desk: Office, erp: Service, category: str) -> None:
    tool, given = CATEGORIES[category]
    erp.forget()
    done = desk.run("durable", {"tool": tool, "given": given})
    assert done["outcome"]["kind"] == "complete", done
    assert "got" in done["result"], done
    assert reached(erp) == REACHES.get(category, [])


@pytest.mark.parametrize("tool", ["confirmed", "reviewed"])
@pytest.mark.parametrize("caller", ["inline", "durable"])
def test_confirm_of_tool_json_marks_a_tool_for_writes_and_asks_nobody(
    desk: Office, erp: Service, caller: str, tool: str
) -> None:
    erp.forget()
    done = desk.run(caller, {"tool": tool, "given": {"n": 1}})
    assert done["result"] == {"got": {"path": "/orders", "body": {"n": 1}}}
    assert reached(erp) == ["POST /orders"]


def test_what_the_calls_return(desk: Office) -> None:
    def got(category: str) -> Any:
        tool, given = CATEGORIES[category]
        return desk.run("durable", {"tool": tool, "given": given})["result"]["got"]

    assert got("request") == {"status": 200, "data": {"path": "/orders/7", "body": None}}
    assert got("an operation that reads") == {"path": "/orders/7", "body": None}
    assert {"erp__getOrder", "erp__createOrder"} <= {found["name"] for found in got("discover")["operations"]}
    (mail,) = got("reading mail")["messages"]
    assert (mail["from"], mail["subject"], mail["text_body"].strip()) == ("bob@example.com", "Hello", "A question.")
    assert set(got("sending mail")) == {"message_id", "thread_id"}
    assert "again: hi" in str(got("an MCP tool"))
