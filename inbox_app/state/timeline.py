"""Where a moment of a run stands on a short axis: long stretches in which nothing worked are folded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from inbox_app.gateway.base import Call

FOLD_SECONDS: Final = 10.0
FOLD_SHARE: Final = 0.14
TICKS: Final = 3
_WAITS: Final = frozenset({"input", "approval", "sleep", "timer"})
_STEPS: Final = (0.001, 0.01, 0.1, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)


@dataclass(frozen=True, slots=True)
class Tick:
    position: float
    seconds: float


class Timeline:
    """Positions are between 0 and 1, times seconds since the epoch; both keep their order."""

    def __init__(self, calls: Iterable[Call], now: float) -> None:
        spans = [(call, call.ended_at if call.ended_at is not None else now) for call in calls if call.started_at > 0]
        self.start = min((call.started_at for call, _ in spans), default=now)
        self.end = max(max((end for _, end in spans), default=now), self.start + 0.001)
        inner = {call.parent for call, _ in spans if call.parent is not None}
        busy = _merged(
            (call.started_at, max(end, call.started_at))
            for call, end in spans
            if call.kind not in _WAITS and call.id not in inner
        )
        self._points, self._places, self.folds = self._lay_out(_gaps(busy, self.start, self.end))

    def position(self, at: float) -> float:
        if at <= self.start:
            return 0.0
        if at >= self.end:
            return 1.0
        part = bisect_right(self._points, at) - 1
        first, last = self._points[part], self._points[part + 1]
        share = (at - first) / (last - first)
        return self._places[part] + share * (self._places[part + 1] - self._places[part])

    def ticks(self) -> list[Tick]:
        """A few round times before the first fold."""
        stop = self._points[1] if self.folds else self.end
        length = max(stop - self.start, 0.001)
        step = next((size for size in _STEPS if length / size <= TICKS), _STEPS[-1])
        count = int(length / step)
        return [Tick(self.position(self.start + step * number), step * number) for number in range(count + 1)]

    def _lay_out(
        self, gaps: Sequence[tuple[float, float]]
    ) -> tuple[list[float], list[float], list[tuple[float, float]]]:
        """Times and their places, and the places of the folds."""
        total = self.end - self.start
        waste = sum(end - begin for begin, end in gaps)
        fold = FOLD_SHARE if total - waste > 0 else 1.0
        share = max(1.0 - fold * len(gaps), 0.3)
        fold = (1.0 - share) / len(gaps) if gaps else 0.0
        scale = share / max(total - waste, 0.001)
        points, places = [self.start], [0.0]
        folds: list[tuple[float, float]] = []
        for begin, end in gaps:
            if begin > points[-1]:
                places.append(places[-1] + (begin - points[-1]) * scale)
                points.append(begin)
            folds.append((places[-1], places[-1] + fold))
            points.append(end)
            places.append(places[-1] + fold)
        if self.end > points[-1]:
            points.append(self.end)
            places.append(places[-1] + (self.end - points[-2]) * scale)
        top = places[-1] or 1.0
        return points, [place / top for place in places], [(first / top, last / top) for first, last in folds]


def _merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _gaps(busy: Sequence[tuple[float, float]], start: float, end: float) -> list[tuple[float, float]]:
    """Stretches without work that are long, in seconds and against the time that was worked."""
    worked = sum(last - first for first, last in busy)
    least = max(FOLD_SECONDS, worked)
    edges = [start, *(edge for span in busy for edge in span), end]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    long = [(first, last) for first, last in pairs if last - first > least]
    return long if len(long) <= 4 else sorted(sorted(long, key=lambda gap: gap[0] - gap[1])[:4])
