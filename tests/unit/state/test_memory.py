"""What is remembered from one start to the next, and that a broken file stands in nobody's way."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from inbox_app.state.drafts import Draft, Drafts
from inbox_app.state.memory import Memory
from runtime_core.journal.folder import prepare


def test_the_theme_and_what_was_read_survive_a_restart_beside_drafts(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    drafts, memory = Drafts(path), Memory(path)
    assert (memory.theme, memory.is_read("a")) == ("", False)
    memory.set_theme("light")
    memory.set_theme("dark")
    for pause_id in ("a", "b", "c", "theme"):
        memory.set_read(pause_id)
    memory.forget("b")
    drafts.put(Draft("a", pick=1))
    memory.close()
    drafts.close()
    again = Memory(path)
    assert again.theme == "dark"
    assert [again.is_read(pause_id) for pause_id in ("a", "b", "c", "theme")] == [True, False, True, True]
    again.keep_only({"c", "d"})
    again.close()
    last = Memory(path)
    assert [last.is_read(pause_id) for pause_id in ("a", "c", "d")] == [False, True, False]
    assert Drafts(path).get("a") == Draft("a", pick=1)


def test_a_file_that_is_no_data_base_is_harmless(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    path.write_bytes(b"this is not sqlite" * 100)
    memory = Memory(path)
    memory.set_theme("dark")
    memory.set_read("a")
    memory.close()
    assert (memory.theme, memory.is_read("a")) == ("dark", True)
    assert Memory(path).theme == ""
    assert path.read_bytes() == b"this is not sqlite" * 100


def test_nothing_is_made_only_by_looking(tmp_path: Path) -> None:
    Memory(tmp_path / "new" / "desk.db").close()
    assert list(tmp_path.iterdir()) == []


def test_only_the_owner_may_look_into_what_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "desk.db"
    reader, memory = Drafts(path), Memory(path)
    other = sqlite3.connect(path)
    other.execute("SELECT * FROM drafts").fetchall()  # while somebody reads, there are files beside it
    reader.put(Draft("a", text="secret"))
    memory.set_theme("dark")
    reader.close()
    memory.close()
    modes = [file.stat().st_mode & 0o777 for file in path.parent.iterdir()]
    other.close()
    assert modes == [0o600] * 3
    assert path.parent.stat().st_mode & 0o777 == 0o700
    prepare(tmp_path / "other" / "data")
    assert (tmp_path / "other" / "data").stat().st_mode & 0o777 == 0o700
    path.parent.chmod(0o755)
    path.chmod(0o640)
    Drafts(path).close()
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.parent.stat().st_mode & 0o777 == 0o755
