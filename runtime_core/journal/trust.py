"""Which code of which repository a person has trusted (contract decision 28)."""

from __future__ import annotations

import time

from runtime_core.journal.driver import Connection
from runtime_core.wire.json import JsonText


def trust(db: Connection, repo: str, revision: str, needs: JsonText, who: str) -> None:
    """Keep that ``who`` saw ``needs`` and agreed; what was agreed to before is replaced."""
    db.execute(
        "INSERT OR REPLACE INTO durable_trust(repo, revision, needs, who, at) VALUES (?, ?, ?, ?, ?)",
        (repo, revision, needs, who, time.time()),
    )


def is_trusted(db: Connection, repo: str, revision: str) -> bool:
    found = db.execute("SELECT 1 FROM durable_trust WHERE repo = ? AND revision = ?", (repo, revision)).fetchone()
    return found is not None
