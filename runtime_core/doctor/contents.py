"""What the journal holds, held against itself. Every check reads one snapshot and changes nothing."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from typing import Any, Final

from runtime_core.doctor.findings import Finding, counted, ok, problem, some, warning
from runtime_core.journal.documents import misplaced
from runtime_core.journal.driver import Connection, pragma
from runtime_core.journal.formats import BLOB_COLUMNS, FORMAT
from runtime_core.journal.parts import HELD, PARTS
from runtime_core.journal.portable import problem_of
from runtime_core.journal.retention import is_named
from runtime_core.journal.rows import large as large_value
from runtime_core.journal.schema import fresh
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


def rows(db: Connection) -> Iterator[Finding]:
    """Every value is what an import would accept in its place."""
    wrong = list(_wrong_rows(db))
    if wrong:
        yield problem("value-damaged", f"What is stored cannot be used: {some(sorted(set(wrong)))}.", RESTORE)


def _wrong_rows(db: Connection) -> Iterator[str]:
    factory, db.text_factory = db.text_factory, bytes  # the driver reads no row with text that is not UTF-8
    try:
        for kind, part in {**PARTS, **HELD}.items():
            large = {column for table, column in BLOB_COLUMNS if table == part.table}
            typed = [f"typeof({column}) = 'blob'" for column in part.columns]
            columns = ", ".join((part.whose, *part.columns, *typed))
            found = db.execute(f"SELECT {columns} FROM main.{part.table} {part.joined}")
            count = len(part.columns)
            for owner, *values in found:
                what = _wrong(db, kind, dict(zip(part.columns, values, strict=False)), values[count:], large)
                if what is not None:
                    yield f"{kind} of {_shown(owner)}: {what}"
    finally:
        db.text_factory = factory


def _wrong(db: Connection, kind: str, row: Mapping[str, Any], is_key: Sequence[int], large: Set[str]) -> str | None:
    """What is wrong with a row, its texts given as bytes."""
    fields: dict[str, Any] = {}
    for (name, value), keyed in zip(row.items(), is_key, strict=True):
        if keyed and name in large:
            text = large_value(db, value)
            if text is None:
                return f"the large value for {name} is missing or not what was stored"
            fields[name] = text
        elif isinstance(value, bytes) and not keyed:
            try:
                fields[name] = value.decode()
            except UnicodeDecodeError:
                return f"{name} is not UTF-8 text"
        elif value is not None:
            fields[name] = value
    if kind == "run" and fields.get("journal_format", 0) > JOURNAL_FORMAT:  # told by another check
        return None
    return problem_of(kind, fields)


def _shown(owner: object) -> str:
    return owner.decode(errors="backslashreplace") if isinstance(owner, bytes) else str(owner)


def totals(db: Connection) -> Iterator[Finding]:
    counted = dict(db.execute("SELECT status, count(*) FROM durable_run GROUP BY status").fetchall())
    counted["open questions"] = db.execute("SELECT count(*) FROM durable_question WHERE outcome IS NULL").fetchone()[0]
    kept = dict(db.execute("SELECT name, n FROM durable_count").fetchall())
    wrong = [
        f"{name}: {kept.get(name, 0)} instead of {counted.get(name, 0)}"
        for name in sorted({*counted, *kept})
        if kept.get(name, 0) != counted.get(name, 0)
    ]
    wrong += [
        f"documents of {store}: {kept} instead of {counted}"
        for store, kept, counted in db.execute(
            "SELECT store, documents, (SELECT count(*) FROM store_document WHERE part = place.id) AS counted "
            "FROM store_part AS place WHERE documents <> counted ORDER BY store"
        ).fetchall()
    ]
    if wrong:
        yield problem(
            "totals-wrong", f"Totals that lists show are wrong ({some(wrong)}).", "operator-inbox doctor --compact"
        )


def indices(db: Connection) -> Iterator[Finding]:
    """Documents are found by what they hold."""
    wrong = [f"{field} of {store}" for store, field in misplaced(db)]
    if wrong:
        yield problem(
            "documents-not-found",
            f"Queries by these fields of stores miss documents or find wrong ones: {some(wrong)}.",
            "operator-inbox doctor --compact",
        )


def large_values(db: Connection) -> Iterator[Finding]:
    unnamed = 0
    for (digest,) in db.execute("SELECT digest FROM durable_blob"):
        unnamed += not is_named(db, digest)
    if unnamed:
        yield ok("unnamed-values", f"{unnamed} large values are named by no row; they go when the program is idle.")


def standing(db: Connection) -> Iterator[Finding]:
    """A run that waits has something that can end its waiting, and what was decided reached its journal."""
    stuck = [
        row[0]
        for row in db.execute(
            "SELECT id FROM durable_run AS run WHERE (status IN ('awaiting-input', 'needs-attention') AND NOT EXISTS "
            "(SELECT 1 FROM durable_question WHERE run_id = run.id AND outcome IS NULL)) "
            "OR (status = 'sleeping' AND wake_at IS NULL) ORDER BY id"
        )
    ]
    if stuck:
        yield problem("nothing-to-wait-for", f"Runs wait, and nothing can wake them: {some(stuck)}.", _CANCEL)
    lost = [
        row[0]
        for row in db.execute(
            "SELECT question.id FROM durable_question AS question JOIN durable_run AS run ON run.id = run_id "
            "WHERE outcome IN ('answered', 'refused', 'expired') AND question.kind <> 'attention' "
            "AND run.pruned_at IS NULL AND NOT EXISTS (SELECT 1 FROM durable_entry WHERE run_id = run.id "
            f"AND {_SLOT} = slot AND state IN ('ok', 'error')) ORDER BY question.id"
        )
    ]
    if lost:
        yield problem("decisions-lost", f"What was decided is not in the journal of its run: {some(lost)}.", _CANCEL)
    bare = [
        row[0]
        for row in db.execute(
            "SELECT id FROM durable_run AS run WHERE leg_revision IS NOT NULL AND pruned_at IS NULL AND NOT EXISTS "
            "(SELECT 1 FROM durable_leg WHERE run_id = run.id AND revision = leg_revision) ORDER BY id"
        )
    ]
    if bare:
        yield problem("legs-lost", f"Which code recorded their calls is missing for: {some(bare)}.", _CANCEL)


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
        lead = f"{path}/" if path else ""
        shown = {
            row[0]
            for row in db.execute(
                "SELECT CAST(substr(slot, ?) AS INTEGER) FROM span WHERE run_id = ? AND slot GLOB ? || '[0-9]*' "
                "AND instr(substr(slot, ?), '/') = 0",
                (len(lead) + 1, run_id, lead, len(lead) + 1),
            )
        }
        first = next(n for n in itertools.count() if n not in entries and n not in shown)
        if first < last:
            yield run_id, slot(path, first)


def _without_caller(db: Connection) -> Iterator[tuple[str, str]]:
    """Calls of a nested handler whose own call is not recorded."""
    for run_id, path in db.execute("SELECT DISTINCT run_id, path FROM durable_entry WHERE path <> ''").fetchall():
        caller, n = parent_slot(path), int(path.rpartition("/")[2])
        found = db.execute(
            "SELECT 1 FROM durable_entry WHERE run_id = ? AND path = ? AND n = ?", (run_id, caller, n)
        ).fetchone()
        if not found:
            yield run_id, path


def automations(db: Connection) -> Iterator[Finding]:
    """What is on and has a schedule is due some time."""
    idle = [
        row[0]
        for row in db.execute(
            "SELECT name FROM automation WHERE enabled AND typeof(next_at) <> 'real' AND typeof(body) = 'text' "
            "AND json_valid(body) AND json_extract(body, '$.schedule') <> '{}' ORDER BY name"
        )
    ]
    if idle:
        yield problem(
            "automation-never-due",
            f"Automations are on, and their next time is missing: {some(idle)}.",
            "Switch them off and on again: operator-inbox automations disable ID, then enable ID.",
        )


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
    rest = [
        counted(count, what)
        for what, table in _COUNTED.items()
        if (count := db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    ]
    told = [f"{counted(runs, 'run')}, {unfinished} of them not ended", counted(waiting, "open question"), *rest]
    yield ok("contents", f"{'; '.join(told)}.")


_COUNTED: Final = {"document": "store_document", "conversation": "chat_session", "automation": "automation"}


CHECKS: Final[tuple[Check, ...]] = (
    integrity,
    references,
    rows,
    totals,
    indices,
    large_values,
    questions,
    standing,
    calls,
    automations,
    newer_runs,
    room,
    summary,
)


def first_problem(db: Connection) -> str | None:
    """What is wrong with the runs in a journal whose values are acceptable one by one."""
    for check in (questions, standing, calls):
        for finding in check(db):
            if finding.level == "problem":
                return finding.message
    return None


def schema(db: Connection, file: str) -> Iterator[Finding]:
    """The tables, indices and triggers of a new file of the same format."""
    found = pragma(db, "user_version")
    with closing(fresh(found)) as new:
        ours, right = _objects(db), _objects(new)
    missing, more = sorted(right - ours), sorted(ours - right)
    if missing:
        yield problem("schema-damaged", f"{file} lacks {some(missing)}.", RESTORE)
    elif more and found < FORMAT:
        yield problem(
            "schema-damaged",
            f"{file} says that it has format {found}, but holds {some(more)}, of a later one.",
            RESTORE,
        )


def _objects(db: Connection) -> set[str]:
    """What a schema consists of, in words; the text of tables is left out, as it differs between versions of a tool."""
    found: set[str] = set()
    for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"):
        if kind == "table":
            found |= {f"{name}.{column[1]}" for column in db.execute(f'PRAGMA table_info("{name}")')}
        elif kind == "trigger":
            found.add(f"{kind} {name}: {sql}")
        else:
            found.add(f"{kind} {name}")
    return found
