"""The connection to a runtime: opened, listened to, given up; what is known of its health."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence, Set
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from inbox_app.errors import sentence
from inbox_app.gateway.base import Batch, Gateway, GatewayError, Health

OPENING_MS = 400
"""What opens faster is not worth a word."""


class Link(QObject):
    """``changed``: health or problem are different, or opening takes so long that it is worth a word."""

    changed = Signal()

    def __init__(
        self,
        take: Callable[[Batch], None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        clock: Callable[[], float] = time.time,
        parent: QObject | None = None,
    ) -> None:
        """``take`` gets every batch of the runtime, in order."""
        super().__init__(parent)
        self._take = take
        self._spawn = spawn
        self._clock = clock
        self._factory: Callable[[], Gateway] | None = None
        self._stopping = False
        self.gateway: Gateway | None = None
        self.health: Health | None = None
        self.problem: GatewayError | None = None
        self.heard_at = 0.0
        self._opening = QTimer(self)
        self._opening.setSingleShot(True)
        self._opening.setInterval(OPENING_MS)
        self._opening.timeout.connect(self.changed)
        self._opening.start()

    @property
    def name(self) -> str:
        return self.gateway.connection if self.gateway else self.tr("Built-in")

    @property
    def is_fresh(self) -> bool:
        """Whether opening began only a moment ago."""
        return self._opening.isActive()

    def current(self) -> Gateway | None:
        return self.gateway

    @property
    def parts(self) -> Set[str]:
        """The sections that this runtime has something to show in; none before it is there."""
        gateway = self.gateway
        if gateway is None:
            return set()
        given = {
            "chat": gateway.chats,
            "tools": gateway.catalog,
            "evals": gateway.evals,
            "automations": gateway.automations,
            "repositories": gateway.builds,
        }
        return {view for view, part in given.items() if part is not None}

    def working(self) -> Sequence[str]:
        return self.gateway.working if self.gateway else ()

    def gateway_of(self, connection: str) -> Gateway:
        if self.gateway is None:
            raise GatewayError("CONNECTION_FAILED", self.tr("{0} is not connected.").format(connection))
        return self.gateway

    def connect_to(self, factory: Callable[[], Gateway]) -> None:
        """Build the gateway, open it and follow it."""
        self._factory = factory
        self._spawn(self._serve(factory), "connection")

    def retry(self) -> None:
        """Connect again to what could not be reached; does nothing while there is no problem."""
        if self.problem and self._factory is not None:
            self.connect_to(self._factory)

    async def close(self) -> None:
        """Let the gateway go. Parked runs stay parked."""
        self._stopping = True
        if self.gateway is not None:
            await self.gateway.close()

    async def _serve(self, factory: Callable[[], Gateway]) -> None:
        self.problem, self.health = None, None
        self._opening.start()
        self.changed.emit()
        try:
            if self.gateway is not None:
                await self.gateway.close()
            self.gateway = gateway = factory()
            await gateway.open()
            async for batch in gateway.watch():
                self.health = "live"
                self.heard_at = self._clock()
                self._take(batch)
            self.problem = GatewayError("CONNECTION_FAILED", self.tr("The runtime has stopped."))
        except GatewayError as error:
            self.problem = error
        except Exception as error:
            self.problem = GatewayError("INTERNAL_ERROR", sentence(error))
            raise
        finally:
            self.health = "unreachable"
            if not self._stopping:
                self.changed.emit()
