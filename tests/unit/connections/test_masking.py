"""Secrets are taken out of texts in whichever usual way they are spelled."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_core.connections.masking import masked, masked_json

SECRET = "s3cr3t-T0ken+/==% \"<&'\\ü😀\r\nx"


def _twice(encode: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: encode(encode(text))


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _by_number(text: str) -> str:
    return "".join(one if one.isascii() and one.isalnum() else f"&#{ord(one)};" for one in text)


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": _in_json,
    "json, not ASCII": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "json, slashes escaped": lambda text: _in_json(text).replace("/", "\\/"),
    "json, all escaped": lambda text: "".join(
        one if one.isascii() and one.isalnum() else "".join(f"\\u{unit:04X}" for unit in _units(one)) for one in text
    ),
    "json in json": _twice(_in_json),
    "address": lambda text: quote(text, safe=""),
    "address, lower case": lambda text: quote(text, safe="").replace("%2B", "%2b").replace("%2F", "%2f"),
    "address in an address": _twice(lambda text: quote(text, safe="")),
    "form": quote_plus,
    "html": html.escape,
    "html in html": _twice(html.escape),
    "html by numbers": _by_number,
    "html in json": lambda text: _in_json(html.escape(text)),
    "html by hexadecimal numbers": lambda text: "".join(
        one if one.isascii() and one.isalnum() else f"&#X{ord(one):04X};" for one in text
    ),
    "html by names": lambda text: html.escape(text).replace("+", "&plus;").replace("/", "&sol;"),
}


def _units(one: str) -> list[int]:
    coded = one.encode("utf-16-be")
    return [int.from_bytes(coded[at : at + 2]) for at in range(0, len(coded), 2)]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_is_masked_in_every_usual_spelling(spelling: str) -> None:
    spelled = SPELLINGS[spelling](SECRET)
    assert masked(f"bad {spelled}, bad {spelled}!", {SECRET}) == "bad ***, bad ***!"


@given(st.text(min_size=4, max_size=12), st.sampled_from(sorted(SPELLINGS)))
def test_any_secret_is_masked(secret: str, spelling: str) -> None:
    assert masked(f"[{SPELLINGS[spelling](secret)}]", {secret}) == "[***]"


def test_a_secret_within_another_leaves_nothing_of_the_longer_one() -> None:
    assert masked("user:password, password", {"password", "user:password"}) == "***, ***"


def test_json_stays_json() -> None:
    text = json.dumps({SECRET: [SECRET, 5, None]})
    assert json.loads(masked_json(text, {SECRET})) == {"***": ["***", 5, None]}


@pytest.mark.parametrize("piece", ["\\", "%25", "&amp;", "\\u", "a\\\\", "&#0"])
def test_a_text_that_looks_like_a_secret_for_long_stays_as_it_is(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    assert masked(text, {"\\\\//++%%", "%%%%!", "+&+&+", "a\\\\\\\\x"}) == text
