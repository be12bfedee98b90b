"""The handlers of one run that have not ended: the run's own, and its durable children."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runtime_core.engine.frames import DurableFrame, Origin
from runtime_core.engine.ledger import Ledger
from runtime_core.engine.open_calls import OpenCalls
from runtime_core.engine.parking import Waits
from runtime_core.engine.replays import Replays
from runtime_core.engine.tasks import Tasks
from runtime_core.hosts.base import HostUnavailable
from runtime_core.wire.runs import Entry, SlotPath, is_below


class Handlers:
    """Frames by slot path. ``unavailable`` is told when no process can be started for one."""

    def __init__(
        self,
        origin: Origin,
        ledger: Ledger,
        calls: OpenCalls,
        waits: Waits,
        tasks: Tasks,
        unavailable: Callable[[HostUnavailable], None],
    ) -> None:
        self._origin = origin
        self._ledger = ledger
        self._calls = calls
        self._waits = waits
        self._tasks = tasks
        self._unavailable = unavailable
        self._frames: dict[SlotPath, DurableFrame] = {}
        self._replays = Replays()

    @property
    def are_settled(self) -> bool:
        return all(frame.is_settled for frame in self._frames.values())

    def expect(self, started: Sequence[Entry]) -> None:
        """``started``: the calls that have no result; the handlers among them make new calls only together."""
        self._replays.expect(started, self._is_durable)

    def open(self, frame: DurableFrame) -> None:
        self._frames[frame.path] = frame
        self.start(frame)

    def start(self, frame: DurableFrame) -> None:
        """Begin a leg of it, from the journal."""
        self._tasks.start(self._start(frame))

    def close(self, path: SlotPath) -> None:
        """A handler ended: whatever still goes on below it is of no use any more."""
        self._frames.pop(path).is_over = True
        for below in [known for known in self._frames if is_below(known, path)]:
            frame = self._frames.pop(below)
            frame.is_over = True
            frame.drop()
        self._waits.forget_below(path)
        self._replays.over(path)

    def give_up(self, path: SlotPath) -> None:
        """The call at this place is waited for no more: handlers there and below it stop where they are."""
        for known in [known for known in self._frames if known == path or is_below(known, path)]:
            self._frames.pop(known).drop()
        self._replays.over(path)

    def replayed(self, frame: DurableFrame) -> None:
        """It has made all its recorded calls again."""
        self._replays.replayed(frame)

    def called(self, at: SlotPath) -> None:
        """The call at this place was begun: if no handler of an earlier leg goes on there, none is waited for."""
        if self._replays.is_expected(at) and at not in self._frames:
            self._replays.over(at)

    def drop(self) -> None:
        """Forget the legs; what their calls come to still counts."""
        for frame in self._frames.values():
            frame.drop()

    def abort(self) -> None:
        """Handlers get ``ctx.signal``, are dropped after their grace, and nothing of them counts any more."""
        for frame in self._frames.values():
            frame.is_over = True
            frame.abort("cancelled")
        self._frames.clear()

    async def _start(self, frame: DurableFrame) -> None:
        finished, started = self._ledger.finished(frame.path), self._calls.started(frame)
        try:
            await frame.start(self._origin, finished, started, holds=self._replays.holds)
        except HostUnavailable as error:
            self._unavailable(error)

    def _is_durable(self, name: str) -> bool:
        tool = self._origin.bundle.tools.get(name)
        return tool is not None and tool.durable
