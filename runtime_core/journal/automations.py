"""Automations, when they are due, and what became of each start. A start is noted before anything is started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from runtime_core.journal import transactions
from runtime_core.journal.driver import Connection
from runtime_core.journal.rows import keep, marks, readable
from runtime_core.wire.automations import AutomationRow, AutomationStart, Firing, FiringState
from runtime_core.wire.runs import FINISHED

_COLUMNS: Final = "id, repo, name, origin, body, enabled, created_by, created_at, updated_at, next_at"
_FIRING: Final = (
    "firing.id, automation_id, source, due_at, started_at, ended_at, late, state, session_id, firing.error, "
    "(SELECT status FROM durable_run WHERE id = session_id)"
)
_ENDED: Final = ", ".join(f"'{status}'" for status in sorted(FINISHED))


def add(db: Connection, row: AutomationRow) -> None:
    """Changes nothing if the repository has one of that origin and name: another process was faster."""
    same = "SELECT 1 FROM automation WHERE repo = ? AND origin = ? AND name = ?"
    if db.execute(same, (row.repo, row.origin, row.name)).fetchone() is not None:
        return
    _put(db, row)
    if row.enabled:
        _tell(db, row, "automation_started")


def change(
    db: Connection, automation_id: str, changed: Callable[[AutomationRow], AutomationRow]
) -> AutomationRow | None:
    """Put what ``changed`` makes of an automation in its place; None if there is none. What it raises undoes all."""
    row = find(db, automation_id)
    if row is None:
        return None
    new = changed(row)
    _put(db, new)
    if new.enabled != row.enabled:
        _tell(db, new, "automation_started" if new.enabled else "automation_stopped")
    return new


def _put(db: Connection, row: AutomationRow) -> None:
    values = (
        row.id,
        row.repo,
        row.name,
        row.origin,
        keep(db, row.body),
        int(row.enabled),
        row.created_by,
        row.created_at,
        row.updated_at,
        row.next_at,
    )
    changes = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS.split(", ")[1:])
    db.execute(
        f"INSERT INTO automation({_COLUMNS}) VALUES ({marks(_COLUMNS)}) ON CONFLICT(id) DO UPDATE SET {changes}", values
    )


def remove(db: Connection, automation_id: str) -> bool:
    """With its history; what it started stays."""
    row = find(db, automation_id)
    if row is None:
        return False
    db.execute("DELETE FROM automation_run WHERE automation_id = ?", (automation_id,))
    db.execute("DELETE FROM automation WHERE id = ?", (automation_id,))
    _tell(db, row, "automation_stopped")
    return True


def find(db: Connection, automation_id: str) -> AutomationRow | None:
    row = db.execute(f"SELECT {_COLUMNS} FROM automation WHERE id = ?", (automation_id,)).fetchone()
    return None if row is None else _automation(db, row)


def those_of(db: Connection, repo: str | None) -> list[AutomationRow]:
    """Of one repository or (None) of all, by name."""
    where, values = ("", ()) if repo is None else ("WHERE repo = ?", (repo,))
    rows = db.execute(f"SELECT {_COLUMNS} FROM automation {where} ORDER BY name, created_at, id", values).fetchall()
    return [_automation(db, row) for row in rows]


def due(db: Connection, now: float) -> list[AutomationRow]:
    """What is on and due, earliest first."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM automation WHERE enabled AND next_at IS NOT NULL AND next_at <= ? "
        "ORDER BY next_at, id",
        (now,),
    ).fetchall()
    return [_automation(db, row) for row in rows]


def next_due(db: Connection) -> float | None:
    return db.execute("SELECT min(next_at) FROM automation WHERE enabled AND next_at IS NOT NULL").fetchone()[0]


def start(db: Connection, asked: AutomationStart) -> Firing | None:
    """Note a start, with the run that it creates, and when the automation is due next.

    Returned is the note, ``skipped`` if the last start has not ended: then no run is created. None if there is nothing
    to start: the automation was changed or switched off meanwhile, or was started for this time already.
    """
    row = find(db, asked.automation_id)
    if row is None:
        return None
    if asked.source == "schedule":
        moved = db.execute(
            "UPDATE automation SET next_at = ?, enabled = ? WHERE id = ? AND enabled AND next_at = ?",
            (asked.next_at, int(asked.stays_on), asked.automation_id, asked.seen),
        )
        if moved.rowcount == 0 or _was_started(db, asked):
            return None
    if _is_open(db, asked.automation_id):
        return _note(db, asked, "skipped", asked.at, "The last start has not ended.")
    if asked.run is not None:
        transactions.create_run(db, asked.run)
    _tell(db, row, "automation_triggered", source="cron" if asked.source == "schedule" else "manual")
    return _note(db, asked, "running", None, None)


def end(
    db: Connection, firing_id: int, state: FiringState, at: float, error: str | None, session_id: str | None
) -> bool:
    """Note how a start ended; False if that was noted before."""
    changed = db.execute(
        "UPDATE automation_run SET state = ?, ended_at = ?, error = ?, session_id = coalesce(?, session_id) "
        "WHERE id = ? AND ended_at IS NULL RETURNING automation_id, started_at",
        (state, at, error, session_id, firing_id),
    ).fetchall()
    for automation_id, started_at in changed:
        row = find(db, automation_id)
        if row is not None:
            took = {"durationMs": max(0, round((at - started_at) * 1000))}
            if state == "completed":
                _tell(db, row, "automation_completed", **took)
            else:
                _tell(db, row, "automation_failed", error=error or state, **took)
    return bool(changed)


def postpone(db: Connection, automation_id: str, seen: float, next_at: float) -> None:
    """Have it due at ``next_at`` instead of ``seen``, unless it was changed meanwhile."""
    db.execute(
        "UPDATE automation SET next_at = ? WHERE id = ? AND enabled AND next_at = ?", (next_at, automation_id, seen)
    )


def began(db: Connection, firing_id: int, session_id: str) -> None:
    """Note the conversation that a start began."""
    db.execute("UPDATE automation_run SET session_id = ? WHERE id = ?", (session_id, firing_id))


def open_firings(db: Connection, *, ended: bool = False) -> list[Firing]:
    """What has not ended, oldest first; ``ended``: only that whose durable run has."""
    which = f" AND session_id IN (SELECT id FROM durable_run WHERE status IN ({_ENDED}))" if ended else ""
    return _firings(db, f"WHERE ended_at IS NULL{which} ORDER BY firing.id", ())


def history(db: Connection, automation_id: str, limit: int) -> list[Firing]:
    """The latest first."""
    return _firings(db, "WHERE automation_id = ? ORDER BY firing.id DESC LIMIT ?", (automation_id, limit))


def latest(db: Connection) -> dict[str, Firing]:
    """The last start of each automation that was not skipped, or else the last one."""
    of_one = "FROM automation_run WHERE automation_id = automation.id"
    last = f"coalesce((SELECT id {of_one} AND state <> 'skipped' ORDER BY id DESC LIMIT 1), (SELECT max(id) {of_one}))"
    return {one.automation_id: one for one in _firings(db, f"WHERE firing.id IN (SELECT {last} FROM automation)", ())}


def _tell(db: Connection, row: AutomationRow, kind: str, **more: Any) -> None:
    transactions.tell(db, row.id, kind, {"name": row.name, "automationId": row.id, **more})


def _was_started(db: Connection, asked: AutomationStart) -> bool:
    query = "SELECT 1 FROM automation_run WHERE automation_id = ? AND source = 'schedule' AND due_at = ?"
    return db.execute(query, (asked.automation_id, asked.due_at)).fetchone() is not None


def _is_open(db: Connection, automation_id: str) -> bool:
    query = (
        "SELECT 1 FROM automation_run WHERE automation_id = ? AND ended_at IS NULL AND NOT EXISTS "
        f"(SELECT 1 FROM durable_run WHERE id = session_id AND status IN ({_ENDED}))"
    )
    return db.execute(query, (automation_id,)).fetchone() is not None


def _note(
    db: Connection, asked: AutomationStart, state: FiringState, ended_at: float | None, error: str | None
) -> Firing:
    session_id = asked.run.id if asked.run is not None and state == "running" else None
    columns = "automation_id, source, due_at, started_at, ended_at, late, state, session_id, error"
    values = (asked.automation_id, asked.source, asked.due_at, asked.at, ended_at, int(asked.late), state)
    row = db.execute(f"INSERT INTO automation_run({columns}) VALUES ({marks(columns)})", (*values, session_id, error))
    (firing,) = _firings(db, "WHERE firing.id = ?", (row.lastrowid,))
    return firing


def _firings(db: Connection, rest: str, values: Sequence[Any]) -> list[Firing]:
    rows = db.execute(f"SELECT {_FIRING} FROM automation_run AS firing {rest}", values).fetchall()
    return [_firing(*row) for row in rows]


def _firing(*row: Any) -> Firing:
    return replace(Firing(*row), late=bool(row[6]))


def _automation(db: Connection, row: Sequence[Any]) -> AutomationRow:
    """Readable even if it is damaged: then its body says so, and nothing can be started with it."""
    values, _ = readable(db, row, row[0], _KINDS)
    values[5] = bool(values[5])
    return AutomationRow(*values)


_KINDS: Final = {4: dict, 7: float, 8: float, 9: float}
