"""The way of a run through the commands: start, list, show, answer, cancel, and the reply shapes of the contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from runtime_core.wire.json import dumps
from tests.e2e.driver import FIXTURES, Desk

DESK = FIXTURES / "desk"
SEEDS = FIXTURES / "seeds"

PAUSE_KEYS = {
    "session_id",
    "sessionId",
    "pause_id",
    "kind",
    "pause_kind",
    "tool_name",
    "status",
    "question",
    "input_type",
    "inputType",
    "options",
    "context",
    "allow_edits",
    "allowEdits",
    "path",
    "fingerprint",
    "requested_by",
    "created_at",
    "expires_at",
    "on_expire",
}


def parked(desk: Desk, tool: str, given: object = None, *more: str, repository: Path = DESK) -> dict[str, Any]:
    """Start a durable tool that asks; the reply."""
    started = desk("run", repository, tool, "--input", json.dumps(given or {}), "--json", *more)
    assert started.code == 3, started
    return started.json


def test_the_release_of_the_seeds_from_start_to_end(desk: Desk) -> None:
    reply = parked(desk, "release_to_environment", repository=SEEDS)
    session = reply["sessionId"]
    assert session == reply["session_id"]
    assert session.startswith("dur_")
    assert reply["result"] is None
    pause = reply["outcome"]
    assert pause.keys() >= PAUSE_KEYS
    assert (pause["kind"], pause["pause_kind"]) == ("awaiting-input", "input")
    assert pause["options"][1] == {"value": "production", "label": "Production", "sub": "Makes the release live"}

    listed = desk("list", "--json").json
    assert (listed["total"], listed["next_cursor"]) == (1, None)
    [item] = listed["approvals"]
    assert item.keys() >= {*PAUSE_KEYS, "eligible", "reason"}
    assert (item["kind"], item["status"], item["eligible"]) == ("input", "awaiting-input", True)
    assert item["pause_id"] == pause["pause_id"]
    assert item["path"] == ["release_to_environment"]

    shown = desk("list")
    assert shown.code == 0
    for words in (session, "release_to_environment", "staging | production", "Where should this release run?"):
        assert words in shown.out

    answered = desk("answer", session, "staging", "--json", "--note", "Tuesday window")
    assert answered.code == 0, answered.err
    assert answered.json["outcome"]["kind"] == "complete"
    assert answered.json["sessionId"] == session
    result = {"target": "staging", "result": {"released": True, "environment": "staging"}}
    assert answered.json["result"] == result

    run = desk("show", session, "--json").json
    assert run["run"]["status"] == "completed"
    assert run["run"]["result"] == result
    assert run["pauses"] == []
    [decision] = run["decisions"]
    assert (decision["outcome"], decision["value"], decision["note"]) == ("answered", "staging", "Tuesday window")
    assert decision["answered_by"] == item["requested_by"]
    root, question, release = sorted(run["spans"], key=lambda span: span["id"])
    assert (root["parent_id"], root["name"], root["state"]) == (None, "release_to_environment", "ok")
    assert (question["kind"], question["parent_id"]) == ("input", "")
    assert (release["name"], release["output"]) == ("run_release", result["result"])
    assert all("replayed" in span for span in run["spans"])
    assert desk("list").out == "Nothing is waiting.\n"


def test_a_run_for_people(desk: Desk, tmp_path: Path) -> None:
    started = desk("run", SEEDS, "release_to_environment")
    assert started.code == 3
    kind, session = started.out.splitlines()[0].split()
    assert kind == "awaiting-input"
    assert "production: Production, Makes the release live" in started.out
    assert "staging: Staging (recommended)" in started.out
    assert f"answer {session} VALUE" in started.out

    waiting = desk("show", session)
    assert waiting.code == 0
    for words in ("release_to_environment  awaiting-input", "waiting (1)", "--tree shows them"):
        assert words in waiting.out

    done = desk("answer", session, "production", "--note", "agreed")
    assert done.code == 0
    assert done.out.startswith(f"complete  {session}\n")
    assert '"environment": "production"' in done.out

    shown = desk("show", session, "--tree")
    assert 'answered "production" by local:' in shown.out
    assert "note: agreed" in shown.out
    tree = shown.out[shown.out.index("CALL") :].splitlines()
    assert tree[0].split() == ["CALL", "KIND", "STATE", "TOOK"]
    assert tree[1].startswith("release_to_environment")
    assert [line.split()[1] for line in tree[2:4]][1] == "run_release"
    assert "└─ run_release" in tree[-1]

    target = tmp_path / "run.json"
    assert desk("show", session, "--export", "json", target).code == 0
    assert json.loads(target.read_text())["run"]["session_id"] == session
    refused = desk("show", session, "--export", "json", tmp_path / "none" / "run.json")
    assert refused.code == 1
    assert "none/run.json" in refused.err


def test_the_review_of_the_seeds_runs_inline_with_its_subagents(desk: Desk) -> None:
    done = desk("run", SEEDS, "review_request", "--input", '{"request_id": "r_9"}', "--json")
    assert done.code == 0, done
    assert done.json["sessionId"] is None
    assert done.json["outcome"] == {"kind": "complete"}
    findings = {"completeness": "All fields are filled in.", "policy": "Within policy 7."}
    assert done.json["result"] == {"request_id": "r_9", "findings": findings}

    replies = desk.home / "other.json"
    replies.write_text('{"replies": [{"text": "From the command line.", "repeat": true}]}')
    other = desk(
        "run", SEEDS, "review_request", "--input", '{"request_id": "r_9"}', "--json", "--model", f"scripted:{replies}"
    )
    assert other.json["result"]["findings"]["policy"] == "From the command line."


def test_values_arrive_with_their_type_and_digits(desk: Desk) -> None:
    session = parked(desk, "ask_on")["sessionId"]
    text = "x" * 200_000
    (desk.home / "long.txt").write_text(text + "\n")
    given = [
        (["12345678901234567890"], "12345678901234567890"),
        (["two words 🌍"], '"two words \\ud83c\\udf0d"'),
        (['{"n": [1, "1", 1.50]}'], '{"n":[1,"1",1.50]}'),
        (["-1.5e3"], "-1.5e3"),
        (["@long.txt"], f'"{text}"'),
        (["-"], '"from a pipe"'),
    ]
    for arguments, _ in given:
        taken = desk("answer", session, *arguments, stdin=b"from a pipe\n")
        assert taken.code == 3, (arguments, taken)
    shown = desk("show", session, "--json")
    decisions = [dumps(decision["value"]) for decision in shown.json["decisions"]]
    assert decisions == [posted for _, posted in given]


def test_a_run_that_asks_again(desk: Desk) -> None:
    session = parked(desk, "ask_twice")["sessionId"]
    again = desk("answer", session, "no", "--json", "--note", "wrong region 🌍")
    assert again.code == 3
    pause = again.json["outcome"]
    assert (pause["kind"], pause["question"]) == ("awaiting-input", "Second?")
    assert pause["context"] == {"amount": 1.5, "big": "12345678901234567890"}

    stale = desk("answer", session, "x", "--pause", f"{session}.0", "--json")
    assert stale.code == 1
    assert stale.error["code"] == "pause_superseded"

    done = desk("answer", session, "fine", "--edits", '{"amount": 1.75}', "--pause", pause["pause_id"], "--json")
    assert done.code == 0
    result = done.json["result"]
    assert result["first"]["value"] == "no"
    assert result["first"]["note"] == "wrong region 🌍"
    assert result["second"]["edits"] == {"amount": 1.75}
    shown = desk("show", session)
    assert 'refused "no"' in shown.out, shown
    assert 'edits: { "amount": 1.75 }' in shown.out


def test_edits_where_none_are_allowed(desk: Desk) -> None:
    session = parked(desk, "ask_name")["sessionId"]
    refused = desk("answer", session, "Rosa", "--edits", "{}", "--json")
    assert refused.code == 1
    assert refused.error["code"] == "edits_not_allowed"
    assert desk("list", "--json").json["total"] == 1


def test_who_may_answer(desk: Desk) -> None:
    session = parked(desk, "ask_both")["sessionId"]
    left, right = sorted(desk("list", "--json").json["approvals"], key=lambda item: item["question"])
    assert (left["question"], left["eligible"]) == ("Left?", True)
    assert (right["question"], right["eligible"]) == ("Right?", False)
    assert right["reason"]
    table = desk("list").out
    assert left["pause_id"] in table
    assert "not yours to answer" in table

    refused = desk("answer", session, "x", "--pause", right["pause_id"], "--json")
    assert refused.code == 1
    assert refused.error["code"] == "answerer_not_allowed"

    waits = desk("answer", session, "l", "--json")
    assert waits.code == 3, waits
    assert waits.json["outcome"]["question"] == "Right?"
    done = desk("answer", session, "r", "--as", "u_rosa", "--json")
    assert done.code == 0, done
    assert done.json["result"] == {"left": "l", "right": "r"}
    by = {item["question"]: item["answered_by"] for item in desk("show", session, "--json").json["decisions"]}
    assert by["Right?"] == "u_rosa"
    assert by["Left?"].startswith("local:")


def test_cancel(desk: Desk) -> None:
    session = parked(desk, "ask_name")["sessionId"]
    cancelled = desk("cancel", session, "--json")
    assert cancelled.code == 0
    assert cancelled.json["outcome"]["kind"] == "cancelled"
    assert desk("list", "--json").json["total"] == 0
    again = desk("cancel", session, "--json")
    assert again.code == 1
    late = desk("answer", session, "Rosa", "--json")
    assert late.code == 1
    assert late.error["code"] == "run_cancelled"
    assert late.error["details"]["status"] == "cancelled"
    assert desk("show", session, "--json").json["run"]["status"] == "cancelled"


def test_a_sleeping_run_is_parked(desk: Desk) -> None:
    slept = desk("run", DESK, "sleep_long", "--json")
    assert slept.code == 3
    assert slept.json["outcome"]["kind"] == "sleeping"
    assert "wakes     2099-01-01" in desk("show", slept.json["sessionId"]).out or "2098-12-31" in slept.out
    refused = desk("answer", slept.json["sessionId"], "x", "--json")
    assert refused.code == 1
    assert refused.error["code"] == "not_awaiting_input"


def test_the_invoke_lane(desk: Desk) -> None:
    for tool, code in (("nothing", "tool_not_found"), ("ask_twice", "tool_not_invocable")):
        refused = desk("run", DESK, tool, "--lane", "invoke", "--json")
        assert refused.code == 1
        assert refused.error["code"] == code
        assert tool in refused.error["message"]
    assert parked(desk, "ask_name", None, "--lane", "invoke")["outcome"]["kind"] == "awaiting-input"


def test_input_from_a_file_and_from_the_standard_input(desk: Desk) -> None:
    given = desk.home / "input.json"
    given.write_bytes(b'\xef\xbb\xbf{"n": 12345678901234567890, "x": 1.50}')
    done = desk("run", DESK, "py_echo", "--input", "@input.json")
    assert done.code == 0, done
    assert "12345678901234567890" in done.out
    piped = desk("run", DESK, "echo", "--input", "-", "--json", stdin=b'{"a": "b"}')
    assert piped.json["result"] == {"a": "b"}


def test_pages_of_the_list(desk: Desk) -> None:
    sessions = [parked(desk, "ask_name")["sessionId"] for _ in range(3)]
    first = desk("list", "--json", "--limit", "2").json
    assert (first["total"], len(first["approvals"])) == (3, 2)
    second = desk("list", "--json", "--limit", "2", "--cursor", first["next_cursor"]).json
    assert second["next_cursor"] is None
    assert [item["session_id"] for item in first["approvals"] + second["approvals"]] == sessions
    assert "2 of 3" in desk("list", "--limit", "2").out

    assert desk("cancel", sessions[2]).code == 0
    first = desk("list", "--runs", "--json", "--limit", "2").json
    assert (first["total"], [run["session_id"] for run in first["runs"]]) == (3, sessions[:0:-1])
    assert [run["status"] for run in first["runs"]] == ["cancelled", "awaiting-input"]
    second = desk("list", "--runs", "--json", "--limit", "2", "--cursor", first["next_cursor"]).json
    assert ([run["session_id"] for run in second["runs"]], second["next_cursor"]) == (sessions[:1], None)
    shown = desk("list", "--runs", "--limit", "2").out.splitlines()
    assert shown[0].split() == ["SESSION", "TOOL", "STATUS", "STARTED", "ENDED"]
    assert shown[1].split()[:3] == [sessions[2], "ask_name", "cancelled"]
    assert len(shown[1].split()) == len(shown[2].split()) + 2
    assert shown[3].startswith("2 of 3")


def test_hidden_characters_are_shown_as_codes(desk: Desk) -> None:
    session = parked(desk, "disguise")["sessionId"]
    for arguments in (("list",), ("show", session, "--tree")):
        out = desk(*arguments).out
        assert not {"\x1b", "\x07", "\u202e", "\u200b"} & set(out)
        assert "rm -rf <U+202E>cod.x<U+001B>[31m red and a line" in out
    assert "a\\u200bb" in desk("list", "--json").out


def test_every_question_of_a_run_is_printed_with_its_own_answer_line(desk: Desk) -> None:
    asked = desk("run", DESK, "ask_both")
    session = asked.out.split()[1]
    pauses = [item["pause_id"] for item in desk("list", "--json").json["approvals"]]
    assert len(pauses) == 2
    for pause in pauses:
        assert f"answer {session} VALUE --pause {pause}" in asked.out
    left = desk("answer", session, "yes", "--pause", pauses[0])
    assert f"answer {session} VALUE --data" in left.out
