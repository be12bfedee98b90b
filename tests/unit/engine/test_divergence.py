"""Handlers that do something else than their journal holds: the run stops, nothing new is executed, and it says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine.divergence import SHOWN, first_difference
from runtime_core.hosts import process
from runtime_core.wire.json import JsonValue, dumps, loads
from runtime_core.wire.settings import Settings
from tests.unit.engine.workshop import Bench, Repo, bench, play

TOOLS = ("one", "two", "new", "kid")
STEP = {
    "ts": "await ctx.step('{}', () => {{ globalThis.stepped = (globalThis.stepped ?? 0) + 1; return 1; }});",
    "py": "await ctx.step('{}', lambda: setattr(builtins, 'stepped', getattr(builtins, 'stepped', 0) + 1))",
}
LINES = {
    "ts": {
        "one": "await ctx.callTool('one', {a: [{}, {b: 1}]});",
        "two": "await ctx.callTool('two', {});",
        "new": "await ctx.callTool('new', {});",
        "kid": "await ctx.callTool('kid', {});",
        "agent": "await ctx.callSubagent('one', 'task');",
        "ask": "await ctx.requestInput({question: 'Sure?', options: [{value: 1, label: 'One'}]});",
        "approve": "await ctx.waitForApproval({question: 'Sure?'});",
        "asked otherwise": "await ctx.requestInput({question: 'Sure?', options: [{value: 1, label: 'Two'}]});",
        "sleep": "await ctx.sleepUntil('2999-01-01T00:00:00Z');",
        "branch": "const branch = ctx.callTool('new', {}); await ctx.callTool('one', {a: [{}, {b: 1}]});",
        "for ever": "await new Promise(() => {});",
        "step": STEP["ts"].format("step"),
        "new step": STEP["ts"].format("new step"),
    },
    "py": {
        "one": "await ctx.call_tool('one', {'a': [{}, {'b': 1}]})",
        "two": "await ctx.call_tool('two', {})",
        "new": "await ctx.call_tool('new', {})",
        "kid": "await ctx.call_tool('kid', {})",
        "agent": "await ctx.call_subagent('one', 'task')",
        "ask": "await ctx.request_input(question='Sure?', options=[{'value': 1, 'label': 'One'}])",
        "approve": "await ctx.wait_for_approval(question='Sure?')",
        "asked otherwise": "await ctx.request_input(question='Sure?', options=[{'value': 1, 'label': 'Two'}])",
        "sleep": "await ctx.sleep_until('2999-01-01T00:00:00Z')",
        "branch": "branch = ctx.call_tool('new', {}); await ctx.call_tool('one', {'a': [{}, {'b': 1}]})",
        "for ever": "await asyncio.Future()",
        "step": STEP["py"].format("step"),
        "new step": STEP["py"].format("new step"),
    },
}
RECORDED = "one, step, two, ask"
EDITS = {
    "a call before the first": "new, one, step, two, ask",
    "the same call once more": "one, one, step, two, ask",
    "a step before the first call": "new step, one, step, two, ask",
    "a step in between": "one, new step, step, two, ask",
    "a call left out": "one, step, ask",
    "two calls in another order": "one, two, step, ask",
    "another tool": "one, step, new, ask",
    "a subagent of the same name": "agent, step, two, ask",
    "a durable tool in its place": "one, step, kid, ask",
    "a step of another name": "one, new step, two, ask",
    "a branch beside the first call": "branch, step, two, ask",
    "a call where the question was": "one, step, two, new",
    "a step where the question was": "one, step, two, new step",
    "a sleep where the question was": "one, step, two, sleep",
    "an approval where the question was": "one, step, two, approve",
    "no question": "one, step, two",
    "nothing": "",
    "another question": "one, step, two, asked otherwise",
    "waiting for ever instead of asking": "one, step, two, for ever",
}


def body(language: str, lines: str) -> dict[str, Any]:
    text = "\n".join(LINES[language][line] for line in lines.split(", ") if line)
    if language == "py":
        return {"py": f"import asyncio\nimport builtins\n{text}\nreturn 'end'"}
    return {"ts": f"{text}\nreturn 'end';"}


def workshop(root: Path, language: str, lines: str = RECORDED) -> Repo:
    repo = Repo(root)
    repo.durable("top", tools=TOOLS, agents=("one",), **body(language, lines))
    repo.agent("one")
    for name in ("one", "two", "new"):
        repo.tool(name, ts=f"return '{name}';")
    repo.durable("kid", **body(language, "ask"))
    if language == "py":
        repo.tool("peek", py="import builtins\nreturn getattr(builtins, 'stepped', 0)")
    else:
        repo.tool("peek", ts="return globalThis.stepped ?? 0;")
    return repo


async def stopped(desk: Bench, run_id: str, value: Any = 1, **more: Any) -> dict[str, Any]:
    """The error of a run that was answered and must have stopped without doing anything new."""
    before = await desk.spans(run_id)
    reply = await desk.answer(run_id, value, **more)
    assert reply["outcome"]["kind"] == "diverged", reply
    assert set(await desk.spans(run_id)) == set(before)
    return (await desk.detail(run_id))["run"]["error"]


@pytest.mark.parametrize("language", ["ts", "py"])
def test_whatever_was_edited_nothing_new_is_executed(
    tmp_path: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "STUCK_S", 0.5)
    repo = workshop(tmp_path / "repo", language)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            waiting = {edit: (await desk.run("top"))["sessionId"] for edit in EDITS}
            for edit, lines in EDITS.items():
                run_id = waiting[edit]
                workshop(repo.root, language, lines)
                error = await stopped(desk, run_id)
                expected = "content_changed" if edit == "another question" else "replay-diverged"
                assert error["code"] == expected, edit
                assert (await desk.run("peek"))["result"] == 0, edit

    play(story())


@pytest.mark.parametrize("language", ["ts", "py"])
@pytest.mark.parametrize("lines", ["one, step, two, ask, new", "one, step, two, ask, new step, kid"])
def test_what_is_added_behind_the_question_is_executed(tmp_path: Path, language: str, lines: str) -> None:
    repo = workshop(tmp_path / "repo", language)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("top"))["sessionId"]
            workshop(repo.root, language, lines)
            reply = await desk.answer(run_id, 1)
            assert reply["outcome"]["kind"] == ("awaiting-input" if "kid" in lines else "complete")

    play(story())


@pytest.mark.parametrize("language", ["ts", "py"])
def test_no_child_goes_on_before_all_of_them_have_been_replayed(tmp_path: Path, language: str) -> None:
    """One child has a new call behind its answered question, its sister, which is slower, asks something else."""
    repo = Repo(tmp_path / "repo")
    kids = {
        "ts": {
            "top": {"ts": "return await Promise.all([ctx.callTool('quick', {}), ctx.callTool('slow', {})]);"},
            "quick": {"ts": "const a = (await ctx.requestInput('quick?')).value; {more} return a;"},
            "slow": {
                "ts": "for (let i = 0; i < 20; i++) await ctx.fs.readRepoFile('amodal.json');"
                "return (await ctx.requestInput('{slow}')).value;"
            },
            "more": {"more": "await ctx.callTool('new', {});"},
        },
        "py": {
            "top": {
                "py": "import asyncio\nreturn await asyncio.gather(ctx.call_tool('quick', {}), "
                "ctx.call_tool('slow', {}))"
            },
            "quick": {"py": "a = (await ctx.request_input('quick?'))['value']\n{more}\nreturn a"},
            "slow": {
                "py": "for i in range(20): await ctx.fs.read_repo_file('amodal.json')\n"
                "return (await ctx.request_input('{slow}'))['value']"
            },
            "more": {"more": "await ctx.call_tool('new', {})"},
        },
    }[language]

    def write(more: str, slow: str) -> None:
        repo.durable("top", tools=("quick", "slow"), **kids["top"])
        for name, words in (("quick", ("{more}", more)), ("slow", ("{slow}", slow))):
            repo.durable(name, tools=("new",), **{key: text.replace(*words) for key, text in kids[name].items()})
        repo.tool("new", ts="return 1;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            write("", "slow?")
            run_id = (await desk.run("top"))["sessionId"]
            write(kids["more"]["more"], "changed?")
            error = await stopped(desk, run_id, "yes", pause_id=f"{run_id}.0-0")
            assert (error["code"], error["tool"], error["call"]) == ("content_changed", "top > slow", "1/0")
            write(kids["more"]["more"], "slow?")
            waiting = await desk.runtime.resume(run_id, who="ann")
            assert waiting["outcome"]["question"] == "slow?"
            assert (await desk.spans(run_id))["0/1"]["name"] == "new"
            assert (await desk.answer(run_id, "now"))["result"] == ["yes", "now"]

    play(story())


@pytest.mark.parametrize("language", ["ts", "py"])
def test_the_message_names_both_sides_the_difference_the_codes_and_the_ways_on(tmp_path: Path, language: str) -> None:
    repo = workshop(tmp_path / "repo", language)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("top"))["sessionId"]
            old = (await desk.detail(run_id))["run"]["revision"]
            workshop(repo.root, language, "one, step, new, ask")
            error = await stopped(desk, run_id)
            new = (await desk.detail(run_id))["run"]["leg_revision"]
            assert (error["recorded_revision"], error["revision"]) == (old, new)
            assert error["recorded"] == {"kind": "tool", "name": "two", "call": 'callTool "two"', "arguments": "{}"}
            assert error["attempted"] == {"kind": "tool", "name": "new", "call": 'callTool "new"', "arguments": "{}"}
            assert error["difference"] == {"path": "name", "recorded": '"two"', "attempted": '"new"'}
            for part in (run_id, '"top"', "call number 3", old[:12], new[:12], "resume on the old code", "cancel"):
                assert part in error["message"]

    play(story())


@pytest.mark.parametrize("answered", [True, False])
def test_a_changed_question_names_the_part_that_changed(tmp_path: Path, answered: bool) -> None:
    repo = Repo(tmp_path / "repo")
    code = (
        "const ask = (question, label) => "
        "ctx.requestInput({{question, options: [{{value: 1, label: 'A'}}, {{value: 2, label}}]}});"
        "return await Promise.all([ask('one?', '{}'), ask('two?', '{}')]);"
    )
    repo.durable("top", ts=code.format("B", "B"))

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("top"))["sessionId"]
            repo.durable("top", ts=code.format("C", "B") if answered else code.format("B", "C"))
            error = await stopped(desk, run_id)
            assert error["code"] == "content_changed"
            assert error["difference"] == {"path": "$.options[1].label", "recorded": '"B"', "attempted": '"C"'}

    play(story())


def test_a_handler_that_does_not_repeat_itself_is_told_from_one_that_was_edited(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    counting = "import builtins\nbuiltins.n = getattr(builtins, 'n', 0) + 1\n"
    repo.durable("top", py=counting + "await ctx.request_input(f'{builtins.n}?')")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("top"))["sessionId"]
            error = await stopped(desk, run_id)
            assert error["recorded_revision"] == error["revision"]
            assert "does not repeat itself" in error["message"]
            assert "old code" not in error["message"]

    play(story())


def test_a_call_of_another_leg_is_said_to_be_recorded_by_the_code_of_that_leg(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    code = (
        "await ctx.requestInput('one?'); await ctx.callTool('{}', {{}}); await ctx.requestInput('two?'); return '{}';"
    )
    for name in ("one", "two"):
        repo.tool(name, ts="return 1;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            seen: list[str] = []

            def write(name: str, mark: str) -> None:
                repo.durable("top", ts=code.format(name, mark), tools=("one", "two"))

            async def look() -> dict[str, Any]:
                detail = await desk.detail(run_id)
                seen.append(detail["run"]["leg_revision"])
                return detail

            write("one", "first")
            run_id = (await desk.run("top"))["sessionId"]
            await look()
            write("one", "second")
            await desk.answer(run_id, 1)
            await look()
            write("two", "third")
            error = await stopped(desk, run_id)
            detail = await look()
            assert (error["recorded_revision"], error["revision"]) == (seen[1], seen[2])
            assert [one["revision"] for one in detail["run"]["revisions"]] == seen
            assert [one["revision"] for one in detail["run"]["revisions"] if one["old"]] == [seen[1]]
            assert (await desk.runtime.resume(run_id, seen[1], who="ann"))["result"] == "second"

    play(story())


@pytest.mark.parametrize("language", ["ts", "py"])
def test_changed_parameters_are_a_warning_that_names_the_first_of_them(tmp_path: Path, language: str) -> None:
    repo = workshop(tmp_path / "repo", language)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("top"))["sessionId"]
            _change_params(repo, language)
            assert (await desk.answer(run_id, 1))["result"] == "end"
            (warning,) = (await desk.detail(run_id))["run"]["warnings"]
            assert '$.a[1].b: 1 is recorded, "two" was attempted' in warning["message"]
            log = (tmp_path / "data/logs/handlers.log").read_text()
            assert "$.a[1].b" in log

    play(story())


@pytest.mark.parametrize("language", ["ts", "py"])
def test_changed_parameters_stop_a_run_where_a_person_wants_it_strict(tmp_path: Path, language: str) -> None:
    repo = workshop(tmp_path / "repo", language)

    async def story() -> None:
        async with bench(repo, tmp_path / "data", settings=Settings(strict=True)) as desk:
            run_id = (await desk.run("top"))["sessionId"]
            _change_params(repo, language, more="new")
            error = await stopped(desk, run_id)
            assert error["code"] == "replay-diverged"
            assert error["difference"] == {"path": "$.a[1].b", "recorded": "1", "attempted": '"two"'}

    play(story())


def _change_params(repo: Repo, language: str, more: str = "") -> None:
    lines = f"{RECORDED}, {more}" if more else RECORDED
    changed = {
        key: text.replace("b: 1", "b: 'two'").replace("'b': 1", "'b': 'two'")
        for key, text in body(language, lines).items()
    }
    repo.durable("top", tools=TOOLS, agents=("one",), **changed)


@pytest.mark.parametrize(
    ("recorded", "attempted", "path", "was", "now"),
    [
        ("1", "2", "$", "1", "2"),
        ('{"a": [1, {"b": 2}]}', '{"a": [1, {"b": 3}]}', "$.a[1].b", "2", "3"),
        ('{"a": [1]}', '{"a": [1, 2]}', "$.a[1]", None, "2"),
        ('{"a": [1, 2]}', '{"a": [1]}', "$.a[1]", "2", None),
        ('{"a": 1, "b": 2}', '{"b": 2}', "$.a", "1", None),
        ('{"b": 2}', '{"new one": null, "b": 2}', '$["new one"]', None, "null"),
        ('{"b": 2, "c": 1}', '{"a": 0, "b": 3, "c": 1}', "$.b", "2", "3"),
        ("[1]", "{}", "$", "[1]", "{}"),
        ("9007199254740993", "9007199254740992", "$", "9007199254740993", "9007199254740992"),
        ('{"a": "1"}', '{"a": 1}', "$.a", '"1"', "1"),
    ],
)
def test_the_first_difference(recorded: str, attempted: str, path: str, was: str | None, now: str | None) -> None:
    found = first_difference(loads(recorded), loads(attempted))
    assert found is not None
    assert (found.path, found.recorded, found.attempted) == (path, was, now)


def test_what_is_equal_has_no_difference_whatever_the_order_of_its_keys() -> None:
    assert first_difference(loads('{"a": 1, "b": [2]}'), loads('{"b": [2], "a": 1}')) is None


def test_long_values_are_cut_where_they_begin_to_differ() -> None:
    same: JsonValue = "x" * 10_000
    found = first_difference({"t": f"{same}old{same}"}, {"t": f"{same}new{same}"})
    assert found is not None
    assert found.recorded is not None
    assert found.attempted is not None
    assert "xold" in found.recorded
    assert "xnew" in found.attempted
    assert max(len(found.recorded), len(found.attempted)) <= SHOWN + 2
    assert len(dumps(str(found))) < 400
