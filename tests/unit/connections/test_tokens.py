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


def test_a_token_that_nobody_gives_fails_without_the_secret() -> None:
    def answer(seen: Seen) -> Says:
        return Says({"error": "invalid_client", "error_description": f"bad {seen.body.decode()}"}, status=401)

    with web_server(answer) as web:
        chosen = connection(web.url, auth=_oauth(web.url, clientAuth="body"))
        failed = failure(chosen, Request("/x", "POST"), secrets={"KEY": "client s3cret"})
    assert (failed.code, failed.is_sent) == ("sign-in-failed", False)
    assert "answered 401" in failed.message
    assert "s3cret" not in failed.message
    assert len(web.seen) == 1
