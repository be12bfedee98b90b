"""Answers of other systems that come piece by piece, up to a limit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx2


class Counted(httpx2.AsyncByteStream):
    """A stream of at most ``limit`` bytes; ``begins`` is called with its first. Raises `httpx2.ReadError` for more."""

    def __init__(self, stream: httpx2.AsyncByteStream, limit: int, begins: Callable[[], None] = lambda: None) -> None:
        self._stream = stream
        self._limit = limit
        self._begins = begins

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            if size == 0:
                self._begins()
            size += len(chunk)
            if size > self._limit:
                raise httpx2.ReadError(f"the answer is larger than {self._limit // 1024 // 1024} MB")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def check_plain(response: httpx2.Response) -> None:
    """Whether an answer is as long as it says. Raises `httpx2.ReadError` for one that is packed, and closes it."""
    if response.headers.get("content-encoding", "identity") != "identity":
        await response.aclose()
        raise httpx2.ReadError("the answer is packed, which was not asked for")
