"""Builds of repositories with their logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from runtime_core.journal.driver import Connection
from runtime_core.journal.rows import keep, readable
from runtime_core.wire.builds import COLUMNS, Build, build_of, problem_in_body
from runtime_core.wire.json import dumps, loads

_COLUMNS: Final = ", ".join(COLUMNS)
_KINDS: Final[Mapping[int, type]] = {
    **{place: float for place, name in enumerate(COLUMNS) if name.endswith("_at")},
    len(COLUMNS): dict,
}


def save(db: Connection, build: Build) -> None:
    """Keep a build as it is now, in place of what was kept of it."""
    db.execute(
        f"INSERT OR REPLACE INTO build({_COLUMNS}, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            build.id,
            build.repo,
            build.kind,
            build.state,
            build.started_at,
            build.ended_at,
            build.remote or None,
            keep(db, dumps(build.body())),
        ),
    )


def find(db: Connection, name: str) -> Build | None:
    """The build with this id, or the latest one that the platform calls so."""
    query = f"SELECT {_COLUMNS}, body FROM build WHERE id = ? OR remote = ? ORDER BY started_at DESC LIMIT 1"
    row = db.execute(query, (name, name)).fetchone()
    return None if row is None else _build(db, row)


def latest(db: Connection, repo: str | None, limit: int) -> Sequence[Build]:
    """Of one repository or (None) of all, latest first."""
    where, values = ("", ()) if repo is None else ("WHERE repo = ?", (repo,))
    query = f"SELECT {_COLUMNS}, body FROM build {where} ORDER BY started_at DESC, id LIMIT ?"
    return [_build(db, row) for row in db.execute(query, (*values, limit)).fetchall()]


def _build(db: Connection, row: Sequence[Any]) -> Build:
    """Readable even if it is damaged: then its log says so, and nothing else but its columns is known."""
    (*columns, text), problem = readable(db, row, row[0], _KINDS)
    body: dict[str, Any] = cast("dict[str, Any]", loads(text))
    if problem is not None or problem_in_body(body) is not None:
        body = {"log": [{"text": "What was kept of this build is damaged.", "level": "error"}]}
    return build_of(columns, body)
