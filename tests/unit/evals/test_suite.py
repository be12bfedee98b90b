"""Evals carried out for real: a conversation, its tools, people who answer, and what is kept of it (contract 11.3)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from runtime_core.evals.suite import EvalRequest
from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import Bench, Repo, bench, play

ASK = """answer = await ctx.request_input("Which dock?")
done = await ctx.call_tool("book", {"dock": answer["value"]})
return {"dock": done["dock"]}"""

GUARDED = """async def handle(ctx):
    return {"closed": True}


tool = {
    "id": "close_dock",
    "exposure": {"kind": "requires-confirmation"},
    "base": {"name": "close_dock", "description": "Closes it.", "parametersJsonSchema": {"type": "object"}},
    "handle": handle,
}
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "docks", models={"main": {"provider": "scripted", "model": "script.json"}})
    repo.tool("book", py='return {"dock": params["dock"]}', parameters={"type": "object", "properties": {"dock": {}}})
    repo.durable("ask_dock", py=ASK, tools=("book",))
    repo.file("amodal/tools/close_dock/tool.py", GUARDED)
    repo.agent("default", tools=["ask_dock", "close_dock", "book", "ask_choice"])
    repo.script(
        {"agent": "default", "match": "^Where", "text": "I ask.", "tool_calls": [{"name": "ask_dock", "args": {}}]},
        {"agent": "default", "match": "awaiting_operator", "text": " It waits for a person."},
        {"agent": "default", "match": "^Close", "tool_calls": [{"name": "close_dock", "args": {}}]},
        {"agent": "default", "match": "closed", "text": "It is closed."},
        {"agent": "default", "match": "denied", "text": "It stays open."},
        {"agent": "judge", "match": '"It is closed', "text": "PASS: it says so"},
        {"agent": "judge", "text": "FAIL: it does not say so", "repeat": True},
    )
    return repo


def write(repo: Repo, name: str, query: str, *assertions: str, answers: Sequence[str] = (), more: str = "") -> None:
    said = "".join(f"- {line}\n" for line in answers)
    lines = "".join(f"- {line}\n" for line in assertions)
    text = f"# Eval: {name}\n\n## Query\n{query}\n\n## Answers\n{said}\n{more}\n## Assertions\n{lines}"
    repo.file(f"evals/{name}.md", text)


async def events_of(at: Bench, **more: Any) -> list[dict[str, Any]]:
    more.setdefault("limit_s", 30.0)
    async with aclosing(at.runtime.evals.run(EvalRequest(at.repo.root, **more))) as events:
        return [event async for event in events]


async def results_of(at: Bench, **more: Any) -> dict[str, dict[str, Any]]:
    return {one["evalName"]: one for one in await events_of(at, **more) if one["type"] == "eval_complete"}


def run(repo: Repo, tmp_path: Path, **more: Any) -> dict[str, dict[str, Any]]:
    async def story() -> dict[str, dict[str, Any]]:
        async with bench(repo, tmp_path / "data", execute=False) as at:
            return await results_of(at, **more)

    return play(story())


def reasons(result: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    return {one["text"]: (one["passed"], one["reason"]) for one in result["result"]["assertions"]}


def test_an_answer_is_given_when_the_model_was_told_to_wait_and_the_run_ends(repo: Repo, tmp_path: Path) -> None:
    write(
        repo,
        "dock",
        '"Where do I unload?"',
        "contains: waits for a person",
        "tool_called: ask_dock",
        "tool_called: book",
        "not tool_called: close_dock",
        "max_turns: 2",
        answers=["Which dock: 7"],
    )
    dock = run(repo, tmp_path)["dock"]
    assert dock["passed"], dock
    made = [(call["name"], call["depth"]) for call in dock["result"]["toolCalls"]]
    assert made == [("ask_dock", 0), ("book", 1)]
    assert dock["result"]["toolCalls"][1]["parameters"] == {"dock": 7}
    assert dock["result"]["response"] == "I ask. It waits for a person."


def test_a_question_that_nobody_answers_fails_the_eval_and_ends_its_run(repo: Repo, tmp_path: Path) -> None:
    write(repo, "dock", "Where?", "tool_called: ask_dock")
    dock = run(repo, tmp_path)["dock"]
    assert not dock["passed"]
    assert 'nobody answers the question "Which dock?" of ask_dock' in dock["result"]["error"]
    assert reasons(dock)["tool_called: ask_dock"][0]


@pytest.mark.parametrize(("said", "ends"), [("approve", "It is closed."), ("deny", "It stays open.")])
def test_a_call_that_has_to_be_allowed_waits_for_the_answer(repo: Repo, tmp_path: Path, said: str, ends: str) -> None:
    write(repo, "close", "Close it", f"contains: {ends}", answers=[f"close_dock: {said}"])
    assert run(repo, tmp_path)["close"]["passed"]


def test_a_model_judges_what_no_rule_can(repo: Repo, tmp_path: Path) -> None:
    write(repo, "close", "Close it", "Should say that it is closed", answers=["*: yes"])
    write(repo, "open", "Close it", "Should say that it is closed", "Should NOT lie", answers=["*: no"])
    found = run(repo, tmp_path)
    assert reasons(found["close"]) == {"Should say that it is closed": (True, "it says so")}
    assert found["close"]["result"]["judge"].endswith("script.json")
    assert reasons(found["open"])["Should NOT lie"] == (False, "it does not say so")


def test_another_model_can_be_the_judge(repo: Repo, tmp_path: Path) -> None:
    write(repo, "close", "Close it", "Should be short", answers=["*: yes"])
    strict = tmp_path / "strict.json"
    strict.write_text('{"replies": [{"agent": "judge", "text": "FAIL: three words are too many"}]}')
    found = run(repo, tmp_path, judge=f"scripted:{strict}")["close"]
    assert reasons(found) == {"Should be short": (False, "three words are too many")}
    assert found["result"]["model"].endswith("script.json")
    assert found["result"]["judge"].endswith("strict.json")


def test_what_the_code_is_trusted_with_it_may_do_in_evals(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shell", sandbox={"shellExec": True})
    repo.tool("say", py='return (await ctx.exec("echo hello"))["stdout"]')
    repo.file("evals/say.md", "## Tool\nsay\n## Assertions\n- contains: hello\n")

    async def story() -> None:
        async with bench(repo, tmp_path / "data", execute=False) as at:
            before = (await results_of(at))["say"]
            assert "trust" in before["result"]["error"]
            await at.runtime.trust(repo.root, who="ann")
            after = (await results_of(at))["say"]
            assert after["passed"], after

    play(story())


def test_without_a_model_nothing_is_answered_or_judged(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "bare")
    repo.tool("echo", py='return "hello"')
    repo.agent("default")
    write(repo, "ask", "Hello", "contains: x", "Should be kind")
    repo.file("evals/tool.md", "## Tool\necho\n## Assertions\n- contains: hello\n- Should be kind\n")
    found = run(repo, tmp_path)
    assert "no model" in found["ask"]["result"]["error"]
    passed, reason = reasons(found["tool"])["Should be kind"]
    assert not passed
    assert "--judge" in reason
    assert found["tool"]["result"]["assertions"][1]["notJudged"]
    assert reasons(found["tool"])["contains: hello"][0]


def test_an_eval_has_a_script_of_its_own_and_files(repo: Repo, tmp_path: Path) -> None:
    repo.file("models/own.json", {"replies": [{"text": "Hello from {{files}}."}]})
    repo.file("files/receipt.txt", "42")
    write(
        repo,
        "own",
        "Hello",
        "starts_with: Hello",
        "contains: receipt.txt",
        more="## Script\nmodels/own.json\n\n## Attachments\n- files/receipt.txt\n",
    )
    own = run(repo, tmp_path)["own"]
    assert own["passed"], own


def test_nobody_is_present_in_an_eval(repo: Repo, tmp_path: Path) -> None:
    present = "{ name: 'close_dock', conditional: (ctx) => ctx.humanPresent }"
    repo.file("agents/default/agent.ts", f"export default {{ tools: ['book', {present}] }};\n")
    repo.script(
        {"match": "^Close", "tool_calls": [{"name": "close_dock", "args": {}}]},
        {"match": "not available", "text": "I cannot."},
    )
    write(repo, "close", "Close it", "contains: I cannot")
    found = run(repo, tmp_path)["close"]
    assert found["passed"], found


def test_stores_are_shared_and_nothing_is_seen_of_the_evals(repo: Repo, tmp_path: Path) -> None:
    repo.file("amodal/stores/docks.json", {"name": "docks", "key": "{id}", "schema": {"id": {"type": "string"}}})
    put = 'await ctx.call_tool("store__docks__set", {"key": "d1", "value": {"id": "d1"}})\nreturn 1'
    repo.durable("keep", py=put, tools=("store__docks__set",))
    look = 'return await ctx.call_tool("store__docks__query", {})'
    repo.durable("look", py=look, tools=("store__docks__query",))
    repo.file("evals/a.md", "## Tool\nkeep\n## Assertions\n- tool_called: store__docks__set\n")
    repo.file("evals/b.md", "## Tool\nlook\n## Assertions\n- contains: d1\n")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as at:
            found = await results_of(at)
            assert found["a"]["passed"], str(found["a"])
            assert found["b"]["passed"], found["b"]
            assert (await at.runtime.runs(finished=None))["total"] == 0
            assert (await at.runtime.documents(repo.root, "docks"))["total"] == 0

    play(story())


def test_results_are_kept_and_listed(repo: Repo, tmp_path: Path) -> None:
    write(repo, "dock", "Where?", "tool_called: ask_dock", answers=["*: 3"])
    repo.file("evals/broken.md", "## Query\nx\n")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as at:
            told = await events_of(at)
            kinds = [(event["type"], event.get("evalName")) for event in told]
            assert kinds == [
                ("eval_start", "broken"),
                ("done", None),
                ("eval_complete", "broken"),
                ("eval_start", "dock"),
                ("done", None),
                ("eval_complete", "dock"),
            ]
            assert "would always pass" in told[2]["result"]["error"]
            await events_of(at, names=["dock"])
            broken, dock = await at.runtime.evals.listed(repo.root)
            assert "evals/broken.md" in broken["problem"]
            assert (dock["query"], dock["assertions"], dock["problem"]) == ("Where?", ["tool_called: ask_dock"], "")
            assert dock["last"]["passed"]
            past = await at.runtime.evals.results(repo.root, "dock")
            assert [one["id"] for one in past] == sorted((one["id"] for one in past), reverse=True)
            assert len(past) == 2
            with pytest.raises(RuntimeFault, match='no eval "doc"'):
                await events_of(at, names=["doc"])

    play(story())


def test_an_eval_that_takes_too_long_says_what_goes_on(repo: Repo, tmp_path: Path) -> None:
    repo.durable("late", py="await ctx.sleep_until(4102444800000)\nreturn 1")
    repo.file("evals/late.md", "## Tool\nlate\n## Assertions\n- contains: 1\n")
    late = run(repo, tmp_path, limit_s=2.0)["late"]
    assert not late["passed"]
    assert "it took longer than 2 s: late is" in late["result"]["error"]


def test_a_deadline_passes_where_nobody_is_to_answer(repo: Repo, tmp_path: Path) -> None:
    ask = 'said = await ctx.request_input({"question": "Go?", "timeout_ms": 3600000, "on_expire": {"value": "stay"}})'
    repo.durable("wait", py=f'{ask}\nreturn {{"said": said["value"]}}')
    repo.file("evals/wait.md", "## Tool\nwait\n## Answers\n- Go: expire\n## Assertions\n- contains: stay\n")
    found = run(repo, tmp_path)["wait"]
    assert found["passed"], found


def test_answers_come_from_people_who_may_answer(repo: Repo, tmp_path: Path) -> None:
    ask = (
        'said = await ctx.wait_for_approval({"prompt": "Pay?", "quorum": 2, '
        '"eligible_answerers": ["ann", "bob", "eve"], "exclude_answerers": ["ann"]})'
    )
    repo.durable("pay", py=f'{ask}\nreturn {{"paid": said["approved"]}}')
    repo.file("evals/pay.md", '## Tool\npay\n## Answers\n- Pay: yes\n## Assertions\n- contains: "paid":true\n')
    found = run(repo, tmp_path)["pay"]
    assert found["passed"], found
