"""Durable runs that pause, are answered and finish, in both languages."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import Repo, bench, play

ASKING: dict[str, dict[str, Any]] = {
    "typescript": {
        "ts": """
const target = await ctx.requestInput({question: 'Where?', inputType: 'choice',
  options: [{value: 'staging', label: 'Staging'}], context: {release: 7}});
const result = await ctx.callTool('run_release', {target: target.value});
return {target: target.value, by: target.respondedBy, note: target.note ?? null, result};
"""
    },
    "python": {
        "py": """
target = await ctx.request_input(question='Where?', input_type='choice',
    options=[{'value': 'staging', 'label': 'Staging'}], context={'release': 7})
result = await ctx.call_tool('run_release', {'target': target['value']})
return {'target': target['value'], 'by': target['respondedBy'], 'note': target.get('note'), 'result': result}
"""
    },
}
RELEASING: dict[str, dict[str, Any]] = {
    "typescript": {"ts": "return {released: params.target};"},
    "python": {"py": "return {'released': params['target']}"},
}


def release_desk(root: Path, language: str) -> Repo:
    repo = Repo(root)
    repo.durable("release", tools=("run_release",), **ASKING[language])
    repo.tool("run_release", **RELEASING[language])
    return repo


def test_a_pause_is_the_same_object_in_a_reply_and_in_the_list(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", ts="return await ctx.requestInput({question: 'Q', eligibleAnswerers: ['bob']});")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            outcome = (await desk.run("ask"))["outcome"]
            (listed,) = (await desk.runtime.pending(who="ann"))["approvals"]
            assert listed["eligible"] is False
            assert outcome == {**listed, "kind": "awaiting-input"}

    play(story())


@pytest.mark.parametrize("language", ASKING)
def test_a_run_pauses_is_answered_and_finishes(tmp_path: Path, language: str) -> None:
    async def story() -> None:
        async with bench(release_desk(tmp_path / "repo", language), tmp_path / "data") as desk:
            asked = await desk.run("release")
            outcome = asked["outcome"]
            assert outcome["kind"] == "awaiting-input"
            assert outcome["pause_kind"] == "input"
            assert outcome["question"] == "Where?"
            assert outcome["input_type"] == "choice"
            assert outcome["context"] == {"release": 7}
            assert outcome["path"] == ["release"]
            assert outcome["session_id"] == asked["sessionId"] == asked["session_id"]
            assert asked["result"] is None
            done = await desk.answer(asked["sessionId"], "staging", note="go 🌍")
            assert done["outcome"] == {"kind": "complete"}
            assert done["result"] == {
                "target": "staging",
                "by": "ann",
                "note": "go 🌍",
                "result": {"released": "staging"},
            }
            detail = await desk.detail(asked["sessionId"])
            assert detail["run"]["status"] == "completed"
            assert detail["pauses"] == []
            assert [(one["outcome"], one["value"]) for one in detail["decisions"]] == [("answered", "staging")]

    play(story())


def test_an_answer_reaches_a_run_after_a_restart(tmp_path: Path) -> None:
    repo = release_desk(tmp_path / "repo", "typescript")

    async def ask() -> str:
        async with bench(repo, tmp_path / "data") as desk:
            return (await desk.run("release"))["sessionId"]

    async def answer(run_id: str) -> None:
        async with bench(repo, tmp_path / "data") as desk:
            waiting = await desk.runtime.pending(who="ann")
            assert [pause["session_id"] for pause in waiting["approvals"]] == [run_id]
            assert waiting["total"] == 1
            done = await desk.answer(run_id, "staging")
            assert done["result"]["result"] == {"released": "staging"}
            assert (await desk.runtime.pending(who="ann"))["total"] == 0

    play(answer(play(ask())))


def test_recorded_calls_are_not_made_again(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "twice",
        ts="""
const before = await ctx.callTool('work', {n: 1});
const step = await ctx.step('local', () => ({at: new Date(0)}));
const first = await ctx.requestInput('one?');
const second = await ctx.requestInput('two?');
const after = await ctx.callTool('work', {n: 2});
return [before, step, first.value, second.value, after];
""",
        tools=("work",),
    )
    # Module state of the host process counts how often a handler really ran.
    repo.tool("work", ts="globalThis.ran = (globalThis.ran ?? 0) + 1; return {n: params.n, ran: globalThis.ran};")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("twice"))["sessionId"]
            again = await desk.answer(run_id, "a")
            assert again["outcome"]["question"] == "two?"
            done = await desk.answer(run_id, {"b": [1.0]})
            step = {"at": "1970-01-01T00:00:00.000Z"}
            assert done["result"] == [{"n": 1, "ran": 1}, step, "a", {"b": [1]}, {"n": 2, "ran": 2}]
            spans = await desk.spans(run_id)
            assert {at: span["replayed"] for at, span in spans.items()} == {
                "": False,
                "0": True,
                "1": True,
                "2": True,
                "3": True,
                "4": False,
            }
            assert [spans[at]["kind"] for at in "01234"] == ["tool", "step", "input", "input", "tool"]

    play(story())


def test_digits_survive_into_a_python_handler_and_out_of_the_run(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("echo", py="return {'given': params, 'answer': (await ctx.request_input('n?'))['value']}")
    big = 2**64 + 1

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("echo", {"n": big}))["sessionId"]
            done = await desk.answer(run_id, big + 1)
            assert done["result"] == {"given": {"n": big}, "answer": big + 1}

    play(story())


def test_two_questions_at_once_are_two_pauses_answered_in_any_order(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "both",
        ts="""
const [a, b, c] = await Promise.all([
  ctx.requestInput('first?'), ctx.waitForApproval('second?'), ctx.callTool('slow', {})]);
return {a: a.value, b: b.approved, c};
""",
        tools=("slow",),
    )
    repo.tool("slow", ts="await new Promise(r => setTimeout(r, 150)); return 'slow';")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("both"))["sessionId"]
            pauses = {pause["question"]: pause for pause in (await desk.detail(run_id))["pauses"]}
            assert set(pauses) == {"first?", "second?"}
            assert pauses["second?"]["kind"] == "approval"
            half = await desk.answer(run_id, "yes", pause_id=pauses["second?"]["pause_id"])
            assert half["outcome"]["question"] == "first?"
            assert half["outcome"]["pause_id"] == pauses["first?"]["pause_id"]
            done = await desk.answer(run_id, 5)
            assert done["result"] == {"a": 5, "b": True, "c": "slow"}

    play(story())


def test_a_pause_below_durable_children_surfaces_on_the_parent(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("top", ts="return {middle: await ctx.callTool('middle', {n: 1})};", tools=("middle",))
    repo.durable(
        "middle",
        py="""
first = await ctx.call_tool('leaf', {'n': 1})
answer = await ctx.request_input('which?')
second = await ctx.call_tool('leaf', {'n': 2})
return [first, answer['value'], second]
""",
        tools=("leaf",),
    )
    repo.tool("leaf", ts="globalThis.leaf = (globalThis.leaf ?? 0) + 1; return [params.n, globalThis.leaf];")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            asked = await desk.run("top")
            assert asked["outcome"]["path"] == ["top", "middle"]
            assert asked["outcome"]["tool_name"] == "top"
            done = await desk.answer(asked["sessionId"], "this")
            assert done["result"] == {"middle": [[1, 1], "this", [2, 2]]}
            spans = await desk.spans(asked["sessionId"])
            assert {at: span["name"] for at, span in spans.items() if span["kind"] == "tool"} == {
                "": "top",
                "0": "middle",
                "0/0": "leaf",
                "0/2": "leaf",
            }
            assert spans["0/0"]["replayed"]
            assert not spans["0/2"]["replayed"]

    play(story())


def test_answers_are_refused_with_the_contracts_codes(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", ts="return (await ctx.requestInput({question: 'q', eligibleAnswerers: ['ann']})).value;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]

            async def refused(session: str, value: Any, **more: Any) -> RuntimeFault:
                with pytest.raises(RuntimeFault) as caught:
                    await desk.answer(session, value, **more)
                return caught.value

            assert (await refused("dur_nobody", 1)).code == "NOT_FOUND"
            assert (await refused(run_id, 1, who="bob")).code == "answerer_not_allowed"
            assert (await refused(run_id, 1, pause_id="other")).code == "pause_superseded"
            assert (await refused(run_id, 1, fingerprint="other")).code == "content_changed"
            assert (await refused(run_id, 1, edits="{}")).code == "edits_not_allowed"
            await desk.answer(run_id, 1)
            late = await refused(run_id, 2)
            assert late.code == "not_awaiting_input"
            assert late.details["answered_by"] == "ann"

    play(story())


def test_a_question_that_is_none_fails_the_call_and_names_the_argument(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "ask",
        ts="try { await ctx.requestInput({question: 5}); } catch (error) { return [error.code, error.message]; }",
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            code, message = (await desk.run("ask"))["result"]
            assert code == "invalid-params"
            assert "question" in message

    play(story())


def test_listeners_hear_of_pauses_runs_and_calls(tmp_path: Path) -> None:
    repo = release_desk(tmp_path / "repo", "typescript")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("release"))["sessionId"]
            await desk.until("pause-opened")
            opened = next(change.wire for change in desk.changes if change.kind == "pause-opened")
            assert opened["eligible"] is True
            await desk.answer(run_id, "staging")
            await desk.until("run", status="completed")
            closed = [change.wire["pause_id"] for change in desk.changes if change.kind == "pause-closed"]
            assert opened["pause_id"] in closed
            states = [change.wire["state"] for change in desk.changes if change.kind == "span"]
            assert states[0] == "running"
            assert states[-1] == "ok"

    play(story())


def test_a_second_question_is_answered_while_the_first_answer_still_moves_the_run(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "both",
        ts="""
const one = ctx.requestInput('one?').then(a => ctx.callTool('slow', {n: a.value}));
return await Promise.all([one, ctx.requestInput('two?').then(a => a.value)]);
""",
        tools=("slow",),
    )
    repo.tool("slow", ts="await new Promise(r => setTimeout(r, 400)); return params.n;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("both"))["sessionId"]
            one, two = (await desk.detail(run_id))["pauses"]
            first = asyncio.create_task(desk.answer(run_id, 1, pause_id=one["pause_id"]))
            await desk.until("span", name="slow", state="running")
            done = await desk.answer(run_id, 2, pause_id=two["pause_id"])
            assert done["result"] == [1, 2]
            assert (await first)["outcome"]["kind"] in ("awaiting-input", "complete")

    play(story())


@pytest.mark.parametrize(
    "code",
    [
        {"ts": "return await ctx.waitForApproval(null);"},
        {"ts": "return await ctx.waitForApproval();"},
        {"py": "return await ctx.wait_for_approval(None)"},
        {"py": "return await ctx.wait_for_approval()"},
    ],
)
def test_an_approval_of_nothing_is_refused(tmp_path: Path, code: dict[str, str]) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", **code)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            outcome = (await desk.run("ask"))["outcome"]
            assert (outcome["kind"], outcome["code"]) == ("failed", "invalid-params")
            assert "prompt is missing" in outcome["reason"]

    play(story())


@pytest.mark.parametrize("language", ["ts", "py"])
def test_a_question_beside_a_subagent_is_asked_once_its_reply_is_recorded(tmp_path: Path, language: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.agent("reviewer")
    model = repo.script({"agent": "reviewer", "text": "looks fine"})
    repo.durable(
        "top",
        agents=("reviewer",),
        ts="const [a, b] = await Promise.all([ctx.requestInput({question: 'Go on?'}), "
        "ctx.callSubagent('reviewer', 'Review.')]); return [a.value, b];"
        if language == "ts"
        else None,
        py="import asyncio\n"
        "question, reply = ctx.request_input({'question': 'Go on?'}), ctx.call_subagent('reviewer', 'Review.')\n"
        "a, b = await asyncio.gather(question, reply)\n"
        "return [a['value'], b]"
        if language == "py"
        else None,
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data", model=model) as desk:
            reply = await desk.run("top")
            spans = await desk.spans(reply["session_id"])
            assert (spans["1"]["kind"], spans["1"]["state"]) == ("subagent", "ok")
        async with bench(repo, tmp_path / "data", model="scripted:/nowhere") as desk:
            assert (await desk.runtime.pending(who="ann"))["total"] == 1
            answered = await desk.answer(reply["session_id"], "yes")  # its model could not be asked again
            assert answered["result"] == ["yes", "looks fine"]

    play(story())


READING = {
    "ts": """
const read = () => ctx.fs.readRepoFile('amodal.json');
const work = async () => { for (let i = 0; i < 3e8; i++); };
await read();
const first = ctx.requestInput('First?');
const text = read();
queueMicrotask(work);
await text;
return await Promise.all([first, ctx.requestInput('Second?')]);
""",
    "py": """
import asyncio, time
async def work(): time.sleep(0.2)
await ctx.fs.read_repo_file('amodal.json')
first = ctx.request_input('First?')
text = ctx.fs.read_repo_file('amodal.json')
asyncio.ensure_future(work())
await text
return await asyncio.gather(first, ctx.request_input('Second?'))
""",
}


@pytest.mark.parametrize("language", READING)
def test_a_handler_that_has_just_got_a_file_does_not_wait_yet(tmp_path: Path, language: str) -> None:
    """The file comes while the handler is at work, before anybody looks whether it waits."""
    repo = Repo(tmp_path / "repo")
    source: dict[str, Any] = {language: READING[language]}
    repo.durable("ask", **source)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            asked = [pause["question"] for pause in (await desk.detail(run_id))["pauses"]]
            assert asked == ["First?", "Second?"]

    play(story())
