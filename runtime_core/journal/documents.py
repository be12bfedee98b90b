"""Documents of stores: each write of one replaces it, and the fields it is found by are kept beside it.

A partition has an index of every field that a query or a write ever named as one. That of a field which is named for
the first time is built in pieces, each a transaction of its own; writes keep it right from the start.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from runtime_core.journal.driver import Connection
from runtime_core.journal.rows import keep, large
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonError, JsonText, JsonValue, dumps, loads
from runtime_core.wire.stores import Found, Partition, StoredDocument, StoreQuery, StoreWrite, found_by

PIECE: Final = 500

_DOCUMENT: Final = "SELECT key, payload, version, created_at, saved_at FROM store_document WHERE"
_ADD_VALUE: Final = "INSERT OR IGNORE INTO store_value(field, value, document) VALUES (?, ?, ?)"


def write(db: Connection, wanted: StoreWrite) -> JsonText:
    """Make one write; returns what the tool that asked for it returns (contract 5.1)."""
    part = _part(db, wanted.partition) if wanted.payload is None else part_of(db, wanted.partition)
    old = db.execute(
        "SELECT id, version, created_at FROM store_document WHERE part = ? AND key = ?", (part, wanted.key)
    ).fetchone()
    if old is not None:
        db.execute("DELETE FROM store_document WHERE id = ?", (old[0],))
    if part is None or wanted.payload is None:
        return dumps({"removed": old is not None, "key": wanted.key})
    now = time.time()
    version, created_at = (old[1] + 1, old[2]) if old is not None else (1, now)
    put(db, part, StoredDocument(wanted.key, wanted.payload, version, created_at, now), wanted.indexed)
    return dumps({"stored": True, "key": wanted.key, "version": version})


def put(db: Connection, part: int, document: StoredDocument, indexed: Sequence[str]) -> None:
    """Insert a document that is not there."""
    fields = _fields(db, part, indexed)
    added = db.execute(
        "INSERT INTO store_document(part, key, payload, version, created_at, saved_at) VALUES (?, ?, ?, ?, ?, ?)",
        (part, document.key, keep(db, document.payload), document.version, document.created_at, document.saved_at),
    ).lastrowid
    if added is not None and fields:
        _add_values(db, added, document.payload, fields)


def build(db: Connection, partition: Partition, names: Sequence[str]) -> bool:
    """Bring the next documents into the indices of these fields; False if all are there."""
    part = _part(db, partition)
    if part is None:
        return False
    _fields(db, part, names)
    found = db.execute(
        "SELECT id, name, built_to FROM store_field WHERE part = ? AND built_to IS NOT NULL "
        f"AND name IN ({_marks(names)}) ORDER BY built_to LIMIT 1",
        (part, *names),
    ).fetchone()
    if found is None:
        return False
    field, name, built_to = found
    rows = db.execute(
        "SELECT id, key, payload FROM store_document WHERE part = ? AND id > ? ORDER BY id LIMIT ?",
        (part, built_to, PIECE),
    ).fetchall()
    for at, _, stored in rows:
        payload = large(db, stored) if isinstance(stored, bytes) else stored
        if payload is not None:
            _add_values(db, at, payload, {name: field})
    last = rows[-1][0] if len(rows) == PIECE else None
    db.execute("UPDATE store_field SET built_to = ? WHERE id = ?", (last, field))
    return True


def take_over(db: Connection) -> tuple[int, int]:
    """Take the documents of the attached journal ``new`` in, where none is here that was saved as late or later.

    How many were taken, and how many not. Indices take them up when they are next used.
    """
    db.execute(
        "INSERT OR IGNORE INTO main.store_part(repo, scope, store) SELECT repo, scope, store FROM new.store_part"
    )
    db.execute(
        "CREATE TEMP TABLE moved AS SELECT theirs.id AS id, here.id AS part, document.id AS old, "
        "(document.saved_at, document.version) >= (theirs.saved_at, theirs.version) AS is_kept "
        "FROM new.store_document AS theirs JOIN new.store_part AS place ON place.id = theirs.part "
        "JOIN main.store_part AS here USING (repo, scope, store) LEFT JOIN main.store_document AS document "
        "ON document.part = here.id AND document.key = theirs.key"
    )
    db.execute("DELETE FROM temp.moved WHERE is_kept")
    db.execute("DELETE FROM main.store_document WHERE id IN (SELECT old FROM temp.moved)")
    db.execute(
        "UPDATE main.store_field SET built_to = min(coalesce(built_to, last), last) FROM "
        "(SELECT coalesce(max(id), 0) AS last FROM main.store_document) WHERE part IN (SELECT part FROM temp.moved)"
    )
    taken = db.execute(
        "INSERT INTO main.store_document(part, key, payload, version, created_at, saved_at) "
        "SELECT moved.part, key, payload, version, created_at, saved_at FROM temp.moved "
        "JOIN new.store_document USING (id) ORDER BY id"
    ).rowcount
    return taken, db.execute("SELECT count(*) FROM new.store_document").fetchone()[0] - taken


def unbuilt(db: Connection, partition: Partition, names: Sequence[str]) -> bool:
    """Whether `build` has something to do."""
    part = _part(db, partition)
    if part is None or not names:
        return False
    found = db.execute(
        f"SELECT count(*) FROM store_field WHERE part = ? AND built_to IS NULL AND name IN ({_marks(names)})",
        (part, *names),
    ).fetchone()
    return found[0] < len(names)


def misplaced(db: Connection) -> list[tuple[str, str]]:
    """Store and field of each index that does not hold what the documents hold."""
    fields = db.execute(
        "SELECT store_field.id, part, store, name, built_to FROM store_field JOIN store_part ON store_part.id = part "
        "ORDER BY store, name"
    ).fetchall()
    return [(store, name) for field, part, store, name, built_to in fields if _differs(db, field, part, name, built_to)]


def _differs(db: Connection, field: int, part: int, name: str, built_to: int | None) -> bool:
    held: dict[int, str] = dict(
        db.execute(
            "SELECT document, value FROM store_value WHERE field = ? ORDER BY document, value", (field,)
        ).fetchall()
    )
    count = db.execute("SELECT count(*) FROM store_value WHERE field = ?", (field,)).fetchone()[0]
    for at, stored in db.execute("SELECT id, payload FROM store_document WHERE part = ?", (part,)):
        values = _values((large(db, stored) if isinstance(stored, bytes) else stored) or "")
        right = found_by(values[name]) if name in values else None
        if held.get(at) != right and (built_to is None or held.get(at) is not None):
            return True
        count -= at in held
    return count != 0


def rebuild(db: Connection) -> None:
    """Count the documents anew, and have every index built anew when it is next used."""
    db.execute("DELETE FROM store_value")
    db.execute("UPDATE store_field SET built_to = 0")
    db.execute("UPDATE store_part SET documents = (SELECT count(*) FROM store_document WHERE part = store_part.id)")


def get(db: Connection, partition: Partition, key: str) -> StoredDocument | None:
    part = _part(db, partition)
    try:
        row = db.execute(f"{_DOCUMENT} part = ? AND key = ?", (part, key)).fetchone()
    except UnicodeEncodeError:  # half of a surrogate pair: no key holds one
        return None
    return _document(db, row, partition.store) if row else None


def find(db: Connection, partition: Partition, query: StoreQuery) -> Found:
    """An index is used for every field that has a complete one; what else is asked for is looked up in each payload."""
    part = _part(db, partition)
    if part is None:
        return Found([], 0)
    fields = db.execute("SELECT name, id FROM store_field WHERE part = ? AND built_to IS NULL", (part,)).fetchall()
    ready: dict[str, int] = dict(fields)
    values = {name: found_by(value) for name, value in query.where.items()}
    source, given = _source(db, part, [(ready[name], value) for name, value in values.items() if name in ready])
    rest = {name: value for name, value in values.items() if name not in ready}
    if rest or query.sort:
        matching = list(_matching(db, source, given, rest, (query.sort or "").removeprefix("-"), partition.store))
        if query.sort:
            matching.sort(key=lambda pair: pair[0], reverse=query.sort.startswith("-"))
        ids, total = [at for _, at in matching[query.offset : query.offset + query.limit]], len(matching)
    else:
        count = f"SELECT count(*) {source}" if values else "SELECT documents FROM store_part WHERE id = ?"
        total = db.execute(count, given).fetchone()[0]
        page = f"SELECT at.document {source} ORDER BY at.document DESC LIMIT ? OFFSET ?"
        ids = [row[0] for row in db.execute(page, (*given, query.limit, query.offset)).fetchall()]
    rows = (db.execute(f"{_DOCUMENT} id = ?", (at,)).fetchone() for at in ids)
    return Found([_document(db, row, partition.store) for row in rows], total)


def counts(db: Connection, repo: str, scope: str) -> dict[str, int]:
    """How many documents each store has that ever had one."""
    rows = db.execute("SELECT store, documents FROM store_part WHERE repo = ? AND scope = ?", (repo, scope))
    return dict(rows.fetchall())


def _source(db: Connection, part: int, wanted: Sequence[tuple[int, str]]) -> tuple[str, tuple[Any, ...]]:
    """The rows, as ``at.document``, that the indices give; all of the part if none is asked."""
    if not wanted:
        return "FROM (SELECT id AS document FROM store_document WHERE part = ?) AS at", (part,)
    size = "SELECT count(*) FROM store_value WHERE field = ? AND value = ?"
    fewest, *others = sorted(wanted, key=lambda pair: db.execute(size, pair).fetchone()[0])
    also = " AND EXISTS (SELECT 1 FROM store_value WHERE field = ? AND value = ? AND document = at.document)"
    source = f"FROM store_value AS at WHERE field = ? AND value = ?{also * len(others)}"
    return source, tuple(item for pair in (fewest, *others) for item in pair)


def _matching(
    db: Connection, source: str, given: Sequence[Any], rest: Mapping[str, str], sort: str, store: str
) -> Iterator[tuple[str, int]]:
    """What to sort by and the id of each document that fits, the one saved last first."""
    rows = db.execute(
        f"SELECT id, key, payload FROM store_document WHERE id IN (SELECT at.document {source}) ORDER BY id DESC", given
    )
    for at, key, stored in rows:
        payload = _values(_payload(db, stored, key, store))
        if all(name in payload and found_by(payload[name]) == value for name, value in rest.items()):
            yield _as_text(payload.get(sort)), at


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else "" if value is None else dumps(value)


def _document(db: Connection, row: Sequence[Any], store: str) -> StoredDocument:
    key, stored, *more = row
    return StoredDocument(key, _payload(db, stored, key, store), *more)


def _payload(db: Connection, stored: str | bytes, key: str, store: str) -> JsonText:
    payload = large(db, stored) if isinstance(stored, bytes) else stored
    if payload is None:
        raise RuntimeFault(
            "data_folder_unusable",
            f'Document "{key}" of store {store} is damaged: its value is missing or not what was stored. Set it again, '
            "or restore a copy of the data folder.",
        )
    return payload


def part_of(db: Connection, partition: Partition) -> int:
    """The id of a partition, made if it is missing."""
    found = _part(db, partition)
    if found is None:
        place = (partition.repo, partition.scope, partition.store)
        found = db.execute("INSERT INTO store_part(repo, scope, store) VALUES (?, ?, ?)", place).lastrowid
    assert found is not None
    return found


def _part(db: Connection, partition: Partition) -> int | None:
    place = (partition.repo, partition.scope, partition.store)
    row = db.execute("SELECT id FROM store_part WHERE repo = ? AND scope = ? AND store = ?", place).fetchone()
    return row[0] if row else None


def _fields(db: Connection, part: int, names: Iterable[str]) -> dict[str, int]:
    """The ids of all fields that have an index, these among them."""
    sql = "SELECT name, id FROM store_field WHERE part = ?"
    fields: dict[str, int] = dict(db.execute(sql, (part,)).fetchall())
    new = [name for name in names if name not in fields]
    if new:
        is_empty = db.execute("SELECT documents = 0 FROM store_part WHERE id = ?", (part,)).fetchone()[0]
        rows = [(part, name, None if is_empty else 0) for name in new]
        db.executemany("INSERT INTO store_field(part, name, built_to) VALUES (?, ?, ?)", rows)
        fields = dict(db.execute(sql, (part,)).fetchall())
    return fields


def _add_values(db: Connection, document: int, payload: JsonText, fields: Mapping[str, int]) -> None:
    values = _values(payload)
    rows = [(field, found_by(values[name]), document) for name, field in fields.items() if name in values]
    db.executemany(_ADD_VALUE, rows)


def _values(payload: JsonText) -> dict[str, JsonValue]:
    """The fields of a document; none of one that is damaged."""
    value: JsonValue = None
    with suppress(JsonError):
        value = loads(payload)
    return value if isinstance(value, dict) else {}


def _marks(names: Sequence[str]) -> str:
    return ", ".join("?" * len(names))
