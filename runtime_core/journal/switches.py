"""Which built-in tools of which repository an operator has switched off, or on again."""

from __future__ import annotations

import time
from collections.abc import Sequence

from runtime_core.journal.driver import Connection
from runtime_core.wire.builds import Switch


def switch(db: Connection, repo: str, tool: str, who: str, *, is_on: bool) -> None:
    db.execute(
        "INSERT OR REPLACE INTO tool_switch(repo, tool, is_on, who, at) VALUES (?, ?, ?, ?, ?)",
        (repo, tool, int(is_on), who, time.time()),
    )


def switches(db: Connection, repo: str) -> Sequence[Switch]:
    """Those that somebody has touched; every other tool is on."""
    rows = db.execute("SELECT tool, is_on, who, at FROM tool_switch WHERE repo = ? ORDER BY tool", (repo,))
    return [Switch(tool, bool(is_on), who, at) for tool, is_on, who, at in rows.fetchall()]
