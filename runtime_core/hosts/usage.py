"""What a handler process has used: when a fresh one is better, and when it has to end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from runtime_core.hosts.sandbox import CPU_LIMIT, MEMORY_LIMIT

MAX_RUNS: Final = 20_000
MAX_FROZEN: Final = 500
MAX_MEMORY: Final = 400 * 1024 * 1024
MAX_CPU_S: Final = CPU_LIMIT / 2
RESIDENT_LIMIT: Final = MEMORY_LIMIT + 256 * 1024 * 1024
"""Where the system does not count private memory itself; above its limit, for it holds shared files as well."""
RUNS_PER_LOOK: Final = 100


@dataclass(slots=True)
class Usage:
    """``memory`` in bytes, resident; ``frozen``: paused runs of Python that have to be kept; ``cpu_s`` in seconds."""

    runs: int = 0
    frozen: int = 0
    memory: int = 0
    cpu_s: float = 0

    @property
    def is_tired(self) -> bool:
        return (
            self.runs >= MAX_RUNS or self.frozen >= MAX_FROZEN or self.memory >= MAX_MEMORY or self.cpu_s >= MAX_CPU_S
        )

    @property
    def is_excessive(self) -> bool:
        return self.memory >= RESIDENT_LIMIT
