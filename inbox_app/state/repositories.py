"""The repositories that a person opened in the window, remembered until they are removed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, cast

from inbox_app.state.memory import Memory

_NAME: Final = "repositories"


def opened(memory: Memory) -> Sequence[str]:
    """Their paths, in the order they were opened."""
    try:
        kept: Any = json.loads(memory.recall(_NAME) or "[]")
    except ValueError:
        return ()
    return [path for path in cast("list[Any]", kept) if isinstance(path, str)] if isinstance(kept, list) else ()


def remember(memory: Memory, path: str) -> None:
    memory.keep(_NAME, json.dumps(list(dict.fromkeys([*opened(memory), path]))))


def forget(memory: Memory, path: str) -> None:
    rest = [known for known in opened(memory) if known != path]
    memory.keep(_NAME, json.dumps(rest) if rest else "")
