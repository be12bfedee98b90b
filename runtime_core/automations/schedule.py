"""When an automation is due: cron expressions, intervals and single moments, in a time zone (contract 8.1).

Times are seconds since the epoch. Cron at daylight saving changes is that of Debian: a time of day that is skipped
comes as soon as the clock has moved on, one that comes twice counts once; what repeats by minutes or hours (a ``*`` in
one of these fields) follows the clock.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final
from zoneinfo import ZoneInfo

import tzlocal
from cronsim import CronSim, CronSimError

from runtime_core.wire.runs import LATEST

SHORTEST_S: Final = 10
LONGEST_S: Final = 400 * 86_400
_NAMED: Final[Mapping[str, str]] = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS: Final = (
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day-of-month", "1 to 31, or L for the last"),
    ("month", "1 to 12, or JAN to DEC"),
    ("day-of-week", "0 (Sunday) to 7 (Sunday again), or SUN to SAT"),
)
_UNITS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_UNIT_WORDS: Final[Mapping[str, str]] = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}
_EVERY: Final = re.compile(
    r"(\d{1,9})\s*(?:(s)(?:ec|econd)?s?|(m)(?:in|inute)?s?|(h)(?:r|our)?s?|(d)(?:ay)?s?|(w)(?:eek)?s?)(?![a-z])\s*"
)
_LOOK_BACK_S: Final = (3600.0, 86_400.0, 35 * 86_400.0, 400 * 86_400.0)


_WRONG_ORDINAL: Final = re.compile(r"\b([2-9]?)([123])th\b")  # cronsim says 31th


class ScheduleError(ValueError):
    """What is wrong with a schedule, as a sentence. ``in_zone``: its time zone is."""

    def __init__(self, sentence: str, *, in_zone: bool = False) -> None:
        super().__init__(sentence)
        self.in_zone = in_zone


@dataclass(frozen=True)
class Schedule:
    """At most one of ``cron``, ``every`` (such as ``15m``) and ``at`` (ISO time), as they were written.

    ``timezone``: a name such as ``Europe/Berlin``, "" for the one of this computer. Raises `ScheduleError`.
    """

    cron: str = ""
    every: str = ""
    at: str = ""
    timezone: str = ""

    def __post_init__(self) -> None:
        given = [name for name in ("cron", "every", "at") if getattr(self, name)]
        if len(given) > 1:
            raise ScheduleError(f"A schedule is one of cron, every and at; this one has {' and '.join(given)}.")
        if self.timezone:
            _ = self._zone
        if self.cron:
            self._check_cron()
        elif self.every:
            _ = self._interval
        elif self.at:
            _ = self._moment

    @property
    def is_empty(self) -> bool:
        """Nothing is ever due."""
        return not (self.cron or self.every or self.at)

    def next_after(self, now: float, anchor: float) -> float | None:
        """The first time later than ``now``; None if there is none. Intervals are counted from ``anchor``."""
        if self.cron:
            return self._next_of_cron(now)
        if self.every:
            return anchor + max(1, math.floor((now - anchor) / self._interval) + 1) * self._interval
        if self.at and self._moment > now:
            return self._moment
        return None

    def latest(self, now: float, first: float, anchor: float) -> float:
        """The last time that is not later than ``now``; ``first``, which is one, if there is none after it."""
        for back in (*_LOOK_BACK_S, math.inf):
            start = max(first - 1, now - back)
            found = start
            while (following := self.next_after(found, anchor)) is not None and following <= now:
                found = following
            if found > start or start == first - 1:
                return max(found, first)
        return first

    def next_times(self, now: float, anchor: float, count: int) -> Iterator[float]:
        found: float | None = now
        for _ in range(count):
            found = self.next_after(found, anchor)
            if found is None:
                return
            yield found

    def in_words(self) -> str:
        zone = f" ({self.timezone})" if self.timezone else ""
        if self.cron:
            words = CronSim(self._expression, datetime.now(self._zone)).explain()
            return f"{_WRONG_ORDINAL.sub(_ordinal, words)}{zone}"
        if self.every:
            return f"Every {_interval_words(self.every)}"
        if self.at:
            moment = datetime.fromtimestamp(self._moment, self._zone)
            time_of_day = f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
            return f"Once, on {moment:%Y-%m-%d} at {time_of_day}{zone}"
        return "Only when it is started by hand"

    def to_wire(self) -> dict[str, Any]:
        return {name: value for name in ("cron", "every", "at") if (value := getattr(self, name))}

    @property
    def _expression(self) -> str:
        text = self.cron.strip()
        return _NAMED.get(text.lower(), text)

    @cached_property
    def _zone(self) -> ZoneInfo:
        try:
            return ZoneInfo(self.timezone or local_zone())
        except (KeyError, OSError, ValueError) as error:
            raise ScheduleError(_no_zone(self.timezone), in_zone=True) from error

    @cached_property
    def _interval(self) -> int:
        text = self.every.strip().lower()
        parts = list(_parts(text))
        if not parts or _EVERY.sub("", text).strip():
            raise ScheduleError(f'"{self.every}" is no interval. Write a number and a unit, such as 15m, 1h or 2d.')
        seconds = sum(number * _UNITS[unit] for number, unit in parts)
        if not SHORTEST_S <= seconds <= LONGEST_S:
            raise ScheduleError(
                f'"{self.every}" is too {"short" if seconds < SHORTEST_S else "long"}: '
                f"an interval is at least {SHORTEST_S} seconds and at most 400 days."
            )
        return seconds

    @cached_property
    def _moment(self) -> float:
        try:
            moment = datetime.fromisoformat(self.at.strip())
            found = (moment if moment.tzinfo is not None else moment.replace(tzinfo=self._zone)).timestamp()
        except (ValueError, OverflowError) as error:
            raise ScheduleError(f'"{self.at}" is no time. Write it as 2026-12-24T18:00.') from error
        if not 0 <= found <= LATEST - 2 * 86_400:  # it is shown in any time zone
            raise ScheduleError(f'"{self.at}" is no time that can be waited for.')
        return found

    def _check_cron(self) -> None:
        text = self._expression
        if text.startswith("@"):
            raise ScheduleError(f'"{self.cron}" is not known. There are {", ".join(_NAMED)}.')
        fields = text.split()
        if len(fields) != len(_FIELDS):
            raise ScheduleError(
                f'"{self.cron}" has {len(fields)} {"field" if len(fields) == 1 else "fields"}, but a cron expression '
                "has 5: minute, hour, day-of-month, month, day-of-week."
            )
        for place, (field, (name, allowed)) in enumerate(zip(fields, _FIELDS, strict=True)):
            alone = ["*"] * len(_FIELDS)
            alone[place] = field
            if _problem(" ".join(alone)) is not None:
                raise ScheduleError(f'The {name} "{field}" of "{self.cron}" is not understood. It is {allowed}.')
        if _problem(text) is not None or self.next_after(0.0, 0.0) is None:
            raise ScheduleError(f'"{self.cron}" never comes: no month has such a day.')

    def _next_of_cron(self, now: float) -> float | None:
        for found in CronSim(self._expression, datetime.fromtimestamp(math.floor(now), self._zone)):
            if (at := found.timestamp()) > now:  # where a time of day comes twice, it is told from which one on
                return at
        return None


BY_HAND: Final = Schedule()
"""Nothing is ever due."""


def schedule_of(given: Mapping[str, Any], timezone: str = "") -> Schedule:
    """From ``{cron | every | at}``. Raises `ScheduleError`."""
    values = {name: given.get(name) or "" for name in ("cron", "every", "at")}
    for name, value in (*values.items(), ("timezone", timezone)):
        if not isinstance(value, str):
            raise ScheduleError(f"{name} of a schedule must be a text.")
    return Schedule(**values, timezone=timezone)


def local_zone() -> str:
    """The name of this computer's time zone."""
    with suppress(LookupError, OSError, ValueError):
        return tzlocal.get_localzone_name() or "UTC"
    return "UTC"


def _problem(expression: str) -> str | None:
    try:
        CronSim(expression, datetime.now())
    except CronSimError as error:
        return str(error)
    except (AssertionError, ValueError, TypeError) as error:  # of an odd mixture, such as L/2
        return str(error) or "it is not understood"
    return None


def _no_zone(name: str) -> str:
    return f'There is no time zone "{name}". Write its name as in Europe/Berlin or America/New_York, or leave it out.'


def _parts(every: str) -> Iterator[tuple[int, str]]:
    for number, *units in _EVERY.findall(every):
        yield int(number), "".join(units)


def _interval_words(every: str) -> str:
    parts = [(number, _UNIT_WORDS[unit]) for number, unit in _parts(every.strip().lower())]
    if len(parts) == 1 and parts[0][0] == 1:
        return parts[0][1]
    return " ".join(f"{number} {word if number == 1 else f'{word}s'}" for number, word in parts)


def _ordinal(found: re.Match[str]) -> str:
    ending = {"1": "st", "2": "nd", "3": "rd"}[found[2]]
    return f"{found[1]}{found[2]}{ending}"
