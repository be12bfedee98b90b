"""The demo without a display: a picture, the waiting questions, and lines that answer them as they stand."""

from __future__ import annotations

import shlex
import subprocess

from tests.e2e.driver import Desk, program


def test_demo_without_a_display(desk: Desk) -> None:
    folder = desk.home / "here"
    folder.mkdir()
    shown = desk("demo", cwd=folder)
    assert shown.code == 0, shown
    picture = (folder / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000
    first, *rest = shown.out.splitlines()
    assert "no display" in first
    assert str(folder / "demo.png") in first
    assert "3 waiting" in rest
    commands = [line.strip() for line in rest if " answer dur_" in line and line.startswith("  ")]
    assert len(commands) == 3
    sessions = {item["session_id"] for item in desk("list", "--json").json["approvals"]}
    assert all(any(session in command for session in sessions) for command in commands)

    again = desk("demo", "--json", cwd=folder)
    assert again.code == 0, again
    assert {item["session_id"] for item in again.json["approvals"]} == sessions
    assert again.json["picture"] == str(folder / "demo.png")

    for command in commands:
        done = subprocess.run(
            shlex.split(command), cwd=desk.home, env=desk.environment(), capture_output=True, timeout=45, check=False
        )
        assert done.returncode in {0, 3}, (command, done)
    left = {item["session_id"] for item in desk("list", "--json").json["approvals"]}
    assert left < sessions
    fresh = desk("demo", "--fresh", "--json", cwd=folder).json
    assert fresh["total"] == len(left) + 3


def test_a_folder_that_cannot_take_the_picture(desk: Desk) -> None:
    (desk.home / "demo.png").mkdir()
    refused = desk("demo")
    assert refused.code == 1
    assert "demo.png" in refused.err
    assert refused.err.count("\n") == 1


def test_the_window_without_a_display(desk: Desk) -> None:
    process = desk.spawn([*program(), "--data", str(desk.data)])
    out, err = process.communicate(timeout=45)
    assert process.returncode == 1
    assert out == b""
    assert b"no display" in err
    assert err.count(b"\n") == 1
