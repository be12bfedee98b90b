"""Which parts of something long were in view."""

from __future__ import annotations


class Seen:
    """A set of stretches ``(top, bottom)`` of one body; whole numbers of any unit."""

    def __init__(self) -> None:
        self._stretches: list[tuple[int, int]] = []

    def add(self, top: int, bottom: int) -> None:
        if top >= bottom:
            return
        apart = [item for item in self._stretches if item[1] < top or bottom < item[0]]
        joined = [item for item in self._stretches if item not in apart]
        whole = (min([top, *(item[0] for item in joined)]), max([bottom, *(item[1] for item in joined)]))
        self._stretches = sorted([*apart, whole])

    def missing(self, height: int) -> list[tuple[int, int]]:
        """The stretches between 0 and ``height`` that were never in view."""
        gaps: list[tuple[int, int]] = []
        at = 0
        for top, bottom in self._stretches:
            if top > at:
                gaps.append((at, min(top, height)))
            at = max(at, bottom)
            if at >= height:
                return [gap for gap in gaps if gap[0] < gap[1]]
        return [*gaps, (at, height)] if at < height else gaps
