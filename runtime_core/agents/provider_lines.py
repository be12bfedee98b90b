"""How requests reach providers: one HTTP client, and for each model the client of its protocol.

Everything here may block for a second or two, on imports and files, so it belongs into threads.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from runtime_core.agents.providers import LOOPBACK
from runtime_core.connections.closed import Closed, check_open
from runtime_core.connections.sending import certificates

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model as Client

    from runtime_core.agents.providers import ModelSpec, Protocol

CONNECT_S: Final = 10.0
SILENCE_S: Final = 120.0
"""How long a provider may say nothing at all in the middle of a reply."""
NO_KEY: Final = "none"
"""Stands for a key in front of libraries that insist on one; it is not sent."""
_REPLY_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of one reply with everything around its words."""
_KEPT_CLIENTS: Final = 32
_KEY_HEADERS: Final = ("authorization", "x-api-key", "x-goog-api-key")
_SENT: Final = frozenset(
    {
        *_KEY_HEADERS,
        "accept",
        "accept-encoding",
        "anthropic-beta",
        "anthropic-version",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
    }
)
"""The headers of a request. Whatever else the libraries add, from the environment too, is for nobody else to know."""


class Lines:
    """The connections to all providers; belongs to the loop that sends the first request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._http: dict[tuple[bool, bool], httpx2.AsyncClient] = {}
        self.unlimited: set[ModelSpec] = set()
        """The models that refuse a limit of their output, or that one."""
        self._clients: OrderedDict[tuple[Protocol, str, str, str, str], Client] = OrderedDict()

    def client(self, protocol: Protocol, provider: str, model: str, base_url: str, key: str | None) -> Client:
        """What speaks a protocol with a model. Blocks; raises `OSError` or `ValueError` for certificates or a proxy
        that the environment names and that cannot be used."""
        given = protocol, provider, model, base_url, key or NO_KEY
        with self._lock:
            found = self._clients.get(given)
            if found is None:
                found = self._clients[given] = _client(*given, self._way_to(base_url))
                if len(self._clients) > _KEPT_CLIENTS:
                    self._clients.popitem(last=False)
            return found

    async def close(self) -> None:
        self._clients.clear()
        ways, self._http = self._http, {}
        for http in ways.values():
            await http.aclose()

    def _way_to(self, base_url: str) -> httpx2.AsyncClient:
        """What the environment says of proxies and certificates counts only where it is needed: a model on this
        computer is asked whatever stands there."""
        address = urlsplit(base_url)
        kind = address.hostname in LOOPBACK, address.scheme == "https"
        if kind not in self._http:
            self._http[kind] = _new_http(is_here=kind[0], is_secure=kind[1])
        return self._http[kind]


def _client(protocol: Protocol, provider: str, model: str, base_url: str, key: str, http: httpx2.AsyncClient) -> Client:
    """Retries are ours: those of the libraries go on while nobody sees why."""
    if protocol == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        base_url = base_url.rstrip("/").removesuffix("/v1")
        anthropic = AsyncAnthropic(
            api_key=key, base_url=base_url, http_client=http, max_retries=0, open_telemetry=False
        )
        return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=anthropic))
    if protocol == "google":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(model, provider=GoogleProvider(api_key=key, base_url=base_url, http_client=http))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    openai = AsyncOpenAI(api_key=key, base_url=base_url, http_client=http, max_retries=0)
    if protocol == "responses":
        keep_nothing = OpenAIResponsesModelSettings(openai_store=False)
        return OpenAIResponsesModel(model, provider=OpenAIProvider(openai_client=openai), settings=keep_nothing)
    plain = OpenAIModelProfile(
        openai_chat_supports_max_completion_tokens=False,
        openai_supports_strict_tool_definition=False,
        openai_chat_streaming_requires_finish_reason=True,
    )
    return OpenAIChatModel(model, provider=OpenAICompatibleProvider(provider, openai_client=openai, profile=plain))


def _new_http(*, is_here: bool, is_secure: bool) -> httpx2.AsyncClient:
    """A key goes to the address it is for and nowhere else, so no redirect is followed. Raises `ValueError` for a proxy
    that is not spoken."""
    import httpx2

    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        return httpx2.AsyncClient(
            verify=certificates() if is_secure else False,
            trust_env=not is_here,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
            follow_redirects=False,
            timeout=_limits(),
            event_hooks={"request": [_tidied], "response": [_opened]},
        )
    except (ImportError, ValueError) as error:
        raise ValueError(
            "the proxy that the environment names (ALL_PROXY, HTTPS_PROXY or HTTP_PROXY) cannot be used, "
            f"only those of http:// and https:// are: {error}"
        ) from None


def _limits() -> httpx2.Timeout:
    import httpx2

    return httpx2.Timeout(SILENCE_S, connect=CONNECT_S)


class _Way:
    """The connections of one request, and how long its answer may take to begin."""

    def __init__(self, begins_in_s: float | None) -> None:
        self.responses: list[httpx2.Response] = []
        self.patience = asyncio.timeout(begins_in_s)

    def begins(self) -> None:
        self.patience.reschedule(None)


_way: ContextVar[_Way] = ContextVar("_way")


@asynccontextmanager
async def hanging_up(begins_in_s: float | None = None) -> AsyncGenerator[None]:
    """Close the connections that are opened inside: not every library does so when nobody listens any more. Raises
    `TimeoutError` if there is no byte of an answer within ``begins_in_s``, None for any time."""
    way = _Way(begins_in_s)
    _way.set(way)
    try:
        async with way.patience:
            yield
    finally:
        for response in way.responses:
            await response.aclose()


async def _opened(response: httpx2.Response) -> None:
    import httpx2

    from runtime_core.connections.counted import Counted, check_plain

    way = _way.get()
    way.responses.append(response)
    await check_plain(response)
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = Counted(response.stream, _REPLY_LIMIT, way.begins)


async def _tidied(request: httpx2.Request) -> None:
    import httpx2

    request.extensions["timeout"] = _limits().as_dict()
    request.headers.update({"User-Agent": "operator-inbox", "Accept-Encoding": "identity"})
    for name in list(request.headers):
        if name.lower() not in _SENT:
            del request.headers[name]
    for name in _KEY_HEADERS:
        if request.headers.get(name) in (NO_KEY, f"Bearer {NO_KEY}"):
            del request.headers[name]
    try:
        async with asyncio.timeout(CONNECT_S):
            await check_open(str(request.url))
    except Closed as closed:
        raise httpx2.ConnectError(str(closed), request=request) from None
    except TimeoutError:
        raise httpx2.ConnectTimeout("its name is not found in time", request=request) from None
