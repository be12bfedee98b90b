"""Store tools in handlers of both kinds and both languages (contract 5.1, decision 8)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runtime_core.journal.base import Answer, Claim
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps
from runtime_core.wire.runs import Entry
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


def shop(root: Path) -> Repo:
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
            assert (out["list"]["total"], out["list"]["hasMore"]) == (3, True)
            assert {*keys(out["list"])} == {"p2", "p3"}  # written side by side, after p1
            assert out["removed"] == {"removed": True, "key": "p1"}
            assert out["back"] == {"stored": True, "key": "p1", "version": 1}
            assert out["gone"] == {"removed": False, "key": "p9"}
            if durable:
                spans = await desk.spans(reply["session_id"])
                assert spans["1"]["output"] == out["set"]
                assert {span["state"] for span in spans.values()} == {"ok"}

    play(story())


REFUSED = [
    ({"parcel_id": "p1", "carrier": "sea", "weight": 1}, 'carrier should be one of "road", "air", and is "sea"'),
    ({"parcel_id": "p1", "carrier": "air"}, "weight is missing; write null if there is none"),
    ({"parcel_id": "p1", "carrier": "air", "weight": "1"}, 'weight should be a number or null, and is "1"'),
    (
        {"parcel_id": "p2", "carrier": "air", "weight": 1},
        'the key given is "p1", but parcel_id of the value makes it "p2"',
    ),
    ({"parcel_id": "", "carrier": "air", "weight": 1}, "its key {parcel_id} needs a value in parcel_id"),
]


@pytest.mark.parametrize("durable", [True, False], ids=["durable", "inline"])
def test_a_refused_document_throws_and_says_which_field(tmp_path: Path, durable: bool) -> None:
    repo = shop(tmp_path / "repo")
    code = """
const out = [];
for (const value of params.values) {
  try { await ctx.callTool('store__parcels__set', { key: 'p1', value }); out.push('stored'); }
  catch (error) { out.push([error.code, error.message]); }
}
out.push((await ctx.callTool('store__parcels__list', {})).total);
return out;
"""
    (repo.durable if durable else repo.tool)("story", tools=TOOLS, ts=code)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            *refused, total = (await desk.run("story", {"values": [value for value, _ in REFUSED]}))["result"]
            assert total == 0
            for (code, message), (_, said) in zip(refused, REFUSED, strict=True):
                assert (code, said in message) == ("execution-failed", True), message

    play(story())


@pytest.mark.parametrize("durable", [True, False], ids=["durable", "inline"])
def test_odd_keys_and_limits_do_no_harm(tmp_path: Path, durable: bool) -> None:
    repo = shop(tmp_path / "repo")
    code = """
const call = async (verb, given) => {
  try { return await ctx.callTool(`store__parcels__${verb}`, given); } catch (error) { return error.code; }
};
const out = [];
for (const key of ['\\ud800', '', 'a\\u0000b', 'é/../\"', 'x'.repeat(70000)]) {
  const value = {parcel_id: key, carrier: 'air', weight: null};
  const stored = await call('set', {key, value});
  const got = await call('get', {key});
  out.push([stored.key === key, got.parcel_id === key, await call('remove', {key}) !== 'execution-failed']);
}
out.push((await call('list', {limit: 1e300})).documents.length, (await call('list', {limit: 0})).documents.length);
out.push(await call('list', {limit: 1.5}), await call('list', {limit: -3}));
out.push((await call('query', {where: null, limit: null})).total);
return out;
"""
    (repo.durable if durable else repo.tool)("story", tools=TOOLS, ts=code)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            reply = await desk.run("story")
            assert reply["outcome"]["kind"] == "complete", reply
            result = reply["result"]
            assert result[:5] == [[False, False, False], [False, False, True], *[[True, True, True]] * 3]
            assert result[5:] == [0, 0, "invalid-params", "invalid-params", 0]

    play(story())


MISSPELT = [
    ("store__parcels__query", {"filter": {}}, "where, limit"),
    ("store__parcels__list", {"offset": 1}, "limit"),
    ("store__parcels__get", {"key": "p1", "id": "p1"}, "key"),
    ("store__parcels__remove", {"key": "p1", "id": "p1"}, "key"),
    ("memory", {"action": "add", "text": "note"}, "action, content, entry_id, query"),
    ("fetch_url", {"url": "https://example.com", "ask": "x"}, "url, prompt"),
    ("web_search", {"query": "x", "limit": 1}, "query, max_results"),
    ("request", {"connection": "crm", "endpoint": "/", "body": {}}, "connection, method, endpoint, params, data"),
]


@pytest.mark.parametrize("durable", [True, False], ids=["durable", "inline"])
def test_a_parameter_that_a_ready_tool_does_not_know_is_refused_with_those_it_knows(
    tmp_path: Path, durable: bool
) -> None:
    repo = shop(tmp_path / "repo")
    manifest = {"name": "shop", "version": "1", "memory": {"enabled": True}}
    repo.file("amodal.json", manifest | {"webTools": {"provider": "google", "apiKey": "env:PATH"}})
    code = """
const out = [];
for (const [name, given] of params.calls) {
  try { out.push(['made', await ctx.callTool(name, given)]); } catch (error) { out.push([error.code, error.message]); }
}
return out;
"""
    wanted = MISSPELT if durable else MISSPELT[:-1]
    names = tuple(dict.fromkeys(name for name, _, _ in wanted))
    (repo.durable if durable else repo.tool)("story", tools=names, ts=code)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            result = (await desk.run("story", {"calls": [[name, given] for name, given, _ in wanted]}))["result"]
        for (name, _, known), (code, message) in zip(wanted, result, strict=True):
            assert (code, f"known are: {known}" in message) == ("invalid-params", True), (name, message)

    play(story())


def test_what_a_run_wrote_stays_when_it_fails_or_is_cancelled(tmp_path: Path) -> None:
    repo = shop(tmp_path / "repo")
    write = "await ctx.callTool('store__parcels__set', {key: params.id, value: "
    write += "{parcel_id: params.id, carrier: 'air', weight: null}});"
    repo.durable("fails", tools=TOOLS, ts=f"{write} throw new Error('no');")
    repo.durable("asks", tools=TOOLS, ts=f"{write} await ctx.requestInput({{question: 'Go on?'}});")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert (await desk.run("fails", {"id": "p1"}))["outcome"]["kind"] == "failed"
            asked = await desk.run("asks", {"id": "p2"})
            await desk.runtime.cancel(asked["session_id"], who="ann")
            page = await desk.runtime.documents(repo.root, "parcels")
            assert keys(page) == ["p2", "p1"]

    play(story())


def test_scopes_do_not_see_each_other_unless_the_store_is_shared(tmp_path: Path) -> None:
    repo = shop(tmp_path / "repo")
    repo.file("amodal/stores/rates.json", PARCELS | {"name": "rates", "shared": True})
    code = """
const value = {parcel_id: params.id, carrier: 'air', weight: null};
for (const store of ['parcels', 'rates']) await ctx.callTool(`store__${store}__set`, {key: params.id, value});
const seen = [];
for (const store of ['parcels', 'rates']) seen.push((await ctx.callTool(`store__${store}__list`, {})).total);
return seen;
"""
    tools = tuple(f"store__{store}__{verb}" for store in ("parcels", "rates") for verb in ("set", "list"))
    repo.durable("story", tools=tools, ts=code)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert (await desk.run("story", {"id": "p1"}))["result"] == [1, 1]
            assert (await desk.run("story", {"id": "p2"}, scope="s1"))["result"] == [1, 2]
            assert (await desk.run("story", {"id": "p3"}, scope="s2"))["result"] == [1, 3]
            counts = {one["name"]: one["documentCount"] for one in (await desk.runtime.stores(repo.root))["stores"]}
            assert counts == {"parcels": 1, "rates": 3}

    play(story())


MEMBERS = {
    "ts": """
try { return await ctx.store(params.store, params.value); }
catch (error) { return [error.code, error.message]; }
""",
    "py": """
try:
    return await ctx.store(params["store"], params["value"])
except Exception as error:
    return [error.code, str(error)]
""",
}


@pytest.mark.parametrize("language", MEMBERS)
def test_a_handler_that_is_not_durable_stores_by_the_key_of_the_value(tmp_path: Path, language: str) -> None:
    repo = shop(tmp_path / "repo")
    source: dict[str, Any] = {language: MEMBERS[language]}
    repo.tool("keep", **source)
    good = {"parcel_id": "p1", "carrier": "air", "weight": 1, "extra": [1]}

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:

            async def keep(store: Any, value: Any) -> Any:
                return (await desk.run("keep", {"store": store, "value": value}))["result"]

            assert await keep("parcels", good) == {"key": "p1"}
            assert await keep("parcels", good | {"weight": None}) == {"key": "p1"}
            code, message = await keep("parcel", good)
            assert code == "unknown-store"
            assert 'Store "parcel" not found' in message
            assert "parcels" in message
            code, message = await keep("parcels", good | {"weight": "heavy"})
            assert (code, "weight should be a number or null" in message) == ("invalid-document", True)
            (one,) = (await desk.runtime.documents(repo.root, "parcels"))["documents"]
            assert (one["payload"], one["version"]) == (good | {"weight": None}, 2)

    play(story())


def test_what_may_not_be_called_is_refused_as_any_other_tool(tmp_path: Path) -> None:
    repo = shop(tmp_path / "repo")
    repo.file("amodal/stores/fixed.json", PARCELS | {"name": "fixed", "deletable": False})
    code = """
const out = [];
for (const [name, given] of params.calls) {
  try { out.push(await ctx.callTool(name, given)); } catch (error) { out.push(error.code); }
}
return out;
"""
    repo.durable("story", tools=("store__fixed__get", "store__fixed__set"), ts=code)
    calls = [
        ["store__parcels__get", {"key": "p1"}],
        ["store__fixed__remove", {"key": "p1"}],
        ["store__fixed__get", {}],
        ["store__fixed__set", {"key": "p1"}],
    ]

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            result = (await desk.run("story", {"calls": calls}))["result"]
            assert result == ["undeclared", "undeclared", "invalid-params", "invalid-params"]

    play(story())


def test_a_write_is_in_the_journal_without_an_intent_and_its_replay_writes_nothing(tmp_path: Path) -> None:
    repo = shop(tmp_path / "repo")
    code = """
await ctx.callTool('store__parcels__remove', {key: 'p1'});
const said = await ctx.callTool('store__parcels__set',
  {key: 'p1', value: {parcel_id: 'p1', carrier: 'air', weight: 12345678901234567890.10}});
const answer = await ctx.requestInput({question: 'Go on?'});
return [said, (await ctx.callTool('store__parcels__get', {key: 'p1'})).weight];
"""
    repo.durable("story", tools=TOOLS, ts=code)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("story"))["session_id"]
            entries = await desk.runtime._journal.load(run_id)
            assert [(entry.n, entry.state) for entry in entries] == [(0, "ok"), (1, "ok"), (2, "started")]
            preview = await desk.runtime.preview(Answer(run_id, '"yes"', "ann"))
            assert preview["calls"][0]["name"] == "store__parcels__get"
            done = await desk.answer(run_id, "yes")
            assert done["result"] == [{"stored": True, "key": "p1", "version": 1}, 12345678901234567000]
            document = await desk.runtime.document(repo.root, "parcels", "p1")
            assert document["document"]["version"] == 1

    play(story())


def test_a_write_whose_entry_is_not_stored_is_not_made(tmp_path: Path) -> None:
    repo = shop(tmp_path / "repo")
    code = """
return await ctx.callTool('store__parcels__set', {key: 'p1', value: {parcel_id: 'p1', carrier: 'air', weight: 1}});
"""
    repo.durable("story", tools=TOOLS, ts=code)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            journal = desk.runtime._journal
            append = journal.append

            async def fail(claim: Claim, entries: Sequence[Entry], *more: Any, **named: Any) -> Sequence[Entry]:
                if any(entry.name.startswith("store__") for entry in entries):
                    raise RuntimeFault("data_folder_unusable", "the disk is full")
                return await append(claim, entries, *more, **named)

            journal.append = fail
            assert (await desk.run("story", wait_s=5))["outcome"]["reason"] == "the disk is full"
            assert (await desk.runtime.documents(repo.root, "parcels"))["total"] == 0
            journal.append = append
            (run,) = (await desk.runtime.runs(finished=None))["runs"]
            await desk.until("run", session_id=run["session_id"], status="completed")
            assert (await desk.runtime.document(repo.root, "parcels", "p1"))["document"]["version"] == 1

    play(story())


def test_an_index_that_a_changed_store_declares_is_built(tmp_path: Path) -> None:
    repo = shop(tmp_path / "repo")
    repo.file("amodal/stores/parcels.json", PARCELS | {"indexed": []})
    code = "return (await ctx.callTool('store__parcels__query', {where: {weight: 3}})).documents.map((one) => one.key);"
    repo.tool("find", tools=TOOLS, ts=code)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            for n in range(5):
                payload = dumps({"parcel_id": f"p{n}", "carrier": "air", "weight": n})
                await desk.runtime.put_document(repo.root, "parcels", payload)
            assert (await desk.run("find"))["result"] == ["p3"]
            repo.file("amodal/stores/parcels.json", PARCELS | {"indexed": ["weight"]})
            assert (await desk.run("find"))["result"] == ["p3"]

    play(story())
    db = sqlite3.connect(tmp_path / "data" / "runtime.db")
    assert db.execute("SELECT name, built_to FROM store_field").fetchall() == [("weight", None)]
    assert db.execute("SELECT count(*) FROM store_value").fetchone() == (5,)
    db.close()


def test_the_routes_of_stores(tmp_path: Path) -> None:
    repo = shop(tmp_path / "repo")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            root, runtime = repo.root, desk.runtime
            put = '{"parcel_id": "p%d", "carrier": "road", "weight": %d.50}'
            for n in range(3):
                said = await runtime.put_document(root, "parcels", put % (n, 9 + n))
                assert said == {"stored": True, "key": f"p{n}", "version": 1}
            page = await runtime.documents(root, "parcels", filter='{"weight": 10.5}')
            (one,) = page["documents"]
            assert (one["key"], one["appId"], one["store"], one["version"]) == ("p1", "local", "parcels", 1)
            assert (dumps(one["payload"]), one["meta"]["stale"]) == (put.replace(" ", "") % (1, 10), False)
            page = await runtime.documents(root, "parcels", sort="weight", limit=2)
            assert (keys(page), page["total"], page["hasMore"]) == (["p1", "p2"], 3, True)  # as text: 10.5, 11.5, 9.5
            assert keys(await runtime.documents(root, "parcels", sort="-weight", limit=1)) == ["p0"]
            assert await runtime.documents(root, "parcels", limit=0) == {"documents": [], "total": 3, "hasMore": True}
            assert keys(await runtime.documents(root, "parcels", offset=2)) == ["p0"]
            found = await runtime.document(root, "parcels", "p1")
            assert (found["document"]["key"], found["history"]) == ("p1", [])
            (store,) = (await runtime.stores(root))["stores"]
            assert (store["name"], store["entity"]["key"], store["documentCount"]) == ("parcels", "{parcel_id}", 3)
            for call, code, said in (
                (runtime.documents(root, "parcel"), "NOT_FOUND", 'Store "parcel" not found'),
                (runtime.document(root, "parcels", "p9"), "NOT_FOUND", '"p9" not found'),
                (runtime.documents(root, "parcels", filter="{"), "VALIDATION_ERROR", "Invalid filter JSON"),
                (runtime.documents(root, "parcels", filter="[]"), "VALIDATION_ERROR", "Invalid filter JSON"),
                (runtime.documents(root, "parcels", offset=10_001), "VALIDATION_ERROR", "offset is 10001"),
                (runtime.put_document(root, "parcels", "{}"), "VALIDATION_ERROR", "parcel_id is missing"),
            ):
                with pytest.raises(RuntimeFault, match=said) as caught:
                    await call
                assert caught.value.code == code

    play(story())


def test_a_document_older_than_its_ttl_is_stale_and_stays(tmp_path: Path) -> None:
    repo = shop(tmp_path / "repo")
    entity = {"name": "parcels", "key": PARCELS["key"], "schema": PARCELS["schema"]}
    repo.file("amodal/stores/parcels.json", {"name": "parcels", "entity": entity, "ttl": 60})

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            await desk.runtime.put_document(repo.root, "parcels", '{"parcel_id":"p1","carrier":"air","weight":null}')
            (one,) = (await desk.runtime.documents(repo.root, "parcels"))["documents"]
            assert (one["meta"]["stale"], one["meta"]["ttl"]) == (False, 60)
            db = sqlite3.connect(tmp_path / "data" / "runtime.db")
            with db:
                db.execute("UPDATE store_document SET saved_at = saved_at - 61")
            db.close()
            (one,) = (await desk.runtime.documents(repo.root, "parcels"))["documents"]
            assert one["meta"]["stale"]

    play(story())
