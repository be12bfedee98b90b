"""kill -9 through the command line: nothing is lost and nothing that was recorded happens twice."""

from __future__ import annotations

from typing import Any

from tests.e2e.driver import FIXTURES, Desk, kill, until

DESK = FIXTURES / "desk"


def run_of(desk: Desk, session: str) -> dict[str, Any]:
    return desk("show", session, "--json").json


def test_killed_between_question_and_answer(desk: Desk) -> None:
    """The window that asked is killed; the answer comes from a new process."""
    window = desk.window(DESK)
    session = desk("run", DESK, "ask_name", "--json").json["sessionId"]
    [item] = desk("list", "--json").json["approvals"]
    kill(window)
    [after] = desk("list", "--json").json["approvals"]
    assert after == item
    done = desk("answer", session, "Rosa", "--json")
    assert done.code == 0, done
    assert done.json["result"]["ticket"] == item["context"]["ticket"]
    calls = [span for span in run_of(desk, session)["spans"] if span["name"] == "draw_ticket"]
    assert [(span["state"], span["replayed"]) for span in calls] == [("ok", True)]


def test_killed_between_answer_and_end(desk: Desk) -> None:
    """The command that answered is killed while the run goes on in a call whose outcome nobody can know."""
    session = desk("run", DESK, "ask_name", "--input", '{"ms": 30000}', "--json").json["sessionId"]
    ticket = run_of(desk, session)["pauses"][0]["context"]["ticket"]
    answering = desk.start("answer", session, "Rosa")
    until(lambda: any(span["name"] == "pause_here" for span in run_of(desk, session)["spans"]))
    kill(answering)

    [attention] = desk("list", "--json").json["approvals"]
    assert (attention["session_id"], attention["kind"]) == (session, "attention")
    shown = run_of(desk, session)
    assert shown["run"]["status"] == "needs-attention"
    assert [(item["outcome"], item["value"]) for item in shown["decisions"]] == [("answered", "Rosa")]
    example = f'answer {session} \'{{"use_result":'
    for command in (("list",), ("show", session)):
        told = desk(*command).out
        assert "use_result" in told
        assert example in " ".join(told.split())
        assert "--old-code" not in told
    again = desk("answer", session, "Mina", "--json")
    assert again.code == 1

    ended = desk("answer", session, "fail", "--json")
    assert ended.code == 1
    assert ended.json["outcome"]["kind"] == "failed"
    shown = run_of(desk, session)
    [decided] = [span for span in shown["spans"] if span["name"] == "pause_here"]
    assert decided["state"] == "failed"
    drawn = [span for span in shown["spans"] if span["name"] == "draw_ticket"]
    assert [span["output"]["ticket"] for span in drawn] == [ticket]
    assert desk("list", "--json").json["total"] == 0


def test_killed_at_the_start(desk: Desk) -> None:
    """The command that started a run is killed before it asks: the next command brings it to its question."""
    starting = desk.start("run", DESK, "ask_name")
    until((desk.data / "runtime.db").exists)
    kill(starting)
    listed = desk("list", "--json")
    assert listed.code == 0, listed
    for item in listed.json["approvals"]:
        assert desk("answer", item["session_id"], "Rosa" if item["kind"] == "input" else "fail").code in {0, 1}
    assert desk("list", "--json").json["total"] == 0
