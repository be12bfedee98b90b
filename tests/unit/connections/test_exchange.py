"""The HTTP client that all requests share, where it cannot be opened."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime_core.connections import exchange
from runtime_core.connections.exchange import ExchangeFailed, Exchanges
from tests.support.web import Says, web_server


class Opening:
    """Opens clients as often as it is told to, after as many failures."""

    def __init__(self, failures: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.failures = failures
        self.opened = list[Any]()
        self._real: Any = exchange._new_client
        monkeypatch.setattr(exchange, "_new_client", self)

    def __call__(self) -> Any:
        if self.failures:
            self.failures -= 1
            raise OSError("no such file")
        self.opened.append(self._real())
        return self.opened[-1]


def test_a_client_that_cannot_be_opened_is_closed_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    Opening(1, monkeypatch)

    async def story() -> None:
        exchanges = Exchanges()
        waiting = asyncio.ensure_future(exchanges.send("GET", "http://127.0.0.1:9", {}, None, {}))
        await asyncio.sleep(0)
        await exchanges.close()
        with pytest.raises(ExchangeFailed, match="SSL_CERT_FILE"):
            await waiting

    asyncio.run(story())


def test_a_client_that_was_opened_meanwhile_is_kept_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    opening = Opening(1, monkeypatch)

    async def story(url: str) -> None:
        exchanges = Exchanges()

        async def until_it_works() -> None:
            with pytest.raises(ExchangeFailed):
                await exchanges.send("GET", url, {}, None, {})
            await exchanges.send("GET", url, {}, None, {})

        await asyncio.gather(*(until_it_works() for _ in range(4)))
        await exchanges.close()

    with web_server(lambda _: Says({})) as web:
        asyncio.run(story(web.url))
    assert [client.is_closed for client in opening.opened] == [True]
