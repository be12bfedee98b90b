"""The four situations, on tools that stand them and on tools that each break one (issue: denied approval, missing data,
child failure, replay after a pause)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime_core.evals.ready_made import example
from runtime_core.repo.loader import load_bundle
from tests.unit.engine.workshop import Repo
from tests.unit.evals.test_suite import reasons, run

GOOD = """case = await ctx.call_tool("load", {"id": params["id"]})
if case is None:
    raise ValueError("There is no such case.")
said = await ctx.wait_for_approval(f"Pay {case['amount']}?")
if not said["approved"]:
    await ctx.call_tool("tell", {})
    return {"paid": False}
await ctx.call_tool("pay", {"amount": case["amount"]})
return {"paid": True}"""

PAYS_ANYWAY = GOOD.replace('    return {"paid": False}\n', "")
UNCHECKED = GOOD.replace('if case is None:\n    raise ValueError("There is no such case.")\n', "")
PAYS_WITHOUT_CASE = """case = await ctx.call_tool("load", {"id": params["id"]}) or {"amount": 0}
await ctx.call_tool("pay", {"amount": case["amount"]})
said = await ctx.wait_for_approval("Was that right?")
return {"paid": True}"""
IGNORES_FAILURE = """try:
    await ctx.call_tool("load", {"id": params["id"]})
except Exception:
    pass
await ctx.call_tool("pay", {"amount": 1})
return {"paid": True}"""
FORGETS = """import time
await ctx.call_tool("load", {"id": str(time.time_ns())})
said = await ctx.wait_for_approval("Pay?")
return {"paid": said["approved"]}"""


def tried(tmp_path: Path, handler: str, *situations: str, **more: Any) -> dict[str, tuple[bool, str]]:
    repo = Repo(tmp_path / "desk")
    repo.tool("load", py='return {"amount": 12}', effect="read")
    repo.tool("pay", py='return {"receipt": 1}')
    repo.tool("tell", py="return 1")
    repo.durable("refund", py=handler, tools=("load", "pay", "tell"))
    listed = "".join(f"- {one}\n" for one in situations)
    repo.file("evals/refund.md", f'## Tool\nrefund {{"id": "c1"}}\n## Situations\n{listed}')
    result = run(repo, tmp_path, **more)["refund"]
    assert not result["result"].get("error"), result
    return reasons(result)


def test_a_tool_that_stands_all_situations(tmp_path: Path) -> None:
    found = tried(tmp_path, GOOD, "denied approval", "missing data", "child failure", "replay after a pause")
    assert all(passed for passed, _ in found.values()), found
    assert found["missing data"][1].startswith("let load find nothing")
    assert found["child failure"][1].startswith("let load, pay fail")
    assert "after one pause" in found["replay after a pause"][1]


@pytest.mark.parametrize(
    ("handler", "situation", "said"),
    [
        (PAYS_ANYWAY, "denied approval", 'when "Pay 12?" was denied, it still calls pay'),
        (UNCHECKED, "missing data", "when load finds nothing, it breaks: TypeError"),
        (PAYS_WITHOUT_CASE, "missing data", "when load finds nothing, it still calls pay, and nobody was asked"),
        (IGNORES_FAILURE, "child failure", "when load fails, it still calls pay"),
        (FORGETS, "replay after a pause", "did not repeat what it had done"),
    ],
)
def test_a_tool_that_breaks_one(tmp_path: Path, handler: str, situation: str, said: str) -> None:
    passed, reason = tried(tmp_path, handler, situation)[situation]
    assert not passed
    assert said in reason


ASKS_FOR_EVER = """while True:
    said = await ctx.request_input({"question": "Pay?", "input_type": "yesno"})
    if said["value"] == "perhaps":
        return 1"""


def test_a_tool_that_takes_no_answer_is_left(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "desk")
    repo.durable("refund", py=ASKS_FOR_EVER, uses={"tools": []})
    repo.file("evals/refund.md", "## Tool\nrefund\n## Situations\n- replay after a pause\n")
    result = run(repo, tmp_path)["refund"]
    assert "it seems to take no answer" in result["result"]["error"]


def test_a_question_that_nobody_answers_is_told(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "desk")
    repo.durable("refund", py='return (await ctx.request_input("How much?"))["value"]')
    repo.file("evals/refund.md", "## Tool\nrefund\n## Situations\n- replay after a pause\n")
    result = run(repo, tmp_path)["refund"]
    assert 'nobody answers the question "How much?"' in result["result"]["error"]


def test_what_does_not_concern_a_tool_is_said(tmp_path: Path) -> None:
    found = tried(tmp_path, "return 1", "denied approval", "missing data", "child failure", "replay after a pause")
    assert [reason for _, reason in found.values()] == [
        "it asks for no approval",
        "it reads nothing through other tools",
        "it called nothing",
        "it does not pause",
    ]


def test_ready_made_checks_take_their_input_from_the_schema(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "desk")
    repo.tool("load", py='return {"amount": params["id"]}', effect="read")
    schema = {"type": "object", "properties": {"id": {"type": "string", "examples": ["c1"]}}, "required": ["id"]}
    body = 'return await ctx.call_tool("load", {"id": params["id"]})'
    repo.durable("refund", py=body, tools=("load",), parameters=schema)
    repo.durable("plain", py="return 1")
    needy = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    repo.durable("needy", py=body, tools=("load",), parameters=needy)
    found = run(repo, tmp_path, ready_made=True)
    assert set(found) == {"situations-refund", "situations-needy"}
    assert found["situations-refund"]["passed"], found
    assert "does not fit it: 'id' is a required property" in found["situations-needy"]["result"]["error"]
    given = run(repo, tmp_path, ready_made=True, names=["needy"], input={"id": "c2"})
    assert given["situations-needy"]["passed"], given


def test_examples_of_a_schema(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "desk")
    properties = {
        "a": {"const": 1},
        "b": {"default": False},
        "c": {"examples": ["x", "y"]},
        "d": {"enum": ["up", "down"]},
        "e": {"type": "string"},
    }
    repo.tool("one", py="return 1", parameters={"type": "object", "properties": properties})
    repo.tool("two", py="return 1", parameters={"type": "object", "examples": [{"a": 5}], "properties": properties})
    tools = load_bundle(repo.root).tools
    assert example(tools["one"]) == {"a": 1, "b": False, "c": "x", "d": "up"}
    assert example(tools["two"]) == {"a": 5}
