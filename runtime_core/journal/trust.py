"""Which code of which repository a person has trusted (contract decision 28)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import cast

from runtime_core.journal.driver import Connection
from runtime_core.wire.json import JsonText, loads


def trust(db: Connection, repo: str, revision: str, needs: JsonText, who: str) -> None:
    """Keep that ``who`` saw ``needs`` and agreed; what was agreed to before is replaced."""
    db.execute(
        "INSERT OR REPLACE INTO durable_trust(repo, revision, needs, who, at) VALUES (?, ?, ?, ?, ?)",
        (repo, revision, needs, who, time.time()),
    )


def trusted(db: Connection, repo: str, revision: str) -> Sequence[str]:
    found = db.execute("SELECT needs FROM durable_trust WHERE repo = ? AND revision = ?", (repo, revision)).fetchone()
    return () if found is None else cast("list[str]", loads(found[0]))
