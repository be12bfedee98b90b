"""Google's generateContent with its search and its reader of addresses (contract 5.2).

https://ai.google.dev/api/generate-content, GroundingMetadata and UrlContextMetadata.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast
from urllib.parse import quote, urlsplit

from runtime_core.connections.secrets import NotSet, Secrets, looked_up
from runtime_core.connections.sending import TooLarge, certificates, read
from runtime_core.tools.base import ToolFailed
from runtime_core.tools.web_addresses import AddressRefused
from runtime_core.tools.web_tokens import TOKEN_BYTES, TOKENS, cut
from runtime_core.wire.json import JsonError, dumps, loads

MODEL: Final = "gemini-flash-latest"
"""Google keeps this name on its newest model of that size, all of which search and read addresses."""
BASE_URL: Final = "https://generativelanguage.googleapis.com"
TIMEOUT_S: Final = 40.0
ANSWER_LIMIT: Final = 8 * 1024 * 1024

_Feature = Literal["google_search", "url_context"]


class ProviderFailed(Exception):  # noqa: N818
    """The provider did not answer the question; the message says why and whether to ask again."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class Found:
    """``content`` ends with its numbered sources, ``sources`` says how many there are."""

    content: str
    sources: int


class Google:
    """The provider of one repository, as its ``webTools`` say; made in a thread, as a keychain may have to be asked.

    Raises `ToolFailed` if they are wrong.
    """

    def __init__(self, settings: Mapping[str, Any], secrets: Secrets) -> None:
        self._model = _text(settings, "model") or MODEL
        self._base = _base_url(_text(settings, "baseUrl") or BASE_URL)
        self._is_here = _is_loopback(urlsplit(self._base).hostname or "")
        self._key = _key(_text(settings, "apiKey"), secrets)

    async def search(self, query: str, results: int) -> Found:
        """Raises `ProviderFailed` and, for what nobody expects, `ToolFailed`."""
        asked = (
            f"Search the web and answer from what you find, in at most {TOKENS} tokens. "
            f"Rest the answer on the {results} best sources at most.\n\n{query}"
        )
        return _found(await self._ask(asked, "google_search"), results)

    async def read(self, url: str, prompt: str | None) -> str:
        """What a page says. Raises as `search`, and `AddressRefused` for a page that is held for unsafe."""
        task = prompt or "Give what the page says: its facts, names, numbers and structure."
        candidate = await self._ask(f"Read {url} and answer in at most {TOKENS} tokens.\n\n{task}", "url_context")
        read = [
            _value(one, "urlRetrievalStatus") for one in _list(_value(candidate, "urlContextMetadata"), "urlMetadata")
        ]
        if "URL_RETRIEVAL_STATUS_UNSAFE" in read:
            raise AddressRefused(f"{url} is not fetched: Google holds the page for unsafe.")
        if "URL_RETRIEVAL_STATUS_SUCCESS" not in read:
            raise ProviderFailed(f"Google could not read the page ({', '.join(map(str, read)) or 'it did not try'}).")
        return cut(_answer(candidate), TOKENS * TOKEN_BYTES)

    async def _ask(self, text: str, feature: _Feature) -> Mapping[str, Any]:
        """The first candidate."""
        body: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": text}]}], "tools": [{feature: {}}]}
        status, answer = await self._post(dumps(body))
        if status != 200:
            raise _refused(status, self._clean(_message(answer)))
        candidates = _list(answer, "candidates")
        if not candidates:
            reason = _value(_value(answer, "promptFeedback"), "blockReason") or "no reason is given"
            raise ProviderFailed(f"Google gave no answer ({reason}). Ask otherwise.")
        return candidates[0]

    async def _post(self, question: str) -> tuple[int, Mapping[str, Any]]:
        import httpx

        url = f"{self._base}/v1beta/models/{quote(self._model.removeprefix('models/'), safe='')}:generateContent"
        headers = {"x-goog-api-key": self._key, "content-type": "application/json"}
        try:
            trusted = await asyncio.to_thread(certificates)
            async with (
                asyncio.timeout(TIMEOUT_S),
                httpx.AsyncClient(verify=trusted, timeout=TIMEOUT_S, trust_env=not self._is_here) as client,
                client.stream("POST", url, content=question, headers=headers) as response,
            ):
                body = await read(response, ANSWER_LIMIT)
        except TooLarge:
            raise ToolFailed(f"{self._base} answered with more than {ANSWER_LIMIT:,} bytes.") from None
        except TimeoutError:
            raise ToolFailed(f"{self._base} did not answer within {TIMEOUT_S:g} s.") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            reason = self._clean(str(error)) or type(error).__name__
            raise ToolFailed(f"{self._base} could not be asked: {reason}.") from None
        return response.status_code, self._parsed(response.status_code, body)

    def _parsed(self, status: int, body: bytes) -> Mapping[str, Any]:
        try:
            value = loads(body.decode())
        except (JsonError, UnicodeDecodeError):
            value = None
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
        if status == 200:
            raise ToolFailed(f"{self._base} answered with something else than a JSON object.")
        return {}

    def _clean(self, text: str) -> str:
        return text.replace(self._key, "…")


def _refused(status: int, said: str) -> ProviderFailed:
    """By status (contract 5.2)."""
    told = f" It says: {said}" if said else ""
    if status in (400, 401, 403):
        return ProviderFailed(
            f"Google did not take the request ({status}): the key or the model in webTools is not right for it. "
            f"Do not try again.{told}"
        )
    if status == 429:
        return ProviderFailed(f"The quota at Google is used up (429). Do not try again in this turn.{told}")
    if status >= 500:
        return ProviderFailed(f"Google is not available for the moment ({status}). Try again.{told}", retryable=True)
    return ProviderFailed(f"Google refused the request ({status}). Do not try again unchanged.{told}")


def _found(candidate: Mapping[str, Any], limit: int) -> Found:
    grounding = _value(candidate, "groundingMetadata")
    sources: dict[int, tuple[int, str]] = {}
    room = TOKENS * TOKEN_BYTES // 2
    for index, chunk in enumerate(_list(grounding, "groundingChunks")):
        line = _source(chunk, len(sources) + 1)
        if line is None or len(sources) == limit or len(line.encode()) > room:
            continue
        sources[index] = (len(sources) + 1, line)
        room -= len(line.encode())
    ending = "\n\nSources:" + "".join(line for _, line in sources.values()) if sources else ""
    answer = _cited(_answer(candidate), _list(grounding, "groundingSupports"), sources)
    return Found(cut(answer, TOKENS * TOKEN_BYTES - len(ending.encode())) + ending, len(sources))


def _source(chunk: Mapping[str, Any], number: int) -> str | None:
    web = _value(chunk, "web")
    uri, title = _value(web, "uri"), _value(web, "title")
    if not isinstance(uri, str) or not uri:
        return None
    named = f"{' '.join(title.split())} " if isinstance(title, str) and title else ""
    return f"\n[{number}] {named}{uri}"


def _cited(answer: str, supports: Sequence[Mapping[str, Any]], sources: Mapping[int, tuple[int, str]]) -> str:
    """The answer with the numbers of its sources where they support it; ends are given in bytes."""
    text = answer.encode()
    marks: dict[int, set[int]] = {}
    for support in supports:
        end = _value(_value(support, "segment"), "endIndex")
        numbers = {sources[index][0] for index in _list(support, "groundingChunkIndices", int) if index in sources}
        if isinstance(end, int) and 0 < end <= len(text) and numbers:
            marks.setdefault(end, set()).update(numbers)
    for end in sorted(marks, reverse=True):
        mark = " " + "".join(f"[{number}]" for number in sorted(marks[end]))
        text = text[:end] + mark.encode() + text[end:]
    return text.decode("utf-8", "replace")


def _answer(candidate: Mapping[str, Any]) -> str:
    parts = _list(_value(candidate, "content"), "parts")
    text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought"))
    if not text.strip():
        reason = _value(candidate, "finishReason") or "no reason is given"
        raise ProviderFailed(f"Google gave an empty answer ({reason}). Ask otherwise.")
    return text.strip("\n")


def _message(answer: Mapping[str, Any]) -> str:
    message = _value(_value(answer, "error"), "message")
    return message[:500] if isinstance(message, str) else ""


def _value(holder: Any, key: str) -> Any:
    """A member by its name, or by the spelling with underscores that the service uses as well."""
    if not isinstance(holder, dict):
        return None
    members = cast("dict[str, Any]", holder)
    spelled = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
    return members.get(key, members.get(spelled))


def _list(holder: Any, key: str, kind: type[Any] = dict) -> Sequence[Any]:
    found = _value(holder, key)
    return [one for one in cast("list[Any]", found) if isinstance(one, kind)] if isinstance(found, list) else []


def _text(settings: Mapping[str, Any], key: str) -> str | None:
    value = settings.get(key)
    if value is not None and not isinstance(value, str):
        raise ToolFailed(f"webTools.{key} in amodal.json has to be a text.")
    return value


def _key(given: str | None, secrets: Secrets) -> str:
    if not given or not given.startswith("env:"):
        raise ToolFailed('webTools in amodal.json has no apiKey: write "apiKey": "env:GOOGLE_API_KEY" there.')
    try:
        return looked_up(given, secrets)
    except NotSet as missing:
        raise ToolFailed(
            f"{missing.name}, the key in webTools of amodal.json, is set neither in the environment nor kept."
        ) from None


def _base_url(url: str) -> str:
    parts = urlsplit(url)
    is_bare = bool(parts.hostname) and not (parts.username or parts.password or parts.query or parts.fragment)
    if is_bare and (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or ""))):
        return url.rstrip("/")
    raise ToolFailed(f"webTools.baseUrl in amodal.json is {url!r}: give an https address, or http on this machine.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
