"""Pages fetched from this machine: from addresses that were checked and from no others."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from runtime_core.connections.sending import TooLarge, certificates, read
from runtime_core.tools.web_addresses import AddressRefused, AddressUnknown, Reach, Target, checked_host, locate
from runtime_core.tools.web_text import HTML, NoText, page_text

if TYPE_CHECKING:
    import ssl

    import httpx

TIMEOUT_S: Final = 10.0
BODY_LIMIT: Final = 1024 * 1024
"""Bytes of a body, unpacked."""
REDIRECTS: Final = 5

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_TEXTS: Final = re.compile(r"text/.+|application/(.+\+)?(json|xml|yaml|javascript|x-ndjson|ld\+json|toml)")


class PageUnavailable(Exception):  # noqa: N818
    """Why there is no page. ``retryable``: it may be there later."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class _Answer:
    url: str
    media: str
    charset: str | None
    body: bytes


def _text(answer: _Answer) -> str:
    try:
        return page_text(answer.body, answer.media, answer.charset)
    except NoText as error:
        raise PageUnavailable(f"{answer.url} {error}.") from None


async def fetch_page(url: str, reach: Reach, count: Callable[[str], None]) -> str:
    """The text of a page. ``count`` is told of every host that is asked and may refuse by raising.

    ``reach``: a public address may not lead to a private one. Raises `PageUnavailable` and `AddressRefused`.
    """
    try:
        async with asyncio.timeout(TIMEOUT_S):
            answer = await _follow(url, reach, count)
            return await asyncio.to_thread(_text, answer)
    except TimeoutError:
        raise PageUnavailable(f"{url} did not answer within {TIMEOUT_S:g} s.", retryable=True) from None
    except AddressUnknown as error:
        raise PageUnavailable(str(error)) from None


async def _follow(url: str, reach: Reach, count: Callable[[str], None]) -> _Answer:
    import httpx

    limits = httpx.Limits(max_connections=1, max_keepalive_connections=0)
    trusted = await _certificates(url)
    async with httpx.AsyncClient(verify=trusted, trust_env=False, limits=limits, timeout=TIMEOUT_S) as client:
        for hop in range(REDIRECTS + 1):
            host = checked_host(url)
            target = await locate(host)
            if reach == "public" and target.reach == "private":
                raise AddressRefused(f"{url} is in a private network, and a public address led there.")
            reach = target.reach
            if hop:
                count(host)
            answer = await _ask(client, _parsed(url), target)
            if isinstance(answer, _Answer):
                return answer
            url = _joined(url, answer)
    raise PageUnavailable(f"{url} is one redirect after {REDIRECTS} others; none further is followed.")


async def _certificates(url: str) -> ssl.SSLContext:
    try:
        return await asyncio.to_thread(certificates)
    except (OSError, ValueError):
        reason = "the certificates that SSL_CERT_FILE names cannot be read"
        raise PageUnavailable(f"{url} cannot be asked: {reason}.") from None


def _parsed(url: str) -> httpx.URL:
    import httpx

    try:
        return httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        raise AddressRefused(f"{url!r} is not a web address.") from None


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        raise AddressRefused(f"{url} leads to {location!r}, which is not a web address and not fetched.") from None


async def _ask(client: httpx.AsyncClient, url: httpx.URL, target: Target) -> _Answer | str:
    """What one address answers: a page, or where that is. Connects to what was checked and looks nothing up again."""
    import httpx

    headers = {
        "Host": url.netloc.decode("ascii"),
        "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1",
        "Accept-Encoding": "identity",
        "User-Agent": "operator-inbox",
    }
    name = url.raw_host.decode("ascii").rstrip(".")  # whose certificate it has to be
    failure: Exception | None = None
    for address in target.addresses:
        request = client.build_request(
            "GET", url.copy_with(host=address), headers=headers, extensions={"sni_hostname": name}
        )
        try:
            response = await client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            failure = error
            continue
        except httpx.InvalidURL:  # that of a redirect, which httpx reads although it does not follow it
            raise AddressRefused(f"{url} leads to what is no web address, and that is not fetched.") from None
        except httpx.HTTPError as error:
            raise PageUnavailable(f"{url} did not answer: {_reason(error)}.", retryable=True) from None
        try:
            return await _read(url, response)
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise PageUnavailable(f"{url} broke off its answer: {_reason(error)}.", retryable=True) from None
        finally:
            await response.aclose()
    assert failure is not None
    raise PageUnavailable(f"{target.host} cannot be reached: {_reason(failure)}.", retryable=True)


async def _read(url: httpx.URL, response: httpx.Response) -> _Answer | str:
    status = response.status_code
    if status in _REDIRECTS and "location" in response.headers:
        return response.headers["location"]
    if not response.is_success:
        raise PageUnavailable(f"{url} answered with status {status}.", retryable=status == 429 or status >= 500)
    told = Message()
    told["content-type"] = response.headers.get("content-type", "")
    media = told.get_content_type() if told["content-type"] else ""
    if media and not (media in HTML or _TEXTS.fullmatch(media)):
        raise PageUnavailable(f"{url} is {media}; only web pages, text and JSON are read.")
    try:
        body = await read(response, BODY_LIMIT)
    except TooLarge:
        raise PageUnavailable(f"{url} is larger than {BODY_LIMIT // 1024 // 1024} MB, and is not read.") from None
    return _Answer(str(url), media, told.get_content_charset(), body)


def _reason(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
