"""The commands that look after a data folder: settings, doctor, export, import."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from runtime_core.wire.json import loads
from tests.e2e.driver import Desk, leave

SAMPLE = Path(__file__).resolve().parents[2] / "resources" / "samples" / "release-desk"
RELEASE = ("run", SAMPLE, "release_to_environment", "--input", '{"release_id": "rel-481"}')


@pytest.fixture
def waiting(desk: Desk) -> str:
    """A run that waits for an answer."""
    started = desk(*RELEASE, "--json")
    assert started.code == 3
    return started.json["sessionId"]


def test_a_run_moves_to_another_folder_and_is_answered_there(desk: Desk, waiting: str, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    exported = desk("export", file)
    assert (exported.code, exported.out) == (0, f"1 run exported to {file}\n")
    assert file.stat().st_mode & 0o777 == 0o600
    other = Desk(desk.home, tmp_path / "other")
    assert "1 run of the file has not ended." in exported.err
    assert "use only one of the two data folders" in exported.err
    imported = other("import", file)
    assert imported.out == "1 run imported\n"
    assert "1 run of them has not ended and goes on here from now on." in imported.err
    assert "use only one of the two data folders" in imported.err
    again = other("import", file, "--json")
    assert {key: count for key, count in again.json.items() if count} == {"known": 1}
    assert again.json.keys() >= {"runs", "documents", "chats", "automations", "eval_results", "builds", "tool_switches"}
    assert again.err == ""
    assert other("answer", waiting, "staging", "--json").code in (0, 3)
    refused = other("import", file, "--json")
    assert (refused.code, refused.error["code"]) == (1, "VALIDATION_ERROR")
    assert refused.error["message"].startswith(f"Session {waiting} of {file} is in this data folder already")
    assert desk("show", waiting, "--json").json["run"]["status"] == "awaiting-input"


def test_through_a_pipe_into_a_folder_that_a_window_has_open(desk: Desk, waiting: str, tmp_path: Path) -> None:
    exported = desk("export", "-", "--run", waiting)
    assert exported.err.startswith("operator-inbox: 1 run exported\n")
    lines = [loads(line) for line in exported.out.splitlines()]
    assert [line["type"] for line in lines if isinstance(line, dict)][:2] == ["header", "run"]
    other = Desk(desk.home, tmp_path / "other")
    window = other.window(SAMPLE)
    assert other("import", "-", stdin=exported.out.encode()).code == 0
    assert [pause["session_id"] for pause in other("list", "--json").json["approvals"]] == [waiting]
    assert other("answer", waiting, "staging", "--json").code in (0, 3)
    assert leave(window) == 0


def test_what_cannot_be_exported_or_imported_says_why(desk: Desk, tmp_path: Path) -> None:
    nothing = desk("export", tmp_path / "runs.jsonl")
    assert (nothing.code, nothing.out) == (1, "")
    assert f"There is no journal at {desk.data / 'runtime.db'}" in nothing.err
    assert not (tmp_path / "runs.jsonl").exists()
    assert not desk.data.exists()
    missing = desk("import", tmp_path / "nowhere.jsonl")
    assert (missing.code, "nowhere.jsonl cannot be read: No such file or directory." in missing.err) == (1, True)
    (tmp_path / "bad.jsonl").write_text('{"type": "run"}\n')
    bad = desk("import", tmp_path / "bad.jsonl", "--json")
    assert "bad.jsonl, line 1: is not the header of an export" in bad.error["message"]
    assert bad.error["details"] == {"line": 1}


def test_a_file_that_cannot_be_written_is_named(desk: Desk, waiting: str, tmp_path: Path) -> None:
    refused = desk("export", tmp_path / "no" / "runs.jsonl")
    assert refused.code == 1
    assert f"{tmp_path / 'no' / 'runs.jsonl'} cannot be written: No such file or directory." in refused.err
    assert desk("export", tmp_path / "runs.jsonl", "--run", "dur_x").code == 1
    assert [path.name for path in tmp_path.iterdir() if "runs" in path.name] == []


@pytest.mark.skipif(sys.platform != "linux", reason="devices are other ones there")
@pytest.mark.parametrize("command", [("export",), ("show", "SESSION", "--export", "json")])
def test_what_is_no_file_stays_what_it_is(desk: Desk, waiting: str, tmp_path: Path, command: tuple[str, ...]) -> None:
    words = [waiting if word == "SESSION" else word for word in command]
    full = desk(*words, "/dev/full", "--json")
    assert (full.code, full.error["code"]) == (1, "VALIDATION_ERROR")
    assert "/dev/full cannot be written: No space left on device." in full.error["message"]
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)
    assert desk(*words, "/dev/null").code == 0
    assert waiting in desk(*words, "/dev/stdout").out
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    assert desk(*words, link).code == 0
    assert link.is_symlink()
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o600


def test_a_damaged_value_concerns_its_run_only(desk: Desk, waiting: str, tmp_path: Path) -> None:
    large = json.dumps({"release_id": "rel-481", "note": "x" * 80_000})
    hurt = desk("run", SAMPLE, "release_to_environment", "--input", large, "--json").json["sessionId"]
    db = sqlite3.connect(desk.data / "runtime.db", isolation_level=None)
    db.execute("UPDATE durable_blob SET bytes = x'ff' || substr(bytes, 2)")
    assert db.execute("SELECT typeof(params) FROM durable_run WHERE id = ?", (hurt,)).fetchone() == ("blob",)
    db.close()
    listed = desk("list", "--runs")
    assert (listed.code, listed.err) == (0, "")
    assert [line.split()[0] for line in listed.out.splitlines() if "(damaged)" in line] == [hurt]
    shown = desk("show", hurt)
    assert (shown.code, f"Session {hurt} is damaged" in shown.out) == (0, True)
    refused = desk("answer", hurt, "staging", "--json")
    assert (refused.code, refused.error["code"]) == (1, "data_folder_unusable")
    assert f"Session {hurt} is damaged: a value of it is missing" in refused.error["message"]
    exported = desk("export", tmp_path / "runs.jsonl")
    assert (exported.code, exported.out.startswith("1 run exported")) == (1, True)
    assert f"session {hurt} was left out: Session {hurt} is damaged" in exported.err
    assert desk("export", "-", "--run", hurt, "--json").error["details"] == {"session_id": hurt}
    assert f"run of {hurt}: the large value for params is missing or not what was stored" in desk("doctor").out
    cancelled = desk("cancel", hurt)
    assert (cancelled.code, cancelled.err) == (0, "")
    assert desk("answer", waiting, "staging").code in (0, 3)


def test_an_empty_path_is_wrong_usage_and_a_closed_input_is_named(desk: Desk, tmp_path: Path) -> None:
    empty = desk("doctor", "--data", "")
    assert (empty.code, "the path is empty" in empty.err) == (2, True)
    command = shlex.join([*desk.words("import", "-")])
    closed = subprocess.run(["sh", "-c", f"{command} <&-"], env=desk.environment(), capture_output=True, check=False)
    assert closed.returncode == 1
    assert b"Traceback" not in closed.stderr


def test_the_doctor_finds_a_folder_in_order_and_a_damaged_one_not(desk: Desk, waiting: str) -> None:
    healthy = desk("doctor")
    assert (healthy.code, healthy.err) == (0, "")
    assert healthy.out.splitlines()[-1] == "everything is in order"
    assert "ok: 1 run, 1 of them not ended; 1 open question." in healthy.out
    os.truncate(desk.data / "runtime.db", 5000)
    damaged = desk("doctor", "--json")
    assert damaged.code == 1
    assert damaged.json["healthy"] is False
    assert "damaged" in {finding["code"] for finding in damaged.json["findings"] if finding["level"] == "problem"}


def test_the_doctor_makes_a_folder_small(desk: Desk, waiting: str) -> None:
    done = desk("doctor", "--compact")
    assert done.code == 0
    assert "compacted: " in done.out
    assert desk("answer", waiting, "staging").code in (0, 3)


def test_retention_happens_though_only_commands_are_used(desk: Desk, waiting: str) -> None:
    ended = desk(*RELEASE, "--json").json["sessionId"]
    desk("cancel", ended)
    db = sqlite3.connect(desk.data / "runtime.db", isolation_level=None)
    db.execute("UPDATE durable_run SET finished_at = finished_at - 31 * 86400 WHERE id = ?", (ended,))
    assert desk("answer", waiting, "staging").code in (0, 3)
    assert db.execute("SELECT pruned_at IS NOT NULL FROM durable_run WHERE id = ?", (ended,)).fetchone() == (1,)
    db.close()


def test_the_doctor_of_nothing_makes_nothing(desk: Desk) -> None:
    found = desk("doctor")
    assert found.code == 0
    assert found.out.startswith(f"warning: There is no data folder at {desk.data} yet.")
    assert not desk.data.exists()


def test_settings_are_used_and_what_has_no_effect_is_named(
    desk: Desk, waiting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[limits]\nvalue = 1024\nvalu = 3\n")
    monkeypatch.setenv("OPERATOR_INBOX_CONFIG", str(config))
    listed = desk("list")
    assert listed.code == 0
    assert f"operator-inbox: warning: {config}, line 3: limits.valu is unknown" in listed.err
    told = loads(desk("list", "--json").err)
    assert isinstance(told, dict)
    assert str(told["warning"]).startswith(f"{config}, line 3: limits.valu is unknown")
    refused = desk("answer", waiting, "x" * 3000, "--json")
    assert (refused.code, refused.error["code"]) == (1, "VALIDATION_ERROR")
    assert "value has 3,002 bytes, and a value may have 1,024 (limits.value in config.toml)" in refused.error["message"]
    assert "settings" in {finding["code"] for finding in desk("doctor", "--json").json["findings"]}
    monkeypatch.setenv("OPERATOR_INBOX_CONFIG", str(tmp_path / "nowhere.toml"))
    assert "nowhere.toml: it is not there." in desk("list").err


@pytest.mark.skipif(sys.platform != "linux", reason="the folder is another one there")
def test_settings_in_the_folder_of_the_platform(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPERATOR_INBOX_CONFIG")
    assert desk("list").err == ""
    config = desk.home / ".config" / "operator-inbox" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("speed = 3")
    assert f"{config}, line 1: speed is no key of this file" in desk("list").err
