"""The time axis keeps order, stays between 0 and 1 and folds long waits."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inbox_app.gateway.base import Call
from inbox_app.state.timeline import Timeline
from tests.support.builders import call


def test_a_long_wait_takes_little_room() -> None:
    calls = [
        call("", parent=None, started_at=1000, seconds=None, state="running"),
        call("0", started_at=1000, seconds=10),
        call("1", kind="input", started_at=1010, seconds=None, state="waiting"),
    ]
    line = Timeline(calls, 1000 + 3600)
    assert len(line.folds) == 1
    assert line.position(1010) > 0.7
    assert [round(tick.seconds) for tick in line.ticks()] == [0, 5, 10]


def test_work_without_waits_is_not_folded() -> None:
    calls = [call("", parent=None, started_at=1000, seconds=100), call("0", started_at=1000, seconds=100)]
    line = Timeline(calls, 5000)
    assert line.folds == []
    assert abs(line.position(1050) - 0.5) < 1e-9


def test_no_calls_make_an_axis_too() -> None:
    assert 0 <= Timeline((), 10.0).position(3) <= 1


times = st.floats(-100, 1e5, allow_nan=False)
spans = st.lists(
    st.tuples(times, st.one_of(st.none(), times), st.sampled_from(["tool", "input", "sleep"])), max_size=12
)


@given(spans, st.lists(times, min_size=2, max_size=10), times)
def test_positions_keep_the_order_of_times(
    made: list[tuple[float, float | None, str]], at: list[float], now: float
) -> None:
    calls: list[Call] = [
        call(str(number), parent=None if number == 0 else "0", kind=kind, started_at=start, seconds=seconds)
        for number, (start, seconds, kind) in enumerate(made)
    ]
    line = Timeline(calls, now)
    places = [line.position(moment) for moment in sorted(at)]
    assert all(0 <= place <= 1 for place in places)
    assert all(first <= second + 1e-9 for first, second in pairwise(places))
    assert all(0 <= first <= last <= 1 + 1e-9 for first, last in line.folds)
