"""Names of tools that another system defines: ``<connection>__<operation>`` and ``<server>__<tool>`` (contract 5.2).

Every run of characters that no tool's name may hold becomes one underscore, so ``get-user/v2`` is ``get_user_v2``. A
name that is taken gets the next free number: ``get_user_2``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

LENGTH: Final = 100
_FOREIGN = re.compile(r"[^A-Za-z0-9_]+")


def named(originals: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """The names of what is called ``originals``, in their order, each with its original."""
    used = set(taken)
    found: dict[str, str] = {}
    for original in originals:
        name = base = _FOREIGN.sub("_", original).strip("_")[:LENGTH] or "unnamed"
        number = 1
        while name in used:
            number += 1
            name = f"{base}_{number}"
        used.add(name)
        found[name] = original
    return found


def split(name: str, owners: Iterable[str]) -> tuple[str, str] | None:
    """``support__getTicket`` as ``("support", "getTicket")``, if that is one of the owners."""
    fitting = [owner for owner in owners if name.startswith(f"{owner}__") and len(name) > len(owner) + 2]
    owner = max(fitting, key=len, default=None)
    return None if owner is None else (owner, name[len(owner) + 2 :])
