"""Formats of the file: made once, moved forward one step at a time, never half."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from runtime_core.journal.driver import connect, pragma
from runtime_core.journal.formats import MIGRATIONS
from runtime_core.journal.schema import migrate
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.stores import Partition, StoreQuery, StoreWrite
from tests.unit.journal.stories import answered, claimed, parked, play

PARCELS = Partition("/repo", "", "parcels")
GOLDEN = Path(__file__).parents[2] / "fixtures" / "golden"


def grow(db: Any) -> None:
    db.table("durable_run").add_column("mood", str)


def break_(db: Any) -> None:
    db.table("durable_run").add_column("mood", str)
    raise ZeroDivisionError


def test_a_new_file_has_the_newest_format(tmp_path: Path) -> None:
    db = connect(tmp_path / "runtime.db")
    migrate(db, tmp_path / "runtime.db")
    assert pragma(db, "user_version") == len(MIGRATIONS)
    assert not db.in_transaction
    migrate(db, tmp_path / "runtime.db")
    db.close()
    assert [file.name for file in tmp_path.iterdir()] == ["runtime.db"]


def test_a_migration_keeps_the_data_and_puts_a_copy_beside_it(tmp_path: Path) -> None:
    play(tmp_path, parked)
    path = tmp_path / "runtime.db"
    db = connect(path)
    migrate(db, path, [*MIGRATIONS, grow])
    assert db.execute("SELECT id, mood FROM durable_run").fetchall() == [("dur_a", None)]
    assert pragma(db, "user_version") == len(MIGRATIONS) + 1
    db.close()
    copy = connect(tmp_path / f"runtime.db.format-{len(MIGRATIONS)}.copy")
    assert pragma(copy, "user_version") == len(MIGRATIONS)
    assert copy.execute("SELECT id FROM durable_run").fetchall() == [("dur_a",)]
    copy.close()


def test_a_failing_migration_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    play(tmp_path, parked)
    path = tmp_path / "runtime.db"
    db = connect(path)
    with pytest.raises(ZeroDivisionError):
        migrate(db, path, [*MIGRATIONS, break_])
    db.close()

    async def story(journal: SqliteJournal) -> None:
        assert (await journal.pending(10, None)).total == 1

    play(tmp_path, story)


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("v*.db")), ids=lambda path: path.name)
def test_files_of_every_format_open_and_go_on(golden: Path, tmp_path: Path) -> None:
    """Each holds: a finished run, one parked on two questions, a sleeping one, an interrupted call, a large value;
    from the third on documents and a note, from the fourth on a conversation, an automation and so on as well."""
    shutil.copy(golden, tmp_path / "runtime.db")

    async def story(journal: SqliteJournal) -> None:
        finished = await journal.run("dur_finished")
        assert finished is not None
        assert (finished.status, finished.result) == ("completed", '"' + "x" * 70_000 + '"')
        page = await journal.pending(10, None)
        assert page.total == 3
        assert [pause.kind for pause in page.items] == ["input", "approval", "attention"]
        await answered(journal, '"yes"', "dur_parked", pause_id="dur_parked.1")
        await answered(journal, '"run-again"', "dur_interrupted")
        claim = await claimed(journal, "dur_parked")
        assert [(entry.n, entry.state) for entry in await journal.load("dur_parked")] == [(1, "ok"), (0, "started")]
        await journal.finish(claim, "completed", result="1")
        assert await journal.load("dur_interrupted") == []
        assert await journal.wake_due(100.0) == ["dur_sleeping"]
        assert [span.slot for span in await journal.spans("dur_finished")] == ["", "0"]
        assert len(await journal.events(0)) > 6
        if golden.stem >= "v3":
            found = await journal.documents(PARCELS, StoreQuery({"carrier": "road"}, indexed=("carrier",)))
            assert [(one.key, one.version, len(one.payload) > 70_000) for one in found.documents] == [("p1", 2, True)]
            assert [note.text for note in await journal.notes("/repo", "")] == ["likes short answers"]
        if golden.stem >= "v4":
            await look_at_the_rest(journal)
        await journal.write_documents([StoreWrite(PARCELS, "p3", "{}", ("carrier",))])
        assert (await journal.documents(PARCELS, StoreQuery())).documents[0].key == "p3"

    play(tmp_path, story)


async def look_at_the_rest(journal: SqliteJournal) -> None:
    (chat,) = (await journal.chats(["chat"], 10, None)).items
    assert (chat.title, chat.messages, chat.usage) == ("Parcels", 2, {"input_tokens": 10, "output_tokens": 5})
    said = await journal.chat_entries(chat.id)
    assert [(entry.role, len(entry.body) > 70_000) for entry in said] == [("user", True), ("assistant", False)]
    (call,) = await journal.chat_calls(chat.id)
    assert (call.name, call.run_id, len(call.output or "") > 70_000) == ("count", "dur_finished", True)
    (automation,) = await journal.due_automations(100.0)
    assert (automation.name, automation.enabled, len(automation.body) > 70_000) == ("nightly", True, True)
    (firing,) = await journal.firings(automation.id, 10)
    assert (firing.source, firing.state, firing.due_at) == ("manual", "running", 50.0)
    (result,) = await journal.latest_eval_results("/repo")
    assert (result.eval, result.passed, len(result.body) > 70_000) == ("late", True, True)
    (build,) = await journal.builds("/repo", 10)
    assert (build.state, len(build.log[0].text)) == ("failed", 70_000)
    (switch,) = await journal.switches("/repo")
    assert (switch.tool, switch.is_on, switch.who) == ("web_search", False, "local:rosa")


def test_there_is_a_file_of_every_format() -> None:
    assert {path.name for path in GOLDEN.glob("v*.db")} == {f"v{n}.db" for n in range(1, len(MIGRATIONS) + 1)}


def test_a_format_of_the_future_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runtime.db"
    db = connect(path)
    migrate(db, path, [*MIGRATIONS, grow])
    with pytest.raises(RuntimeFault, match="newer version"):
        migrate(db, path)
    db.close()
