"""The process is killed with -9 while a run writes a store: each write is made once, and as the journal says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.crash.test_kill_runtime import keeper, lines
from tests.unit.engine.test_stores import PARCELS, TOOLS
from tests.unit.engine.workshop import Repo, bench, play

WRITES = 30
KILLS = (3, 22)

COUNTING = {
    "ts": f"""
const seen = [];
for (let n = 0; n < {WRITES}; n += 1) {{
  const value = {{parcel_id: 'p1', carrier: 'air', weight: n}};
  seen.push((await ctx.callTool('store__parcels__set', {{key: 'p1', value}})).version);
}}
return seen;
""",
    "py": f"""
seen = []
for n in range({WRITES}):
    value = {{"parcel_id": "p1", "carrier": "air", "weight": n}}
    seen.append((await ctx.call_tool("store__parcels__set", {{"key": "p1", "value": value}}))["version"])
return seen
""",
}


@pytest.mark.parametrize("language", COUNTING)
def test_a_run_killed_again_and_again_writes_each_document_once(tmp_path: Path, language: str) -> None:
    repo, data = Repo(tmp_path / "repo"), tmp_path / "data"
    repo.file("amodal/stores/parcels.json", PARCELS)
    source: dict[str, Any] = {language: COUNTING[language]}
    repo.durable("count", tools=TOOLS, **source)
    for number, call in enumerate(KILLS):
        command = ("recover",) if number else ("start", "count", "{}")
        with keeper(data, repo, *command) as process:
            assert any(line.get("id") == str(call) for line in lines(process)), "the process ended by itself"

    async def rest() -> None:
        async with bench(repo, data) as desk:
            await desk.runtime.recover()
            (run,) = (await desk.runtime.runs(finished=True))["runs"]
            detail = await desk.detail(run["session_id"])
            assert detail["run"]["result"] == list(range(1, WRITES + 1))
            (document,) = (await desk.runtime.documents(repo.root, "parcels"))["documents"]
            assert (document["version"], document["payload"]["weight"]) == (WRITES, WRITES - 1)

    play(rest())
