"""Documents of stores and notes of agents in the journal: written, found, moved, examined."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_core.config import Config
from runtime_core.doctor.compact import compact
from runtime_core.doctor.examine import examine
from runtime_core.journal.exporting import export
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.json import dumps, loads
from runtime_core.wire.memory import Note
from runtime_core.wire.settings import Retention, Settings
from runtime_core.wire.stores import Found, Partition, StoreQuery, StoreWrite, found_by
from tests.unit.journal.stories import claimed, play, run_row, step
from tests.unit.journal.test_portable import file_of, lines, take
from tests.unit.journal.test_retention import large, tidied

PLACE = Partition("/repo", "", "parcels")
FIELDS = ("carrier", "weight")


def put(key: str, value: Any, place: Partition = PLACE, indexed: Sequence[str] = FIELDS) -> StoreWrite:
    return StoreWrite(place, key, value if isinstance(value, str) else dumps(value), tuple(indexed))


def keys(found: Found) -> list[str]:
    return [document.key for document in found.documents]


async def found(journal: SqliteJournal, where: dict[str, Any], *indexed: str, **more: Any) -> Found:
    return await journal.documents(PLACE, StoreQuery(where, indexed=indexed, **more))


def test_a_document_keeps_its_digits_and_counts_its_writes(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        text = '{"weight":1.50,"n":12345678901234567890123}'
        said = await journal.write_documents([put("a", text), put("a", text), put("b", "{}")])
        assert [json.loads(one) for one in said] == [
            {"stored": True, "key": "a", "version": 1},
            {"stored": True, "key": "a", "version": 2},
            {"stored": True, "key": "b", "version": 1},
        ]
        document = await journal.document(PLACE, "a")
        assert document is not None
        assert (document.payload, document.version) == (text, 2)
        assert document.created_at <= document.saved_at
        assert await journal.document(PLACE, "A") is None
        assert await journal.document(Partition("/repo", "s1", "parcels"), "a") is None
        (gone,) = await journal.write_documents([StoreWrite(PLACE, "a", None)])
        (none,) = await journal.write_documents([StoreWrite(PLACE, "a", None)])
        assert (loads(gone), loads(none)) == ({"removed": True, "key": "a"}, {"removed": False, "key": "a"})
        assert await journal.document_counts("/repo", "") == {"parcels": 1}

    play(tmp_path, story)


@pytest.mark.parametrize("indexed", [FIELDS, ()], ids=["by index", "by looking"])
def test_numbers_of_one_value_are_equal_and_all_others_are_not(tmp_path: Path, indexed: Sequence[str]) -> None:
    same = ["1", "1.0", "10e-1"]
    others = ['"1"', "true", "null", "[1]", '{"number":1}', "-1", "10", "0.1", "1e400", "0", "1e-400"]
    others += ["9007199254740992", "9007199254740993", "12345678901234567890", "0.1000000000000000000001"]

    async def story(journal: SqliteJournal) -> None:
        values = [*same, *others]
        await journal.write_documents(
            [put(f"k{n}", f'{{"weight":{value}}}', indexed=indexed) for n, value in enumerate(values)]
        )
        await journal.write_documents([put("without", "{}", indexed=indexed)])
        assert sorted(keys(await found(journal, {"weight": 1}, *indexed))) == ["k0", "k1", "k2"]
        for n, value in enumerate(others, len(same)):
            assert keys(await found(journal, {"weight": loads(value)}, *indexed)) == [f"k{n}"], value
        assert keys(await found(journal, {"weight": loads("-0.0")}, *indexed)) == [f"k{3 + others.index('0')}"]
        assert keys(await found(journal, {"weight": 12345678901234567891}, *indexed)) == []
        assert keys(await found(journal, {"weight": loads("1e" + "9" * 5000)}, *indexed)) == []
        assert keys(await found(journal, {"weight": {"number": 1.0}}, *indexed)) == ["k7"]

    play(tmp_path, story)


def test_pages_are_the_last_saved_first(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.write_documents([put(f"k{n}", {"carrier": "ab"[n % 2], "n": str(n)}) for n in range(10)])
        await journal.write_documents([put("k2", {"carrier": "a", "n": "x"})])
        page = await found(journal, {}, limit=3)
        assert (keys(page), page.total) == (["k2", "k9", "k8"], 10)
        page = await found(journal, {"carrier": "a"}, *FIELDS, limit=2, offset=1)
        assert (keys(page), page.total) == (["k8", "k6"], 5)
        page = await found(journal, {"carrier": "a", "n": "4"}, *FIELDS)
        assert (keys(page), page.total) == (["k4"], 1)
        assert keys(await found(journal, {}, sort="n", limit=3)) == ["k0", "k1", "k3"]
        assert keys(await found(journal, {"carrier": "a"}, *FIELDS, sort="-n", limit=2)) == ["k2", "k8"]
        page = await found(journal, {}, limit=0)
        assert (keys(page), page.total) == ([], 10)

    play(tmp_path, story)


def test_an_index_is_built_when_a_field_is_first_asked_for(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.write_documents([put(f"k{n}", {"carrier": "ab"[n % 2]}, indexed=()) for n in range(1203)])
        page = await found(journal, {"carrier": "b"}, "carrier", limit=2)
        assert (keys(page), page.total) == (["k1201", "k1199"], 601)
        await journal.write_documents([put("k1", {"carrier": "a"}, indexed=()), StoreWrite(PLACE, "k3", None)])
        assert (await found(journal, {"carrier": "b"}, "carrier")).total == 599

    play(tmp_path, story)
    db = sqlite3.connect(tmp_path / "runtime.db")
    assert db.execute("SELECT count(*) FROM store_value").fetchone() == (1202,)
    db.close()
    assert not damage(tmp_path)


def test_a_query_of_an_indexed_field_looks_at_no_other_document(tmp_path: Path) -> None:
    """Those that do not match cannot be read at all."""

    async def before(journal: SqliteJournal) -> None:
        await journal.write_documents([put(f"k{n}", {"carrier": "ab"[n % 2]}) for n in range(6)])

    play(tmp_path, before)
    db = sqlite3.connect(tmp_path / "runtime.db")
    db.execute("UPDATE store_document SET payload = x'00' WHERE key IN ('k1', 'k3', 'k5')")
    db.commit()
    db.close()

    async def after(journal: SqliteJournal) -> None:
        assert keys(await found(journal, {"carrier": "a"}, *FIELDS)) == ["k4", "k2", "k0"]
        with pytest.raises(Exception, match='Document "k5" of store parcels is damaged'):
            await found(journal, {"other": "a"})

    play(tmp_path, after)


def test_a_write_is_made_with_its_entry_or_not_at_all(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        claim = await claimed(journal)
        entries = [replace(step(n), value=None, write=put("a", {"weight": n})) for n in range(2)]
        stored = await journal.append(claim, entries)
        assert [json.loads(entry.value or "")["version"] for entry in stored] == [1, 2]
        assert [entry.value for entry in await journal.load("dur_a")] == [entry.value for entry in stored]
        with pytest.raises(ValueError, match="never changes again"):
            await journal.append(claim, [replace(entries[0], write=put("b", {}))])
        assert await journal.document(PLACE, "b") is None

    play(tmp_path, story)


def test_large_documents_are_kept_apart_and_go_when_nobody_names_them(tmp_path: Path) -> None:
    def values(folder: Path) -> int:
        db = sqlite3.connect(folder / "runtime.db")
        (count,) = db.execute("SELECT count(*) FROM durable_blob").fetchone()
        db.close()
        return count

    async def fill(journal: SqliteJournal) -> None:
        await journal.write_documents([put("a", f'{{"text":{large("a")}}}'), put("b", f'{{"text":{large("b")}}}')])
        await journal.write_documents([put("a", {"text": "small"})])
        await tidied(journal, 1e12)
        document = await journal.document(PLACE, "b")
        assert document is not None
        assert document.payload == f'{{"text":{large("b")}}}'

    play(tmp_path, fill)
    assert values(tmp_path) == 1


VALUE = st.sampled_from([1, 1.5, "a", None, [1, "x"], {"deep": {"er": 1}}])
WRITES = st.lists(
    st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.dictionaries(st.sampled_from(FIELDS), VALUE)))
)


@settings(max_examples=15, deadline=None)
@given(WRITES, st.booleans())
def test_what_is_stored_is_what_a_dictionary_would_hold(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[str, dict[str, Any] | None]], late: bool
) -> None:
    folder = tmp_path_factory.mktemp("here")
    model: dict[str, dict[str, Any]] = {}

    async def story(journal: SqliteJournal) -> None:
        for key, value in writes:
            model.pop(key, None)
            if value is not None:
                model[key] = value
            text = None if value is None else dumps(value)
            await journal.write_documents([StoreWrite(PLACE, key, text, () if late else FIELDS)])
        everything = await found(journal, {})
        assert keys(everything) == list(reversed(model))
        assert [loads(document.payload) for document in everything.documents] == [*reversed(model.values())]
        values: list[Any] = [1, 1.5, "a", None, [1, "x"], {"deep": {"er": 1.0}}]
        for value in values:
            right = [key for key in reversed(model) if found_by(model[key].get("weight", "?")) == found_by(value)]
            assert keys(await found(journal, {"weight": value}, *FIELDS)) == right

    play(folder, story)
    assert not damage(folder)


# Moving --------------------------------------------------------------------------------------------------------------


async def furnished(journal: SqliteJournal) -> None:
    await journal.write_documents(
        [
            put("a", {"carrier": "road", "text": "x" * 70_000}),
            put("b", {"carrier": "air"}),
            put("a", {"carrier": "air"}, Partition("/repo", "s1", "parcels")),
        ]
    )
    await journal.add_note("/repo", "", "likes short answers", "ann", lambda _: None)


def test_documents_and_notes_travel(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    play(here, furnished)
    taken = take(there, file_of(here))
    assert (taken.held["document"], taken.kept, taken.held["note"]) == (3, 0, 1)
    assert lines(there) == lines(here)
    taken = take(there, file_of(here))
    assert (taken.held["document"], taken.kept, taken.held["note"]) == (0, 3, 0)
    assert lines(there) == lines(here)
    assert not damage(there)


def test_of_two_documents_with_one_key_the_one_saved_later_stays(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    play(old, furnished)
    before = file_of(old)
    assert take(new, before).held["document"] == 3

    async def change(journal: SqliteJournal) -> None:
        await found(journal, {"carrier": "road"}, "carrier")
        await journal.write_documents([put("b", {"carrier": "sea"}), put("c", {"carrier": "sea"})])

    async def look(journal: SqliteJournal) -> None:
        assert keys(await found(journal, {"carrier": "sea"}, "carrier")) == ["c", "b"]
        assert keys(await found(journal, {"carrier": "air"}, "carrier")) == []
        assert (await journal.document_counts("/repo", ""))["parcels"] == 3

    play(new, change)
    assert take(new, before).held["document"] == 0
    play(new, look)
    taken = take(old, file_of(new))
    assert (taken.held["document"], taken.kept) == (2, 2)
    play(old, look)
    assert not damage(old)


def test_a_file_of_chosen_runs_holds_no_documents(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await furnished(journal)
        await journal.create_run(run_row())

    play(tmp_path, story)
    kinds = [json.loads(line)["type"] for line in lines(tmp_path, "dur_a")]
    assert kinds == ["run", "end"]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("payload", "payload is not JSON text"),
        ("key", "key must not be empty"),
        ("saved_at", "saved_at must be a time"),
    ],
)
def test_a_bad_document_is_not_imported(tmp_path: Path, column: str, said: str) -> None:
    play(tmp_path, furnished)
    content = [json.loads(line) for line in file_of(tmp_path).splitlines()]
    content[1][column] = "" if column != "saved_at" else -1
    with pytest.raises(Exception, match=f"line 2: {said}"):
        take(tmp_path / "there", "\n".join(map(dumps, content)).encode())


def test_a_file_of_the_first_format_is_still_taken_in(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())

    play(tmp_path, story)
    content = file_of(tmp_path).replace(b'"format":3', b'"format":1')
    assert take(tmp_path / "there", content).runs == 1


def test_a_damaged_document_is_left_out_of_an_export_and_named(tmp_path: Path) -> None:
    play(tmp_path, furnished)
    spoil(tmp_path, "UPDATE durable_blob SET bytes = x'00'")
    done = export(tmp_path / "runtime.db", [], "1", lambda _: None)
    assert (done.held["document"], done.lost) == (2, ['document "a" of store parcels'])


# Examining -----------------------------------------------------------------------------------------------------------


def damage(folder: Path) -> dict[str, str]:
    return {one.code: one.message for one in examine(folder, Config(Settings())) if one.level == "problem"}


def spoil(folder: Path, statement: str) -> None:
    db = sqlite3.connect(folder / "runtime.db")
    db.execute("PRAGMA foreign_keys=ON")
    db.execute(statement)
    db.commit()
    db.close()


@pytest.mark.parametrize(
    ("statement", "code", "said"),
    [
        ("DELETE FROM store_value WHERE document = 2", "documents-not-found", "carrier of parcels"),
        ("UPDATE store_value SET value = '\"sea\"' WHERE document = 2", "documents-not-found", "carrier of parcels"),
        ("UPDATE store_part SET documents = 7", "totals-wrong", "documents of parcels: 7 instead of 2"),
        (
            "UPDATE durable_blob SET bytes = x'00'",
            "value-damaged",
            "document of parcels/a: the large value for payload",
        ),
        ("UPDATE store_document SET payload = '[]'", "value-damaged", "document of parcels/b: payload must be"),
        ("UPDATE memory_note SET created_at = 1e15", "value-damaged", "created_at must be a time"),
        ("DROP INDEX store_value_document", "schema-damaged", "index store_value_document"),
    ],
)
def test_the_doctor_sees_it(tmp_path: Path, statement: str, code: str, said: str) -> None:
    play(tmp_path, furnished)
    assert not damage(tmp_path)
    spoil(tmp_path, statement)
    assert said in damage(tmp_path)[code]


def test_compacting_counts_and_finds_documents_anew(tmp_path: Path) -> None:
    play(tmp_path, furnished)
    spoil(tmp_path, "UPDATE store_part SET documents = 7")
    spoil(tmp_path, "DELETE FROM store_value WHERE document = 2")
    compact(tmp_path, Retention())
    assert not damage(tmp_path)

    async def look(journal: SqliteJournal) -> None:
        assert keys(await found(journal, {"carrier": "air"}, *FIELDS)) == ["b"]
        assert (await found(journal, {})).total == 2

    play(tmp_path, look)


# Notes ---------------------------------------------------------------------------------------------------------------


def test_notes_are_kept_by_repository_and_scope(tmp_path: Path) -> None:
    class FullError(Exception):
        pass

    def judge(there: Sequence[Note]) -> None:
        if len(there) >= 2:
            raise FullError

    async def story(journal: SqliteJournal) -> None:
        first = await journal.add_note("/repo", "", "Likes short answers", "ann", judge)
        await journal.add_note("/repo", "s1", "another scope", "ann", judge)
        second = await journal.add_note("/repo", "", "Works in ANSWERS team", "bob", judge)
        with pytest.raises(FullError):
            await journal.add_note("/repo", "", "one too many", "ann", judge)
        assert await journal.notes("/repo", "") == [first, second]
        assert await journal.notes("/repo", "", "answers team") == [second]
        assert await journal.notes("/other", "") == []
        assert not await journal.remove_note("/repo", "s1", first.id)
        assert await journal.remove_note("/repo", "", first.id)
        assert await journal.notes("/repo", "") == [second]

    play(tmp_path, story)
