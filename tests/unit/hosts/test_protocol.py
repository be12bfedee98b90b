"""The lines between the runtime and a process, without a process."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_core.hosts import protocol
from runtime_core.hosts.protocol import Framer, OversizedMessageError, Raw, encode

MARK = b"\x1enonce"


@given(
    st.lists(st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.none()))),
    st.lists(st.integers(min_value=1, max_value=50)),
)
def test_messages_arrive_whatever_the_pieces(messages: list[dict[str, object]], cuts: list[int]) -> None:
    stream = b"".join(MARK + json.dumps(message).encode() + b"\n" for message in messages)
    framer, found, at = Framer("nonce"), [], 0
    for cut in [*cuts, len(stream) + 1]:
        found += framer.feed(stream[at : at + cut])
        at += cut
    assert found == messages


def test_text_beside_messages_is_told_apart() -> None:
    framer = Framer("nonce")
    stream = b'hello\n{"t":"done"}\nno end' + MARK + b'{"a":1}\n' + MARK + b"broken\n\x1eother{}\nrest"
    assert list(framer.feed(stream)) == ["hello", '{"t":"done"}', "no end", {"a": 1}, "broken", "\x1eother{}"]
    assert framer.rest() == "rest"


def test_a_line_above_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MESSAGE_LIMIT", 100)
    framer = Framer("nonce")
    assert list(framer.feed(MARK + b"x" * 80)) == []
    with pytest.raises(OversizedMessageError):
        list(framer.feed(b"x" * 30))


def test_values_are_spliced_in_as_they_are() -> None:
    line = encode({"a": Raw('{"n": 1.10,\n "big": 123456789012345678901}'), "b": [Raw("1e5"), "é\n"], "c": {"d": None}})
    assert line == b'{"a":{"n": 1.10,  "big": 123456789012345678901},"b":[1e5,"\\u00e9\\n"],"c":{"d":null}}\n'


def test_a_lone_surrogate_in_a_value_stays_valid() -> None:
    assert json.loads(encode({"a": Raw('"\ud800"')})) == {"a": "\ud800"}
