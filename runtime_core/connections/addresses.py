"""Puts a base URL and an endpoint together so that the request stays below that base (contract 3.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, cast
from urllib.parse import SplitResult, quote, unquote, unquote_plus, urlencode, urlsplit

from runtime_core.wire.json import dumps

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_STRAY_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_KEPT_IN_PATH: Final = "/%:@!$&'()*+,;=~-._"
_KEPT_IN_QUERY: Final = _KEPT_IN_PATH + "?"
_DECODINGS: Final = 5
"""How often somebody on the way might decode a path."""


class AddressRefused(ValueError):  # noqa: N818
    """An address that is not used; the message is a clause that says why and what to write instead."""


def base_of(url: str) -> SplitResult:
    """The parts of a base URL. Raises `AddressRefused`."""
    if _CONTROL.search(url) or " " in url or "\\" in url:
        raise AddressRefused("the base URL contains a space, a backslash or a control character")
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        raise AddressRefused("the base URL cannot be read") from None
    if not is_usable or not re.fullmatch(r"[\w.\-~%:\[\]]+", parts.netloc.rpartition("@")[2]):
        raise AddressRefused("the base URL has to begin with http:// or https:// and a host")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused('the base URL contains a user or a password; write them into "auth" instead')
    if parts.fragment:
        raise AddressRefused("the base URL contains a fragment (#)")
    return parts


def address(
    base: SplitResult, endpoint: str, params: Mapping[str, Any], own: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The URL of ``endpoint`` (path below the base, maybe with a query) with ``params`` added to its query, and with
    ``own`` in place of whatever has the same names.

    What is percent-encoded stays so. Raises `AddressRefused`.
    """
    _check_endpoint(endpoint)
    path, _, query = endpoint.partition("?")
    try:
        given = "&".join([base.query, _quoted(query, _KEPT_IN_QUERY), encoded(params)])
        queries = [*without(given, own).split("&"), encoded(own)]
        path = below(base.path, _quoted(path, _KEPT_IN_PATH))
    except UnicodeEncodeError:
        raise AddressRefused("the endpoint or its params contain half of a surrogate pair") from None
    whole = "&".join(part for part in queries if part)
    return f"{base.scheme}://{base.netloc}{path}{'?' if whole else ''}{whole}"


def below(base: str, path: str) -> str:
    return (base or "/") if path == "" else f"{base.rstrip('/')}/{path.removeprefix('/')}"


def without(query: str, names: Iterable[str]) -> str:
    """A query without the parameters of these names, however they are encoded; a server may not tell cases apart."""
    taken = {name.casefold() for name in names}
    return "&".join(part for part in query.split("&") if unquote_plus(part.partition("=")[0]).casefold() not in taken)


def encoded(params: Mapping[str, Any]) -> str:
    """A query or a form: null is left out, a list repeats its key, an object is JSON, numbers keep their digits."""
    return urlencode([(key, _text(item)) for key, value in params.items() for item in _items(value)], quote_via=quote)


def _items(value: Any) -> Iterable[Any]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [item for item in values if item is not None]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def _quoted(text: str, kept: str) -> str:
    return quote(_STRAY_PERCENT.sub("%25", text), safe=kept)


def _check_endpoint(endpoint: str) -> None:
    if _SCHEME.match(endpoint) or endpoint.startswith("//"):
        raise AddressRefused("the endpoint is a whole URL; give the path below the base URL of the connection")
    if _CONTROL.search(endpoint) or "\\" in endpoint:
        raise AddressRefused("the endpoint contains a backslash or a control character; encode it")
    if "#" in endpoint:
        raise AddressRefused("the endpoint contains a fragment (#); write %23 where the character itself is meant")
    path = endpoint.partition("?")[0]
    for _ in range(_DECODINGS):
        segments = re.split(r"[/\\]", path)
        if any(segment.partition(";")[0] in (".", "..") for segment in segments):
            raise AddressRefused('the endpoint contains "." or ".." as a part of its path')
        path, before = unquote(path), path
        if path == before:
            return
