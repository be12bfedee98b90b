"""Access tokens for client credentials (RFC 6749 section 4.4): asked for once, kept in memory until they expire."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast
from urllib.parse import urlencode

from runtime_core.connections.credentials import Grant
from runtime_core.wire.json import JsonError, loads

_EARLY_S: Final = 30.0
"""So long before its end a token is replaced, but at most half of its life."""
_DEFAULT_LIFE_S: Final = 300.0
_LONGEST_LIFE_S: Final = 86_400.0


_ERRORS: Final = frozenset(
    {
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
    }
)
"""What an error may be (RFC 6749 section 5.2). Nothing else of an answer is repeated, for it may hold credentials."""


class TokenRefused(Exception):  # noqa: N818
    """A token endpoint that gave none; the message is a clause without anything secret."""


class Post(Protocol):
    async def __call__(self, url: str, headers: dict[str, str], form: bytes) -> tuple[int, str]:
        """Send a form; the status and the text of the answer."""
        ...


@dataclass(slots=True)
class _Kept:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    token: str | None = field(default=None, repr=False)
    until: float = 0.0


class Tokens:
    """The tokens of one runtime, one for each grant."""

    def __init__(self) -> None:
        self._kept: dict[Grant, _Kept] = {}

    async def get(self, grant: Grant, post: Post, *, refused: str | None = None) -> str:
        """A token that is not ``refused``. Callers that come at the same time share one request.

        Raises `TokenRefused`, and what ``post`` raises.
        """
        kept = self._kept.setdefault(grant, _Kept())
        async with kept.lock:
            if kept.token is None or kept.token == refused or time.monotonic() >= kept.until:
                kept.token, life_s = await _ask(grant, post)
                kept.until = time.monotonic() + life_s - min(_EARLY_S, life_s / 2)
            return kept.token


async def _ask(grant: Grant, post: Post) -> tuple[str, float]:
    form = {"grant_type": "client_credentials"}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    if grant.scope:
        form["scope"] = grant.scope
    if grant.audience:
        form["audience"] = grant.audience
    if grant.in_body:
        form |= {"client_id": grant.client_id, "client_secret": grant.client_secret}
    else:
        headers["Authorization"] = f"Basic {grant.basic}"
    status, text = await post(grant.token_url, headers, urlencode(form).encode())
    try:
        answer: Any = loads(text)
    except JsonError:
        answer = None
    reply = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    token = reply.get("access_token")
    if not 200 <= status < 300 or not isinstance(token, str) or not token:
        raise TokenRefused(f"the token endpoint answered {status}{_advice(status, reply.get('error'))}")
    life = reply.get("expires_in")
    if not isinstance(life, int | float) or not life > 0:
        life = _DEFAULT_LIFE_S
    return token, min(life, _LONGEST_LIFE_S)


def _advice(status: int, error: Any) -> str:
    if isinstance(error, str) and error in _ERRORS:
        keys = "scope" if error == "invalid_scope" else "clientId and clientSecret"
        return f" ({error}). Check {keys}"
    if status in (400, 401, 403):
        return ". Check clientId and clientSecret"
    if status >= 500 or status == 429:
        return ". Try again later"
    return ", and no token as JSON. Check tokenUrl" if 200 <= status < 300 else ". Check tokenUrl"
