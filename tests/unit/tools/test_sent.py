"""What a policy judges, what a person is shown and what is sent is one request: contract 9.1, decisions 20 and 29."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime_core.connections.client import Connections
from runtime_core.connections.openapi_source import OpenApiDocuments
from runtime_core.repo.bundle import Bundle, Connection
from runtime_core.repo.policy import Endpoint, Policy, Threshold, Verdict
from runtime_core.tools.base import Caller, ToolFailed
from runtime_core.tools.openapi import OpenApiTools
from runtime_core.tools.request import Requests
from runtime_core.wire.json import dumps
from tests.support.web import Seen, Web, web_server
from tests.unit.connections.calling import Kept

INJECTED = {
    "org": {"in": "header", "field": "X-Org"},
    "how": {"in": "query", "field": "_method"},
    "tenant": {"in": "path", "field": "tenant"},
    "amount": {"in": "body", "field": "amount"},
}
POLICY = Policy(
    {
        "POST": Endpoint("POST", "/of/a", "confirm", thresholds=(Threshold("body.amount", Decimal(100), "never"),)),
        "DELETE": Endpoint("DELETE", "/of/{tenant}", "never"),
    }
)
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "paths": {
        "/of/{tenant}": {
            "post": {
                "operationId": "book",
                "parameters": [
                    {"name": "filter", "in": "query", "schema": {"type": "object"}},
                    {"name": "deep", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
                    {"name": "n", "in": "query", "schema": {}},
                    {"name": "X-Org", "in": "header", "schema": {"type": "string"}},
                ],
                "requestBody": {"content": {"application/json": {"schema": {}}}},
            }
        }
    },
}


async def _nobody(name: str, task: str, input: str | None) -> str:
    raise AssertionError("nobody calls a subagent here")


@dataclass(frozen=True)
class Desk:
    """Calls of a model through one connection, at a server that answers everything."""

    web: Web
    folder: Path

    def sent(self, tool: str, params: Any, context: Any, policy: Policy = POLICY) -> tuple[Verdict, Seen | None]:
        """What is said about a call, and what of it reaches the server when it is made."""
        return asyncio.run(self._sent(tool, dumps(params), dumps(context), policy))

    async def _sent(self, name: str, params: str, context: str, policy: Policy) -> tuple[Verdict, Seen | None]:
        spec = {
            "baseUrl": f"{self.web.url}/api",
            "auth": {"type": "bearer", "token": "env:TOKEN"},
            "contextInjection": INJECTED,
            "openapi": {"source": "openapi.json"},
        }
        connection = Connection("api", "connections/api", "rest", spec, policy=policy)
        bundle = Bundle(self.folder, "x", "1", "r", {}, {}, {}, connections={"api": connection})
        caller = Caller(bundle, "", "ann", lambda kind, value: None, _nobody, context=context)
        secrets = Kept({"TOKEN": "very-secret"})
        connections, documents = Connections(secrets), OpenApiDocuments(self.folder / "documents", secrets)
        self.web.seen.clear()
        try:
            providers = (Requests(connections), OpenApiTools(documents, connections))
            tool = next(tool for provider in providers if (tool := provider.find(bundle, name)) is not None)
            assert tool.judge is not None
            try:
                verdict = await tool.judge(params, caller)
                await tool.call(params, caller)
            except ToolFailed:
                verdict = Verdict("allow")
            return verdict, self.web.seen[0] if self.web.seen else None
        finally:
            await asyncio.gather(connections.close(), documents.close())


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    folder = tmp_path_factory.mktemp("sent")
    home = folder / "connections" / "api"
    home.mkdir(parents=True)
    (home / "openapi.json").write_text(json.dumps(DOCUMENT))
    with web_server() as web:
        yield Desk(web, folder)


_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=5)
_VALUES = st.one_of(st.integers(0, 500), _TEXTS, st.sampled_from(["a", "DELETE", "POST"]))
_OBJECTS = st.dictionaries(st.sampled_from(["amount", "_method", "note"]), _VALUES)
_WORDS = st.sampled_from(["a", "DELETE", "9"])
_CONTEXTS = st.fixed_dictionaries({}, optional={"org": _WORDS, "how": _VALUES, "tenant": _VALUES, "amount": _VALUES})
_LIMITS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
_REQUESTS = st.fixed_dictionaries(
    {
        "connection": st.just("api"),
        "endpoint": st.sampled_from(["/of/a", "/of/{tenant}", "of/a?n=1&n=2", "/of/x y%41?_method=PUT"]),
        "method": st.sampled_from(["GET", "POST", "DELETE"]),
    },
    optional={
        "params": _OBJECTS.map(lambda found: {**found, "list": [1, None, "b"], "none": None}),
        "data": _OBJECTS,
        "headers": st.dictionaries(st.sampled_from(["x-org", "X-HTTP-Method"]), _WORDS),
    },
)
_OPERATIONS = st.fixed_dictionaries(
    {"path": st.fixed_dictionaries({"tenant": _VALUES})},
    optional={
        "query": st.fixed_dictionaries({}, optional={"filter": _OBJECTS, "deep": _OBJECTS, "n": _VALUES}),
        "header": st.fixed_dictionaries({}, optional={"X-Org": _WORDS}),
        "body": _OBJECTS,
    },
)


def _is_sent(desk: Desk, shown: Mapping[str, Any], seen: Seen) -> None:
    assert shown["url"] == f"{desk.web.url}{seen.path}"
    path, _, query = shown["endpoint"].partition("?")
    fields = parse_qsl(query, keep_blank_values=True)
    for name, values in shown.get("params", {}).items():
        items = values if isinstance(values, list) else [values]
        fields += [(name, item if isinstance(item, str) else dumps(item)) for item in items if item is not None]
    sent_path, _, sent_query = seen.path.partition("?")
    assert seen.method == shown["method"]
    assert unquote(sent_path) == unquote(f"/api/{path.lstrip('/')}")
    assert parse_qsl(sent_query, keep_blank_values=True) == fields
    assert (json.loads(seen.body) if seen.body else None) == shown.get("data")
    for name, value in shown.get("headers", {}).items():
        assert seen.headers[name.lower()] == value
    unknown = seen.headers.keys() - {name.lower() for name in shown.get("headers", {})}
    assert not unknown & {"x-org", "x-http-method"}


def _is_judged(verdict: Verdict, seen: Seen) -> None:
    """The policy holds for what has arrived."""
    amount = json.loads(seen.body).get("amount") if seen.body else None
    words = [value for name, value in parse_qsl(seen.path.partition("?")[2]) if name == "_method"]
    words += [str(json.loads(seen.body).get("_method", "")) if seen.body else "", seen.headers.get("x-http-method", "")]
    if "DELETE" in (seen.method, *words):
        assert verdict.tier == "never"
    if seen.method == "POST" and seen.path.partition("?")[0] == "/api/of/a":
        assert verdict.tier == "never" if isinstance(amount, int) and amount > 100 else verdict.tier != "allow"


@_LIMITS
@given(params=_REQUESTS, context=_CONTEXTS)
def test_a_request_is_judged_and_shown_as_it_is_sent(desk: Desk, params: Any, context: Any) -> None:
    verdict, seen = desk.sent("request", params, context)
    if seen is not None:
        _is_sent(desk, verdict.shown, seen)
        _is_judged(verdict, seen)
        assert "very-secret" not in dumps(verdict.shown)


@_LIMITS
@given(params=_OPERATIONS, context=_CONTEXTS)
def test_an_operation_is_judged_and_shown_as_it_is_sent(desk: Desk, params: Any, context: Any) -> None:
    verdict, seen = desk.sent("api__book", params, context)
    if seen is not None:
        _is_sent(desk, verdict.shown, seen)
        _is_judged(verdict, seen)
        assert "very-secret" not in dumps(verdict.shown)


@pytest.mark.parametrize("field", ["query.filter.amount", "query.amount"])
def test_a_threshold_may_name_a_value_as_the_document_does(desk: Desk, field: str) -> None:
    """``filter`` is sent as ``amount=101``."""
    limits = (Threshold(field, Decimal(100), "review"),)
    policy = Policy({"POST": Endpoint("POST", "/of/{tenant}", thresholds=limits)})
    call = {"path": {"tenant": "t"}, "query": {"filter": {"amount": 101}}}
    verdict, _ = desk.sent("api__book", call, {}, policy)
    assert (verdict.tier, verdict.shown["params"]) == ("review", {"amount": ["101"]})
