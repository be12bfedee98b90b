from __future__ import annotations

from typing import Any

import pytest

from runtime_core.approvals.eligibility import eligible
from runtime_core.wire.json import dumps


@pytest.mark.parametrize(
    ("rules", "who", "allowed"),
    [
        ({}, "bob", True),
        ({}, "", True),
        ({"eligibleAnswerers": ["bob"]}, "bob", True),
        ({"eligibleAnswerers": ["rosa"]}, "bob", False),
        ({"eligibleAnswerers": ["Bob"]}, "bob", False),
        ({"eligibleAnswerers": ["bob"]}, "", False),
        ({"eligibleAnswerers": []}, "bob", False),
        ({"eligibleAnswerers": []}, "", False),
        ({"excludeAnswerers": ["bob"]}, "bob", False),
        ({"excludeAnswerers": ["eve"]}, "bob", True),
        ({"excludeAnswerers": ["eve"]}, "", False),
        ({"excludeAnswerers": []}, "", True),
        ({"eligibleAnswerers": ["bob"], "excludeAnswerers": ["bob"]}, "bob", False),
    ],
)
def test_who_may_answer(rules: dict[str, Any], who: str, allowed: bool) -> None:
    may, reason = eligible(dumps({"question": "Q", **rules}), who, "rosa")
    assert may == allowed
    assert bool(reason) != allowed


def test_the_reason_tells_a_requester_that_it_is_their_own_request() -> None:
    _, reason = eligible(dumps({"question": "Q", "excludeAnswerers": ["rosa"]}), "rosa", "rosa")
    assert "your own request" in reason
