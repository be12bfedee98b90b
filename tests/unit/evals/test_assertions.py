"""What holds of an answer, and in which words it is told (contract 11.2)."""

from __future__ import annotations

import asyncio

import pytest

from runtime_core.evals.assertions import Observed, check
from runtime_core.evals.result import CallMade, Verdict
from runtime_core.repo.assertions import parse_assertion

SEEN = Observed(
    "Parcel p_77 is late.\nIt waits at Dock 3.",
    (CallMade("store__parcels__query"), CallMade("load_dock", depth=1), CallMade("load_dock", depth=1)),
    turns=2,
    latency_s=1.5,
)


def verdict(text: str, seen: Observed = SEEN) -> Verdict:
    return asyncio.run(check(parse_assertion(text), seen))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("contains: p_77", True),
        ("contains: P_77", False),
        ("regex: /parcel p_\\d+ is/i", True),
        ("regex: /parcel p_\\d+ is/", False),
        ("regex: /^it waits/im", True),
        ("regex: /late\\..It/s", True),
        ("regex: Dock \\d\\.$", True),
        ("starts_with: Parcel", True),
        ("starts_with: p_77", False),
        ("length_between: [10, 50]", True),
        ("length_between: [0, 20]", False),
        ("max_latency: 1500", True),
        ("max_latency: 1.4 s", False),
        ("max_turns: 2", True),
        ("max_turns: 1", False),
        ("tool_called: load_dock", True),
        ("tool_called: load", False),
    ],
)
def test_a_form_and_its_negation(text: str, holds: bool) -> None:
    plain, negated = verdict(text), verdict(f"not {text}")
    assert (plain.passed, negated.passed) == (holds, not holds)
    assert (plain.negated, negated.negated) == (False, True)
    assert plain.reason == negated.reason


def test_reasons_say_what_was_seen() -> None:
    assert verdict("tool_called: load_dock").reason == "load_dock was called 2 times"
    missing = verdict("tool_called: pay").reason
    assert missing == "pay was not called; called were: store__parcels__query, load_dock"
    assert verdict("max_turns: 1").reason == "the agent took 2 turns"
    assert verdict("max_turns: 1", Observed("", turns=1)).reason == "the agent took 1 turn"
    assert "43 characters" in verdict("length_between: [0, 1]", Observed("x" * 43)).reason
    assert verdict("contains: x", Observed("")).reason == "the response is: (empty)"


def test_tool_not_called_is_the_opposite() -> None:
    assert verdict("tool_not_called: load_dock").passed is False
    assert verdict("tool_not_called: pay").passed is True
    assert verdict("not tool_not_called: load_dock").passed is True


def test_a_pattern_that_never_ends_does_not_hold() -> None:
    slow = verdict("not regex: /(a+)+$/", Observed("a" * 40 + "!"))
    if slow.passed is False:  # an engine may be clever enough to see at once that nothing fits
        assert "simpler pattern" in slow.reason
