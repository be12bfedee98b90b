"""The process is killed with -9 in the middle of a turn: what was said is there, and the conversation can go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.driver import Desk, kill
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


@pytest.mark.parametrize("moment", ["tool_log", "confirmation_required"])
def test_a_turn_that_was_killed_can_be_read_and_gone_on_with(tmp_path: Path, moment: str) -> None:
    repo = Repo(tmp_path / "desk", models={"main": {"provider": "scripted", "model": "script.json"}})
    repo.agent("default", tools=["wait", "guarded"])
    repo.tool("wait", py="import asyncio\nctx.log('on it')\nawait asyncio.sleep(60)", timeout=100_000)
    repo.file("amodal/tools/guarded/tool.py", GUARDED)
    name = "guarded" if moment == "confirmation_required" else "wait"
    repo.script(
        {"match": "^go", "text": "A moment.", "tool_calls": [{"name": name}]},
        {"match": "^and", "text": "Where were we?"},
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
    kill(process)

    session_id = told[0]["session_id"]
    session = desk("chat", "--show", session_id, "--json").json
    assert [(one["role"], one["text"]) for one in session["messages"]] == [("user", "go"), ("assistant", "A moment.")]
    (turn,) = session["turns"]
    assert turn["end"] == {"reason": "interrupted"}
    said = desk("chat", repo.root, "and now?", "--session", session_id, "--json")
    assert said.code == 0, said.err
    assert said.json["response"] == "Where were we?"
    if moment == "confirmation_required":
        assert desk("list", "--json").json["approvals"] == []
