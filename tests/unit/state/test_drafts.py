"""Drafts survive a restart and never stand in the way."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from inbox_app.state.drafts import Draft, Drafts


@pytest.mark.parametrize(
    "draft",
    [
        Draft("p", "f", pick=0),
        Draft("p", None, text="null"),
        Draft("p", "f", text=" \n\u00a0\u200b\u202e 🌍 \ud800"),
        Draft("p", "f", edits='{"n": 1.50, "big": 3544790567247868102}', note="checked"),
        Draft("p", "f", edits='{"broken": '),
    ],
)
def test_a_draft_is_the_same_after_a_restart(tmp_path: Path, draft: Draft) -> None:
    drafts = Drafts(tmp_path / "desk.db")
    drafts.put(draft)
    drafts.close()
    again = Drafts(tmp_path / "desk.db")
    assert again.get("p") == draft
    again.close()


def test_the_last_of_many_changes_counts(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path / "new" / "folder" / "desk.db")
    for number in range(200):
        drafts.put(Draft("p", text="x" * number))
        drafts.put(Draft(f"q{number}", text="y"))
    drafts.drop("q7")
    drafts.close()
    again = Drafts(tmp_path / "new" / "folder" / "desk.db")
    kept = again.get("p")
    assert kept is not None
    assert len(kept.text) == 199
    assert again.get("q7") is None
    assert len(again) == 200
    again.close()


def test_an_emptied_draft_is_gone(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path / "desk.db")
    drafts.put(Draft("p", pick=1))
    drafts.put(Draft("p"))
    drafts.close()
    again = Drafts(tmp_path / "desk.db")
    assert again.get("p") is None
    again.close()


def test_a_pick_is_only_good_for_the_question_it_was_made_for() -> None:
    draft = Draft("p", "old", pick=2, text="words", note="why")
    assert draft.under("old") == draft
    assert draft.under("new") == Draft("p", "new", None, "words", None, "why")


def test_a_folder_that_cannot_be_used_is_named_and_drafts_still_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    drafts = Drafts(tmp_path / "file" / "desk.db")
    assert drafts.problem is not None
    assert str(tmp_path / "file" / "desk.db") in drafts.problem
    drafts.put(Draft("p", pick=1))
    assert drafts.get("p") == Draft("p", pick=1)
    drafts.close()


def test_a_file_that_is_no_data_base_is_named(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    path.write_bytes(b"this is not sqlite" * 100)
    drafts = Drafts(path)
    assert drafts.problem is not None
    assert str(path) in drafts.problem
    assert path.read_bytes() == b"this is not sqlite" * 100
    drafts.close()


def test_rows_of_another_version_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    drafts = Drafts(path)
    drafts.put(Draft("p", pick=1))
    drafts.close()
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO drafts VALUES ('new', '{\"pause_id\": \"new\", \"colour\": 1}'), ('odd', '[')")
    connection.commit()
    connection.close()
    again = Drafts(path)
    assert again.get("p") == Draft("p", pick=1)
    assert again.get("new") is None
    again.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM drafts").fetchone() == (3,)
    connection.close()


def test_another_writer_only_delays(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    drafts = Drafts(path)
    drafts.put(Draft("a", pick=1))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA busy_timeout = 10000")
    other.execute("CREATE TABLE IF NOT EXISTS elsewhere (x)")
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO elsewhere VALUES (1)")
    drafts.put(Draft("b", pick=2))
    other.execute("COMMIT")
    other.close()
    drafts.close()
    assert drafts.problem is None
    assert Drafts(path).get("b") == Draft("b", pick=2)
