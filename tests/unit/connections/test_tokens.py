"""Access tokens for client credentials: asked for once, replaced when they are refused (contract 1.6)."""

from __future__ import annotations

import asyncio
import base64
from typing import Any
from urllib.parse import parse_qs

import pytest

from runtime_core.connections.client import Connections
from runtime_core.connections.request import Request
from tests.support.web import Says, Seen, web_server
from tests.unit.connections.calling import Someone, connection, failure, with_connections


class _TokenServer:
    """A token endpoint and an API that accepts its latest token."""

    def __init__(self, life_s: Any = 3600) -> None:
        self.given = 0
        self.life_s = life_s
        self.good = ""
        self.asked: list[Seen] = []

    def __call__(self, seen: Seen) -> Says:
        if seen.path == "/token":
            self.given += 1
            self.asked.append(seen)
            self.good = f"token-{self.given}"
            return Says({"access_token": self.good, "token_type": "bearer", "expires_in": self.life_s})
        is_good = seen.headers.get("authorization") == f"Bearer {self.good}"
        return Says({"echo": seen.headers.get("authorization")}, status=200 if is_good else 401)


def _oauth(url: str, **more: Any) -> dict[str, Any]:
    return {"type": "oauth2", "tokenUrl": f"{url}/token", "clientId": "me", "clientSecret": "env:KEY", **more}


def test_client_credentials_are_exchanged_once_for_many_requests() -> None:
    tokens = _TokenServer()
    with web_server(tokens) as web:
        chosen = connection(web.url, auth=_oauth(web.url, scope=["read", "write"]))

        async def many(connections: Connections) -> list[str]:
            sent = (connections.send(chosen, Request("/x"), Someone()) for _ in range(8))
            return [reply.data for reply in await asyncio.gather(*sent)]

        replies = with_connections(many, {"KEY": "client-s3cret"})
    assert tokens.given == 1
    assert set(replies) == {'{"echo":"Bearer ***"}'}
    asked = tokens.asked[0]
    assert parse_qs(asked.body.decode()) == {"grant_type": ["client_credentials"], "scope": ["read write"]}
    assert asked.headers["authorization"] == "Basic " + base64.b64encode(b"me:client-s3cret").decode()


def test_a_token_that_is_refused_is_replaced_once() -> None:
    tokens = _TokenServer()
    with web_server(tokens) as web:
        chosen = connection(web.url, auth=_oauth(web.url, clientAuth="body"))

        async def revoked(connections: Connections) -> None:
            await connections.send(chosen, Request("/x"), Someone())
            tokens.good = "revoked"
            await connections.send(chosen, Request("/x", "POST"), Someone())

        with_connections(revoked, {"KEY": "client-s3cret"})
    assert tokens.given == 2
    assert parse_qs(tokens.asked[0].body.decode())["client_secret"] == ["client-s3cret"]


def test_an_expired_token_is_not_used() -> None:
    tokens = _TokenServer(life_s=1e-9)
    with web_server(tokens) as web:
        chosen = connection(web.url, auth=_oauth(web.url))

        async def twice(connections: Connections) -> None:
            for _ in range(2):
                await connections.send(chosen, Request("/x"), Someone())

        with_connections(twice, {"KEY": "x"})
    assert tokens.given == 2


@pytest.mark.parametrize("life_s", [10**400, -1, "soon", 1e308])
def test_a_token_lives_whatever_its_endpoint_says(life_s: Any) -> None:
    tokens = _TokenServer(life_s)
    with web_server(tokens) as web:
        chosen = connection(web.url, auth=_oauth(web.url))

        async def twice(connections: Connections) -> None:
            for _ in range(2):
                await connections.send(chosen, Request("/x"), Someone())

        with_connections(twice, {"KEY": "x"})
    assert tokens.given == 1


@pytest.mark.parametrize("way", ["header", "body"])
@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_a_token_that_nobody_gives_fails_without_anything_of_the_answer(way: str, status: int) -> None:
    def answer(seen: Seen) -> Says:
        sent = f"{seen.headers.get('authorization')} {seen.body.decode()}"
        return Says({"error": sent, "error_description": f"bad {sent}"}, status=status)

    with web_server(answer) as web:
        chosen = connection(web.url, auth=_oauth(web.url, clientAuth=way))
        failed = failure(chosen, Request("/x", "POST"), secrets={"KEY": "client s3cret"})
    assert (failed.code, failed.is_sent) == ("sign-in-failed", False)
    assert f"answered {status}" in failed.message
    coded = base64.b64encode(b"me:client%20s3cret").decode()
    assert not [part for part in ("s3cret", coded, "bad", "..") if part in failed.message]
    assert len(web.seen) == 1


@pytest.mark.parametrize(
    ("says", "advice"),
    [
        (Says({"error": "invalid_client"}, status=401), "401 (invalid_client). Check clientId and clientSecret."),
        (Says({"error": "invalid_scope"}, status=400), "400 (invalid_scope). Check scope."),
        (Says("<html>", status=200), "200, and no token as JSON. Check tokenUrl."),
        (Says({"error": {}}, status=404), "404. Check tokenUrl."),
        (Says("down", status=503), "503. Try again later."),
    ],
)
def test_a_token_that_nobody_gives_says_what_to_look_at(says: Says, advice: str) -> None:
    with web_server(lambda _: says) as web:
        failed = failure(connection(web.url, auth=_oauth(web.url)), Request("/x"), secrets={"KEY": "client-s3cret"})
    assert failed.message.endswith(f"answered {advice}")


def test_credentials_of_the_token_endpoint_are_masked_in_answers_of_the_system() -> None:
    tokens = _TokenServer()

    def answer(seen: Seen) -> Says:
        if seen.path == "/token":
            return tokens(seen)
        return Says({"reason": f"was {tokens.asked[0].headers['authorization']}"}, status=403)

    with web_server(answer) as web:
        failed = failure(connection(web.url, auth=_oauth(web.url)), Request("/x"), secrets={"KEY": "client-s3cret"})
    assert failed.reply is not None
    assert failed.reply.body == '{"reason":"was Basic ***"}'
