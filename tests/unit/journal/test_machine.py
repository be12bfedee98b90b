"""The short form of the proof `machine`: any order of events agrees with a dictionary."""

from __future__ import annotations

import pytest

from tests.proof.machine import BACK_ENDS, Machine, examine


@pytest.mark.timeout(300)
@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_any_order_of_events_agrees_with_the_model(back_end: type[Machine]) -> None:
    examine(back_end, examples=25, steps=30)
