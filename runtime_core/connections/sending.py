"""What every client of the runtime that speaks HTTP starts with."""

from __future__ import annotations

import logging
import ssl
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx


class TooLarge(Exception):  # noqa: N818
    """A body with more bytes than are read."""


async def read(response: httpx.Response, limit: int) -> bytes:
    """The body of a response that is streamed, unpacked. Raises `TooLarge`, and what httpx raises."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > limit:
            raise TooLarge
    return bytes(body)


@cache
def certificates() -> ssl.SSLContext:
    """Whom to trust: those that ``SSL_CERT_FILE`` names, or else everybody's authorities. Blocks on files, once.

    From then on the libraries tell no whole addresses, which may have keys in them. Raises `OSError` or `ValueError`
    for what the environment names and cannot be read.
    """
    import httpx

    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return httpx.create_ssl_context()
