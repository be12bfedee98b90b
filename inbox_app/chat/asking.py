"""In which conversations a person is asked something: the open questions of runs that were started in them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Set
from typing import Any, Final

from PySide6.QtCore import QObject, Signal

from inbox_app.gateway.base import Batch, Gateway, GatewayError, Pause

MOST: Final = 500


class Asking(QObject):
    changed = Signal()

    def __init__(
        self,
        gateway: Callable[[], Gateway | None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._gateway = gateway
        self._spawn = spawn
        self._asked: dict[str, str] = {}

    @property
    def sessions(self) -> Set[str]:
        return set(self._asked.values())

    def load(self) -> None:
        self._spawn(self._read(), "questions of conversations")

    def take(self, batch: Batch) -> None:
        before = self.sessions
        if batch.reset:
            self._asked.clear()
        for pause in batch.opened:
            self._add(pause)
        for pause_id in batch.closed:
            self._asked.pop(pause_id, None)
        if self.sessions != before:
            self.changed.emit()

    def _add(self, pause: Pause) -> None:
        session_id = pause.raw.get("parent_session_id")
        if isinstance(session_id, str) and pause.eligible:
            self._asked[pause.id] = session_id

    async def _read(self) -> None:
        """What was asked before anybody looked here. Without an answer nothing is marked, which harms nobody."""
        gateway = self._gateway()
        if gateway is None:
            return
        try:
            page = await gateway.pending(MOST)
        except GatewayError:
            return
        for pause in page.items:
            self._add(pause)
        self.changed.emit()
