"""Store tools in handlers of both kinds and both languages (contract 5.1, decision 8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.workshop import Repo, bench, play

PARCELS = {
    "name": "parcels",
    "key": "{parcel_id}",
    "schema": {
        "parcel_id": {"type": "string"},
        "carrier": {"type": "enum", "values": ["road", "air"]},
        "weight": {"type": "number", "nullable": True},
    },
    "indexed": ["carrier"],
    "deletable": True,
}
VERBS = ("get", "set", "query", "list", "remove")
TOOLS = tuple(f"store__parcels__{verb}" for verb in VERBS)

STORY = {
    "ts": """
const call = (verb, params) => ctx.callTool(`store__parcels__${verb}`, params);
const parcel = (id, carrier, weight) => ({ key: id, value: { parcel_id: id, carrier, weight } });
const out = {};
out.missing = await call('get', { key: 'p1' });
out.set = await call('set', parcel('p1', 'road', 1.5));
out.again = await call('set', parcel('p1', 'air', null));
out.seen = await call('get', { key: 'p1' });
await Promise.all([call('set', parcel('p2', 'road', 2)), call('set', parcel('p3', 'air', 3))]);
out.air = await call('query', { where: { carrier: 'air' } });
out.two = await call('query', { where: { weight: 2.0 } });
out.list = await call('list', { limit: 2 });
out.removed = await call('remove', { key: 'p1' });
out.back = await call('set', parcel('p1', 'road', 7));
out.gone = await call('remove', { key: 'p9' });
return out;
""",
    "py": """
async def call(verb, params):
    return await ctx.call_tool(f"store__parcels__{verb}", params)
def parcel(name, carrier, weight):
    return {"key": name, "value": {"parcel_id": name, "carrier": carrier, "weight": weight}}
import asyncio
out = {}
out["missing"] = await call("get", {"key": "p1"})
out["set"] = await call("set", parcel("p1", "road", 1.5))
out["again"] = await call("set", parcel("p1", "air", None))
out["seen"] = await call("get", {"key": "p1"})
await asyncio.gather(call("set", parcel("p2", "road", 2)), call("set", parcel("p3", "air", 3)))
out["air"] = await call("query", {"where": {"carrier": "air"}})
out["two"] = await call("query", {"where": {"weight": 2.0}})
out["list"] = await call("list", {"limit": 2})
out["removed"] = await call("remove", {"key": "p1"})
out["back"] = await call("set", parcel("p1", "road", 7))
out["gone"] = await call("remove", {"key": "p9"})
return out
""",
}


def shop(root: Path, **tools: Any) -> Repo:
    repo = Repo(root)
    repo.file("amodal/stores/parcels.json", PARCELS)
    return repo


def keys(page: dict[str, Any]) -> list[str]:
    return [document["key"] for document in page["documents"]]


@pytest.mark.parametrize("durable", [True, False], ids=["durable", "inline"])
@pytest.mark.parametrize("language", STORY)
def test_a_handler_reads_what_it_wrote(tmp_path: Path, language: str, durable: bool) -> None:
    repo = shop(tmp_path / "repo")
    source: dict[str, Any] = {language: STORY[language]}
    make = repo.durable if durable else repo.tool
    make("story", tools=TOOLS, **source)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            reply = await desk.run("story")
            assert reply["outcome"]["kind"] == "complete", reply
            out = reply["result"]
            assert "not found" in out["missing"]["error"]
            assert out["set"] == {"stored": True, "key": "p1", "version": 1}
            assert out["again"] == {"stored": True, "key": "p1", "version": 2}
            assert out["seen"] == {"parcel_id": "p1", "carrier": "air", "weight": None}
            assert keys(out["air"]) == ["p3", "p1"]
            assert keys(out["two"]) == ["p2"]
            assert (keys(out["list"]), out["list"]["total"], out["list"]["hasMore"]) == (["p3", "p2"], 3, True)
            assert out["removed"] == {"removed": True, "key": "p1"}
            assert out["back"] == {"stored": True, "key": "p1", "version": 1}
            assert out["gone"] == {"removed": False, "key": "p9"}
            if durable:
                spans = await desk.spans(reply["session_id"])
                assert spans["1"]["output"] == out["set"]
                assert {span["state"] for span in spans.values()} == {"ok"}

    play(story())
