"""What a connection adds to requests stands alone: no sender of a request can put another value beside it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import pytest

from runtime_core.connections.client import Connections
from runtime_core.connections.request import Request
from tests.support.web import web_server
from tests.unit.connections.calling import Someone, connection, failure, send, with_connections

INJECTED: dict[str, Any] = {"contextInjection": {"tenant": {"in": "query", "field": "q"}}}
IN_QUERY: dict[str, Any] = {"auth": {"type": "api_key", "token": "the-own-key", "in": "query", "name": "q"}}
ATTEMPTS = [
    Request("/echo?q=other"),
    Request("/echo?%71=other&q=other&a=1"),
    Request("/echo?Q=other&q"),
    Request("/echo", params={"q": ["other", "more"], "Q": "other"}),
    Request("/echo?q=other", params={"q": None}),
]


@pytest.mark.parametrize("request_", ATTEMPTS)
@pytest.mark.parametrize(("spec", "own"), [(INJECTED, "acme"), (IN_QUERY, "the-own-key")])
def test_what_belongs_into_the_query_replaces_what_has_its_name(
    request_: Request, spec: dict[str, Any], own: str
) -> None:
    with web_server() as web:
        send(connection(web.url, **spec), request_, Someone(context='{"tenant": "acme"}'))
    fields = parse_qsl(web.last.path.partition("?")[2], keep_blank_values=True)
    assert [value for name, value in fields if name.lower() == "q"] == [own]
    assert ("a", "1") in fields or "a=1" not in request_.endpoint


def test_what_is_shown_is_without_what_is_replaced() -> None:
    async def completed(connections: Connections) -> Request:
        sender = Someone(context='{"tenant": "acme"}')
        return connections.complete(connection("http://x", **INJECTED), ATTEMPTS[1], sender)

    request = with_connections(completed)
    assert (request.endpoint, request.params) == ("/echo?a=1", {"q": "acme"})


@pytest.mark.parametrize(
    "header",
    [
        "X-Original-URL",
        "x-rewrite-url",
        "X-Forwarded-Host",
        "X_Forwarded_For",
        "Forwarded",
        "X-Real-IP",
        "Host",
        "X-Host",
    ],
)
def test_headers_that_lead_elsewhere_are_refused(header: str) -> None:
    with web_server() as web:
        refused = failure(connection(web.url), Request("/x", headers={header: "/admin"}))
        injection: dict[str, Any] = {"contextInjection": {"tenant": {"in": "header", "field": header}}}
        failure(connection(web.url, **injection), Request("/x"), Someone(context='{"tenant": "acme"}'))
    assert (refused.code, refused.is_sent) == ("invalid-params", False)
    assert header in refused.message
    assert web.seen == []


def test_a_connection_itself_may_set_such_a_header() -> None:
    with web_server() as web:
        send(connection(web.url, headers={"X-Forwarded-Proto": "https"}), Request("/x"))
    assert web.last.headers["x-forwarded-proto"] == "https"
