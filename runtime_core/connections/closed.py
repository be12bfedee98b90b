"""Where no request goes, whoever asks for it: link-local addresses and the metadata services of cloud machines, which
give out the machine's own credentials. Private and loopback addresses are open to connections.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

METADATA_NAMES: Final = frozenset({"metadata", "metadata.google.internal", "metadata.goog", "instance-data"})
_METADATA: Final = frozenset(
    ipaddress.ip_address(address)
    for address in (
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
    )
)
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


class Closed(Exception):  # noqa: N818
    """Why nothing is sent to an address; the message is a clause that follows a host's name."""


def plain(ip: Address) -> Address:
    """The address that is behind one of IPv6 which only wraps an address of IPv4."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None) or ip


def why_closed(ip: Address) -> str | None:
    if plain(ip) in _METADATA:
        return "that is the metadata service of a cloud machine"
    return "link-local addresses are closed" if plain(ip).is_link_local else None


async def check_open(url: str) -> None:
    """Look the host of a request up. One that is not found is left to whoever sends the request. Raises `Closed`."""
    host = check_name(url)
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return
    for info in found:
        check_address(str(info[4][0]))


def check_name(url: str) -> str:
    """The host of an address, of which that name says nothing against it. Raises `Closed`."""
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    if host in METADATA_NAMES:
        raise Closed("names the metadata service of a cloud machine, and nothing is sent there")
    with suppress(ValueError):  # a name
        check_address(host)
    return host


def check_address(address: str) -> None:
    """Raises `Closed`."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    reason = why_closed(ip)
    if reason is not None:
        raise Closed(f"is {ip}, and nothing is sent there: {reason}")
