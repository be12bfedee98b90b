"""Deadlines and questions for several people, through the command line alone."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

from tests.e2e.driver import Desk, until
from tests.unit.engine.workshop import Repo


def test_a_question_expires_while_no_process_runs(desk: Desk, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", py="return await ctx.request_input(question='Where?', timeout_ms=params['ms'])")
    asked = desk("run", repo.root, "ask", "--input", '{"ms": 1500}', "--json")
    assert asked.code == 3
    session, deadline = asked.json["sessionId"], asked.json["outcome"]["expires_at"]
    until(lambda: time.time() > datetime.fromisoformat(deadline).timestamp())
    late = desk("answer", session, "here", "--json")
    assert (late.code, late.error["code"], late.error["details"]["expires_at"]) == (1, "pause_expired", deadline)
    assert desk("list").out == "Nothing is waiting.\n"
    shown = desk("show", session)
    assert shown.out.splitlines()[0] == "ask  expired"
    assert "  expired at " in shown.out
    assert ": the call fails" in shown.out
    assert "[pause-expired]" in shown.out
    later = desk("run", repo.root, "ask", "--input", '{"ms": 3600000}')
    assert "then the call fails" in later.out
    assert "in 59 min" in desk("list").out


def test_two_people_answer_one_question(desk: Desk, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("pay", ts="return (await ctx.waitForApproval({prompt: 'Pay?', quorum: 2})).approved;")
    session = desk("run", repo.root, "pay", "--json").json["sessionId"]
    first = desk("answer", session, "yes", "--as", "ann")
    assert first.code == 3
    assert "1 of 2 answers given (ann)" in first.out
    again = desk("answer", session, "yes", "--as", "ann", "--json")
    assert (again.code, again.error["code"]) == (1, "already_voted")
    assert "(1 of 2 answers) Pay?" in desk("list").out
    done = desk("answer", session, "yes", "--as", "bob", "--json")
    assert (done.code, done.json["result"]) == (0, True)
    assert 'answered "yes" by ann, bob at' in desk("show", session).out
