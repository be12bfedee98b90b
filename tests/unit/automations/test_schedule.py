"""Cron expressions, intervals and moments: what is due when, and what is said about what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_core.automations import schedule as module
from runtime_core.automations.schedule import BY_HAND, Schedule, ScheduleError, schedule_of

BERLIN = "Europe/Berlin"


def at(text: str, zone: str = BERLIN) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def times(schedule: Schedule, start: str, count: int, zone: str = BERLIN) -> list[str]:
    found = schedule.next_times(at(start), 0.0, count)
    return [datetime.fromtimestamp(one, ZoneInfo(zone)).isoformat() for one in found]


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("30 9 * * *", ["2026-05-01T09:30:00+02:00", "2026-05-02T09:30:00+02:00"]),
        ("@daily", ["2026-05-01T00:00:00+02:00", "2026-05-02T00:00:00+02:00"]),
        ("@Hourly", ["2026-04-30T13:00:00+02:00", "2026-04-30T14:00:00+02:00"]),
        ("0 8 * * mon-fri", ["2026-05-01T08:00:00+02:00", "2026-05-04T08:00:00+02:00"]),
        ("0 0 L * *", ["2026-05-31T00:00:00+02:00", "2026-06-30T00:00:00+02:00"]),
        ("0 0 29 2 *", ["2028-02-29T00:00:00+01:00", "2032-02-29T00:00:00+01:00"]),
    ],
)
def test_cron_expressions_are_due(cron: str, expected: list[str]) -> None:
    assert times(Schedule(cron=cron, timezone=BERLIN), "2026-04-30T12:00:00", 2) == expected


@pytest.mark.parametrize(
    ("cron", "start", "expected"),
    [
        ("30 2 * * *", "2026-03-28T12:00:00", ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]),
        ("30 2 * * *", "2026-10-24T12:00:00", ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]),
        ("*/30 * * * *", "2026-03-29T01:15:00", ["2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00"]),
        (
            "*/30 * * * *",
            "2026-10-25T02:15:00",
            ["2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00"],
        ),
    ],
)
def test_a_skipped_time_comes_at_once_and_one_that_comes_twice_counts_once(
    cron: str, start: str, expected: list[str]
) -> None:
    assert times(Schedule(cron=cron, timezone=BERLIN), start, len(expected)) == expected


def test_in_the_repeated_hour_no_time_of_the_past_comes_next() -> None:
    second_pass = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo(BERLIN)).timestamp()
    following = Schedule(cron="45 2 * * *", timezone=BERLIN).next_after(second_pass, 0.0)
    assert following == at("2026-10-26T02:45:00")


def test_intervals_are_counted_from_where_they_began() -> None:
    schedule = Schedule(every="1h30m")
    assert schedule.next_after(1000.0, 1000.0) == 1000.0 + 5400
    assert schedule.next_after(1000.0 + 5400, 1000.0) == 1000.0 + 2 * 5400
    assert schedule.next_after(0.0, 1000.0) == 1000.0 + 5400


def test_a_moment_is_due_once_and_in_the_zone_that_is_named() -> None:
    schedule = Schedule(at="2026-12-24T18:00", timezone="America/New_York")
    moment = at("2026-12-24T18:00", "America/New_York")
    assert schedule.next_after(moment - 1, 0.0) == moment
    assert schedule.next_after(moment, 0.0) is None
    assert Schedule(at="2026-12-24T18:00:00+01:00").next_after(0.0, 0.0) == at("2026-12-24T18:00")


def test_without_a_name_the_zone_is_that_of_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "local_zone", lambda: "Asia/Tokyo")
    assert times(Schedule(cron="0 9 * * *"), "2026-04-30T12:00:00", 1, "Asia/Tokyo") == ["2026-05-01T09:00:00+09:00"]


SCHEDULES = st.one_of(
    st.sampled_from(["* * * * *", "*/20 2 * * *", "30 2 * * *", "0 0 1 * *", "15 3 * * SUN", "0 0 29 2 *"]).map(
        lambda cron: Schedule(cron=cron, timezone=BERLIN)
    ),
    st.sampled_from(["10s", "7m", "1h", "3d"]).map(lambda every: Schedule(every=every)),
)


@given(SCHEDULES, st.integers(1_770_000_000, 1_810_000_000), st.floats(0, 4 * 86_400), st.floats(0, 3600))
def test_the_latest_time_is_one_that_is_due_and_nothing_comes_between_it_and_now(
    schedule: Schedule, start: int, gap: float, anchor: float
) -> None:
    first = schedule.next_after(start, start - anchor)
    assert first is not None
    now = first + gap
    latest = schedule.latest(now, first, start - anchor)
    assert first <= latest <= now
    following = schedule.next_after(latest, start - anchor)
    assert following is not None
    assert following > now
    assert latest == first or schedule.next_after(latest - 1, start - anchor) == latest


def test_a_long_sleep_is_no_long_search() -> None:
    calls = 0
    schedule = Schedule(cron="* * * * *", timezone="UTC")
    following = schedule.next_after

    class Counted(Schedule):
        def next_after(self, now: float, anchor: float) -> float | None:
            nonlocal calls
            calls += 1
            return following(now, anchor)

    assert Counted(cron="* * * * *", timezone="UTC").latest(1.8e9, 1.2e9, 0.0) == 1.8e9
    assert calls < 100


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cron": "61 * * * *"}, 'The minute "61" of "61 * * * *" is not understood. It is 0 to 59.'),
        ({"cron": "0 0 * * FUN"}, 'The day-of-week "FUN"'),
        ({"cron": "*/0 * * * *"}, 'The minute "*/0"'),
        ({"cron": "* * * *"}, "has 4 fields"),
        ({"cron": "0 0 * * * *"}, "has 6 fields"),
        ({"cron": "0 0 30 2 *"}, "never comes"),
        ({"cron": "@dialy"}, '"@dialy" is not known. There are @yearly'),
        ({"every": "15"}, '"15" is no interval. Write a number and a unit, such as 15m'),
        ({"every": "2 months"}, "is no interval"),
        ({"every": "1.5h"}, "is no interval"),
        ({"every": "1s"}, "is too short"),
        ({"every": "500d"}, "is too long"),
        ({"at": "tomorrow"}, '"tomorrow" is no time. Write it as 2026-12-24T18:00.'),
        ({"at": "9999-12-31T23:59"}, "is no time that can be waited for"),
        ({"cron": "@daily", "every": "1h"}, "this one has cron and every"),
        ({"cron": 5}, "cron of a schedule must be a text"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_said(given: Mapping[str, object], said: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        schedule_of(given)
    assert said in str(caught.value)


@pytest.mark.parametrize("zone", ["Mars/Base", "../etc/passwd", "Europe", "/etc/localtime"])
def test_an_unknown_time_zone_is_named(zone: str) -> None:
    with pytest.raises(ScheduleError, match="There is no time zone") as caught:
        Schedule(cron="@daily", timezone=zone)
    assert caught.value.in_zone


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (Schedule(cron="30 9 * * MON-FRI", timezone=BERLIN), "At 09:30 on Monday through Friday (Europe/Berlin)"),
        (Schedule(cron="0 9 31 * *"), "At 09:00 on the 31st day of every month"),
        (Schedule(cron="0 9 12,22,23 * *"), "At 09:00 on the 12th, the 22nd, and the 23rd day of month"),
        (Schedule(every="1 h"), "Every hour"),
        (Schedule(every="90 minutes"), "Every 90 minutes"),
        (Schedule(at="2026-12-24T18:00", timezone=BERLIN), "Once, on 2026-12-24 at 18:00 (Europe/Berlin)"),
        (Schedule(at="2026-12-24T18:00:09", timezone=BERLIN), "Once, on 2026-12-24 at 18:00:09 (Europe/Berlin)"),
        (BY_HAND, "Only when it is started by hand"),
    ],
)
def test_schedules_are_told_in_words(schedule: Schedule, words: str) -> None:
    assert schedule.in_words() == words
