"""One HTTP exchange: sends, follows redirects of reads within an origin, reads up to a limit, says what went wrong."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Final, cast

from runtime_core.connections.closed import Closed, check_open
from runtime_core.connections.sending import TooLarge, certificates, read
from runtime_core.repo.policy import READ_METHODS

if TYPE_CHECKING:
    import httpx

RESPONSE_LIMIT: Final = 10 * 1024 * 1024
"""Bytes of a body, unpacked."""
_CONNECT_S: Final = 10.0
_REDIRECTS: Final = 5
_ENCODINGS: Final = ("gzip", "deflate")


class ExchangeFailed(Exception):  # noqa: N818
    """No answer; the message is a clause that follows a host's name. ``is_sent`` False: nothing was sent."""

    def __init__(self, code: str, message: str, *, is_sent: bool = True) -> None:
        super().__init__(message)
        self.code = code
        self.is_sent = is_sent


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    reason: str
    content_type: str
    text: str
    retry_after: str | None = None


class Exchanges:
    """Holds the connections that are kept open; belongs to the loop that first sends something."""

    def __init__(self) -> None:
        self._client: asyncio.Task[httpx.AsyncClient] | None = None

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None, query: Mapping[str, str]
    ) -> Answer:
        """Send a request; ``query`` is what of its query a redirect has to keep. Raises `ExchangeFailed`."""
        import httpx

        client = await self._opened()
        coded = {name.encode(): value.encode() for name, value in headers.items()}
        try:
            request = client.build_request(method, url, headers=coded, content=content)
            for _ in range(_REDIRECTS + 1):
                await check_open(str(request.url))
                response = await client.send(request, stream=True)
                try:
                    if response.next_request is None:
                        return await _read(response)
                finally:
                    await response.aclose()
                request = _followed(response.status_code, request, response.next_request, query)
        except httpx.HTTPError as error:
            raise _failure(error) from None
        except Closed as error:
            raise ExchangeFailed("connection-unavailable", str(error), is_sent=False) from None
        except httpx.InvalidURL as error:
            raise ExchangeFailed("invalid-params", f"cannot be asked so: {error}", is_sent=False) from None
        raise ExchangeFailed("redirected", f"redirects more than {_REDIRECTS} times")

    async def close(self) -> None:
        if self._client is not None:
            with suppress(OSError, ValueError):  # one that could not be opened
                await (await self._client).aclose()

    async def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = asyncio.create_task(asyncio.to_thread(_new_client), name="open the HTTP client")
        client = self._client
        try:
            return await asyncio.shield(client)
        except (OSError, ValueError) as error:  # certificates or a proxy that the environment names
            if self._client is client:  # else somebody else who waited for it has opened another one
                self._client = None
            reason = f"cannot be asked: requests cannot be sent from here ({type(error).__name__})"
            remedy = "Check the environment variables SSL_CERT_FILE and HTTPS_PROXY"
            raise ExchangeFailed("unreachable", f"{reason}. {remedy}", is_sent=False) from None


def _new_client() -> httpx.AsyncClient:
    import httpx

    no_cookies = CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
    return httpx.AsyncClient(
        verify=certificates(),
        timeout=httpx.Timeout(None, connect=_CONNECT_S),
        cookies=no_cookies,
        headers={"User-Agent": "operator-inbox", "Accept-Encoding": ", ".join(_ENCODINGS)},
    )


def _followed(status: int, request: httpx.Request, following: httpx.Request, query: Mapping[str, str]) -> httpx.Request:
    """The next request of a redirect that stays within the origin. Credentials never go to another one, and what writes
    never to another place than the one that was judged and shown."""
    here, there = request.url, following.url
    origin = f"{there.scheme}://{there.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
    if there.userinfo:
        raise ExchangeFailed("redirected", f"redirects to {origin} with a user name, which is not followed")
    if (here.scheme, here.host, here.port) != (there.scheme, there.host, there.port):
        raise ExchangeFailed(
            "redirected",
            f"redirects to {origin}, and no request follows to another origin. If that is where it has to go, change "
            "baseUrl",
        )
    if request.method not in READ_METHODS:
        path = there.raw_path.decode("ascii", "replace").partition("?")[0]
        raise ExchangeFailed(
            "redirected",
            f"answered the {request.method} with {status}: it redirects to {path}, and a request that may write is "
            "not sent to another place. It may have been done already; if not, ask for that endpoint instead",
        )
    missing = {name: value for name, value in query.items() if name not in there.params}
    following.url = there.copy_merge_params(missing) if missing else there
    return following


async def _read(response: httpx.Response) -> Answer:
    codings = [name.strip().lower() for name in response.headers.get("content-encoding", "").split(",")]
    unknown = [name for name in codings if name not in ("", "identity", *_ENCODINGS)]
    if unknown:
        raise ExchangeFailed(
            "unreachable", f"sent an answer in the encoding {unknown[0]!r}, which was not asked for and cannot be read"
        )
    try:
        body = await read(response, RESPONSE_LIMIT)
    except TooLarge:
        size = f"{RESPONSE_LIMIT // 1024 // 1024} MB"
        raise ExchangeFailed("response-too-large", f"answered with more than {size}. Ask for less at a time") from None
    charset = response.charset_encoding or "utf-8"
    try:
        text = body.decode(charset, "replace")
    except LookupError:
        text = body.decode("utf-8", "replace")
    headers = response.headers
    return Answer(
        response.status_code,
        response.reason_phrase,
        headers.get("content-type", "").partition(";")[0].strip().lower(),
        text,
        headers.get("retry-after"),
    )


def _failure(error: httpx.HTTPError) -> ExchangeFailed:
    import httpx

    causes = list(_causes(error))
    if isinstance(error, httpx.ConnectTimeout):
        return ExchangeFailed("timeout", f"could not be reached within {_CONNECT_S:g} s", is_sent=False)
    if isinstance(error, httpx.ConnectError | httpx.ProxyError):
        return ExchangeFailed("unreachable", _unreachable(error, causes), is_sent=False)
    if isinstance(error, httpx.TimeoutException):
        return ExchangeFailed("timeout", "did not answer in time")
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError):
        return ExchangeFailed("unreachable", "broke off, or answered what is no HTTP; the request may have arrived")
    if isinstance(error, httpx.DecodingError):
        return ExchangeFailed("unreachable", "sent an answer that cannot be unpacked")
    return ExchangeFailed("unreachable", f"could not be asked ({type(error).__name__})")


def _unreachable(error: BaseException, causes: list[BaseException]) -> str:
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return "is not known: its name could not be looked up. Check baseUrl and the network"
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"has a certificate that is not accepted: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"does not speak TLS as expected ({cause.reason or 'handshake failed'}). Check http:// or https://"
        if isinstance(cause, ConnectionRefusedError):
            return "refuses connections. Check that the system runs, and the port in baseUrl"
    text = next((cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror), str(error))
    return f"cannot be reached: {text or type(error).__name__}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [cause for cause in (one.__cause__, one.__context__) if cause is not None]
        if isinstance(one, BaseExceptionGroup):
            waiting += cast("tuple[BaseException, ...]", one.exceptions)
