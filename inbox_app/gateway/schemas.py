"""Whether a value fits the JSON Schema of a question, as the runtime will judge it.

The runtime's own check does the work. Its library takes a tenth of a second to import, so it is loaded beforehand in a
thread; until then nothing is found wrong here, and the runtime refuses what is.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from inbox_app.gateway.base import Json

_CHECK = "runtime_core.repo.params"
_LIMIT_S: Final = 0.1
"""Whoever types waits for the check."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """What is wrong with the value at ``path`` (names and indexes); ``is_missing``: it has to be there and is not."""

    path: tuple[str | int, ...]
    message: str
    is_missing: bool = False


def load() -> None:
    """Import the check; call it in a thread."""
    importlib.import_module(_CHECK)


def problem(schema: Json, value: Json) -> str:
    """Why the value does not fit, the path first (``items[1]: …``); "" if it does, or if nothing can be said."""
    if not isinstance(schema, dict) or _CHECK not in sys.modules:
        return ""
    from runtime_core.repo.params import check_value

    rules = cast("Mapping[str, Any]", schema)
    return check_value(rules, value, what="the value", whose="the schema of the question") or ""


def misfits(schema: Json, value: Json) -> list[Misfit]:
    """Everything that does not fit, each at its place; empty as well if nothing can be said."""
    if not isinstance(schema, dict) or _CHECK not in sys.modules or not _is_sound(cast("Mapping[str, Any]", schema)):
        return []
    from runtime_core.repo import params

    found = params.misfits(cast("Mapping[str, Any]", schema), value, limit_s=_LIMIT_S)
    return [Misfit(one.path, one.message, one.is_missing) for one in found]


_sound: list[tuple[Mapping[str, Any], bool]] = []
"""The schema that was looked at last, and whether it is one."""


def _is_sound(schema: Mapping[str, Any]) -> bool:
    """A schema from elsewhere may be none, and checking with it would raise anything."""
    if not _sound or _sound[0][0] is not schema:
        from runtime_core.repo.params import check_schema

        _sound[:] = [(schema, all(problem.tolerable for problem in check_schema(schema)))]
    return _sound[0][1]


def is_about(found: str, field: str) -> bool:
    """Whether a problem is in this field of the value."""
    return found.startswith(field) and found[len(field) : len(field) + 1] in (":", ".", "[")
