"""The process is killed with -9 while a specialist's MCP server is at work: what it did may not be done again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crash.test_kill_runtime import keeper
from tests.unit.engine.workshop import Repo, bench, play

SERVER = """
import json, sys, time
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        info = {"name": "crm", "version": "1"}
        result = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": info}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "book", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        with open(sys.argv[1], "a") as booked:
            booked.write("booked\\n")
        time.sleep(600)
    else:
        result = None
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}} if result is None else {"result": result}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\\n")
    sys.stdout.flush()
"""


@pytest.mark.parametrize(
    ("handler", "is_connection"),
    [
        ({"ts": "return await ctx.callSubagent('clerk', 'book');"}, False),
        ({"py": "return await ctx.call_subagent('clerk', 'book')"}, True),
    ],
    ids=["ts, server", "py, connection"],
)
def test_a_booking_below_a_specialist_is_not_made_again(
    tmp_path: Path, handler: dict[str, str], is_connection: bool
) -> None:
    program, booked, data = tmp_path / "crm.py", tmp_path / "booked", tmp_path / "data"
    program.write_text(SERVER)
    entry: dict[str, Any] = {"command": sys.executable, "args": [str(program), str(booked)]}
    models = {"main": {"provider": "scripted", "model": "script.json"}}
    repo = Repo(tmp_path / "repo", models=models, **({} if is_connection else {"mcp": {"servers": {"crm": entry}}}))
    if is_connection:
        repo.file("connections/crm/spec.json", {"protocol": "mcp", **entry})
    repo.script({"tool_calls": [{"name": "crm__book", "args": {}}]}, {"text": "done"})
    repo.agent("clerk", **({"connections": ["crm"]} if is_connection else {"mcp": ["crm"]}))
    repo.durable("ask", agents=("clerk",), **handler)

    async def trust() -> None:
        async with bench(repo, data) as desk:
            await desk.runtime.trust(repo.root, who="ann")

    async def look() -> None:
        async with bench(repo, data) as desk:
            await desk.runtime.recover()
            (run,) = (await desk.runtime.runs(finished=False))["runs"]
            assert run["status"] == "needs-attention"
            (pause,) = (await desk.runtime.pending(who="ann"))["approvals"]
            assert pause["kind"] == "attention"

    play(trust())
    with keeper(data, repo, "start", "ask", "{}") as process:
        while not booked.exists():
            assert process.poll() is None
    play(look())
    assert booked.read_text() == "booked\n"
