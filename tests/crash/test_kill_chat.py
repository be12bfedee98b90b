"""The process is killed with -9 in the middle of a turn: what was said is there, and the conversation can go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime_core.chat.calls import UNKNOWN
from runtime_core.chat.transcript import UNFINISHED
from tests.e2e.driver import Desk, kill, until
from tests.unit.engine.workshop import Repo

Event = dict[str, Any]

GUARDED = """
async def handle(ctx):
    return 1


tool = {
    "id": "guarded",
    "exposure": {"kind": "requires-confirmation"},
    "base": {"description": "Does it.", "parametersJsonSchema": {"type": "object"}},
    "handle": handle,
}
"""


@pytest.mark.parametrize("moment", ["tool_log", "confirmation_required", "tool_call_update"])
def test_a_turn_that_was_killed_can_be_read_and_gone_on_with(tmp_path: Path, moment: str) -> None:
    repo = Repo(tmp_path / "desk", models={"main": {"provider": "scripted", "model": "script.json"}})
    repo.agent("default", tools=["wait", "guarded", "ship"])
    repo.tool("wait", py="import asyncio\nctx.log('on it')\nawait asyncio.sleep(60)", timeout=100_000)
    repo.file("amodal/tools/guarded/tool.py", GUARDED)
    repo.durable("ship", py="return await ctx.wait_for_approval({'question': 'Ship it?'})")
    name = {"tool_log": "wait", "confirmation_required": "guarded", "tool_call_update": "ship"}[moment]
    repo.script(
        {"match": "^go", "text": "A moment.", "tool_calls": [{"name": name}]},
        {"match": "^and", "text": "{{last_tool_result}}"},
        {"match": "awaiting_operator|running", "text": "It waits.", "delay_ms": 60_000},
    )
    desk = Desk(tmp_path)
    process = desk.start("chat", repo.root, "go", "--events")
    assert process.stdout is not None
    told: list[Event] = []
    for line in process.stdout:
        told.append(json.loads(line))
        if told[-1]["type"] == moment:
            break
    assert told[-1]["type"] == moment
    if moment == "tool_call_update":  # told before the run is there
        until(lambda: bool(desk("list", "--json").json["approvals"]))
    kill(process)

    session_id = told[0]["session_id"]
    session = desk("chat", "--show", session_id, "--json").json
    assert [(one["role"], one["text"]) for one in session["messages"]] == [("user", "go"), ("assistant", "A moment.")]
    (turn,) = session["turns"]
    assert turn["end"] == {"reason": "interrupted"}
    begun = next(one for one in turn["events"] if one["type"] == "tool_call_start")
    assert begun["tool_name"] == name
    (known,) = [one for one in turn["events"] if one["type"] in ("tool_call_result", "tool_call_update")]
    said = desk("chat", repo.root, "and now?", "--session", session_id, "--json")
    assert said.code == 0, said.err
    if moment == "tool_log":
        assert (known["state"], known["error"]) == ("unknown", UNKNOWN)
        assert said.json["response"] == UNFINISHED
    elif moment == "confirmation_required":
        assert desk("list", "--json").json["approvals"] == []
        assert json.loads(said.json["response"])["status"] == "cancelled"
        (_, known) = [one for one in _events(desk, session_id) if one["type"].startswith("tool_call")]
        assert (known["state"], known["error"]) == ("cancelled", "Stopped")
        run = desk("show", known["durable_session_id"], "--json").json
        assert run["decisions"][0]["answered_by"] == "runtime"
    else:
        (run_id,) = [one["session_id"] for one in desk("list", "--json").json["approvals"]]
        assert (known["durable_session_id"], json.loads(said.json["response"])["session_id"]) == (run_id, run_id)
        assert desk("answer", run_id, "yes").code == 0
        (_, known) = [one for one in _events(desk, session_id) if one["type"].startswith("tool_call")]
        assert (known["type"], known["state"], known["durable_session_id"]) == ("tool_call_result", "ok", run_id)


def _events(desk: Desk, session_id: str) -> list[Event]:
    return desk("chat", "--show", session_id, "--json").json["turns"][0]["events"]
