"""MCP servers that are reached by HTTP. No answer of theirs is kept beyond a limit, also if it is packed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Literal

import httpx2

from runtime_core.connections.closed import Closed, check_open
from runtime_core.connections.counted import Counted, check_plain

ANSWER_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of one message."""
CONNECT_S: Final = 10.0


@asynccontextmanager
async def http_streams(
    transport: Literal["http", "sse"], url: str, headers: Mapping[str, str], wait_s: float
) -> AsyncGenerator[Any]:
    """The streams of an MCP transport. ``wait_s``: how long a server may be silent in the middle of an answer."""
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client

    def client(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, transport=_Bounded())

    sent = {"Accept-Encoding": "identity", **headers}
    if transport == "sse":
        async with sse_client(url, sent, CONNECT_S, httpx_client_factory=client) as streams:
            yield streams
    else:
        limits = httpx2.Timeout(CONNECT_S, read=max(wait_s, CONNECT_S))
        async with (
            client(sent, limits) as opened,
            streamable_http_client(url, http_client=opened, max_sse_event_size=ANSWER_LIMIT) as streams,
        ):
            yield streams


class _Bounded(httpx2.AsyncHTTPTransport):
    """Asks nobody at a closed address and ends answers that are too large; a stream of events has its own limits."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            await check_open(str(request.url))
        except Closed as closed:
            raise httpx2.ConnectError(f"{request.url.host} {closed}", request=request) from None
        response = await super().handle_async_request(request)
        await check_plain(response)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = Counted(response.stream, ANSWER_LIMIT)
        return response
