"""What is known of the durable runs that calls of a conversation became: questions asked, answered, and the end."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QObject, Signal

from inbox_app.gateway.base import Batch, Decision, Gateway, GatewayError, Pause, RunDetail
from inbox_app.state.requests import Entry


@dataclass(slots=True)
class RunKnown:
    """``asked``: every question met here, by id, in order. ``detail`` None: the run was not read yet."""

    detail: RunDetail | None = None
    asked: dict[str, Pause] = field(default_factory=dict[str, Pause])
    open: tuple[str, ...] = ()

    def decision(self, pause_id: str) -> Decision | None:
        decisions = self.detail.decisions if self.detail is not None else ()
        return next((one for one in decisions if one.pause_id == pause_id), None)

    @property
    def was_refused(self) -> bool:
        """Whether somebody said no."""
        return self.detail is not None and any(one.outcome == "refused" for one in self.detail.decisions)

    def following(self, pause_id: str) -> Pause | None:
        """What the run asks now, if that is another question."""
        return next((self.asked[other] for other in self.open if other != pause_id), None)


class RunWatch(QObject):
    """Reads a run when it is first asked about and again whenever the runtime says it moved. ``changed``: its id."""

    changed = Signal(str)

    def __init__(
        self,
        gateway: Callable[[], Gateway | None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        questions: Callable[[str], Sequence[Entry]],
        parent: QObject,
    ) -> None:
        """``questions``: the open questions of a run that the inbox lists."""
        super().__init__(parent)
        self._gateway = gateway
        self._spawn = spawn
        self._questions = questions
        self._runs: dict[str, RunKnown] = {}
        self._reading: set[str] = set()
        self._again: set[str] = set()

    def of(self, run_id: str) -> RunKnown:
        known = self._runs.get(run_id)
        if known is None:
            known = self._runs[run_id] = RunKnown()
            self._renew(run_id, known)
            self._load(run_id)
        return known

    def take(self, batch: Batch) -> None:
        """Changes of the runtime. The inbox has taken them in before."""
        moved = {run.id for run in batch.runs} | {pause.run_id for pause in batch.opened}
        closed = set(batch.closed)
        for run_id, known in list(self._runs.items()):
            if batch.reset or run_id in moved or closed & known.asked.keys():
                self._renew(run_id, known)
                self._load(run_id)
                self.changed.emit(run_id)

    def _renew(self, run_id: str, known: RunKnown) -> None:
        """The open questions, from the inbox or else from the run itself."""
        listed = [entry.pause for entry in self._questions(run_id)]
        if not listed and known.detail is not None:
            decided = {decision.pause_id for decision in known.detail.decisions}
            listed = [pause for pause in known.detail.pauses if pause.id not in decided]
        known.asked |= {pause.id: pause for pause in listed}
        known.open = tuple(pause.id for pause in listed)

    def _load(self, run_id: str) -> None:
        if run_id in self._reading:
            self._again.add(run_id)
            return
        self._reading.add(run_id)
        self._spawn(self._read(run_id), f"read {run_id}")

    async def _read(self, run_id: str) -> None:
        known = self._runs[run_id]
        gateway = self._gateway()
        try:
            detail = await gateway.run(run_id) if gateway is not None else None
        except GatewayError:
            return  # a run that was deleted has nothing more to show
        finally:
            self._reading.discard(run_id)
        if detail is not None:
            known.detail = detail
            self._renew(run_id, known)
            self.changed.emit(run_id)
        if run_id in self._again:
            self._again.discard(run_id)
            self._load(run_id)
