"""One request of a connection, against a real server (contract 1.6 and 3.2)."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from runtime_core.connections.client import Connections, RequestFailed
from runtime_core.connections.request import Request
from runtime_core.wire.json import loads
from tests.support.web import Says, Seen, web_server
from tests.unit.connections.calling import Someone, connection, failure, send, with_connections

SECRET = "s3cret-ÄÖ/+ value"


def test_a_request_goes_below_the_base_url_with_params_and_comes_back_as_json() -> None:
    with web_server(
        lambda seen: Says(b'{"amount": 12345678901234567890.10}', headers={"Content-Type": "application/json"})
    ) as web:
        request = Request(
            "/tickets/T%2F100?kind=a%20b", params={"q": "a&b=ü", "n": 5, "tags": ["x", "y"], "no": None, "on": True}
        )
        reply = send(connection(f"{web.url}/api/v1/"), request)
    seen = urlsplit(web.last.path)
    assert (web.last.method, seen.path) == ("GET", "/api/v1/tickets/T%2F100")
    assert parse_qs(seen.query) == {"kind": ["a b"], "q": ["a&b=ü"], "n": ["5"], "tags": ["x", "y"], "on": ["true"]}
    assert reply.data == '{"amount":12345678901234567890.10}'


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        ("tickets", "/api/tickets"),
        ("", "/api"),
        ("/", "/api/"),
        ("?page=2", "/api?page=2"),
        ("/a b/ü", "/api/a%20b/%C3%BC"),
        ("/100%/x", "/api/100%25/x"),
        ("properties/52:runReport", "/api/properties/52:runReport"),
        ("/a//b", "/api/a//b"),
        ("/..x/x..", "/api/..x/x.."),
    ],
)
def test_endpoints_are_put_below_the_base_as_written(endpoint: str, expected: str) -> None:
    with web_server() as web:
        send(connection(f"{web.url}/api"), Request(endpoint))
    assert web.last.path == expected


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://evil.example/x",
        "HTTPS://evil.example",
        "//evil.example/x",
        "/../admin",
        "/a/%2e%2e/b",
        "/a/%2E./b",
        "/a/..%2f..%2fb",
        "/a/%252e%252e/b",
        "/a/..;/b",
        "/./a",
        "/a\\..\\b",
        "\\\\evil.example",
        "/a\r\nHost: evil",
        "/a\x00b",
        "/a#b",
        "/\ud800",
    ],
)
def test_an_endpoint_that_would_leave_the_base_is_refused_before_anything_is_sent(endpoint: str) -> None:
    with web_server() as web:
        refused = failure(connection(f"{web.url}/api"), Request(endpoint))
    assert refused.code == "invalid-params"
    assert not refused.is_sent
    assert "Nothing was sent" in refused.message
    assert web.seen == []


@pytest.mark.parametrize(
    "base",
    [
        "ftp://host",
        "host/path",
        "",
        "http://",
        "http://user:pass@host",
        "http://ho st",
        "http://host/#x",
        "http://h\\x",
        "http://host:99999",
    ],
)
def test_a_base_url_that_is_none_makes_the_connection_unusable(base: str) -> None:
    refused = failure(connection(base), Request("/x"))
    assert refused.code == "connection-unavailable"
    assert "connections/support-api/spec.json [baseUrl]" in refused.message
    assert "pass" not in refused.message.replace("password", "")


AUTH = [
    ({"type": "bearer", "token": "env:KEY"}, {"authorization": f"Bearer {SECRET}"}, {}),
    ({"type": "bearer", "token": "env:KEY", "prefix": "Token"}, {"authorization": f"Token {SECRET}"}, {}),
    ({"type": "api_key", "token": "env:KEY"}, {"x-api-key": SECRET}, {}),
    ({"type": "api_key", "token": "env:KEY", "header": "X-Key", "prefix": "key="}, {"x-key": f"key={SECRET}"}, {}),
    ({"type": "api_key", "token": "env:KEY", "in": "query", "name": "api_key"}, {}, {"api_key": SECRET}),
    ({"type": "header", "header": "X-Token", "token": "env:KEY", "prefix": ""}, {"x-token": SECRET}, {}),
    ({"type": "oauth2", "token": "env:KEY", "provider": "google"}, {"authorization": f"Bearer {SECRET}"}, {}),
    ({"type": "none"}, {}, {}),
]


@pytest.mark.parametrize(("auth", "headers", "query"), AUTH)
def test_credentials_are_looked_up_and_attached(auth: Any, headers: Any, query: Any) -> None:
    secret = SECRET.encode().decode("latin-1")  # as the server of the standard library reads headers
    with web_server() as web:
        send(connection(web.url, auth=auth), Request("/x"), secrets={"KEY": SECRET})
    for name, value in headers.items():
        assert web.last.headers[name] == value.replace(SECRET, secret)
    assert dict(parse_qsl(urlsplit(web.last.path).query)) == query


@pytest.mark.parametrize(
    "auth",
    [
        {"type": "basic", "username": "ann", "password": "env:KEY"},
        {"type": "basic", "token": "env:PAIR"},
        {"type": "basic", "token": "env:CODED"},
    ],
)
def test_basic_credentials(auth: Any) -> None:
    coded = base64.b64encode(f"ann:{SECRET}".encode()).decode()
    with web_server() as web:
        send(
            connection(web.url, auth=auth),
            Request("/x"),
            secrets={"KEY": SECRET, "PAIR": f"ann:{SECRET}", "CODED": coded},
        )
    assert web.last.headers["authorization"] == f"Basic {coded}"


@pytest.mark.parametrize(
    ("spec", "key"),
    [
        ({"auth": {"type": "bearer", "token": "env:MISSING"}}, "auth.token"),
        ({"auth": {"type": "bearer"}}, "auth.token"),
        ({"auth": {"type": "header", "token": "x"}}, "auth.header"),
        ({"auth": {"type": "ntlm"}}, "auth.type"),
        ({"auth": "bearer"}, "auth"),
        ({"auth": {"type": "oauth2", "provider": "google"}}, "auth"),
        ({"auth": {"type": "bearer", "token": "scope:TOKEN"}}, "auth.token"),
        ({"headers": {"X-Org": "env:MISSING"}}, "headers.X-Org"),
        ({"headers": ["X"]}, "headers"),
        ({"baseUrl": "env:MISSING"}, "baseUrl"),
        ({"baseUrl": None}, "baseUrl"),
        ({"contextInjection": {"org": {"in": "cookie", "field": "x"}}}, "contextInjection.org"),
    ],
)
def test_what_is_not_set_up_is_named_with_file_and_key(spec: Any, key: str) -> None:
    with web_server() as web:
        refused = failure(
            connection(web.url, **{"baseUrl": web.url, **spec}) if "baseUrl" not in spec else _bare(spec), Request("/x")
        )
    assert refused.code == "connection-unavailable"
    assert f"connections/support-api/spec.json [{key}]" in refused.message
    assert web.seen == []


def _bare(spec: Any) -> Any:
    from runtime_core.repo.bundle import Connection

    return Connection("support-api", "connections/support-api", "rest", spec)


def test_a_scoped_credential_is_that_of_the_scope() -> None:
    auth = {"type": "bearer", "token": "scope:TOKEN"}
    with web_server() as web:
        chosen = connection(web.url, auth=auth)
        send(chosen, Request("/x"), Someone(scope="acme"), {"acme/TOKEN": "of-acme", "TOKEN": "of-nobody"})
        refused = failure(
            chosen, Request("/x"), Someone(scope="other"), {"acme/TOKEN": "of-acme", "TOKEN": "of-nobody"}
        )
    assert [seen.headers["authorization"] for seen in web.seen] == ["Bearer of-acme"]
    assert "operator-inbox secret set other/TOKEN" in refused.message


def test_bodies_are_json_forms_or_texts() -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with web_server() as web:
        chosen = connection(web.url)
        for data, headers in [
            ({"n": loads("1.10"), "ü": None}, {}),
            ({"a": "b&c", "n": [1, 2]}, form),
            ("plain", {}),
            ('{"already": 1}', {}),
            ("<x/>", {"content-type": "application/xml"}),
        ]:
            send(chosen, Request("/x", "post", data=data, headers=headers))
    assert [(seen.headers["content-type"], seen.body) for seen in web.seen] == [
        ("application/json", b'{"n":1.10,"\\u00fc":null}'),
        (form["Content-Type"], b"a=b%26c&n=1&n=2"),
        ("text/plain; charset=utf-8", b"plain"),
        ("application/json", b'{"already": 1}'),
        ("application/xml", b"<x/>"),
    ]


@pytest.mark.parametrize(
    "request_",
    [
        Request("/x", "TRACE"),
        Request("/x", "GET", data={"a": 1}),
        Request("/x", headers={"Host": "evil"}),
        Request("/x", headers={"content-length": "1"}),
        Request("/x", headers={"X": "a\r\nY: b"}),
        Request("/x", headers={"X Y": "a"}),
        Request("/x", "POST", data="\ud800"),
    ],
)
def test_requests_that_make_no_sense_are_refused_unsent(request_: Request) -> None:
    with web_server() as web:
        assert failure(connection(web.url), request_).code == "invalid-params"
    assert web.seen == []


def test_the_credentials_of_the_connection_go_before_headers_of_a_handler() -> None:
    with web_server() as web:
        chosen = connection(web.url, auth={"type": "bearer", "token": "t0ken"}, headers={"X-Org": "a", "Accept": "x/y"})
        send(chosen, Request("/x", headers={"authorization": "mine", "x-org": "b"}))
    assert (web.last.headers["authorization"], web.last.headers["x-org"]) == ("Bearer t0ken", "b")
    assert web.last.headers["accept"] == "x/y"


def test_a_write_carries_the_key_of_its_call_unless_the_handler_sets_one() -> None:
    with web_server() as web:
        chosen, someone = connection(web.url), Someone(call_id="run-1/3")
        for request in [
            Request("/x", "POST", data={}),
            Request("/x", "DELETE"),
            Request("/x", "POST", headers={"idempotency-key": "own"}),
            Request("/x"),
            Request("/x", "POST", is_read=True),
        ]:
            send(chosen, request, someone)
        send(chosen, Request("/x", "POST"))
    keys = [seen.headers.get("idempotency-key") for seen in web.seen]
    assert keys == ["run-1/3", "run-1/3", "own", None, None, None]


INJECTION = {
    "org": {"in": "header", "field": "X-Org", "required": True},
    "tenant": {"in": "path", "field": "tenant"},
    "region": {"in": "query", "field": "region"},
    "actor": {"in": "body", "field": "actor"},
}


def test_the_context_of_a_run_is_put_where_the_connection_says() -> None:
    context = '{"org": "o-1", "tenant": "a/b", "region": 7, "actor": {"id": 1}}'
    with web_server() as web:
        chosen = connection(f"{web.url}/t/{{tenant}}", contextInjection=INJECTION)
        sender = Someone(context=context)
        request = Request(
            "/of/{tenant}/x",
            "POST",
            params={"region": "chosen"},
            data={"actor": "forged", "b": 1},
            headers={"x-org": "forged"},
        )
        send(chosen, request, sender)
    assert web.last.path == "/t/a%2Fb/of/a%2Fb/x?region=7"
    assert web.last.headers["x-org"] == "o-1"
    assert web.last.json == {"actor": {"id": 1}, "b": 1}


@pytest.mark.parametrize("context", [None, "{}", '{"org": null}', "[1]", '"org"'])
def test_without_a_required_value_of_the_context_nothing_is_sent(context: str | None) -> None:
    with web_server() as web:
        refused = failure(connection(web.url, contextInjection=INJECTION), Request("/x"), Someone(context=context))
    assert "'org'" in refused.message
    assert web.seen == []


@pytest.mark.parametrize("tenant", ["..", ".", ""])
def test_a_context_cannot_climb_out_of_the_path(tenant: str) -> None:
    with web_server() as web:
        context = json.dumps({"org": "o", "tenant": tenant})
        failure(
            connection(f"{web.url}/{{tenant}}", contextInjection=INJECTION), Request("/x"), Someone(context=context)
        )
    assert web.seen == []


@pytest.mark.parametrize(
    ("says", "data"),
    [
        (Says("hello"), '{"text":"hello","status":200}'),
        (Says("", status=204), '{"text":"","status":204}'),
        (Says(b"42", headers={"Content-Type": "application/json"}), "42"),
        (Says(b"42", headers={"Content-Type": "text/plain"}), '{"text":"42","status":200}'),
        (Says(b'[1.0, {"a": 1e2}]', headers={"Content-Type": "text/html"}), '[1.0,{"a":1e2}]'),
        (Says(b'{"a": 1', headers={"Content-Type": "application/json"}), '{"text":"{\\"a\\": 1","status":200}'),
        (Says(b'{"a":1}', headers={"Content-Type": "application/geo+json"}), '{"a":1}'),
        (
            Says("ü".encode("latin-1"), headers={"Content-Type": "text/plain; charset=latin-1"}),
            '{"text":"\\u00fc","status":200}',
        ),
        (Says(b"\xff", headers={"Content-Type": "text/plain; charset=unheard-of"}), '{"text":"\\ufffd","status":200}'),
        (
            Says(gzip.compress(b'{"z":1}'), headers={"Content-Type": "application/json", "Content-Encoding": "gzip"}),
            '{"z":1}',
        ),
    ],
)
def test_what_is_not_json_comes_back_as_text_and_status(says: Says, data: str) -> None:
    with web_server(lambda _: says) as web:
        assert send(connection(web.url), Request("/x")).data == data


def test_a_status_that_is_no_success_is_a_failure_with_the_body_and_without_secrets() -> None:
    body = {"seen": f"Bearer {SECRET}", "quoted": "x" * 3000}
    with web_server(lambda _: Says(body, status=422)) as web:
        chosen = connection(web.url, auth={"type": "bearer", "token": "env:KEY"})
        failed = failure(chosen, Request("/x?token=1", "POST"), secrets={"KEY": SECRET})
    assert failed.code == "http-422"
    assert failed.is_sent
    assert failed.reply is not None
    assert failed.reply.status == 422
    told = failed.with_answer(failed.reply.body)
    for text in (told, failed.reply.body, failed.reply.data, repr(failed)):
        assert SECRET not in text
        assert "s3cret" not in text
    assert 'POST /x of the connection "support-api"' in failed.message
    assert "***" in told
    assert "***" not in failed.message
    assert len(told) < 2300


def test_a_success_does_not_repeat_the_credentials_either() -> None:
    with web_server(lambda seen: Says({"headers": dict(seen.headers)})) as web:
        chosen = connection(
            web.url, auth={"type": "basic", "username": "ann", "password": "env:KEY"}, headers={"X-Org": "env:ORG"}
        )
        reply = send(chosen, Request("/x"), secrets={"KEY": "pa55word", "ORG": "org-of-mine"})
    headers = json.loads(reply.data)["headers"]
    assert (headers["authorization"], headers["x-org"]) == ("Basic ***", "org-of-mine")


def test_a_secret_of_digits_masks_texts_and_no_numbers() -> None:
    with web_server(lambda seen: Says({"id": 12345678, "echo": seen.headers["x-api-key"]})) as web:
        chosen = connection(web.url, auth={"type": "api_key", "token": "env:KEY"})
        reply = send(chosen, Request("/x"), secrets={"KEY": "12345678"})
    assert reply.data == '{"id":12345678,"echo":"***"}'


def test_redirects_are_followed_within_the_origin_with_credentials() -> None:
    def answer(seen: Seen) -> Says:
        return (
            Says({"at": seen.path})
            if seen.path.startswith("/new")
            else Says(status=302, headers={"Location": "/new?a=1"})
        )

    with web_server(answer) as web:
        chosen = connection(web.url, auth={"type": "api_key", "token": "k3y-k3y", "in": "query", "name": "key"})
        reply = send(chosen, Request("/old"))
    assert json.loads(reply.data) == {"at": "/new?a=1&key=***"}
    assert web.last.path == "/new?a=1&key=k3y-k3y"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_to_another_origin_are_not_followed(status: int) -> None:
    with web_server() as other:
        target = other.url.replace("127.0.0.1", "user:pw@127.0.0.1")
        with web_server(lambda _: Says(status=status, headers={"Location": f"{target}/x"})) as web:
            failed = failure(connection(web.url, auth={"type": "bearer", "token": SECRET}), Request("/x", "POST"))
    assert failed.code == "redirected"
    assert other.url in failed.message
    assert "pw" not in failed.message
    assert other.seen == []


def test_a_key_in_the_query_leaves_the_rest_of_it_as_it_was_written() -> None:
    with web_server() as web:
        chosen = connection(web.url, auth={"type": "api_key", "token": "k/y", "in": "query", "name": "key"})
        send(chosen, Request("/x?a=b%20c&a=+d", params={"e": "f g"}))
    assert web.last.path == "/x?a=b%20c&a=+d&e=f%20g&key=k%2Fy"


def test_a_loop_of_redirects_ends() -> None:
    with web_server(lambda _: Says(status=302, headers={"Location": "/x"})) as web:
        assert failure(connection(web.url), Request("/x")).code == "redirected"
    assert len(web.seen) < 10


def test_cookies_of_one_request_are_not_sent_with_the_next() -> None:
    with web_server(lambda _: Says(1, headers={"Set-Cookie": "session=a"})) as web:

        async def twice(connections: Connections) -> None:
            for _ in range(2):
                await connections.send(connection(web.url), Request("/x"), Someone())

        with_connections(twice)
    assert [seen.headers.get("cookie") for seen in web.seen] == [None, None]


def test_large_answers_come_whole_while_others_are_served() -> None:
    rows = [{"id": number, "text": "ü" * 50} for number in range(20_000)]
    with web_server(lambda seen: Says(rows if seen.path == "/rows" else 1)) as web:

        async def both(connections: Connections) -> list[str]:
            sent = (connections.send(connection(web.url), Request(path), Someone()) for path in ("/rows", "/x"))
            return [reply.data for reply in await asyncio.gather(*sent)]

        large, small = with_connections(both)
    assert (json.loads(large), small) == (rows, "1")


def test_an_answer_that_is_too_large_is_cut_off() -> None:
    with web_server(lambda _: Says(gzip.compress(b" " * 11_000_000), headers={"Content-Encoding": "gzip"})) as web:
        failed = failure(connection(web.url), Request("/x"))
    assert failed.code == "response-too-large"
    assert "10 MB" in failed.message


def test_a_server_that_does_not_answer_costs_the_limit_and_says_so() -> None:
    release = threading.Event()

    def answer(_: Seen) -> Says:
        release.wait(20)
        return Says()

    with web_server(answer) as web:
        try:
            failed = failure(connection(web.url), Request("/x", timeout_s=0.2))
        finally:
            release.set()
    assert (failed.code, failed.is_sent) == ("timeout", True)
    assert "0.2 s" in failed.message


def test_nobody_listening_and_unknown_hosts_are_told_apart() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        refused = failure(connection(f"http://127.0.0.1:{port}"), Request("/x"))
    unknown = failure(connection("http://nobody.invalid"), Request("/x"))
    assert (refused.code, refused.is_sent, unknown.code) == ("unreachable", False, "unreachable")
    assert f"127.0.0.1:{port} refuses connections" in refused.message
    assert "nobody.invalid is not known" in unknown.message


def test_a_server_without_tls_is_named_as_that() -> None:
    with web_server() as web:
        failed = failure(connection(web.url.replace("http://", "https://")), Request("/x"))
    assert failed.code == "unreachable"
    assert "TLS" in failed.message


@contextmanager
def _slammed(says: bytes = b"") -> Generator[str]:
    """A server that hangs up as soon as it was asked, after these words."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                client.recv(65536)
                client.sendall(says)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    thread.join()


def test_a_server_that_hangs_up_leaves_it_open_whether_the_request_arrived() -> None:
    with _slammed() as url:
        failed = failure(connection(url), Request("/x", "POST", data={}))
    assert (failed.code, failed.is_sent) == ("unreachable", True)
    assert "may have arrived" in failed.message


def test_an_unavailable_connection_says_why() -> None:
    from dataclasses import replace

    failed = failure(replace(connection("http://x"), unavailable="its policy.json is broken."), Request("/x"))
    assert failed.message == 'The connection "support-api" cannot be used: its policy.json is broken.'


def test_a_proxy_that_is_none_is_named_and_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://proxy")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with web_server() as web:

        async def twice(connections: Connections) -> str:
            with pytest.raises(RequestFailed) as caught:
                await connections.send(connection(web.url), Request("/x"), Someone())
            monkeypatch.delenv("HTTP_PROXY")
            await connections.send(connection(web.url), Request("/x"), Someone())
            return caught.value.message

        assert "requests cannot be sent from here" in with_connections(twice)


def test_what_is_no_http_is_named_as_that() -> None:
    with _slammed(b"220 smtp.example ready\r\n") as url:
        failed = failure(connection(url), Request("/x"))
    assert "no HTTP" in failed.message
