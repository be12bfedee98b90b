"""Which handlers of a run still replay. None of them makes a new call before every one has used up its records."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runtime_core.engine.frames import DurableFrame
from runtime_core.wire.runs import Entry, SlotPath, is_below, slot


class Replays:
    """The handlers of a run that began in earlier legs and have not ended, by slot path."""

    def __init__(self) -> None:
        self._expected: set[SlotPath] = set()
        self._waiting: list[DurableFrame] = []

    def expect(self, started: Sequence[Entry], is_durable: Callable[[str], bool]) -> None:
        """``started``: the calls of the run that have no result; those of durable tools are handlers of their own."""
        self._expected = {""}
        for entry in sorted(started, key=lambda entry: entry.path.count("/")):
            if entry.path in self._expected and entry.kind == "tool" and is_durable(entry.name):
                self._expected.add(slot(entry.path, entry.n))

    @property
    def holds(self) -> bool:
        """Whether a handler that starts now has to wait for others."""
        return len(self._expected) > 1 or bool(self._waiting)

    def replayed(self, frame: DurableFrame) -> None:
        self._waiting.append(frame)
        self._forget({frame.path})

    def over(self, path: SlotPath) -> None:
        """A handler ended, or was not called again."""
        self._forget({known for known in self._expected if known == path or is_below(known, path)})

    def is_expected(self, path: SlotPath) -> bool:
        return path in self._expected

    def _forget(self, paths: set[SlotPath]) -> None:
        self._expected -= paths
        if not self._expected:
            waiting, self._waiting = self._waiting, []
            for frame in waiting:
                frame.go()
