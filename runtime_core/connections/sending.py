"""What every client of the runtime that speaks HTTP starts with."""

from __future__ import annotations

import logging
import ssl
from functools import cache


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
