"""Who follows what happens in a conversation beside the spans of its calls (contract 7.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from runtime_core.agents.turns import Usage
from runtime_core.engine.gate import Order
from runtime_core.hosts.base import NoteKind
from runtime_core.wire.runs import SlotPath


class Ears(Protocol):
    """Told on the loop, while it happens; only `became` and `kept` may raise and wait. ``at`` is the slot of the call
    it is about, under which its span stands."""

    def heard(self, at: SlotPath, agent: str, kind: Literal["text", "reasoning"], piece: str) -> None:
        """The specialist that the call at ``at`` sent says a piece of something."""
        ...

    def noted(self, at: SlotPath, kind: NoteKind, value: Any) -> None:
        """What a tool logs (``log``, ``console``: contract 3.2), shows (``emit``), says to itself (``reasoning``),
        is called from now on (``label``), and what is odd about what it does (``warning``, ``lossy``)."""
        ...

    def spent(self, usage: Usage) -> None:
        """What one turn of a specialist's model took."""
        ...

    async def became(self, at: SlotPath, run_id: str) -> None:
        """The call at ``at`` goes on as a durable run, or asks a person through one. Told, and kept, before that run
        exists. Raises `RuntimeFault`."""
        ...

    async def kept(self) -> None:
        """Wait until what was told is kept: what comes next cannot be undone. Raises `RuntimeFault`."""
        ...

    def asked(self, order: Order, run_id: str) -> None:
        """A person is asked whether the call at ``order.at`` may be made, by the run ``run_id`` (decision 20)."""
        ...

    def allowed(self, order: Order, run_id: str) -> None:
        """Somebody allowed the call, which was made."""
        ...


class NoEars:
    """Implements `Ears`: nobody follows."""

    def heard(self, at: SlotPath, agent: str, kind: Literal["text", "reasoning"], piece: str) -> None: ...
    def noted(self, at: SlotPath, kind: NoteKind, value: Any) -> None: ...
    def spent(self, usage: Usage) -> None: ...
    async def became(self, at: SlotPath, run_id: str) -> None: ...
    async def kept(self) -> None: ...
    def asked(self, order: Order, run_id: str) -> None: ...
    def allowed(self, order: Order, run_id: str) -> None: ...


NO_EARS: Ears = NoEars()


class Tally(NoEars):
    """Implements `Ears`: counts the tokens of a durable run. ``changed`` is told that there are some to be stored."""

    def __init__(self) -> None:
        self._spent = Usage()
        self.changed: Callable[[], None] | None = None

    def spent(self, usage: Usage) -> None:
        self._spent += usage
        if self.changed is not None and usage.total_tokens:
            self.changed()

    def take(self) -> Usage:
        """What was spent since the last call."""
        spent, self._spent = self._spent, Usage()
        return spent
