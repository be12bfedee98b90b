"""Results of evals: the latest of each are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from runtime_core.journal.driver import Connection
from runtime_core.journal.rows import keep, readable
from runtime_core.wire.evals import EvalRow

KEPT: Final = 100
"""How many results of one eval are kept."""
_COLUMNS: Final = "repo, eval, at, passed, body, id"
_KINDS: Final[Mapping[int, type]] = {2: float, 4: dict}


def add(db: Connection, row: EvalRow) -> int:
    """Keep a result, and no more than `KEPT` of this eval; the number of the result."""
    values = (row.repo, row.eval, row.at, int(row.passed), keep(db, row.body))
    done = db.execute("INSERT INTO eval_result(repo, eval, at, passed, body) VALUES (?, ?, ?, ?, ?)", values)
    db.execute(
        "DELETE FROM eval_result WHERE repo = ? AND eval = ? AND id NOT IN "
        "(SELECT id FROM eval_result WHERE repo = ? AND eval = ? ORDER BY id DESC LIMIT ?)",
        (row.repo, row.eval, row.repo, row.eval, KEPT),
    )
    assert done.lastrowid is not None
    return done.lastrowid


def of_eval(db: Connection, repo: str, name: str, limit: int) -> Sequence[EvalRow]:
    """Latest first."""
    found = db.execute(
        f"SELECT {_COLUMNS} FROM eval_result WHERE repo = ? AND eval = ? ORDER BY id DESC LIMIT ?", (repo, name, limit)
    )
    return [_row(db, row) for row in found.fetchall()]


def latest(db: Connection, repo: str) -> Sequence[EvalRow]:
    """The last result of each eval of a repository."""
    found = db.execute(
        f"SELECT {_COLUMNS} FROM eval_result WHERE id IN "
        "(SELECT max(id) FROM eval_result WHERE repo = ? GROUP BY eval) ORDER BY eval",
        (repo,),
    )
    return [_row(db, row) for row in found.fetchall()]


def _row(db: Connection, row: Sequence[Any]) -> EvalRow:
    """One whose large value is damaged still says how it went."""
    (repo, name, at, passed, body, number), _ = readable(db, row, "eval", _KINDS)
    return EvalRow(repo, name, at, bool(passed), body, number)
