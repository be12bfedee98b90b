"""``web_search`` and ``fetch_url`` (contract 5.2), there where a repository has ``webTools`` in its manifest."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from runtime_core.connections.secrets import Secrets
from runtime_core.repo.bundle import Bundle, Effect
from runtime_core.tools.base import Caller, ReadyTool, ToolFailed
from runtime_core.tools.web_addresses import (
    AddressRefused,
    AddressUnknown,
    Reach,
    checked_host,
    has_private_name,
    locate,
)
from runtime_core.tools.web_google import Google, ProviderFailed
from runtime_core.tools.web_pages import PageUnavailable, fetch_page
from runtime_core.tools.web_tokens import TOKEN_BYTES, TOKENS, cut
from runtime_core.wire.json import JsonText, dumps, loads

NAMES: Final = ("web_search", "fetch_url")
RESULTS: Final = 5
RESULT_LIMIT: Final = 10
RATE: Final = 10
RATE_S: Final = 60.0
TIMEOUT_S: Final = 60.0

_READ: Final[Effect] = "read"
_HOSTS_KEPT: Final = 1000
_SEARCH: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "minLength": 1,
            "description": "What to look for, with dates, names or error messages where they matter.",
        },
        "max_results": {
            "type": "integer",
            "minimum": 1,
            "default": RESULTS,
            "description": f"How many sources to cite; more than {RESULT_LIMIT} counts as {RESULT_LIMIT}.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}
_FETCH: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "url": {"type": "string", "minLength": 1, "description": "An http or https address."},
        "prompt": {"type": "string", "description": "What to take from the page."},
    },
    "required": ["url"],
    "additionalProperties": False,
}


class RateExceeded(Exception):  # noqa: N818
    """A host was asked too often."""


class Rate:
    """Counts requests by host: `RATE` in `RATE_S` seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._asked: OrderedDict[str, deque[float]] = OrderedDict()

    def count(self, host: str) -> None:
        """Raises `RateExceeded`, and then does not count."""
        now = self._now()
        asked = self._asked.setdefault(host, deque())
        self._asked.move_to_end(host)
        while asked and asked[0] <= now - RATE_S:
            asked.popleft()
        if len(asked) >= RATE:
            wait = asked[0] + RATE_S - now
            raise RateExceeded(f"{host} was asked {RATE} times within {RATE_S:g} s. Wait {wait:.0f} s.")
        asked.append(now)
        if len(self._asked) > _HOSTS_KEPT:
            self._asked.popitem(last=False)


class WebTools:
    """Implements `Provider`."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._rate = Rate()

    def names(self, bundle: Bundle) -> Sequence[str]:
        return NAMES if _settings(bundle) is not None else ()

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        if name not in NAMES or _settings(bundle) is None:
            return None
        if name == "web_search":
            text = "Search the public web. Gives an answer with numbered sources."
            return ReadyTool(name, text, _SEARCH, "web", _READ, self._search, timeout_s=TIMEOUT_S)
        text = "Read a web page. Gives its text, or what the prompt asks of it."
        return ReadyTool(name, text, _FETCH, "web", _READ, self._fetch, timeout_s=TIMEOUT_S)

    async def _google(self, caller: Caller) -> Google:
        return await asyncio.to_thread(Google, _settings(caller.bundle) or {}, self._secrets)

    async def _search(self, params: JsonText, caller: Caller) -> JsonText:
        """``{"status": "ok", "content", "source_count"}`` or ``{"status": "error", "content", "retryable"?}``."""
        given = cast("dict[str, Any]", loads(params))
        results = min(int(given.get("max_results") or RESULTS), RESULT_LIMIT)
        try:
            found = await (await self._google(caller)).search(given["query"], results)
        except ProviderFailed as failed:
            return _error(str(failed), failed.retryable)
        return dumps({"status": "ok", "content": found.content, "source_count": found.sources})

    async def _fetch(self, params: JsonText, caller: Caller) -> JsonText:
        """``{"status": "ok", "content", "used_fallback"?}`` or as `_search`."""
        given = cast("dict[str, Any]", loads(params))
        url = given["url"].strip()
        try:
            host = checked_host(url)
            reach = await _reach(host)
            self._rate.count(host)
            content, is_fallback = await self._page(url, reach, given.get("prompt"), caller)
        except (AddressRefused, AddressUnknown) as refused:
            return _error(str(refused), False)
        except RateExceeded as exceeded:
            return _error(str(exceeded), True)
        except PageUnavailable as failed:
            return _error(str(failed), failed.retryable)
        return dumps({"status": "ok", "content": content} | ({"used_fallback": True} if is_fallback else {}))

    async def _page(self, url: str, reach: Reach, prompt: str | None, caller: Caller) -> tuple[str, bool]:
        """The text, and whether it was fetched here because the provider could not."""
        if reach == "private":
            return _shortened(await fetch_page(url, reach, self._rate.count), caller), False
        try:
            return await (await self._google(caller)).read(url, prompt), False
        except ProviderFailed as failed:
            reason = str(failed)
        except ToolFailed as failed:
            reason = failed.message
        try:
            return _shortened(await fetch_page(url, reach, self._rate.count), caller), True
        except PageUnavailable as failed:
            raise PageUnavailable(f"{reason} Fetched from here instead: {failed}", retryable=failed.retryable) from None


async def _reach(host: str) -> Reach:
    """A name that is not known here may be known to the provider, unless it is one of a private network."""
    try:
        return (await locate(host)).reach
    except AddressUnknown:
        if has_private_name(host):
            raise
        return "public"


def _shortened(text: str, caller: Caller) -> str:
    """All of it for code, as much for a model as an answer of the provider has."""
    return cut(text, TOKENS * TOKEN_BYTES) if caller.agent is not None else text


def _settings(bundle: Bundle) -> Mapping[str, Any] | None:
    """The block, if it is one of a provider that there is."""
    block = bundle.manifest.get("webTools")
    if not isinstance(block, dict):
        return None
    settings = cast("dict[str, Any]", block)
    return settings if settings.get("provider") == "google" else None


def _error(content: str, retryable: bool) -> JsonText:
    return dumps({"status": "error", "content": content} | ({"retryable": True} if retryable else {}))
