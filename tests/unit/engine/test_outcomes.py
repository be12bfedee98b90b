"""Answers, refusals, cancels and interrupted calls as a whole runtime treats them, with handlers of both languages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from runtime_core.runtime import Runtime
from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import Bench, Repo, bench, play

LANGUAGES = pytest.mark.parametrize("language", ["ts", "py"], ids=["typescript", "python"])


async def refusal(work: Awaitable[Any]) -> RuntimeFault:
    with pytest.raises(RuntimeFault) as caught:
        await work
    return caught.value


QUORUM: dict[str, Any] = {
    "ts": """
const said = await ctx.waitForApproval({prompt: 'Pay?', quorum: 2, eligibleAnswerers: ['ann', 'bob', 'eve'],
  context: {eur: 5}, allowEdits: true, schema: {type: 'object', properties: {eur: {type: 'number', maximum: 9}}}});
return [said.approved, said.edits ?? null, said.respondedBy, (said.votes ?? []).map(vote => vote.respondedBy)];
""",
    "py": """
said = await ctx.wait_for_approval('Pay?', quorum=2, eligible_answerers=['ann', 'bob', 'eve'],
    context={'eur': 5}, allow_edits=True,
    schema={'type': 'object', 'properties': {'eur': {'type': 'number', 'maximum': 9}}})
voters = [vote['respondedBy'] for vote in said.get('votes', [])]
return [said['approved'], said.get('edits'), said['respondedBy'], voters]
""",
}


@LANGUAGES
def test_two_people_approve_with_the_same_edits(
    tmp_path: Path, language: str, caplog: pytest.LogCaptureFixture
) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("pay", **{language: QUORUM[language]})

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("pay"))["sessionId"]
            broken = await refusal(desk.answer(run_id, "yes", edits='{"eur": 10}'))
            assert broken.code == "edits_invalid"
            assert "eur" in broken.message
            assert "10" in broken.message
            first = (await desk.answer(run_id, "yes", edits='{"eur": 7}'))["outcome"]
            assert (first["kind"], first["votes"]) == ("awaiting-input", {"needed": 2, "given": 1, "by": ["ann"]})
            assert (await refusal(desk.answer(run_id, "yes", edits='{"eur": 7}'))).code == "already_voted"
            assert (await refusal(desk.answer(run_id, "yes", who="bob"))).code == "votes_differ"
            assert (await refusal(desk.answer(run_id, "yes", who="joe"))).code == "answerer_not_allowed"
            assert f"'{run_id}': an answer of 'joe' was refused: answerer_not_allowed" in caplog.text
            shown = await desk.until("pause-opened", votes=first["votes"])
            assert shown.wire["pause_id"] == first["pause_id"]
            done = await desk.answer(run_id, True, who="bob", edits='{"eur":7}')
            assert done["result"] == [True, {"eur": 7}, "bob", ["ann", "bob"]]
            (decision,) = (await desk.detail(run_id))["decisions"]
            assert (decision["outcome"], decision["votes"]["by"]) == ("answered", ["ann", "bob"])

    play(story())


@LANGUAGES
def test_one_refusal_is_enough_and_reaches_the_handler(tmp_path: Path, language: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("pay", **{language: QUORUM[language]})

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("pay"))["sessionId"]
            await desk.answer(run_id, "yes")
            assert (await desk.answer(run_id, "no", who="eve"))["result"] == [False, None, "eve", ["ann", "eve"]]
            (decision,) = (await desk.detail(run_id))["decisions"]
            assert (decision["outcome"], decision["answered_by"]) == ("refused", "eve")

    play(story())


def test_a_reply_shows_the_question_that_was_answered_while_it_waits_for_more_people(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    ask = "ctx.requestInput({question: 'One?', quorum: 2}), ctx.requestInput({question: 'Two?', quorum: 2})"
    repo.durable("ask", ts=f"return (await Promise.all([{ask}])).map(a => a.value);")

    async def story() -> None:
        async with bench(repo, tmp_path / "data", execute=True) as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            assert (await desk.answer(run_id, 2, pause_id=f"{run_id}.1"))["outcome"]["question"] == "Two?"
            assert (await desk.answer(run_id, 1, pause_id=f"{run_id}.0"))["outcome"]["question"] == "One?"
            async with bench(repo, tmp_path / "data", execute=False) as client:
                half = await client.answer(run_id, 1, who="bob")
                assert half["outcome"]["question"] == "Two?"
                assert (await client.answer(run_id, 2, who="bob"))["result"] == [1, 2]

    play(story())


@LANGUAGES
def test_a_text_that_breaks_its_schema_is_not_taken(tmp_path: Path, language: str) -> None:
    repo = Repo(tmp_path / "repo")
    schema = "{'type': 'string', 'pattern': '^[A-Z]{3}$'}"
    asked: dict[str, Any] = {
        "ts": f"return (await ctx.requestInput({{question: 'Code?', schema: {schema}}})).value;",
        "py": f"return (await ctx.request_input(question='Code?', schema={schema}))['value']",
    }
    repo.durable("ask", **{language: asked[language]})

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            for value in ("ab", 5, None):
                fault = await refusal(desk.answer(run_id, value))
                assert (fault.code, fault.details["key"]) == ("VALIDATION_ERROR", "value")
            assert (await desk.answer(run_id, "ABC"))["result"] == "ABC"

    play(story())


# Interrupted calls ---------------------------------------------------------------------------------------------------

CHARGING: dict[str, Any] = {
    "ts": """
try { return ['ok', await ctx.callTool('charge', {eur: 5})]; }
catch (error) { return [error.name, error.code, error.message.includes('bob')]; }
""",
    "py": """
try:
    return ['ok', await ctx.call_tool('charge', {'eur': 5})]
except CompositeCallError as error:
    return [type(error).__name__, error.code, 'bob' in str(error)]
""",
}
HANGING: dict[str, Any] = {
    "ts": "globalThis.begun = true; await new Promise(() => {});",
    "py": "import asyncio, builtins\nbuiltins.begun = True\nawait asyncio.sleep(1000)",
}
BEGUN: dict[str, Any] = {
    "ts": "return globalThis.begun ?? null;",
    "py": "import builtins\nreturn getattr(builtins, 'begun', None)",
}
CHARGED: dict[str, Any] = {"ts": "return {charged: params.eur};", "py": "return {'charged': params['eur']}"}


async def interrupted(repo: Repo, data: Path, language: str) -> str:
    """A run whose call was in flight when its process ended; the tool works again afterwards."""
    repo.durable("pay", tools=("charge",), **{language: CHARGING[language]})
    repo.tool("charge", timeout=60000, **{language: HANGING[language]})
    repo.tool("begun", **{language: BEGUN[language]})
    runtime = Runtime(data)
    await runtime.open()
    try:
        desk = Bench(runtime, repo)
        run_id = (await desk.run("pay", wait_s=0))["sessionId"]
        while (await desk.run("begun"))["result"] is None:  # until the child runs
            pass
    finally:
        await runtime.close(grace_s=0)
    repo.tool("charge", **{language: CHARGED[language]})
    return run_id


@LANGUAGES
@pytest.mark.parametrize(
    ("choice", "result"),
    [
        ("run-again", ["ok", {"charged": 5}]),
        ("fail", ["CompositeCallError", "execution-failed", True]),
        ({"use_result": {"charged": 4.5}}, ["ok", {"charged": 4.5}]),
    ],
    ids=["run-again", "fail", "use-result"],
)
def test_a_person_decides_what_becomes_of_an_interrupted_call(
    tmp_path: Path, language: str, choice: Any, result: Any
) -> None:
    async def story() -> None:
        repo = Repo(tmp_path / "repo")
        run_id = await interrupted(repo, tmp_path / "data", language)
        async with bench(repo, tmp_path / "data") as desk:
            await desk.runtime.recover()
            (pause,) = (await desk.runtime.pending(who="bob"))["approvals"]
            assert (pause["status"], pause["kind"], pause["path"]) == (
                "needs-attention",
                "attention",
                ["pay", "charge"],
            )
            assert (await refusal(desk.answer(run_id, "yes", who="bob"))).code == "VALIDATION_ERROR"
            done = await desk.answer(run_id, choice, who="bob")
            assert done["result"] == result
            assert [one["outcome"] for one in (await desk.detail(run_id))["decisions"]] == ["answered"]

    play(story())


def test_a_run_that_stays_stuck_asks_once_and_keeps_its_questions(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    both = "await Promise.all([ctx.requestInput('One?'), ctx.requestInput('Two?')])"
    repo.durable("ask", ts=f"return ({both}).map(a => a.value);")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            (repo.root / "amodal.json").rename(tmp_path / "amodal.json")
            await desk.answer(run_id, 1, pause_id=f"{run_id}.0")
            still = await desk.answer(run_id, "run-again", pause_id=await stuck_pause(desk, run_id))
            assert still["outcome"]["kind"] == "needs-attention"
            (tmp_path / "amodal.json").rename(repo.root / "amodal.json")
            asked = await desk.answer(run_id, "run-again", pause_id=await stuck_pause(desk, run_id))
            assert asked["outcome"]["question"] == "Two?"
            assert (await desk.answer(run_id, 2))["result"] == [1, 2]

    async def stuck_pause(desk: Bench, run_id: str) -> str:
        pauses = (await desk.detail(run_id))["pauses"]
        (attention,) = [pause for pause in pauses if pause["kind"] == "attention"]
        assert [pause["question"] for pause in pauses if pause is not attention] == ["Two?"]
        return attention["pause_id"]

    play(story())


def test_an_answer_to_another_question_of_a_stuck_run_does_not_double_the_attention(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    three = "ctx.requestInput('One?'), ctx.requestInput('Two?'), ctx.requestInput('Three?')"
    repo.durable("ask", ts=f"return (await Promise.all([{three}])).map(a => a.value);")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            (repo.root / "amodal.json").rename(tmp_path / "amodal.json")
            for number in (0, 1):
                await desk.answer(run_id, number, pause_id=f"{run_id}.{number}")
            kinds = [pause["kind"] for pause in (await desk.detail(run_id))["pauses"]]
            assert sorted(kinds) == ["attention", "input"]

    play(story())


# Cancelling ----------------------------------------------------------------------------------------------------------


async def _running(desk: Bench) -> str:
    run_id = (await desk.run("busy", wait_s=0))["sessionId"]
    await desk.until("span", id="0", state="running")
    return run_id


async def _sleeping(desk: Bench) -> str:
    return (await desk.run("nap"))["sessionId"]


async def _waiting(desk: Bench) -> str:
    return (await desk.run("ask"))["sessionId"]


async def _diverged(desk: Bench) -> str:
    run_id = (await desk.run("ask"))["sessionId"]
    desk.repo.durable("ask", ts="return (await ctx.requestInput('Something else?')).value;")
    await desk.answer(run_id, 1)
    return run_id


async def _stuck(desk: Bench) -> str:
    run_id = (await desk.run("ask"))["sessionId"]
    desk.repo.durable("ask", ts="const x = ;")
    await desk.answer(run_id, 1)
    return run_id


@pytest.mark.parametrize(
    ("status", "reach"),
    [
        ("running", _running),
        ("sleeping", _sleeping),
        ("awaiting-input", _waiting),
        ("diverged", _diverged),
        ("needs-attention", _stuck),
    ],
)
def test_every_unfinished_run_can_be_cancelled_once(
    tmp_path: Path, status: str, reach: Callable[[Bench], Awaitable[str]]
) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("busy", ts="return ctx.callTool('hang', {});", tools=("hang",))
    repo.tool("hang", ts="await new Promise(r => ctx.signal.addEventListener('abort', r));", timeout=60000)
    repo.durable("nap", ts="await ctx.sleepUntil(ctx.now() + 3600000);")
    repo.durable("ask", ts="return (await Promise.all([ctx.requestInput('Q'), ctx.requestInput('P')])).length;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = await reach(desk)
            assert (await desk.detail(run_id))["run"]["status"] == status
            assert (await desk.runtime.cancel(run_id, who="bob"))["outcome"]["kind"] == "cancelled"
            detail = await desk.detail(run_id)
            assert (detail["run"]["status"], detail["run"]["error"]["cancelled_by"]) == ("cancelled", "bob")
            assert detail["pauses"] == []
            assert not {span["state"] for span in detail["spans"]} & {"running", "waiting"}
            cancelled = [one for one in detail["decisions"] if one["outcome"] == "cancelled"]
            assert {one["answered_by"] for one in cancelled} <= {"bob"}
            assert (await desk.runtime.pending(who="ann"))["total"] == 0
            for late in (desk.answer(run_id, "yes"), desk.runtime.cancel(run_id, who="eve")):
                fault = await refusal(late)
                assert (fault.code, fault.details["status"]) == ("run_cancelled", "cancelled")

    play(story())


def test_a_run_that_nobody_executes_yet_can_be_cancelled(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", ts="return ctx.requestInput('Q');")

    async def story() -> None:
        async with bench(repo, tmp_path / "data", execute=False) as desk:
            run_id = (await desk.run("ask", wait_s=0))["sessionId"]
            assert (await desk.runtime.cancel(run_id, who="bob"))["outcome"]["kind"] == "cancelled"
        async with bench(repo, tmp_path / "data") as desk:
            assert await desk.runtime.recover() == 0
            assert (await desk.spans(run_id)) == {}

    play(story())


HEARS: dict[str, Any] = {
    "ts": "ctx.signal.addEventListener('abort', () => { globalThis.heard = true; }); return ctx.callTool('hang', {});",
    "py": """
import asyncio, builtins
async def hear():
    await ctx.signal.wait()
    builtins.heard = True
listening = asyncio.ensure_future(hear())
return await ctx.call_tool('hang', {})
""",
}
HEARD: dict[str, Any] = {
    "ts": "return globalThis.heard ?? null;",
    "py": "import builtins\nreturn getattr(builtins, 'heard', None)",
}


@LANGUAGES
def test_a_cancelled_durable_handler_hears_of_it(tmp_path: Path, language: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("long", tools=("hang",), **{language: HEARS[language]})
    repo.tool("hang", ts="await new Promise(r => ctx.signal.addEventListener('abort', r));", timeout=60000)
    repo.tool("heard", **{language: HEARD[language]})

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("long", wait_s=0))["sessionId"]
            await desk.until("span", id="0", state="running")
            await desk.runtime.cancel(run_id, who="bob")
            while (await desk.run("heard"))["result"] is not True:
                pass

    play(story())


def test_a_cancelled_question_says_so_in_the_tree(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", py="return await ctx.request_input('Q')")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            await desk.runtime.cancel(run_id, who="bob")
            span = (await desk.spans(run_id))["0"]
            assert (span["state"], span["code"], span["message"]) == ("cancelled", "run_cancelled", "Cancelled by bob.")

    play(story())
