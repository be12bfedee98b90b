"""What other systems answer: redirects, encodings and JSON that is not taken, and secrets in whatever they say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime_core.connections.request import Request
from tests.support.web import Says, Seen, web_server
from tests.unit.connections.calling import connection, failure, send

TOKEN = "s3cr3t-T0ken+/==%"
BEARER: dict[str, Any] = {"type": "bearer", "token": "env:KEY"}


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_of_a_write_is_not_followed(method: str, status: int) -> None:
    with web_server(lambda _: Says(status=status, headers={"Location": "/other/place?x=1"})) as web:
        failed = failure(connection(f"{web.url}/api"), Request("/refunds", method))
    assert (failed.code, failed.is_sent) == ("redirected", True)
    assert f"answered the {method} with {status}: it redirects to /other/place," in failed.message
    assert [(seen.method, seen.path) for seen in web.seen] == [(method, "/api/refunds")]


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_redirect_of_a_read_is_followed(method: str) -> None:
    def answer(seen: Seen) -> Says:
        return Says(1) if seen.path == "/new" else Says(status=307, headers={"Location": "/new"})

    with web_server(answer) as web:
        send(connection(web.url), Request("/old", method))
    assert [(seen.method, seen.path) for seen in web.seen] == [(method, "/old"), (method, "/new")]


def test_a_token_endpoint_that_redirects_is_not_followed() -> None:
    with web_server(lambda _: Says(status=307, headers={"Location": "/elsewhere"})) as web:
        auth = {"type": "oauth2", "tokenUrl": f"{web.url}/token", "clientId": "me", "clientSecret": "env:KEY"}
        failed = failure(connection(web.url, auth=auth), Request("/x"), secrets={"KEY": TOKEN})
    assert (failed.code, failed.is_sent) == ("redirected", False)
    assert [seen.path for seen in web.seen] == ["/token"]


def test_a_redirect_names_what_is_wrong_with_it() -> None:
    with web_server() as other, web_server(lambda _: Says(status=302, headers={"Location": other.url})) as web:
        assert "credentials" not in failure(connection(web.url, auth={"type": "none"}), Request("/x")).message
    own = ""
    with web_server(lambda _: Says(status=302, headers={"Location": own})) as web:
        own = f"{web.url.replace('//', '//user:pw@')}/x"
        failed = failure(connection(web.url), Request("/x"))
    assert f"redirects to {web.url} with a user name" in failed.message
    assert "origin" not in failed.message
    assert "pw" not in failed.message


def test_only_encodings_that_are_read_are_asked_for() -> None:
    with web_server() as web:
        send(connection(web.url), Request("/x"))
    assert web.last.headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, rot13", "X-OWN"])
def test_an_encoding_that_cannot_be_read_is_named(encoding: str) -> None:
    with web_server(lambda _: Says(b"\x1b\x03\x00garbage", headers={"Content-Encoding": encoding})) as web:
        failed = failure(connection(web.url), Request("/x", "POST"))
    assert (failed.code, failed.is_sent) == ("unreachable", True)
    assert f"encoding {encoding.rpartition(' ')[2].lower()!r}" in failed.message


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('{"a": 1,\n "a": 2}', 'the key "a" appears twice in one object (line 2, column 2)'),
        ("\n" + "[" * 5_000 + "]" * 5_000, "nested deeper than"),
        ("[" * 200_000, "nested deeper than"),
        ('{"a": NaN}', "NaN is not a JSON number (line 1, column 7)"),
    ],
)
def test_json_that_is_not_taken_is_an_error_that_says_where(body: str, reason: str) -> None:
    with web_server(lambda _: Says(body.encode(), headers={"Content-Type": "application/json"})) as web:
        failed = failure(connection(web.url), Request("/x"))
    assert (failed.code, failed.is_sent) == ("response-unfit", True)
    assert reason in failed.message
    assert "line 1, column 1)" not in failed.message


def test_what_only_says_that_it_is_json_is_text() -> None:
    with web_server(lambda _: Says(b"<html>", headers={"Content-Type": "application/json"})) as web:
        assert json.loads(send(connection(web.url), Request("/x")).data) == {"text": "<html>", "status": 200}


@pytest.mark.parametrize(
    "body",
    [
        '{"sent": "s3cr3t-T0ken+\\/==%"}',
        '{"sent": "s3cr3t-T0ken\\u002B\\u002f==%"}',
        '{"sent": "s3cr3t-T0ken\\u002B\\u002f==%", "sent": 1}',
        '{"sent": "s3cr3t-T0ken+\\/==%"',
        "<p>s3cr3t-T0ken&#43;&#x2f;==%</p>",
        "sent=s3cr3t-T0ken%2b%2f%3d%3D%25",
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_a_secret_is_in_no_error_however_the_answer_spells_it(body: str, kind: str) -> None:
    with web_server(lambda _: Says(body.encode(), 400, headers={"Content-Type": kind})) as web:
        failed = failure(connection(web.url, auth=BEARER), Request("/x"), secrets={"KEY": TOKEN})
    assert failed.reply is not None
    for told in (failed.message, failed.with_answer(failed.reply.body), failed.reply.body, failed.reply.data):
        assert "T0ken" not in told
    assert "***" in failed.with_answer(failed.reply.body)
