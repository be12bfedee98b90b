"""Regex triggers: what a person says may name a tool, before any model is asked (contract 2.5)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from runtime_core.repo.bundle import Bundle, Tool
from runtime_core.repo.regex import BrokenPattern, UnsupportedPattern, compile_javascript
from runtime_core.wire.json import JsonText, dumps

MATCH_S: Final = 2.0
"""How long all triggers of a repository may look at one message."""


@dataclass(frozen=True, slots=True)
class Fired:
    """``params``: the named groups that took part. ``goes_on``: the model still answers, and knows the result."""

    tool: Tool
    params: JsonText
    goes_on: bool


def fired(bundle: Bundle, text: str) -> tuple[Fired | None, str | None]:
    """The first trigger that fits, by the names of tools, and a warning about one that takes too long to tell.

    Blocks for up to `MATCH_S` seconds; to be run in a thread.
    """
    until = time.monotonic() + MATCH_S
    for tool, trigger in _triggers(bundle):
        try:
            pattern = compile_javascript(str(trigger.get("pattern")), str(trigger.get("flags") or ""))
            found = pattern.search(text, timeout=max(until - time.monotonic(), 0.001), concurrent=True)
        except (BrokenPattern, UnsupportedPattern):  # said when the repository was loaded
            continue
        except TimeoutError:
            return None, (
                f'It takes more than {MATCH_S:g} s to tell whether the trigger of "{tool.name}" fits this message, so '
                "none was looked at any further. Write a simpler pattern in its tool.json."
            )
        if found is not None:
            params = {name: value for name, value in found.groupdict().items() if value is not None}
            return Fired(tool, dumps(params), trigger.get("continueToLLM") is True), None
    return None, None


def _triggers(bundle: Bundle) -> Iterator[tuple[Tool, Mapping[str, Any]]]:
    for _, tool in sorted(bundle.tools.items()):
        for trigger in tool.triggers:
            if trigger.get("kind") == "regex":
                yield tool, trigger
