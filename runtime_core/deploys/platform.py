"""Client of the platform: redeploy, build logs, and the switches of its built-in tools (tools.txt, "Iteration Loop").

Only what reads is sent again. The key goes to the configured origin and nowhere else: no redirect leads it away.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from runtime_core.connections.masking import masked
from runtime_core.connections.sending import TooLarge, certificates, read
from runtime_core.deploys.address import BASE, KEY, Address
from runtime_core.deploys.answers import (
    Events,
    Onward,
    Piece,
    build_id,
    complaint,
    read_line,
    read_whole,
    state_of,
)
from runtime_core.deploys.following import Pace, Passing, followed
from runtime_core.wire.builds import BuildState, Line
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonError, dumps, loads

if TYPE_CHECKING:
    import httpx

LOG_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of one answer."""
_CONNECT_S: Final = 10.0
_READ_S: Final = 60.0
_LONGEST_WAIT_S: Final = 60.0
_REDIRECTS: Final = 5
_NO_RETRY: Final = frozenset({400, 401, 403, 404, 405, 410, 422})


class InDoubt(RuntimeFault):
    """What was ordered may have been done or not."""


_DOUBT: Final = "Nobody knows whether it was done: look before you order it again."


@dataclass(frozen=True, slots=True)
class Begun:
    """``build_id`` "" if the platform did not name it."""

    build_id: str
    state: BuildState


class Platform:
    """One platform, for one order after the other; a context: ``async with Platform(address) as platform``."""

    def __init__(self, address: Address, pace: Pace | None = None) -> None:
        self._address = address
        self._pace = pace or Pace()
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Platform:
        import httpx

        self._client = httpx.AsyncClient(
            verify=await asyncio.to_thread(certificates),
            timeout=httpx.Timeout(_READ_S, connect=_CONNECT_S),
            headers={"User-Agent": "operator-inbox", "Authorization": f"Bearer {self._address.key}"},
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def redeploy(self, agent: str, branch: str, environment: str) -> Begun:
        """Order a build. Sent once. Raises `RuntimeFault`, and of these `InDoubt` if it may have begun nevertheless."""
        body = {"agentId": agent, "branch": branch, "environment": environment}
        answer = await self._order("POST", "/api/deployments/redeploy", body)
        return Begun(build_id(answer), state_of(answer) or "running")

    async def tools(self, route: str, agent: str) -> Mapping[str, bool]:
        """The built-in tools of the platform by name, and whether they are on."""
        return _switches(await self._get_json(_filled(route, agent)))

    async def switch(self, route: str, agent: str, tool: str, *, is_on: bool) -> None:
        """``PUT route/TOOL {"enabled": is_on}``."""
        await self._order("PUT", f"{_filled(route, agent)}/{quote(tool, safe='')}", {"enabled": is_on})

    async def log(self, build: str, *, follow: bool = True) -> AsyncGenerator[Line | BuildState]:
        """The lines of a build log, each once, and its state where it is told. With ``follow`` until the build ends.

        Raises `RuntimeFault`.
        """
        async with aclosing(followed(partial(self._pieces, build), self._pace, is_live=follow)) as told:
            async for piece in told:
                yield piece

    async def _pieces(self, build: str, onward: Onward | None) -> AsyncGenerator[Piece]:
        """What one request for a log gives, as it comes. Raises `Passing`, `RuntimeFault`."""
        query = {} if onward is None else {onward.name: onward.value}
        url = self._address.at("/api/builds", build) + "/logs"
        async with self._answered("GET", url, query) as response:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind.endswith("json") and "ndjson" not in kind:
                for piece in _of_json(await _text(response)):
                    yield piece
                return
            events = Events() if kind == "text/event-stream" else None
            size = 0
            async for line in response.aiter_lines():
                size += len(line) + 1
                if size > LOG_LIMIT:
                    raise TooLarge
                for piece in read_line(line) if events is None else events.take(line):
                    yield piece
            for piece in events.take("") if events is not None else ():
                yield piece

    async def _get_json(self, path: str) -> Any:
        for attempt in range(3):
            try:
                async with self._answered("GET", self._address.base + path, {}) as response:
                    return loads(await _text(response))
            except Passing as passing:
                if attempt == 2:
                    raise passing.fault from None
                await asyncio.sleep(passing.wait_s or self._pace.first_s)
            except JsonError:
                raise RuntimeFault(
                    "platform_failed", f"{self._what('GET', path)} was not answered with JSON."
                ) from None
        raise AssertionError

    async def _order(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        """Send something that changes something, once; its answer, None where that is no JSON."""
        try:
            async with self._answered(method, self._address.base + path, {}, dumps(body)) as response:
                text = await _text(response)
        except Passing as passing:
            raise passing.fault from None
        try:
            return loads(text)
        except JsonError:
            return None

    @asynccontextmanager
    async def _answered(
        self, method: str, url: str, query: Mapping[str, str], body: str | None = None
    ) -> AsyncGenerator[httpx.Response]:
        """A successful response, to be read. Redirects of reads are followed within the origin."""
        import httpx

        assert self._client is not None
        is_read = body is None
        what = self._what(method, httpx.URL(url).path)
        request = self._client.build_request(
            method,
            url,
            params=dict(query) or None,
            content=body,
            headers={
                "Accept": "application/json, text/event-stream, application/x-ndjson, text/plain",
                **({} if is_read else {"Content-Type": "application/json"}),
            },
        )
        try:
            for _ in range(_REDIRECTS + 1):
                response = await self._client.send(request, stream=True)
                try:
                    if response.next_request is None:
                        await self._check(what, response, is_read=is_read)
                        yield response
                        return
                finally:
                    await response.aclose()
                request = self._followed(what, request, response.next_request, is_read=is_read)
        except TooLarge:
            text = f"{what} was answered with more than {LOG_LIMIT // 1024 // 1024} MB."
            raise _fault("platform_failed", text, in_doubt=not is_read) from None
        except httpx.HTTPError as error:
            fault = self._unreachable(what, error, is_read=is_read)
            raise Passing(fault, is_silence=isinstance(error, httpx.ReadTimeout)) from None
        raise RuntimeFault("platform_redirects", f"{what} is redirected more than {_REDIRECTS} times.")

    async def _check(self, what: str, response: httpx.Response, *, is_read: bool) -> None:
        status = response.status_code
        if response.is_success:
            return
        text = masked((await read(response, LOG_LIMIT)).decode("utf-8", "replace"), [self._address.key])
        try:
            said = complaint(loads(text))
        except JsonError:
            said = "" if text.lstrip().startswith("<") else complaint(text)
        reason = f" It says: {said}" if said else ""
        wait_s = _retry_after(response.headers.get("retry-after"))
        told = f"{what} {_REFUSED.get(status) or _told(status, is_read=is_read)}"
        if status == 429 and wait_s:
            told += f" It names {math.ceil(wait_s)} seconds{' or more' if wait_s == _LONGEST_WAIT_S else ''} to wait."
        in_doubt = not is_read and status >= 500
        fault = _fault(_CODES.get(status, "platform_failed"), told, reason, in_doubt=in_doubt)
        fault.details["status"] = status
        if wait_s is not None:
            fault.details["retry_after_s"] = wait_s
        if is_read and status not in _NO_RETRY:
            raise Passing(fault, wait_s)
        raise fault

    def _followed(self, what: str, request: httpx.Request, after: httpx.Request, *, is_read: bool) -> httpx.Request:
        here, there = request.url, after.url
        origin = f"{there.scheme}://{there.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
        if (here.scheme, here.host, here.port) != (there.scheme, there.host, there.port):
            raise RuntimeFault(
                "platform_redirects",
                f"{what} is redirected to {origin}, and the key is not sent to another origin. If the platform is "
                f"there, set {BASE} to {origin}.",
            )
        if not is_read:
            raise RuntimeFault(
                "platform_redirects", f"{what} is redirected to {there.path}, and orders are not sent to another place."
            )
        after.headers["Authorization"] = f"Bearer {self._address.key}"
        return after

    def _unreachable(self, what: str, error: httpx.HTTPError, *, is_read: bool) -> RuntimeFault:
        import httpx

        never_sent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError)
        reason = (
            f"the platform cannot be reached. Check {BASE} and the network"
            if never_sent
            else "the answer did not come in time"
            if isinstance(error, httpx.TimeoutException)
            else "the connection broke off"
        )
        text = f"{what} failed: {reason} ({type(error).__name__})."
        return _fault("platform_unreachable", text, in_doubt=not (is_read or never_sent))

    def _what(self, method: str, path: str) -> str:
        return f"{method} {self._address.base.partition('://')[2].partition('/')[0]}{path}"


_CODES: Final[Mapping[int, str]] = {
    401: "platform_unauthorized",
    403: "platform_forbidden",
    404: "NOT_FOUND",
    429: "rate_limited",
}
_REFUSED: Final[Mapping[int, str]] = {
    401: f"was refused: the key is not accepted (401). Store the right one with: operator-inbox secret set {KEY}.",
    403: "was refused: this key may not do that (403). Use a key that may, or ask for the permission.",
    404: f"was not found (404). Check the id, and that {BASE} is the address of the platform.",
    429: "came too soon after others (429). Wait and try again.",
}


def _fault(code: str, text: str, reason: str = "", *, in_doubt: bool) -> RuntimeFault:
    return InDoubt(code, f"{text} {_DOUBT}{reason}") if in_doubt else RuntimeFault(code, f"{text}{reason}")


def _told(status: int, *, is_read: bool) -> str:
    if status >= 500:
        advice = " Try again later." if is_read else ""
        return f"failed: the platform has a problem of its own ({status}).{advice}"
    return f"was refused ({status})."


def _retry_after(given: str | None) -> float | None:
    """Seconds to wait, at most a minute."""
    if given is None:
        return None
    if re.fullmatch(r"\d+(\.\d+)?", given.strip()):
        return min(float(given), _LONGEST_WAIT_S)
    try:
        until = parsedate_to_datetime(given)
    except (ValueError, OverflowError):
        return None
    until = until.replace(tzinfo=until.tzinfo or UTC)  # "-0000": no zone is told
    return min(max((until - datetime.now(UTC)).total_seconds(), 0.0), _LONGEST_WAIT_S)


async def _text(response: httpx.Response) -> str:
    body = await read(response, LOG_LIMIT)
    try:
        return body.decode(response.charset_encoding or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _of_json(text: str) -> list[Piece]:
    """A whole JSON value; what only calls itself so is read line by line."""
    try:
        value = loads(text)
    except JsonError:
        return [piece for line in text.splitlines() for piece in read_line(line)]
    return list(read_whole(value))


def _filled(route: str, agent: str) -> str:
    return route.replace("{agent}", quote(agent, safe="")).rstrip("/")


def _switches(answer: Any) -> Mapping[str, bool]:
    """``{"web_search": true}``, or a list of objects with a name and whether they are on, alone or under ``tools``."""
    while isinstance(answer, dict):
        found = cast("dict[str, Any]", answer)
        inner = next((found[key] for key in ("tools", "platformTools", "data", "items") if key in found), None)
        if inner is None:
            return {name: is_on for name, is_on in found.items() if isinstance(is_on, bool)}
        answer = inner
    told: dict[str, bool] = {}
    for item in cast("list[Any]", answer) if isinstance(answer, list) else []:
        one = cast("dict[str, Any]", item) if isinstance(item, dict) else {"name": item}
        name = next((one[key] for key in ("name", "id", "tool", "toolName") if isinstance(one.get(key), str)), None)
        is_on = next((one[key] for key in ("enabled", "isEnabled", "is_on", "on", "active") if key in one), True)
        if name is not None:
            told[name] = bool(is_on)
    return told
