"""Automations from the command line: made, switched, started by the clock and by hand."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.driver import LIMIT_S, Desk
from tests.unit.engine.workshop import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = Repo(tmp_path / "repo")
    made.agent("default")
    made.durable("count", ts="return { counted: params.n };")
    made.durable("ask", ts='return await ctx.requestInput({ question: "Which dock?" });')
    made.script({"text": "Two are late."})
    made.file("automations/weekly.md", "# Automation: Weekly\n\nSchedule: @weekly\n\n## Check\n\nCount them.\n")
    return made.root


def added(desk: Desk, *arguments: object) -> dict[str, Any]:
    done = desk("automations", "add", *arguments, "--json")
    assert done.code == 0, done.err
    return done.json["automation"]


def test_what_a_file_states_is_listed_and_switched(desk: Desk, repo: Path) -> None:
    (listed,) = desk("automations", "list", repo, "--json").json["automations"]
    assert (listed["label"], listed["enabled"], listed["next_at"]) == ("Weekly", False, None)
    assert listed["in_words"] == "At 00:00 on Sunday"
    on = desk("automations", "enable", listed["id"], "--as", "ann", "--json").json["automation"]
    assert (on["enabled"], on["created_by"]) == (True, "ann")
    assert on["next_at"] is not None
    refused = desk("automations", "remove", listed["id"])
    assert (refused.code, "is stated by a file" in refused.err) == (1, True)


def test_started_by_hand_a_tool_ends_or_waits_and_its_history_says_so(desk: Desk, repo: Path) -> None:
    made = added(desk, repo, "--tool", "count", "--input", json.dumps({"n": 3}), "--every", "1h", "--label", "Hourly")
    done = desk("automations", "run", made["id"], "--json")
    assert (done.code, done.json["state"]) == (0, "completed")
    (first,) = desk("automations", "history", made["id"], "--json").json["history"]
    assert (first["source"], first["state"], first["session_id"]) == ("manual", "completed", done.json["session_id"])
    asks = added(desk, repo, "--tool", "ask", "--cron", "@daily")
    waits = desk("automations", "run", asks["id"])
    assert (waits.code, waits.out.split(":")[1].split()[0]) == (3, "awaiting-input")
    again = desk("automations", "run", asks["id"])
    assert (again.code, "The last start has not ended." in again.err) == (1, True)
    shown = desk("automations", "list").out.splitlines()[1:]
    assert {line.split()[0] for line in shown if line.split()[1] == "on"} == {made["id"], asks["id"]}


def test_an_agent_answers_and_its_conversation_is_named(desk: Desk, repo: Path) -> None:
    made = added(desk, repo, "--prompt", "Which are late?", "--every", "15m")
    done = desk("automations", "run", made["id"], "--model", f"scripted:{repo / 'script.json'}", "--json")
    assert (done.code, done.json["state"]) == (0, "completed"), done.err
    assert done.json["session_id"].startswith("chat_")


def test_what_is_due_is_started_while_somebody_watches(desk: Desk, repo: Path) -> None:
    made = added(desk, repo, "--tool", "count", "--cron", "@daily", "--label", "Daily")
    with closing(sqlite3.connect(desk.data / "runtime.db")) as db, db:
        db.execute("UPDATE automation SET next_at = ?", (time.time() - 1,))
    watching = desk.start("automations", "watch")
    assert watching.stdout is not None
    try:
        lines = iter(watching.stdout.readline, b"")
        assert next(line for line in lines if b"completed" in line).startswith(b"Daily: completed (dur_")
    finally:
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=30)
    found = desk("automations", "history", made["id"], "--json").json["history"]
    assert [(one["source"], one["state"], one["late"]) for one in found] == [("schedule", "completed", False)]


def test_an_input_that_does_not_fit_is_taken_with_a_warning(desk: Desk, repo: Path) -> None:
    tool = repo / "amodal/tools/count/tool.json"
    stated = json.loads(tool.read_text())
    tool.write_text(json.dumps({**stated, "parameters": {"type": "object", "required": ["n"]}}))
    made = desk("automations", "add", repo, "--tool", "count", "--every", "1h")
    assert made.code == 0
    assert "The input does not fit: " in made.err
    assert "'n' is a required property" in made.err or '"n"' in made.err
    fine = desk("automations", "add", repo, "--tool", "count", "--every", "1h", "--input", '{"n": 1}')
    assert (fine.code, fine.err) == (0, "")


def test_a_list_of_nothing_says_how_those_of_a_repository_are_listed(desk: Desk) -> None:
    assert "operator-inbox automations list PATH" in desk("automations", "list").out


def test_a_watcher_says_that_a_start_waits(desk: Desk, repo: Path) -> None:
    added(desk, repo, "--tool", "ask", "--cron", "@daily", "--label", "Daily")
    with closing(sqlite3.connect(desk.data / "runtime.db")) as db, db:
        db.execute("UPDATE automation SET next_at = ?", (time.time() - 1,))
    watching = desk.start("automations", "watch")
    assert watching.stdout is not None
    try:
        lines = iter(watching.stdout.readline, b"")
        assert next(line for line in lines if b"awaiting-input" in line).startswith(b"Daily: awaiting-input (dur_")
    finally:
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=30)


@pytest.mark.skipif(os.name == "nt", reason="signals are of other systems")
def test_a_watcher_that_a_script_started_in_the_background_can_be_ended(desk: Desk) -> None:
    background = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")  # as a shell does it for a job
    watching = desk.spawn([*background, *desk.words("automations", "watch")])
    assert watching.stdout is not None
    assert watching.stdout.readline().startswith(b"Starting what is due.")
    watching.send_signal(signal.SIGINT)
    watching.send_signal(signal.SIGTERM)
    assert watching.wait(LIMIT_S) == 130
    watching.communicate()
