"""Which addresses `fetch_url` may reach, and how (contract decision 32).

Private ones (loopback, RFC 1918, ULA, ``.local``) are fetched from this machine and never named to anybody else; link
local and cloud metadata addresses, and all that is neither private nor public, are refused.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from runtime_core.connections.closed import METADATA_NAMES, plain, why_closed

Reach = Literal["private", "public"]

URL_LIMIT: Final = 8192

_PRIVATE: Final = tuple(
    ipaddress.ip_network(net)
    for net in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
)
_PRIVATE_ENDINGS: Final = (".local", ".localhost", ".internal", ".lan", ".home.arpa")


class AddressRefused(Exception):  # noqa: N818
    """Why an address is not fetched."""


class AddressUnknown(Exception):  # noqa: N818
    """A host name that leads nowhere."""


@dataclass(frozen=True, slots=True)
class Target:
    """A host and where it is: ``addresses`` are those that were checked, to be connected to as they are."""

    host: str
    reach: Reach
    addresses: Sequence[str]


def checked_host(url: str) -> str:
    """The host of an address that may be looked up, in lower case. Raises `AddressRefused`."""
    if len(url) > URL_LIMIT:
        raise AddressRefused(f"The address has more than {URL_LIMIT:,} characters.")
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise AddressRefused(f"{url!r} is not a web address: {error}.") from None
    if parts.scheme not in ("http", "https"):
        raise AddressRefused(f"{url!r} is not fetched: only http and https addresses are.")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused("An address with a user name or password in it is not fetched. Leave them out.")
    if not host or "%" in host or any(ord(letter) <= 32 for letter in url):
        raise AddressRefused(f"{url!r} is not a web address: it names no host, hides it, or holds spaces.")
    if host in METADATA_NAMES:
        raise AddressRefused(f"{host} is not fetched: it names the metadata service of a cloud machine.")
    return host


def has_private_name(host: str) -> bool:
    """Whether a name alone says that the host is not on the public web."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return "." not in host or host.endswith(_PRIVATE_ENDINGS)
    return False


async def locate(host: str) -> Target:
    """Look a host up and check every address it has. Raises `AddressRefused`, `AddressUnknown`."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressUnknown(f"The host {host} was not found: {getattr(error, 'strerror', None) or error}.") from None
    addresses = list(dict.fromkeys(str(info[4][0]) for info in found))
    reaches = {reach_of(host, address) for address in addresses}
    reach = "private" if has_private_name(host) or "private" in reaches else "public"
    return Target(host, reach, addresses)


def reach_of(host: str, address: str) -> Reach:
    """Raises `AddressRefused`."""
    ip = plain(ipaddress.ip_address(address.partition("%")[0]))
    reason = why_closed(ip)
    if reason is not None:
        raise AddressRefused(f"{host} ({ip}) is not fetched: {reason}.")
    if any(ip in net for net in _PRIVATE if net.version == ip.version):
        return "private"
    if ip.is_global and not ip.is_multicast:
        return "public"
    raise AddressRefused(f"{host} ({ip}) is not fetched: it is neither on the public web nor in a private network.")
