"""What agents keep in mind, as every room of the runtime knows it (contract 1.2 and 5.2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """One text; ``who`` is the person for whom the agent worked, ``created_at`` in seconds since the epoch."""

    id: str
    text: str
    created_at: float
    who: str
