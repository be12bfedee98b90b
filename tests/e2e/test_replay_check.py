"""``preview``, ``replay-check`` and ``--replay-twice`` as a person types them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.e2e.driver import FIXTURES, Desk, kill, leave

DESK = FIXTURES / "desk"


def repository(root: Path, **handlers: str) -> Path:
    root.mkdir(exist_ok=True)
    (root / "amodal.json").write_text(json.dumps({"name": "shop", "version": "1.0.0"}))
    for name, source in handlers.items():
        write(root, name, source)
    return root


def write(root: Path, name: str, source: str) -> None:
    folder = root / "amodal" / "tools" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    is_python = source.startswith(("async def", "import"))
    (folder / ("handler.py" if is_python else "handler.ts")).write_text(source)
    settings = {"description": name, "execution": "durable", "uses": {"tools": ["price"]}}
    (folder / "tool.json").write_text(json.dumps(settings if name != "price" else {"description": name}))


PRICE = "export default async () => 7;"
ASK_TS = """export default async (p, ctx) => {
  const price = await ctx.callTool('price', {item: p.item});
  const answer = await ctx.requestInput(`Pay ${price}?`);
  return {paid: answer.value, price};
};"""
ASK_PY = """async def handler(params, ctx):
    price = await ctx.call_tool('price', {'item': params['item']})
    answer = await ctx.request_input(f'Pay {price}?')
    return {'paid': answer['value'], 'price': price}
"""


def asked(desk: Desk, shop: Path, tool: str) -> str:
    run = desk("run", shop, tool, "--input", '{"item": "pen"}', "--json")
    assert run.code == 3, run
    return run.json["sessionId"]


def verdicts(desk: Desk, shop: Path) -> dict[str, tuple[str, str]]:
    checked = desk("replay-check", shop, "--json")
    assert checked.code == (0 if checked.json["ok"] else 1), checked
    return {run["session_id"]: (run["verdict"], run["reason"]) for run in checked.json["runs"]}


def test_stored_runs_are_replayed_against_changed_code(desk: Desk) -> None:
    source = ASK_PY
    shop = repository(desk.home / "shop", ask=source, price=PRICE)
    waiting, ended = asked(desk, shop, "ask"), asked(desk, shop, "ask")
    assert desk("answer", ended, "yes").code == 0
    fine = desk("replay-check", shop)
    assert (fine.code, fine.err) == (0, "")
    assert "2 runs: 2 ok, 0 diverged" in fine.out
    before = desk("show", waiting, "--json").json

    write(shop, "ask", source.replace("'item':", "'thing':"))
    changed = verdicts(desk, shop)
    assert {verdict for verdict, _ in changed.values()} == {"diverged"}
    assert '$.item: "pen" is recorded, nothing was attempted' in changed[waiting][1]

    write(shop, "ask", source.replace("paid", "charged"))
    assert verdicts(desk, shop)[waiting] == ("ok", "")
    verdict, reason = verdicts(desk, shop)[ended]
    assert verdict == "diverged"
    assert "returns another result" in reason

    write(shop, "ask", source.replace("Pay", "Buy for"))
    assert "the question is not the one that was shown" in verdicts(desk, shop)[waiting][1]
    write(shop, "ask", "export default async () => { const x = ; };")
    broken = desk("replay-check", shop, "--limit", 1)
    assert broken.code == 1
    assert broken.out.startswith("cannot tell")
    assert "1 run: 0 ok, 0 diverged, 1 cannot tell" in broken.out

    write(shop, "ask", source)
    assert desk("replay-check", shop).code == 0
    after = desk("show", waiting, "--json").json
    assert after == before
    assert desk("answer", waiting, "yes", "--json").json["result"] == {"paid": "yes", "price": 7}


def test_a_check_beside_an_open_window_takes_nothing_from_it(desk: Desk) -> None:
    shop = repository(desk.home / "shop", ask=ASK_TS, price=PRICE)
    run_id = asked(desk, shop, "ask")
    window = desk.window(shop)
    try:
        assert verdicts(desk, shop) == {run_id: ("ok", "")}
        found = desk("preview", run_id, "no", "--json")
        assert (found.code, found.json["result"]) == (0, {"paid": "no", "price": 7})
        assert leave(window) == 0
    finally:
        kill(window)
    assert [pause["session_id"] for pause in desk("list", "--json").json["approvals"]] == [run_id]


def test_without_any_run_there_is_nothing_to_check(desk: Desk) -> None:
    shop = repository(desk.home / "shop", ask=ASK_TS, price=PRICE)
    nothing = desk("replay-check", shop)
    assert (nothing.code, nothing.out) == (0, f"No run of {shop} is stored.\n")
    assert not desk.data.exists()
    asked(desk, shop, "ask")
    assert desk("replay-check", DESK).out == f"No run of {DESK} is stored.\n"
    (shop / "amodal.json").unlink()
    refused = desk("replay-check", shop, "--json")
    assert refused.code == 1
    assert refused.error["code"] == "CONFIG_NOT_FOUND"


def test_a_preview_is_words_for_people(desk: Desk) -> None:
    source = """export default async (p, ctx) => {
  const answer = await ctx.requestInput({question: 'Where?', inputType: 'choice', options: [
    {value: 'here', label: 'Here'}, {value: 'there', label: 'There'}]});
  if (answer.value === 'here') return await ctx.callTool('price', {at: 'here', note: 'a\\u202eb'});
  return (await ctx.waitForApproval('Sure?')).approved;
};"""
    shop = repository(desk.home / "shop", ask=source, price=PRICE)
    run_id = asked(desk, shop, "ask")
    here = desk("preview", run_id, "here")
    assert here.code == 0
    assert here.out.splitlines()[:2] == ["would call", "  tool price, called by ask"]
    assert '"note": "a<U+202E>b"' in here.out
    there = desk("preview", run_id, "there")
    assert there.out.splitlines()[:2] == ["would wait for an answer", "Sure?"]
    refused = desk("preview", run_id, "here", "--pause", "none", "--json")
    assert (refused.code, refused.error["code"]) == (1, "pause_superseded")
    assert desk("preview", run_id).code == 2
    assert desk("show", run_id, "--json").json["run"]["status"] == "awaiting-input"


def test_a_leg_is_replayed_at_once_on_demand(desk: Desk) -> None:
    unsteady = """import random
async def handler(params, ctx):
    return await ctx.call_tool('price', {'item': random.random()})
"""
    shop = repository(desk.home / "shop", ask=ASK_TS, unsteady=unsteady, price=PRICE)
    steady = desk("run", shop, "ask", "--input", '{"item": "pen"}', "--json", "--replay-twice")
    assert steady.code == 3
    done = desk("answer", steady.json["sessionId"], "yes", "--json", "--replay-twice")
    assert (done.code, done.json["result"]["price"]) == (0, 7)
    stopped = desk("run", shop, "unsteady", "--json", "--replay-twice")
    assert (stopped.code, stopped.json["outcome"]["code"]) == (1, "replay-diverged")
    assert "ctx.random" in stopped.json["outcome"]["reason"]
