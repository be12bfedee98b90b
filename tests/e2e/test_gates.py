"""A person decides about the calls of models through the command line, also after kill -9 (decision 20)."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.driver import Desk, Ended, kill, until
from tests.unit.engine.workshop import Repo

ARGUMENTS = {"order": "A-7", "amount": 12.5}


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop", models={"main": {"provider": "scripted", "model": "script.json"}})
    repo.file(
        "amodal/tools/pay/tool.ts",
        "export default { id: 'pay', exposure: { kind: 'requires-confirmation', prompt: 'Pay it back?' },\n"
        "  base: { name: 'pay', description: 'Pays back.' },\n"
        "  async handle(ctx) {\n    ctx.log(`paid ${ctx.input.order}`);\n"
        "    if (ctx.input.ms) await new Promise((done) => setTimeout(done, ctx.input.ms));\n"
        "    return { paid: ctx.input.order };\n  } };\n",
    )
    repo.agent("desk", tools=["pay"])
    repo.durable("review", agents=("desk",), ts="return { said: await ctx.callSubagent('desk', 'refund it') };")
    _script(repo, ARGUMENTS)
    return repo


def _script(repo: Repo, arguments: dict[str, Any]) -> None:
    repo.script(
        {"agent": "desk", "match": "refund it", "tool_calls": [{"name": "pay", "args": arguments}]},
        {"agent": "desk", "text": "Heard: {{last_tool_result}}"},
    )


def _asked(desk: Desk) -> dict[str, Any]:
    def found() -> Any:
        listed = desk("list", "--json")
        return listed.json["approvals"] if listed.code == 0 else []

    (asked,) = until(found)
    return asked


def _run(desk: Desk, session: str) -> dict[str, Any]:
    return desk("show", session, "--json").json["run"]


def _run_as_it_is(desk: Desk, session: str) -> str:
    """The status in the file, which no other process has looked at."""
    db = sqlite3.connect(desk.data / "runtime.db")
    with closing(db):
        return db.execute("SELECT status FROM durable_run WHERE id = ?", (session,)).fetchone()[0]


def _ended(desk: Desk, session: str) -> dict[str, Any]:
    """The run once it has ended; listing lets what a dead process left go on."""
    return until(lambda: desk("list").code == 0 and (run := _run(desk, session))["finished_at"] and run)


def _paid(desk: Desk) -> int:
    log = desk.data / "logs" / "handlers.log"
    return log.read_text().count("paid A-7") if log.exists() else 0


def test_a_call_is_listed_shown_and_allowed(desk: Desk, shop: Repo) -> None:
    running = desk.start("run", shop.root, "review", "--json")
    gate = _asked(desk)["session_id"]
    listed, shown = desk("list").out, desk("show", gate).out
    assert 'The agent "desk" wants to call pay: Pay it back?' in " ".join(listed.split())
    for words in ('The agent "desk" wants to call pay', "Pay it back?", "asked by review > desk", '"order": "A-7"'):
        assert words in shown
    previewed = desk("preview", gate, "yes").out
    assert "tool pay" in previewed
    assert _paid(desk) == 0
    answered = desk("answer", gate, "yes", "--json")
    assert (answered.code, answered.json["result"]) == (0, {"paid": "A-7"})
    out, err = running.communicate(timeout=30)
    done = Ended(running.returncode, out.decode(), err.decode())
    assert (done.code, done.json["result"]) == (0, {"said": 'Heard: {"paid":"A-7"}'})
    assert _paid(desk) == 1


def test_killed_while_a_person_is_asked(desk: Desk, shop: Repo) -> None:
    """The process that runs the model is killed: its question stays, and the answer reaches the model."""
    running = desk.start("run", shop.root, "review")
    asked = _asked(desk)
    kill(running)
    assert _asked(desk)["session_id"] == asked["session_id"]
    answered = desk("answer", asked["session_id"], "yes", "--json")
    assert (answered.code, answered.json["result"]) == (0, {"paid": "A-7"})
    assert _ended(desk, asked["parent_session_id"])["result"] == {"said": 'Heard: {"paid":"A-7"}'}
    assert _paid(desk) == 1
    assert len(desk("list", "--runs", "--json").json["runs"]) == 2


def test_killed_while_the_allowed_call_is_made(desk: Desk, shop: Repo) -> None:
    """Nobody knows whether the call was made, so it is not made again: a person decides, and the model is told."""
    _script(shop, {**ARGUMENTS, "ms": 30_000})
    running = desk.start("run", shop.root, "review")
    asked = _asked(desk)
    gate = asked["session_id"]
    answering = desk.start("answer", gate, "yes")
    until(lambda: _paid(desk) == 1)
    kill(answering)
    kill(running)
    said = _ended(desk, asked["parent_session_id"])["result"]["said"]
    assert f"it is needs-attention as run {gate}" in said
    attention = _asked(desk)
    assert (attention["session_id"], attention["kind"]) == (gate, "attention")
    assert desk("answer", gate, "fail").code == 1
    assert _run(desk, gate)["status"] == "failed"
    assert _paid(desk) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_question_goes_with_the_process_that_asks_it_in_no_run(desk: Desk, shop: Repo, number: int) -> None:
    """Nobody could hear the answer: the tool is not durable, so nothing goes on."""
    shop.tool("ask", agents=("desk",), ts="return { said: await ctx.callSubagent('desk', 'refund it') };")
    running = desk.start("run", shop.root, "ask")
    gate = _asked(desk)["session_id"]
    if number == signal.SIGKILL:
        kill(running)
    else:
        running.send_signal(number)
        running.communicate(timeout=30)
        assert running.returncode == 130
        assert _run_as_it_is(desk, gate) == "cancelled"
    answered = desk("answer", gate, "yes", "--json")
    assert answered.code == 1
    assert '"run_cancelled"' in answered.err
    assert desk("list", "--json").json["total"] == 0
    assert _paid(desk) == 0


def test_a_run_that_is_cancelled_while_nobody_executes_takes_its_question_with_it(desk: Desk, shop: Repo) -> None:
    running = desk.start("run", shop.root, "review")
    asked = _asked(desk)
    kill(running)
    assert desk("cancel", asked["parent_session_id"]).code == 0
    assert desk("list", "--json").json["total"] == 0
    assert _run(desk, asked["session_id"])["status"] == "cancelled"
    assert desk("answer", asked["session_id"], "yes").code == 1
    assert _paid(desk) == 0
