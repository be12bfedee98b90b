"""What goes wrong in handlers, ids and folders: a message that names it, a non-zero exit, nothing half-written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.e2e.driver import FIXTURES, LIMIT_S, Desk, Ended

DESK = FIXTURES / "desk"


@pytest.mark.parametrize("tool", ["misbehave", "py_misbehave"])
def test_handlers_that_fail(desk: Desk, tool: str) -> None:
    for how, words in (
        ("throw", f'Tool "{tool}" failed: the till is locked'),
        ("exit", tool),
        ("hang", tool),
        ("undeclared", "uses.tools"),
    ):
        failed = desk("run", DESK, tool, "--input", f'{{"how": "{how}"}}', "--json")
        assert failed.code == 1, (how, failed)
        assert failed.json["outcome"]["kind"] == "failed", how
        assert words in failed.json["outcome"]["reason"], how
    runs = desk("list", "--runs", "--json").json["runs"]
    assert len(runs) == 4
    assert all(run["status"] == "failed" and run["error"]["message"] and run["finished_at"] for run in runs)


@pytest.mark.parametrize("tool", ["misbehave", "py_misbehave"])
def test_a_handler_that_prints_does_not_disturb_the_output(desk: Desk, tool: str) -> None:
    done = desk("run", DESK, tool, "--input", '{"how": "print"}', "--json")
    assert done.code == 0, done
    assert done.json["result"] == {"printed": True}


def test_inline_tools_fail_without_a_session(desk: Desk) -> None:
    for how in ("throw", "hang", "exit"):
        failed = desk("run", DESK, "misbehave_inline", "--input", f'{{"how": "{how}"}}', "--json")
        assert failed.code == 1, (how, failed)
        assert failed.json["sessionId"] is None
        assert failed.json["outcome"]["kind"] == "failed"
        assert "misbehave_inline" in failed.json["outcome"]["reason"]
    human = desk("run", DESK, "misbehave_inline", "--input", '{"how": "throw"}')
    place = "amodal/tools/misbehave_inline/handler.ts:2:37"
    assert human.out == f'failed\nTool "misbehave_inline" failed: the till is locked\nat {place}\n'


def test_an_unknown_tool(desk: Desk) -> None:
    refused = desk("run", DESK, "ask_nam", "--json")
    assert refused.code == 1
    assert refused.error["code"] == "tool_not_found"
    assert "ask_nam" in refused.error["message"]


def test_an_unknown_session(desk: Desk) -> None:
    session = "dur_aaaaaaaaaaaaaaaaaaaaaaaaaa"
    for arguments in (["show", session], ["answer", session, "yes"], ["cancel", "nonsense"], ["show", "../../etc/x"]):
        refused = desk(*arguments)
        assert refused.code == 1, refused
        assert arguments[1] in refused.err
        assert "operator-inbox list --runs" in refused.err
        assert refused.err.count("\n") == 1
    assert desk("show", "", "--json").error["code"] == "NOT_FOUND"


def test_an_answer_to_an_ended_run(desk: Desk) -> None:
    session = desk("run", DESK, "ask_name", "--json").json["sessionId"]
    assert desk("answer", session, "Rosa").code == 0
    late = desk("answer", session, "Mina", "--json")
    assert late.code == 1
    assert late.error["code"] == "not_awaiting_input"
    assert late.error["details"]["status"] == "completed"
    assert desk("show", session, "--json").json["run"]["result"]["answer"]["value"] == "Rosa"


def test_data_folders_that_cannot_be_used(desk: Desk, tmp_path: Path) -> None:
    a_file = tmp_path / "file"
    a_file.write_text("mine")
    for folder in (a_file, a_file / "below"):
        refused = Desk(tmp_path, folder)("list", "--json")
        assert refused.code == 1
        assert refused.error["code"] == "data_folder_unusable"
        assert str(a_file) in refused.error["message"]
    assert a_file.read_text() == "mine"

    not_ours = tmp_path / "other"
    not_ours.mkdir()
    (not_ours / "runtime.db").write_bytes(b"this is not a database at all" * 100)
    refused = Desk(tmp_path, not_ours)("list")
    assert refused.code == 1
    assert "runtime.db" in refused.err or str(not_ours) in refused.err
    assert (not_ours / "runtime.db").read_bytes().startswith(b"this is not")


READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


def sees_read_only(desk: Desk, *arguments: object) -> Ended:
    """Run a command for which the data folder cannot be written; the superuser needs a mount for that."""
    words = desk.words(*arguments)
    if os.geteuid() == 0:
        words = ["unshare", "--mount", "bash", "-c", READ_ONLY, str(desk.data), *words]
    process = desk.spawn(words)
    out, err = process.communicate(timeout=LIMIT_S)
    return Ended(process.returncode, out.decode(), err.decode())


@pytest.mark.skipif(os.name != "posix", reason="needs file modes")
def test_a_read_only_data_folder(desk: Desk) -> None:
    assert desk("run", DESK, "ask_name").code == 3
    before = {path: (path.stat().st_mode, path.stat().st_size) for path in [desk.data, *desk.data.iterdir()]}
    if os.geteuid() == 0:
        if subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode:
            pytest.skip("no mounts of our own here, and the superuser writes everywhere")
    else:
        for path in before:
            path.chmod(0o555 if path.is_dir() else 0o444)
    for arguments in (["run", DESK, "ask_name"], ["list"]):
        refused = sees_read_only(desk, *arguments, "--json")
        assert refused.code == 1, refused
        assert refused.error["code"] == "data_folder_unusable"
        assert str(desk.data) in refused.error["message"]
    for path, (mode, size) in before.items():
        path.chmod(mode)
        assert path.stat().st_size == size
    assert desk("list", "--json").json["total"] == 1


def test_a_locked_data_folder(desk: Desk) -> None:
    """Another program holds the journal's write lock for longer than anybody waits."""
    session = desk("run", DESK, "ask_name", "--json").json["sessionId"]
    holder = sqlite3.connect(desk.data / "runtime.db", isolation_level=None)
    holder.execute("begin immediate")
    refused = desk("answer", session, "Rosa", "--json")
    assert refused.code == 1
    assert refused.error["code"] in {"data_folder_busy", "data_folder_unusable"}
    assert str(desk.data) in refused.error["message"]
    holder.execute("rollback")
    holder.close()
    assert desk("answer", session, "Rosa").code == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a small file system")
def test_a_full_data_folder(desk: Desk, tmp_path: Path) -> None:
    """A file-size limit stands in for a full disk: SQLite gets the same refusal from the system."""
    assert desk("run", DESK, "ask_name", "--json").code == 3
    words = desk.words("run", DESK, "ask_name", "--input", "-", "--json")
    process = desk.spawn(["bash", "-c", 'ulimit -f 200; trap "" XFSZ; exec "$@"', "bash", *words])
    out, err = process.communicate(b'{"pad": "' + b"x" * 1_000_000 + b'"}', timeout=45)
    assert process.returncode == 1, (out, err)
    assert b"data_folder_unusable" in err
    assert str(desk.data).encode() in err
    listed = desk("list", "--json").json
    assert listed["total"] == 1
    database = sqlite3.connect(desk.data / "runtime.db")
    assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    database.close()


def test_a_repository_that_went_away(desk: Desk, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(DESK, moved)
    session = desk("run", moved, "ask_name", "--json").json["sessionId"]
    shutil.rmtree(moved)
    answered = desk("answer", session, "Rosa", "--json")
    assert answered.code == 3, answered
    assert answered.json["outcome"]["kind"] == "needs-attention"
    shown = desk("show", session)
    assert str(moved) in shown.out
    shutil.copytree(DESK, moved)
    done = desk("answer", session, "run-again", "--json")
    assert done.code == 0, done
    assert done.json["result"]["answer"]["value"] == "Rosa"
