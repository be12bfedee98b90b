"""Where the platform is, however that is spelled, and with which key."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from runtime_core.deploys.address import Address, address, agent_id, base_url
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.settings import Platform


class Given:
    def __init__(self, **values: str) -> None:
        self._values: Mapping[str, str] = values

    def get(self, name: str) -> str | None:
        return self._values.get(name) or None


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("https://api.example.test", "https://api.example.test"),
        ("  https://api.example.test/  ", "https://api.example.test"),
        ("https://api.example.test/api/", "https://api.example.test"),
        ("https://api.example.test/v1/api", "https://api.example.test/v1"),
        ("HTTPS://API.example.test:443", "https://api.example.test:443"),
        ("api.example.test", "https://api.example.test"),
        ("localhost:3000", "http://localhost:3000"),
        ("127.0.0.1:3000/api", "http://127.0.0.1:3000"),
        ("[::1]:3000", "http://[::1]:3000"),
        ("http://10.0.0.2", "http://10.0.0.2"),
    ],
)
def test_every_spelling(given: str, base: str) -> None:
    assert base_url(given) == base


@pytest.mark.parametrize(
    "given", ["ftp://x", "https://", "https://me:pw@x.test", "https://x.test?a=1", "https://x.test#a", "https://a b", "http://x:y"]
)  # fmt: skip
def test_what_is_no_address_is_refused_without_repeating_it(given: str) -> None:
    with pytest.raises(RuntimeFault) as caught:
        base_url(given)
    assert caught.value.code == "platform_not_configured"
    assert "pw" not in caught.value.message


def test_the_environment_goes_before_the_settings() -> None:
    settings = Platform(api_base="https://settings.test", agent_id="from_settings")
    both = Given(AMODAL_API_BASE="https://environment.test", AMODAL_API_KEY=" key-1 ", AMODAL_AGENT_ID="from_there")
    assert address(both, settings) == Address("https://environment.test", "key-1")
    assert agent_id(both, settings) == "from_there"
    assert address(Given(AMODAL_API_KEY="k"), settings).base == "https://settings.test"
    assert agent_id(Given(), settings) == "from_settings"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Given(AMODAL_API_KEY="k"), "AMODAL_API_BASE"),
        (Given(AMODAL_API_BASE="https://x.test"), "operator-inbox secret set AMODAL_API_KEY"),
        (Given(AMODAL_API_BASE="https://x.test", AMODAL_API_KEY="two\nlines"), "no header may have"),
    ],
)
def test_what_is_missing_is_named(given: Given, words: str) -> None:
    with pytest.raises(RuntimeFault) as caught:
        address(given, Platform())
    assert words in caught.value.message
    assert "two" not in caught.value.message


@pytest.mark.parametrize("given", ["http://10.0.0.2", "HTTP://x.test/api", "http://localhost.x.test"])
def test_a_key_does_not_go_through_a_network_in_plain_sight(given: str) -> None:
    with pytest.raises(RuntimeFault, match="in plain sight") as caught:
        address(Given(AMODAL_API_BASE=given, AMODAL_API_KEY="key-1"), Platform())
    assert "key-1" not in caught.value.message
    assert address(Given(AMODAL_API_BASE="http://[::1]:3000", AMODAL_API_KEY="key-1"), Platform()).key == "key-1"


def test_a_key_is_not_shown() -> None:
    assert "secret" not in repr(Address("https://x.test", "secret"))
    assert Address("https://x.test", "k").at("/api/builds", "a/b c") == "https://x.test/api/builds/a%2Fb%20c"
