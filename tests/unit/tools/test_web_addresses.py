"""Which addresses may be fetched, and from where (decision 32)."""

from __future__ import annotations

import asyncio
import socket

import pytest

from runtime_core.tools.web_addresses import (
    AddressRefused,
    AddressUnknown,
    checked_host,
    has_private_name,
    locate,
    reach_of,
)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "::1",
        "fd12:3456::1",
        "fc00::1",
        "::ffff:10.0.0.1",
        "2002:7f00:1::1",
        "64:ff9b::192.168.0.1",
    ],
)
def test_private_networks(address: str) -> None:
    assert reach_of("host", address) == "private"


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "8.8.8.8", "172.32.0.1", "2606:2800:220:1::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]
)
def test_the_public_web(address: str) -> None:
    assert reach_of("host", address) == "public"


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.1.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "fe80::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "240.0.0.1",
        "100.64.0.1",
        "192.0.2.1",
        "2001:db8::1",
    ],
)
def test_refused_addresses(address: str) -> None:
    with pytest.raises(AddressRefused, match="is not fetched"):
        reach_of("host", address)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.com/", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("gopher://127.0.0.1/", "only http and https"),
        ("example.com", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("https://user:secret@example.com/", "user name or password"),
        ("https://user@example.com/", "user name or password"),
        ("https://:@example.com/", "user name or password"),
        ("http://", "names no host"),
        ("http://exa mple.com/", "spaces"),
        ("http://example.com/\nHost: other", "spaces"),
        ("http://%31%32%37.0.0.1/", "hides it"),
        ("http://[fe80::1%25eth0]/", "hides it"),
        ("http://example.com:99999/", "not a web address"),
        ("http://[::1/", "not a web address"),
        ("http://metadata.google.internal/computeMetadata/v1/", "metadata"),
        ("http://METADATA.google.internal./", "metadata"),
        ("http://example.com/" + "a" * 9000, "characters"),
    ],
)
def test_addresses_that_are_not_even_looked_up(url: str, why: str) -> None:
    with pytest.raises(AddressRefused, match=why) as refused:
        checked_host(url)
    assert "secret" not in str(refused.value)


def test_names_of_private_networks() -> None:
    assert all(map(has_private_name, ["printer.local", "localhost", "intranet", "a.internal", "nas.lan"]))
    assert not any(map(has_private_name, ["example.com", "local.example.com", "8.8.8.8", "127.0.0.1", "::1"]))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "127.1", "::1"])
def test_every_spelling_of_this_machine_is_private(host: str) -> None:
    assert asyncio.run(locate(host)).reach == "private"


def test_a_host_is_private_if_one_of_its_addresses_is_and_refused_if_one_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[str] = ["8.8.8.8", "10.0.0.1"]

    def lookup(*_: object, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    assert asyncio.run(locate("a.example")).reach == "private"
    found[:] = ["8.8.8.8", "169.254.169.254"]
    with pytest.raises(AddressRefused, match="metadata"):
        asyncio.run(locate("a.example"))


def test_an_unknown_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def lookup(*_: object, **__: object) -> list[object]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with pytest.raises(AddressUnknown, match=r"nowhere\.example was not found"):
        asyncio.run(locate("nowhere.example"))
