"""What went wrong elsewhere with answers: twice, too late, to the wrong question, or none at all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from runtime_core.journal.base import Answer
from runtime_core.runtime import Change, Runtime
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps
from tests.e2e.office import Office, office
from tests.unit.engine.workshop import Repo

TS = {
    "ask": "return (await ctx.requestInput({question: 'Sure?', inputType: 'yesno'})).value;",
    "gate": """
const said = await ctx.waitForApproval('Write?');
if (said.approved) await ctx.callTool('work', {id: 'write'});
return said;""",
    "fan": """
const branch = async (name) => [(await ctx.requestInput(name)).value, await ctx.callTool('work', {id: name})];
return await Promise.all([branch('one'), branch('two')]);""",
    "twins": "return await Promise.all([1, 2, 3].map((n) => ctx.callTool('below', {n})));",
    "below": "return [params.n, (await ctx.requestInput('Number ' + params.n)).value];",
    "denied": """
const first = await ctx.waitForApproval('First?');
const second = await ctx.requestInput('And now?');
return {first: first.approved, note: first.note ?? null, second: second.value};""",
    "sibling": """
const [said, jumped] = await Promise.all([ctx.waitForApproval('Write?'), ctx.step('jump', () => 'jumped')]);
if (said.approved) await ctx.callTool('work', {id: 'write'});
return [said.approved, jumped];""",
    "approve": "return (await ctx.waitForApproval({prompt: 'Go?'})).approved;",
    "through": "return (await ctx.callTool('approve', {}));",
    "edit": """
const said = await ctx.waitForApproval({prompt: 'Pay?', context: {amount: 5}, allowEdits: true});
return await ctx.callTool('pay', said.edits ?? {amount: 5});""",
}
PY = {
    "ask": "return (await ctx.request_input({'question': 'Sure?', 'inputType': 'yesno'}))['value']",
    "gate": """
said = await ctx.wait_for_approval('Write?')
if said['approved']: await ctx.call_tool('work', {'id': 'write'})
return said""",
    "fan": """
import asyncio
async def branch(name): return [(await ctx.request_input(name))['value'], await ctx.call_tool('work', {'id': name})]
return await asyncio.gather(branch('one'), branch('two'))""",
    "twins": """
import asyncio
return await asyncio.gather(*(ctx.call_tool('below', {'n': n}) for n in (1, 2, 3)))""",
    "below": "return [params['n'], (await ctx.request_input('Number ' + str(params['n'])))['value']]",
    "denied": """
first = await ctx.wait_for_approval('First?')
second = await ctx.request_input('And now?')
return {'first': first['approved'], 'note': first.get('note'), 'second': second['value']}""",
    "sibling": """
import asyncio
said, jumped = await asyncio.gather(ctx.wait_for_approval('Write?'), ctx.step('jump', lambda: 'jumped'))
if said['approved']: await ctx.call_tool('work', {'id': 'write'})
return [said['approved'], jumped]""",
    "approve": "return (await ctx.wait_for_approval({'prompt': 'Go?'}))['approved']",
    "through": "return await ctx.call_tool('approve', {})",
    "edit": """
said = await ctx.wait_for_approval({'prompt': 'Pay?', 'context': {'amount': 5}, 'allowEdits': True})
return await ctx.call_tool('pay', said.get('edits') or {'amount': 5})""",
}
USES = {
    "gate": ("work",),
    "fan": ("work",),
    "twins": ("below",),
    "sibling": ("work",),
    "through": ("approve",),
    "edit": ("pay",),
}


@pytest.fixture(scope="module", params=["ts", "py"])
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp(f"answers_{request.param}")
    repo = Repo(folder / "repo")
    for name, code in (TS if request.param == "ts" else PY).items():
        repo.durable(name, **{request.param: code}, tools=USES.get(name, ()))
    repo.tool("work", ts="return 'worked on ' + params.id;")
    repo.tool("pay", ts="return params;", parameters={"type": "object", "properties": {"amount": {"type": "integer"}}})
    with office(repo, folder / "data") as opened:
        yield opened


def open_questions(desk: Office, run_id: str) -> dict[str, str]:
    """The questions of a run that are open, with their ids."""
    return {pause["question"]: pause["pause_id"] for pause in desk.detail(run_id)["pauses"]}


def test_a02_two_who_answer_differently_have_one_winner_and_the_other_is_told_whose_it_is(desk: Office) -> None:
    async def race(apart_s: float, client: Runtime) -> None:
        run_id = (await desk.bench.run("ask"))["sessionId"]

        async def send(runtime: Runtime, who: str, value: str, after_s: float) -> Any:
            await asyncio.sleep(after_s)
            try:
                return await runtime.answer(Answer(run_id, dumps(value), who))
            except RuntimeFault as fault:
                return fault

        replies = await asyncio.gather(send(desk.runtime, "window", "yes", 0), send(client, "command", "no", apart_s))
        decisions = (await desk.bench.detail(run_id))["decisions"]
        (lost,) = [reply for reply in replies if isinstance(reply, RuntimeFault)]
        (won,) = [reply for reply in replies if not isinstance(reply, RuntimeFault)]
        assert [decision["value"] for decision in decisions] == [won["result"]]
        assert lost.code in ("not_awaiting_input", "pause_superseded")
        assert lost.details["answered_by"] == decisions[0]["answered_by"]
        assert decisions[0]["answered_by"] in lost.message

    async def rounds() -> None:
        client = Runtime(desk.data, execute=False)
        await client.open()
        try:
            for number in range(8):
                await race(0.05 * number / 8, client)
        finally:
            await client.close()

    desk.wait(rounds())


def test_a05_an_answer_does_not_wake_a_cancelled_run(desk: Office) -> None:
    run_id = desk.parked("gate")
    desk.wait(desk.runtime.cancel(run_id, who="bob"))
    refusal = desk.refused(run_id, "yes")
    assert (refusal.code, refusal.details["status"]) == ("run_cancelled", "cancelled")
    assert desk.status(run_id) == "cancelled"
    assert desk.made(run_id, "work") == 0


def test_a13_of_two_questions_only_the_answered_one_goes_on(desk: Office) -> None:
    run_id = desk.parked("fan")
    asked = open_questions(desk, run_id)
    desk.answer(run_id, "second", pause_id=asked["two"])
    assert open_questions(desk, run_id) == {"one": asked["one"]}
    assert desk.made(run_id, "work") == 1
    done = desk.answer(run_id, "first", pause_id=asked["one"])
    assert done["result"] == [["first", "worked on one"], ["second", "worked on two"]]


def test_a16_after_a_denial_the_run_goes_on_and_asks_again(desk: Office) -> None:
    run_id = desk.parked("denied")
    again = desk.answer(run_id, "no", note="not today")
    assert again["outcome"]["question"] == "And now?"
    assert [decision["outcome"] for decision in desk.detail(run_id)["decisions"]] == ["refused"]
    done = desk.answer(run_id, "fine")
    assert done["result"] == {"first": False, "note": "not today", "second": "fine"}


def test_a17_an_answer_at_the_moment_of_the_event_is_not_lost(desk: Office) -> None:
    answers: dict[str, asyncio.Task[Any]] = {}

    def hears(change: Change) -> None:
        if change.kind == "pause-opened" and change.run_id not in answers:
            sent = Answer(change.run_id, '"yes"', "ann", pause_id=change.wire["pause_id"])
            answers[change.run_id] = asyncio.ensure_future(desk.runtime.answer(sent))

    async def rounds() -> None:
        leave = desk.runtime.subscribe(hears)
        for _ in range(25):
            run_id = (await desk.bench.run("ask"))["sessionId"]
            await desk.bench.until("run", session_id=run_id, status="completed")
            assert (await answers[run_id])["result"] == "yes"
        leave()

    desk.wait(rounds())


def test_a19_a_question_that_was_answered_is_not_asked_again(desk: Office) -> None:
    run_id = desk.parked("ask")
    assert desk.answer(run_id, "yes")["outcome"]["kind"] == "complete"
    desk.wait(desk.runtime.recover())
    detail = desk.detail(run_id)
    assert (detail["pauses"], len(detail["decisions"])) == ([], 1)
    pending = desk.wait(desk.runtime.pending(who="ann"))["approvals"]
    assert run_id not in {pause["session_id"] for pause in pending}


@pytest.mark.parametrize("tool", ["ask", "approve", "through"])
def test_a20_the_same_answer_is_taken_by_every_kind_of_question(desk: Office, tool: str) -> None:
    run_id = desk.parked(tool)
    assert desk.answer(run_id, "yes")["result"] in ("yes", True)


def test_b04_another_answer_with_the_key_of_the_first_changes_nothing(desk: Office) -> None:
    run_id = desk.parked("ask")
    pause_id = open_questions(desk, run_id)["Sure?"]
    assert desk.answer(run_id, True, pause_id=pause_id, key="k")["result"] is True
    assert desk.refused(run_id, False, pause_id=pause_id, key="k").code == "idempotency_mismatch"
    assert desk.refused(run_id, False, pause_id=pause_id).code in ("not_awaiting_input", "pause_superseded")
    assert desk.answer(run_id, True, pause_id=pause_id, key="k")["result"] is True
    assert [decision["value"] for decision in desk.detail(run_id)["decisions"]] == [True]


@pytest.mark.parametrize("tool", ["gate", "sibling"])
def test_b07_what_was_denied_is_not_executed(desk: Office, tool: str) -> None:
    run_id = desk.parked(tool)
    assert desk.answer(run_id, "no")["outcome"]["kind"] == "complete"
    assert desk.made(run_id, "work") == 0


@pytest.mark.parametrize("text", ["", " ", "{", "nul", '{"approved":', "\ufeff"])
def test_b08_an_answer_without_a_value_is_refused_and_the_question_stays_open(desk: Office, text: str) -> None:
    run_id = desk.parked("gate")
    with pytest.raises(RuntimeFault) as refused:
        desk.wait(desk.runtime.answer(Answer(run_id, text, "ann")))
    assert refused.value.code == "VALIDATION_ERROR"
    assert open_questions(desk, run_id)
    assert desk.made(run_id, "work") == 0


@pytest.mark.parametrize("value", [None, {}, {"edits": {}}, "", [], 0, 1, "true?"])
def test_b08_nothing_but_a_yes_approves(desk: Office, value: Any) -> None:
    run_id = desk.parked("gate")
    assert desk.answer(run_id, value)["result"]["approved"] is False
    assert desk.made(run_id, "work") == 0


def test_b10_three_of_the_same_tool_are_answered_in_reverse(desk: Office) -> None:
    run_id = desk.parked("twins")
    asked = open_questions(desk, run_id)
    assert len(asked) == 3
    for number in (3, 2, 1):
        reply = desk.answer(run_id, f"for {number}", pause_id=asked[f"Number {number}"])
    assert reply["result"] == [[1, "for 1"], [2, "for 2"], [3, "for 3"]]


def test_b16_an_edited_payload_is_what_is_executed_and_nothing_is_asked_again(desk: Office) -> None:
    run_id = desk.parked("edit")
    done = desk.wait(desk.runtime.answer(Answer(run_id, '"yes"', "ann", edits='{"amount": 7}')))
    assert done["result"] == {"amount": 7}
    detail = desk.detail(run_id)
    assert [span["input"] for span in detail["spans"] if span["name"] == "pay"] == [{"amount": 7}]
    (decision,) = detail["decisions"]
    assert (decision["context"], decision["edits"]) == ({"amount": 5}, {"amount": 7})


def test_b17_a_run_resumes_with_and_without_context_whoever_started_it(desk: Office) -> None:
    async def from_elsewhere() -> str:
        client = Runtime(desk.data, execute=False)
        await client.open()
        try:
            reply = await client.run_tool(desk.repo.root, "gate", "{}", who="command", context='{"from": "elsewhere"}')
            return reply["sessionId"]
        finally:
            await client.close()

    runs = [desk.parked("gate"), desk.parked("gate", context='{"why": "test"}'), desk.wait(from_elsewhere())]
    for run_id in runs:
        assert desk.answer(run_id, "yes")["outcome"]["kind"] == "complete"
        assert desk.made(run_id, "work") == 1
        assert len(desk.detail(run_id)["decisions"]) == 1
