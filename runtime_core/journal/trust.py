"""Which code of which repository a person has trusted (contract decision 28)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from runtime_core.journal.driver import Connection
from runtime_core.wire.json import JsonText, loads


def trust(db: Connection, repo: str, revision: str, needs: JsonText, who: str) -> None:
    """Keep that ``who`` saw ``needs`` and agreed; what was agreed to before is replaced."""
    db.execute(
        "INSERT OR REPLACE INTO durable_trust(repo, revision, needs, who, at) VALUES (?, ?, ?, ?, ?)",
        (repo, revision, needs, who, time.time()),
    )


@dataclass(frozen=True, slots=True)
class Agreement:
    """``at`` in Unix seconds."""

    needs: Sequence[str]
    who: str
    at: float


def agreement(db: Connection, repo: str, revision: str) -> Agreement | None:
    """What was agreed to for the code of a repository, by whom and when."""
    query = "SELECT needs, who, at FROM durable_trust WHERE repo = ? AND revision = ?"
    found = db.execute(query, (repo, revision)).fetchone()
    return None if found is None else Agreement(cast("list[str]", loads(found[0])), found[1], found[2])


def trusted(db: Connection, repo: str, revision: str) -> Sequence[str]:
    agreed = agreement(db, repo, revision)
    return () if agreed is None else agreed.needs
