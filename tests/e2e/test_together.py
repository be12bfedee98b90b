"""Several processes on one data folder: a window that executes, and commands beside it."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.driver import FIXTURES, LIMIT_S, Desk, Ended, kill, leave, program, until

DESK = FIXTURES / "desk"
NO_SIZE_HINTS = b"This plugin does not support propagateSizeHints()\n"
"""What Qt says without a display when a window's smallest size changes."""


def test_commands_beside_a_window(desk: Desk) -> None:
    window = desk.window(DESK)
    started = desk("run", DESK, "ask_twice", "--json")
    assert started.code == 3, started
    session = started.json["sessionId"]
    assert [item["session_id"] for item in desk("list", "--json").json["approvals"]] == [session]
    again = desk("answer", session, "yes", "--json")
    assert again.code == 3, again
    assert again.json["outcome"]["question"] == "Second?"
    assert desk("answer", session, "done", "--json").json["outcome"]["kind"] == "complete"

    other = desk("run", FIXTURES / "seeds", "release_to_environment", "--json")
    assert other.code == 3, other
    assert desk("cancel", other.json["sessionId"]).code == 0
    inline = desk("run", DESK, "echo", "--input", '{"a": 1}', "--json")
    assert (inline.code, inline.json["result"]) == (0, {"a": 1})
    failed = desk("run", DESK, "misbehave", "--input", '{"how": "throw"}', "--json")
    assert (failed.code, failed.json["outcome"]["kind"]) == (1, "failed")
    assert leave(window) == 0
    assert desk("show", session, "--json").json["run"]["status"] == "completed"


def test_a_run_is_cancelled_without_being_taken_up_again(desk: Desk, tmp_path: Path) -> None:
    """One that brings its executor down each time must not get another chance to."""
    tool = tmp_path / "repository" / "amodal" / "tools" / "waits"
    tool.mkdir(parents=True)
    (tmp_path / "repository" / "amodal.json").write_text('{"name": "waits", "version": "1"}')
    definition = {"description": "It waits.", "execution": "durable", "triggers": [{"kind": "invoke"}]}
    (tool / "tool.json").write_text(json.dumps(definition))
    (tool / "handler.py").write_text(
        "import asyncio\nasync def handler(p, ctx):\n    ctx.log('begun')\n    await ctx.step('s', asyncio.Future)\n"
    )
    log = desk.data / "logs" / "handlers.log"

    def begun() -> int:
        return log.read_text().count("begun") if log.exists() else 0

    process = desk.start("run", tmp_path / "repository", "waits", "--json")
    until(begun)
    with contextlib.closing(sqlite3.connect(desk.data / "runtime.db")) as database:
        ((session,),) = database.execute("SELECT id FROM durable_run").fetchall()
    kill(process)
    assert desk("cancel", session, "--json").json["outcome"]["kind"] == "cancelled"
    assert desk("list", "--json").json["total"] == 0
    assert begun() == 1


def test_a_window_that_is_closed_or_killed_leaves_its_questions(desk: Desk) -> None:
    first = desk.window(DESK)
    session = desk("run", DESK, "ask_twice", "--json").json["sessionId"]
    assert leave(first) == 0
    assert desk("answer", session, "yes").code == 3
    second = desk.window(DESK)
    kill(second)
    assert desk("answer", session, "done").code == 0


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_the_real_window_shares_its_folder_and_leaves_in_order(desk: Desk) -> None:
    window = desk.spawn([*program(), "--data", str(desk.data), "--agent", str(DESK)], QT_QPA_PLATFORM="offscreen")
    until((desk.data / "runtime.db").exists)
    session = asked(desk).json["sessionId"]
    window.terminate()
    _, err = window.communicate(timeout=LIMIT_S)
    assert (window.returncode, err.replace(NO_SIZE_HINTS, b"")) == (0, b"")
    assert desk("show", session, "--json").json["run"]["status"] == "awaiting-input"
    assert desk("answer", session, "Rosa").code == 0


def asked(desk: Desk) -> Ended:
    return desk("run", DESK, "ask_name", "--json")


def named(desk: Desk, session: str, name: str) -> Ended:
    return desk("answer", session, name, "--json")


def test_many_commands_at_once(desk: Desk) -> None:
    """Without a window one of them executes and the others wait for it, or take over when it ends."""
    with ThreadPoolExecutor(4) as pool:
        started = list(pool.map(asked, [desk] * 4))
        assert [ended.code for ended in started] == [3] * 4, started
        sessions = [ended.json["sessionId"] for ended in started]
        assert len(set(sessions)) == 4
        answered = list(pool.map(named, [desk] * 4, sessions, ["Rosa"] * 4))
    assert [ended.code for ended in answered] == [0] * 4, answered
    tickets = {ended.json["result"]["ticket"] for ended in answered}
    assert len(tickets) == 4


def test_one_of_two_answers_wins(desk: Desk) -> None:
    session = asked(desk).json["sessionId"]
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(named, [desk] * 2, [session] * 2, ["Rosa", "Mina"])
    assert sorted([one.code, two.code]) == [0, 1], (one, two)
    lost = one if one.code == 1 else two
    won = two if one.code == 1 else one
    assert lost.error["code"] in {"not_awaiting_input", "pause_superseded"}
    assert lost.error["details"]["answered_by"].startswith("local:")
    value = won.json["result"]["answer"]["value"]
    shown = desk("show", session, "--json").json
    assert [decision["value"] for decision in shown["decisions"]] == [value]
    assert json.dumps(lost.error).count("dur_") >= 1
