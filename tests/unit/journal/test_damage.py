"""A damaged value concerns its run only: it is shown as such, it takes no answer, and it can be cancelled."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.builds import Build
from tests.unit.journal.stories import answered, parked, play, refused

_RUN = "UPDATE durable_run SET {} WHERE id = 'dur_a'"
_QUESTION = "UPDATE durable_question SET {} WHERE run_id = 'dur_a'"


@pytest.mark.parametrize(
    "statement",
    [
        _RUN.format("params = '{'"),
        _RUN.format("params = x'" + "00" * 32 + "'"),
        _RUN.format("error = '{'"),
        _RUN.format("created_at = 'now'"),
        _RUN.format("created_at = 1e300"),
        _QUESTION.format("spec = '{'"),
        _QUESTION.format("spec = '3'"),
        _QUESTION.format("spec = x'" + "00" * 32 + "'"),
        _QUESTION.format("expires_at = 'soon'"),
    ],
)
def test_a_damaged_value_concerns_its_run_only(statement: str, tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal)
        await parked(journal, run_id="dur_b")
        db = sqlite3.connect(tmp_path / "runtime.db", isolation_level=None)
        db.execute(statement)
        db.close()
        listed = (await journal.runs(["awaiting-input"], 10, None)).items
        assert [run.to_wire()["session_id"] for run in listed] == ["dur_b", "dur_a"]
        assert (await journal.pending(10, None)).total == 2
        assert [pause.to_wire()["session_id"] for pause in await journal.pauses("dur_a")] == ["dur_a"]
        fault = await refused(answered(journal))
        assert fault.code in ("data_folder_unusable", "content_changed", "pause_expired")
        assert "dur_a" in fault.message
        await answered(journal, run_id="dur_b")
        assert (await journal.cancel("dur_a", "local:rosa")).status == "cancelled"

    play(tmp_path, story)


@pytest.mark.parametrize("body", ["'{'", "'[]'", "x'00'", """'{"log":[5]}'"""])
def test_a_damaged_build_is_listed_and_says_so(body: str, tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        for number in range(2):
            await journal.save_build(Build(f"build_{number}", "/repo", "local", "failed", float(number), 4.0))
        db = sqlite3.connect(tmp_path / "runtime.db", isolation_level=None)
        db.execute(f"UPDATE build SET body = {body} WHERE id = 'build_0'")
        db.close()
        whole, damaged = await journal.builds(None, 10)
        assert (whole.id, damaged.id, damaged.state) == ("build_1", "build_0", "failed")
        assert [line.text for line in damaged.log] == ["What was kept of this build is damaged."]

    play(tmp_path, story)
