"""What is filled in for a tool: kept while it is written, and again when it was started with it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, cast

from inbox_app.state.memory import Memory


@dataclass(frozen=True, slots=True)
class Filled:
    """``input`` and ``context`` are JSON text, possibly not (yet) valid; "" for none."""

    input: str = ""
    scope: str = ""
    context: str = ""


class Inputs:
    """``key`` is that of a tool. Kept in the memory of the window."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def draft(self, key: str) -> Filled | None:
        return _read(self._memory.recall(f"tools.draft:{key}"))

    def keep_draft(self, key: str, filled: Filled | None) -> None:
        self._memory.keep(f"tools.draft:{key}", _written(filled))

    def last(self, key: str) -> Filled | None:
        """What it was started with last."""
        return _read(self._memory.recall(f"tools.last:{key}"))

    def keep_last(self, key: str, filled: Filled) -> None:
        self._memory.keep(f"tools.last:{key}", _written(filled))


def _written(filled: Filled | None) -> str:
    return "" if filled is None else json.dumps(asdict(filled))


def _read(text: str) -> Filled | None:
    try:
        kept: Any = json.loads(text or "null")
    except ValueError:
        return None
    if not isinstance(kept, dict):
        return None
    fields = cast("dict[str, Any]", kept)
    words = {name: fields.get(name, "") for name in ("input", "scope", "context")}
    return Filled(**words) if all(isinstance(word, str) for word in words.values()) else None
