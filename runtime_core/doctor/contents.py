"""What the journal holds, held against itself. Every check reads one snapshot and changes nothing."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from runtime_core.doctor.findings import Finding, ok, problem, some, warning
from runtime_core.journal.driver import Connection
from runtime_core.journal.retention import is_named
from runtime_core.journal.schema import BLOB_COLUMNS
from runtime_core.wire.runs import JOURNAL_FORMAT, parent_slot, slot

Check = Callable[[Connection], Iterator[Finding]]

RESTORE: Final = (
    "Restore a copy of the folder. If there is none, save the runs that can be read with: operator-inbox export "
    "--run ID FILE, and import them into a new folder."
)
_CANCEL: Final = "Cancel the run, or restore a copy of the folder."
_SLOT: Final = "CASE path WHEN '' THEN '' ELSE path || '/' END || n"


def integrity(db: Connection) -> Iterator[Finding]:
    said = [row[0] for row in db.execute("PRAGMA integrity_check(10)").fetchall()]
    if said != ["ok"]:
        yield problem("damaged", f"The file is damaged: {some(said, 3)}.", RESTORE)


def references(db: Connection) -> Iterator[Finding]:
    pairs = Counter((table, parent) for table, _, parent, _ in db.execute("PRAGMA foreign_key_check").fetchall())
    if pairs:
        lost = some([f"{count} of {table} in {parent}" for (table, parent), count in sorted(pairs.items())])
        yield problem("rows-lost", f"What rows belong to is missing: {lost}.", RESTORE)


def texts(db: Connection) -> Iterator[Finding]:
    for table, column in (*BLOB_COLUMNS, ("durable_question", "names")):
        # As bytes, because the driver reads no row with text that is not UTF-8.
        read = db.execute(
            f"SELECT rowid, CAST({column} AS BLOB), json_valid({column}) FROM {table} WHERE typeof({column}) = 'text'"
        )
        bad = [row for row, text, is_json in read if not (is_json and _is_utf8(text))]
        if bad:
            rows = some([str(row) for row in bad])
            yield problem("value-damaged", f"{column} of {table} is not JSON in row {rows}.", RESTORE)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def totals(db: Connection) -> Iterator[Finding]:
    counted = dict(db.execute("SELECT status, count(*) FROM durable_run GROUP BY status").fetchall())
    counted["open questions"] = db.execute("SELECT count(*) FROM durable_question WHERE outcome IS NULL").fetchone()[0]
    kept = dict(db.execute("SELECT name, n FROM durable_count").fetchall())
    wrong = [
        f"{name}: {kept.get(name, 0)} instead of {counted.get(name, 0)}"
        for name in sorted({*counted, *kept})
        if kept.get(name, 0) != counted.get(name, 0)
    ]
    if wrong:
        yield problem(
            "totals-wrong", f"Totals that lists show are wrong ({some(wrong)}).", "operator-inbox doctor --compact"
        )


def large_values(db: Connection) -> Iterator[Finding]:
    for table, column in BLOB_COLUMNS:
        lost = db.execute(
            f"SELECT rowid FROM {table} WHERE typeof({column}) = 'blob' "
            f"AND NOT EXISTS (SELECT 1 FROM durable_blob WHERE digest = {column})"
        ).fetchall()
        if lost:
            rows = some([str(row[0]) for row in lost])
            yield problem("value-lost", f"The large value for {column} of {table} is missing in row {rows}.", RESTORE)
    damaged: list[str] = []
    unnamed = 0
    for digest, content, size in db.execute("SELECT digest, bytes, size FROM durable_blob"):
        if hashlib.sha256(content).digest() != digest or len(content) != size:
            damaged.append(bytes(digest).hex()[:12])
        unnamed += not is_named(db, digest)
    if damaged:
        yield problem("value-damaged", f"Large values are not what was stored: {some(damaged)}.", RESTORE)
    if unnamed:
        yield ok("unnamed-values", f"{unnamed} large values are named by no row; they go when the program is idle.")


def questions(db: Connection) -> Iterator[Finding]:
    """An open question waits with a call that was begun; an ended run waits for nothing."""
    rows = db.execute(
        "SELECT question.id, finished_at IS NOT NULL, question.kind, "
        f"(SELECT state FROM durable_entry WHERE run_id = run.id AND {_SLOT} = slot) "
        "FROM durable_question AS question JOIN durable_run AS run ON run.id = run_id WHERE outcome IS NULL"
    ).fetchall()
    over = [pause for pause, ended, _, _ in rows if ended]
    if over:
        yield problem("question-of-ended-run", f"Questions of ended runs are open: {some(over)}.", RESTORE)
    done = [pause for pause, _, _, state in rows if state in ("ok", "error")]
    if done:
        yield problem("question-has-result", f"Open questions have a result already: {some(done)}.", _CANCEL)
    bare = [pause for pause, _, kind, state in rows if state is None and kind != "attention"]
    if bare:
        yield problem("question-without-call", f"The calls that ask are missing for: {some(bare)}.", _CANCEL)


def calls(db: Connection) -> Iterator[Finding]:
    """Nothing is recorded after something that is missing."""
    lost = [f"{run_id} call {at}" for run_id, at in (*_unrecorded(db), *_gaps(db), *_without_caller(db))]
    if lost:
        yield problem("calls-lost", f"Recorded calls are missing: {some(sorted(set(lost)))}.", _CANCEL)
    ahead = db.execute(
        "SELECT DISTINCT run_id FROM durable_entry AS entry JOIN durable_run AS run ON run.id = run_id "
        "WHERE entry.epoch > run.epoch"
    ).fetchall()
    if ahead:
        names = some([row[0] for row in ahead])
        yield problem("calls-ahead", f"Calls were recorded by legs that never were, in: {names}.", _CANCEL)


def _unrecorded(db: Connection) -> Iterator[tuple[str, str]]:
    """Calls of a run's own handler that the tree shows as done, without their entry."""
    yield from db.execute(
        "SELECT span.run_id, slot FROM span JOIN durable_run AS run ON run.id = span.run_id "
        "WHERE span.state IN ('ok', 'failed') AND slot <> '' AND slot NOT LIKE '%/%' AND pruned_at IS NULL "
        "AND run.status <> 'diverged' AND NOT EXISTS (SELECT 1 FROM durable_entry AS entry "
        "WHERE entry.run_id = span.run_id AND path = '' AND n = CAST(slot AS INTEGER))"
    ).fetchall()


def _gaps(db: Connection) -> Iterator[tuple[str, str]]:
    """Numbers of a run that waits, below a recorded one, of which there is neither an entry nor a span."""
    holed = db.execute(
        "SELECT run_id, path, max(n) FROM durable_entry AS entry JOIN durable_run AS run ON run.id = run_id "
        "WHERE n >= 0 AND run.status IN ('awaiting-input', 'sleeping') "
        "GROUP BY run_id, path HAVING max(n) >= count(*)"
    ).fetchall()
    for run_id, path, last in holed:
        entries = {
            row[0] for row in db.execute("SELECT n FROM durable_entry WHERE run_id = ? AND path = ?", (run_id, path))
        }
        for n in set(range(last)) - entries:
            at = slot(path, n)
            if not db.execute("SELECT 1 FROM span WHERE run_id = ? AND slot = ?", (run_id, at)).fetchone():
                yield run_id, at


def _without_caller(db: Connection) -> Iterator[tuple[str, str]]:
    """Calls of a nested handler whose own call is not recorded."""
    for run_id, path in db.execute("SELECT DISTINCT run_id, path FROM durable_entry WHERE path <> ''").fetchall():
        caller, n = parent_slot(path), int(path.rpartition("/")[2])
        found = db.execute(
            "SELECT 1 FROM durable_entry WHERE run_id = ? AND path = ? AND n = ?", (run_id, caller, n)
        ).fetchone()
        if not found:
            yield run_id, path


def newer_runs(db: Connection) -> Iterator[Finding]:
    newer = [row[0] for row in db.execute("SELECT id FROM durable_run WHERE journal_format > ?", (JOURNAL_FORMAT,))]
    if newer:
        yield warning(
            "newer-runs",
            f"Runs were recorded by a newer version of this program and are left alone: {some(newer)}.",
            "Install the newer version to go on with them.",
        )


def room(db: Connection) -> Iterator[Finding]:
    free, pages, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count", "page_size")
    )
    if free * size > 64 * 1024 * 1024 and free * 4 > pages:
        yield warning(
            "room-unused",
            f"{free * size // 1024 // 1024} MB of {pages * size // 1024 // 1024} MB of the file are not used.",
            "operator-inbox doctor --compact",
        )


def summary(db: Connection) -> Iterator[Finding]:
    runs, unfinished = db.execute("SELECT count(*), coalesce(sum(finished_at IS NULL), 0) FROM durable_run").fetchone()
    waiting = db.execute("SELECT count(*) FROM durable_question WHERE outcome IS NULL").fetchone()[0]
    yield ok("contents", f"{runs} runs, {unfinished} of them not ended; {waiting} questions are open.")


CHECKS: Final[tuple[Check, ...]] = (
    integrity,
    references,
    texts,
    totals,
    large_values,
    questions,
    calls,
    newer_runs,
    room,
    summary,
)
