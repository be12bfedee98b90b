"""The command ``chat``: the scripted conversation of the sample support desk, as a person at a terminal has it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from tests.e2e.driver import ROOT, Desk, Ended, until

SUPPORT = ROOT / "resources" / "samples" / "support-desk"
Event = dict[str, Any]


def events(ended: Ended) -> list[Event]:
    """The stream that was printed, which is sound: a beginning, an end, and every call with its result."""
    told: list[Event] = [json.loads(line) for line in ended.out.splitlines()]
    assert (told[0]["type"], told[-1]["type"]) == ("init", "done")
    begun = [one["tool_id"] for one in told if one["type"] == "tool_call_start"]
    done = [one["tool_id"] for one in told if one["type"] == "tool_call_result"]
    assert sorted(begun) == sorted(done)
    assert len(set(begun)) == len(begun)
    return told


def of_type(told: list[Event], kind: str) -> list[Event]:
    return [one for one in told if one["type"] == kind]


def text(told: list[Event]) -> str:
    return "".join(one["content"] for one in of_type(told, "text_delta"))


def test_a_composite_sends_two_specialists_side_by_side(desk: Desk) -> None:
    told = events(desk("chat", SUPPORT, "Review t-1042", "--events"))
    starts = of_type(told, "tool_call_start")
    (top,) = (one for one in starts if one["depth"] == 0)
    assert (top["tool_name"], top["running_label"]) == ("review_ticket", "Reviewing t-1042")
    sent = [one for one in starts if one["tool_name"] == "call_subagent"]
    assert {one["parameters"]["agent"] for one in sent} == {"tone-reviewer", "policy-reviewer"}
    assert {one["parent_tool_id"] for one in sent} == {top["tool_id"]}
    order = [one["tool_id"] for one in told if one["type"] in ("tool_call_start", "tool_call_result")]
    first_end = min(order.index(one["tool_id"], order.index(one["tool_id"]) + 1) for one in sent)
    assert all(order.index(one["tool_id"]) < first_end for one in sent), "one waited for the other"
    below = [one for one in starts if one.get("parent_tool_id") in {one["tool_id"] for one in sent}]
    assert [(one["tool_name"], one["depth"]) for one in below] == [("load_ticket", 2)]
    said = {one["agent_name"] for one in of_type(told, "subagent_event") if one["event_type"] == "complete"}
    assert said == {"tone-reviewer", "policy-reviewer"}
    assert text(told).endswith("Shall I send one?")
    assert told[-1]["usage"]["total_tokens"] == 2021


def test_a_durable_tool_pauses_and_is_answered_by_the_same_route(desk: Desk) -> None:
    asked = desk("chat", SUPPORT, "Yes, send it", "--events")
    assert asked.code == 3
    told = events(asked)
    (ended,) = of_type(told, "tool_call_result")
    envelope = json.loads(ended["result"])
    assert (envelope["durable"], envelope["status"]) == (True, "awaiting_operator")
    assert [option["value"] for option in envelope["options"]] == ["porto", "lisbon"]
    assert ended["durable_session_id"] == envelope["session_id"]
    (pause,) = desk("list", "--json").json["approvals"]
    assert (pause["session_id"], pause["parent_session_id"]) == (envelope["session_id"], told[0]["session_id"])
    answered = desk("answer", envelope["session_id"], "lisbon", "--json")
    assert answered.json["result"]["parcel"] == "LIS-7731"


def test_a_person_denies_a_call_while_the_turn_waits(desk: Desk) -> None:
    process = desk.start("chat", SUPPORT, "Close account C-511", "--events")
    assert process.stdout is not None
    asked: Event = {"type": ""}
    while asked["type"] != "confirmation_required":
        asked = json.loads(process.stdout.readline())
    assert (asked["params"], asked["tool_name"]) == ({"account": "C-511"}, "close_account")
    denied = desk("answer", asked["correlation_id"], "no", "--note", "He called again", "--json")
    assert denied.json["outcome"]["kind"] == "complete", denied.err
    rest = [json.loads(line) for line in process.stdout]
    process.communicate(timeout=45)
    assert [one["error"] for one in of_type(rest, "tool_call_result")] == ["Tool call denied by user: He called again"]
    assert text(rest) == "The account stays open."
    assert process.returncode == 0


def test_a_hook_blocks_and_a_trigger_goes_before_the_model(desk: Desk) -> None:
    reply = desk("chat", SUPPORT, "Reply to her", "--json").json
    assert set(reply) == {"session_id", "response", "tool_calls", "reason", "usage"}
    (blocked,) = reply["tool_calls"]
    assert (blocked["tool_name"], blocked["status"]) == ("send_reply", "error")
    assert blocked["error"] == 'The hook "promise-guard" blocked this: a reply may not promise a refund'
    assert reply["response"] == "I may not promise a refund, so nothing was sent."
    told = events(desk("chat", SUPPORT, "STATUS t-1049", "--events"))
    assert [one["tool_name"] for one in of_type(told, "tool_call_start")] == ["ticket_status", "load_ticket"]
    assert text(told) == "t-1049 of Tom Weaver is open since 2026-11-30."
    assert told[-1]["usage"]["total_tokens"] == 0


def test_files_reach_three_specialists(desk: Desk) -> None:
    pages = [desk.home / f"page-{number}.txt" for number in range(3)]
    for page in pages:
        page.write_text(f"{page.name}: paid")
    told = events(
        desk("chat", SUPPORT, "Read these", *(word for page in pages for word in ("--attach", page)), "--events")
    )
    sent = [one["parameters"] for one in of_type(told, "tool_call_start") if one["tool_name"] == "call_subagent"]
    assert [one["files"] for one in sent] == [[page.name] for page in pages]
    assert [one["input"] for one in sent] == [{"filename": page.name} for page in pages]


def test_a_conversation_on_a_pipe_goes_on_and_is_read_later(desk: Desk) -> None:
    lines = b"status t-1042\n\nYes, send it\n"
    talked = desk("chat", SUPPORT, stdin=lines)
    assert talked.code == 3, talked.err
    assert "  ✓ Looked at t-1042" in talked.out
    assert "    ✓ Loaded t-1042" in talked.out
    assert "From which warehouse does the replacement for Ines Duarte go out?" in talked.out
    assert "answer with: " in talked.out
    (session,) = desk("chat", "--list", "--json").json["sessions"]
    assert f"--session {session['id']}" in talked.err
    assert (session["title"], session["message_count"]) == ("status t-1042", 6)
    shown = desk("chat", "--show", session["id"])
    assert [line for line in shown.out.splitlines() if line.startswith(">")] == ["> status t-1042", "> Yes, send it"]
    more = desk("chat", SUPPORT, "Hello", "--session", session["id"], "--json").json
    assert more["session_id"] == session["id"]
    assert desk("chat", "--delete", session["id"]).code == 0
    assert desk("chat", "--list", "--json").json["total"] == 0


def test_what_waits_since_an_earlier_line_counts_at_the_end(desk: Desk) -> None:
    talked = desk("chat", SUPPORT, stdin=b"Yes\nHello\n")
    assert "I know of two open tickets" in talked.out.splitlines()[-1]
    assert talked.code == 3
    (waiting,) = desk("list", "--json").json["approvals"]
    assert waiting["session_id"] in talked.out


def test_a_conversation_that_is_not_there_is_named(desk: Desk) -> None:
    said = desk("chat", SUPPORT, "Hello", "--session", "chat_01m8r5e00000000000000000x1")
    assert said.code == 0
    assert "There is no conversation chat_01m8r5e00000000000000000x1" in said.err
    (session,) = desk("chat", "--list", "--json").json["sessions"]
    again = desk("chat", SUPPORT, "Hello", "--session", session["id"])
    assert "There is no" not in again.err


def test_another_process_works_with_the_folder(desk: Desk) -> None:
    process = desk.window(SUPPORT)
    try:
        refused = desk("chat", SUPPORT, "Hello", "--json")
        assert (refused.code, refused.error["code"]) == (1, "not_executing")
    finally:
        process.communicate(timeout=45)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "Missing argument"),
        (("--list", "--show", "x"), "stand alone"),
        ((SUPPORT, "x", "--context", "[1]"), "no JSON object"),
        ((SUPPORT, "x", "--attach", "/nowhere.txt"), "cannot be read"),
    ],
)
def test_wrong_usage(desk: Desk, words: tuple[object, ...], says: str) -> None:
    ended = desk("chat", *words)
    assert (ended.code, says in ended.err) == (2, True), ended.err


def test_what_does_not_work_says_why(desk: Desk) -> None:
    unknown = desk("chat", SUPPORT, "x", "--agent", "nobody")
    assert (unknown.code, 'no agent "nobody"' in unknown.err) == (1, True)
    gone = desk("chat", "--show", "chat_none")
    assert (gone.code, "no conversation chat_none" in gone.err) == (1, True)


def test_secrets_in_parameters_stay_here(desk: Desk) -> None:
    repo = desk.home / "desk"
    tool = repo / "amodal" / "tools" / "login"
    tool.mkdir(parents=True)
    (repo / "agents" / "default").mkdir(parents=True)
    (repo / "agents" / "default" / "AGENT.md").write_text("You log in.")
    (repo / "agents" / "default" / "agent.json").write_text('{"tools": ["login"]}')
    (repo / "amodal.json").write_text('{"name": "desk", "version": "1.0.0"}')
    (tool / "tool.json").write_text('{"description": "Logs in."}')
    (tool / "handler.py").write_text("async def handler(params, ctx):\n    return 'in'\n")
    call = {"name": "login", "args": {"user": "ann", "password": "s3cret"}}
    script = desk.home / "script.json"
    script.write_text(json.dumps({"replies": [{"tool_calls": [call]}, {"text": "In."}]}))
    told = desk("chat", repo, "Log in", "--events", "--model", f"scripted:{script}")
    (start,) = of_type(events(told), "tool_call_start")
    assert start["parameters"] == {"user": "ann", "password": "[REDACTED]"}
    assert "s3cret" not in told.out
    shown = desk("chat", "--show", events(told)[0]["session_id"], "--json")
    (again,) = of_type(shown.json["turns"][0]["events"], "tool_call_start")
    (made,) = shown.json["messages"][1]["toolCalls"]
    assert again["parameters"] == made["parameters"] == made["args"] == start["parameters"]
    assert "s3cret" not in shown.out


def test_a_turn_ends_when_nobody_reads_on(desk: Desk) -> None:
    process = desk.start("chat", SUPPORT, "Close account C-511", "--events")
    assert process.stdout is not None
    while json.loads(process.stdout.readline())["type"] != "confirmation_required":
        pass
    process.terminate()
    process.communicate(timeout=45)
    assert until(lambda: desk("list", "--json").json["approvals"] == [])
    (session,) = desk("chat", "--list", "--json").json["sessions"]
    (turn,) = desk("chat", "--show", session["id"], "--json").json["turns"]
    assert turn["end"]["reason"] in ("user_abort", "interrupted")


HAS_TERMINALS = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")


@HAS_TERMINALS
def test_on_a_terminal_a_question_is_answered_right_there(desk: Desk) -> None:
    with at_terminal(desk) as terminal:
        terminal.type_after("you> ", "Yes, send it")
        terminal.type_after("answer (empty: later)> ", "{not json")
        terminal.type_after("answer (empty: later)> ", "porto")
        assert "POR-7731" in terminal.type_after("you> ", "\x04")
        ended = terminal.ended()
    assert ended.code == 0, ended.err
    assert "VALUE is not JSON" in ended.err
    assert desk("list", "--json").json["approvals"] == []


@HAS_TERMINALS
def test_what_is_pasted_before_a_question_is_there_is_no_answer_to_it(desk: Desk) -> None:
    with at_terminal(desk) as terminal:
        terminal.type_after("you> ", "Yes, send it\nporto\nthat is all")
        terminal.type_after("answer (empty: later)> ", "")
        terminal.type_after("you> ", "\x04")
        ended = terminal.ended()
    assert ended.code == 3, ended.err
    assert len(desk("list", "--json").json["approvals"]) == 1


@contextmanager
def at_terminal(desk: Desk) -> Generator[Terminal]:
    """A conversation with the support desk, as a person at a terminal has it."""
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        desk.words("chat", SUPPORT),
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=desk.environment(),
        cwd=desk.home,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        with closing(Terminal(ours, process)) as terminal:
            yield terminal
    finally:
        process.kill()


class Terminal:
    """The person's side of a pseudo terminal."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes]) -> None:
        self._descriptor = descriptor
        self._process = process
        self._shown = ""

    def type_after(self, prompt: str, line: str) -> str:
        """Wait for a prompt and answer it; what was shown before it."""
        while prompt not in self._shown:
            assert select.select([self._descriptor], [], [], 45)[0], f"no {prompt!r} after: {self._shown}"
            self._shown += os.read(self._descriptor, 4096).decode()
        shown, _, self._shown = self._shown.partition(prompt)
        os.write(self._descriptor, line.encode() + (b"" if line == "\x04" else b"\n"))
        return shown

    def ended(self) -> Ended:
        _, err = self._process.communicate(timeout=45)
        return Ended(self._process.returncode, "", err.decode())

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_the_stream_of_a_turn_that_is_interrupted_ends(desk: Desk, sent: str) -> None:
    process = desk.start("chat", SUPPORT, "Close account C-511", "--events")
    assert process.stdout is not None
    asked: Event = {"type": ""}
    while asked["type"] != "confirmation_required":
        asked = json.loads(process.stdout.readline())
    process.send_signal(getattr(signal, sent))
    rest = [json.loads(line) for line in process.stdout]
    process.communicate(timeout=45)
    assert process.returncode == 130
    assert (rest[-1]["type"], rest[-1]["reason"]) == ("done", "user_abort")
    assert [one["error"] for one in of_type(rest, "tool_call_result")] == ["Stopped"]
