"""Questions that nobody answers in time: what the handler gets, and what becomes of its run (decision 7)."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import Bench, Repo, bench, play

Handler = dict[str, str]

SOON_MS = 1200


def both(ts: str, py: str) -> Any:
    return pytest.mark.parametrize("handler", [{"ts": ts}, {"py": py}], ids=["typescript", "python"])


def desk_of(root: Path, handler: Handler, **settings: Any) -> Repo:
    repo = Repo(root)
    repo.durable("ask", **handler, **settings)
    return repo


async def refusal(desk: Bench, run_id: str, value: Any, **more: Any) -> RuntimeFault:
    with pytest.raises(RuntimeFault) as caught:
        await desk.answer(run_id, value, **more)
    return caught.value


def outcomes(detail: dict[str, Any]) -> list[str]:
    return [decision["outcome"] for decision in detail["decisions"]]


@both(
    f"const answer = await ctx.requestInput({{question: 'Where?', timeoutMs: {SOON_MS}}}); return answer.value;",
    f"return (await ctx.request_input(question='Where?', timeout_ms={SOON_MS}))['value']",
)
def test_a_run_that_does_not_catch_it_ends_expired(tmp_path: Path, handler: Handler) -> None:
    async def story() -> None:
        async with bench(desk_of(tmp_path / "repo", handler), tmp_path / "data") as desk:
            outcome = (await desk.run("ask"))["outcome"]
            run_id, deadline = outcome["session_id"], outcome["expires_at"]
            assert (outcome["kind"], outcome["on_expire"]) == ("awaiting-input", "fail")
            await desk.until("run", status="expired")
            detail = await desk.detail(run_id)
            error = detail["run"]["error"]
            assert error["code"] == "pause-expired"
            assert "Where?" in error["message"]
            assert deadline in error["message"]
            assert outcomes(detail) == ["expired"]
            (decision,) = detail["decisions"]
            assert (decision["value"], decision["answered_by"]) == (None, None)
            assert decision["expires_at"] == deadline
            span = (await desk.spans(run_id))["0"]
            assert (span["state"], span["code"], span["message"]) == ("failed", "pause-expired", error["message"])
            assert (await desk.runtime.pending(who="ann"))["total"] == 0
            late = await refusal(desk, run_id, "here")
            assert (late.code, late.details["status"]) == ("pause_expired", "expired")
            assert late.details["expires_at"] == deadline
            with pytest.raises(RuntimeFault) as caught:
                await desk.runtime.cancel(run_id, who="ann")
            assert caught.value.code == "pause_expired"

    play(story())


@both(
    """
try { await ctx.requestInput({question: 'Q', expiresAt: new Date(ctx.now() + 1200)}); return 'answered'; }
catch (error) { return [error.code, (await ctx.requestInput('Again?')).value]; }
""",
    """
from datetime import UTC, datetime, timedelta
try:
    start = datetime.fromtimestamp(ctx.now() / 1000, UTC)
    await ctx.request_input(question='Q', expires_at=start + timedelta(seconds=1.2))
    return 'answered'
except Exception as error:
    return [error.code, (await ctx.request_input('Again?'))['value']]
""",
)
def test_a_handler_that_catches_it_goes_on_and_may_ask_again(tmp_path: Path, handler: Handler) -> None:
    async def story() -> None:
        async with bench(desk_of(tmp_path / "repo", handler), tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            again = await desk.until("pause-opened", question="Again?")
            done = await desk.answer(run_id, "now", pause_id=again.wire["pause_id"])
            assert done["result"] == ["pause-expired", "now"]
            assert outcomes(await desk.detail(run_id)) == ["expired", "answered"]

    play(story())


@both(
    """
const input = await ctx.requestInput({question: 'Q', timeoutMs: 0, onExpire: {value: {dock: 1.50}}});
const silent = await ctx.waitForApproval({prompt: 'P', timeoutMs: 0, onExpire: {value: 'later'}});
const written = await ctx.waitForApproval({prompt: 'P', timeoutMs: 0, onExpire: {value: 'yes'}});
return [input, silent, written];
""",
    """
input = await ctx.request_input(question='Q', timeout_ms=0, on_expire={'value': {'dock': 1.50}})
silent = await ctx.wait_for_approval('P', timeout_ms=0, on_expire={'value': 'later'})
written = await ctx.wait_for_approval('P', timeout_ms=0, on_expire={'value': 'yes'})
return [input, silent, written]
""",
)
def test_a_deadline_in_the_past_expires_at_once_and_the_authors_value_is_returned(
    tmp_path: Path, handler: Handler
) -> None:
    async def story() -> None:
        async with bench(desk_of(tmp_path / "repo", handler), tmp_path / "data") as desk:
            done = await desk.run("ask")
            assert done["result"] == [
                {"value": {"dock": 1.5}, "expired": True},
                {"approved": False, "expired": True},
                {"approved": True, "expired": True},
            ]
            detail = await desk.detail(done["sessionId"])
            assert outcomes(detail) == ["expired", "expired", "expired"]
            assert detail["decisions"][0]["on_expire"] == {"value": {"dock": 1.5}}
            spans = await desk.spans(done["sessionId"])
            assert [spans[at]["state"] for at in ("0", "1", "2")] == ["ok", "ok", "ok"]

    play(story())


@both(
    """
const problems = [];
for (const odd of [{expiresAt: 'soon'}, {expiresAt: NaN}, {expiresAt: new Date(NaN)}, {timeoutMs: -1}, {timeoutMs: NaN},
    {timeoutMs: '5'}, {expiresAt: '2030-01-01T00:00:00Z', timeoutMs: 5}, {timeoutMs: 5, onExpire: 'approve'},
    {quorum: NaN}, {quorum: 0}, {quorum: 3, eligibleAnswerers: ['a', 'b']}, {schema: {type: 'nonsense'}}]) {
  try { await ctx.requestInput({question: 'Q', ...odd}); problems.push('asked'); }
  catch (error) { problems.push(error.code); }
}
return problems;
""",
    """
nan = float('nan')
problems = []
for odd in [{'expires_at': 'soon'}, {'expires_at': nan}, {'expires_at': -1}, {'timeout_ms': -1}, {'timeout_ms': nan},
    {'timeout_ms': '5'}, {'expires_at': '2030-01-01T00:00:00Z', 'timeout_ms': 5}, {'timeout_ms': 5, 'on_expire': 'yes'},
    {'quorum': nan}, {'quorum': 0}, {'quorum': 3, 'eligible_answerers': ['a', 'b']}, {'schema': {'type': 'nonsense'}}]:
    try:
        await ctx.request_input(question='Q', **odd)
        problems.append('asked')
    except Exception as error:
        problems.append(error.code)
return problems
""",
)
def test_what_is_no_deadline_quorum_or_schema_is_refused_when_it_is_asked(tmp_path: Path, handler: Handler) -> None:
    async def story() -> None:
        async with bench(desk_of(tmp_path / "repo", handler), tmp_path / "data") as desk:
            assert (await desk.run("ask"))["result"] == ["invalid-params"] * 12

    play(story())


TWO: dict[str, Handler] = {
    "typescript": {
        "ts": """
const [first, second] = await Promise.all([
  ctx.requestInput({question: 'Short?', timeoutMs: 1500, onExpire: {value: 'nobody'}}), ctx.requestInput('Long?')]);
return [first.value, second.value];
"""
    },
    "python": {
        "py": """
import asyncio
first, second = await asyncio.gather(
    ctx.request_input(question='Short?', timeout_ms=1500, on_expire={'value': 'nobody'}), ctx.request_input('Long?'))
return [first['value'], second['value']]
"""
    },
}


@pytest.mark.parametrize("language", TWO)
def test_one_of_two_questions_expires_and_the_other_stays_open(tmp_path: Path, language: str) -> None:
    async def story() -> None:
        async with bench(desk_of(tmp_path / "repo", TWO[language]), tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            await desk.until("pause-closed", question="Short?", outcome="expired")
            late = await refusal(desk, run_id, "x", pause_id=f"{run_id}.0")
            assert late.code == "pause_expired"
            (left,) = (await desk.runtime.pending(who="ann"))["approvals"]
            assert left["question"] == "Long?"
            assert (await desk.answer(run_id, "me"))["result"] == ["nobody", "me"]

    play(story())


@pytest.mark.parametrize("language", TWO)
def test_a_deadline_is_fixed_when_the_question_is_first_asked(tmp_path: Path, language: str) -> None:
    handler = {key: body.replace("1500", "600000") for key, body in TWO[language].items()}

    async def story() -> None:
        async with bench(desk_of(tmp_path / "repo", handler), tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            (before,) = [pause for pause in (await desk.detail(run_id))["pauses"] if pause["question"] == "Short?"]
            after = (await desk.answer(run_id, "me", pause_id=f"{run_id}.1"))["outcome"]
            assert after["kind"] == "awaiting-input"
            for key in ("pause_id", "expires_at", "fingerprint", "created_at"):
                assert after[key] == before[key]
            assert (await desk.answer(run_id, "you"))["result"] == ["you", "me"]

    play(story())


@both(
    f"return (await ctx.requestInput({{question: 'Q', timeoutMs: {SOON_MS}, onExpire: {{value: 'nobody'}}}})).value;",
    f"return (await ctx.request_input(question='Q', timeout_ms={SOON_MS}, on_expire={{'value': 'nobody'}}))['value']",
)
def test_a_runtime_that_was_closed_expires_questions_when_it_is_opened(tmp_path: Path, handler: Handler) -> None:
    repo = desk_of(tmp_path / "repo", handler)

    async def ask() -> dict[str, Any]:
        async with bench(repo, tmp_path / "data") as desk:
            return (await desk.run("ask"))["outcome"]

    async def later(asked: dict[str, Any]) -> None:
        passed = {**asked, "eligible": False, "reason": "The deadline of this question has passed.", "kind": "input"}
        run_id = asked["session_id"]
        async with bench(repo, tmp_path / "data", execute=False) as desk:
            await until_over(desk, run_id)
            assert (await desk.runtime.pending(who="ann"))["approvals"] == [passed]
            late = await refusal(desk, run_id, "me")
            assert (late.code, late.details["status"]) == ("pause_expired", "awaiting-input")
            assert late.details["expires_at"] == asked["expires_at"]
        async with bench(repo, tmp_path / "data") as desk:
            await desk.runtime.recover()
            assert (await desk.detail(run_id))["run"]["result"] == "nobody"

    play(later(play(ask())))


async def until_over(desk: Bench, run_id: str) -> None:
    """Wait for the deadline of a question that nobody acts on."""
    (pause,) = (await desk.runtime.run(run_id, who="ann"))["pauses"]
    while pause["eligible"]:
        await asyncio.sleep(0.05)
        (pause,) = (await desk.runtime.run(run_id, who="ann"))["pauses"]


def test_a_clock_that_jumps_ahead_expires_what_is_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = desk_of(tmp_path / "repo", {"ts": "return ctx.requestInput({question: 'Q', timeoutMs: 3600000});"})
    real = time.time

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            await desk.run("ask")
            monkeypatch.setattr(time, "time", lambda: real() + 3601)
            await desk.until("run", status="expired")

    play(story())


PARENTS: dict[str, dict[str, Handler]] = {
    "typescript": {
        "lets": {"ts": "return await ctx.callTool('ask', {});"},
        "tells": {
            "ts": """
try { return await ctx.callTool('lets', {}); }
catch (error) { return [error.name, error.code, error.cause.code]; }
"""
        },
    },
    "python": {
        "lets": {"py": "return await ctx.call_tool('ask', {})"},
        "tells": {
            "py": """
try:
    return await ctx.call_tool('lets', {})
except CompositeCallError as error:
    return [type(error).__name__, error.code, error.cause['code']]
"""
        },
    },
}
ASK: dict[str, Handler] = {
    "typescript": {"ts": "return ctx.requestInput({question: 'Q', timeoutMs: 0});"},
    "python": {"py": "return await ctx.request_input(question='Q', timeout_ms=0)"},
}


@pytest.mark.parametrize(("language", "child"), [("typescript", "python"), ("python", "typescript")])
def test_callers_can_tell_and_a_run_that_lets_it_through_expires(tmp_path: Path, language: str, child: str) -> None:
    repo = desk_of(tmp_path / "repo", ASK[child])
    repo.durable("lets", tools=("ask",), **PARENTS[language]["lets"])
    repo.durable("tells", tools=("lets",), **PARENTS[language]["tells"])
    repo.tool(
        "inline", tools=("ask",), ts="try { return await ctx.callTool('ask', {}); } catch (e) { return e.cause; }"
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            told = await desk.run("tells")
            assert told["result"] == ["CompositeCallError", "execution-failed", "pause-expired"]
            outcome = (await desk.run("lets"))["outcome"]
            assert (outcome["kind"], outcome["code"]) == ("expired", "pause-expired")
            assert 'Tool "ask" failed: The question "Q"' in outcome["reason"]
            assert (await desk.run("inline"))["result"]["code"] == "pause-expired"

    play(story())


def test_a_failure_of_another_kind_stays_a_failure(tmp_path: Path) -> None:
    repo = desk_of(
        tmp_path / "repo",
        {
            "ts": """
try { await ctx.requestInput({question: 'Q', timeoutMs: 0}); }
catch (error) { throw new Error('no ' + error.code); }
"""
        },
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            outcome = (await desk.run("ask"))["outcome"]
            assert (outcome["kind"], outcome["reason"]) == ("failed", 'Tool "ask" failed: no pause-expired')

    play(story())


@both(
    """
ctx.callTool('endless', {});
return (await ctx.requestInput({question: 'Q', timeoutMs: 1000, onExpire: {value: 'nobody'}})).value;
""",
    """
import asyncio
endless = asyncio.ensure_future(ctx.call_tool('endless', {}))
return (await ctx.request_input(question='Q', timeout_ms=1000, on_expire={'value': 'nobody'}))['value']
""",
)
def test_a_question_expires_beside_a_call_that_goes_on(tmp_path: Path, handler: Handler) -> None:
    repo = desk_of(tmp_path / "repo", handler, tools=("endless",))
    repo.tool("endless", ts="await new Promise(r => ctx.signal.addEventListener('abort', r));", timeout=60000)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            done = await desk.run("ask")
            assert done["result"] == "nobody"
            assert outcomes(await desk.detail(done["sessionId"])) == ["expired"]

    play(story())


def test_listeners_are_told_of_a_question_that_expires_while_its_run_goes_on(tmp_path: Path) -> None:
    asked = "ctx.requestInput({question: 'Q', timeoutMs: 1000, onExpire: {value: 1}}), ctx.callTool('endless', {})"
    repo = desk_of(tmp_path / "repo", {"ts": f"return Promise.all([{asked}]);"}, tools=("endless",))
    repo.tool("endless", ts="await new Promise(r => ctx.signal.addEventListener('abort', r));", timeout=60000)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask", wait_s=0))["sessionId"]
            closed = await desk.until("pause-closed", outcome="expired")
            assert closed.wire["status"] == "running"
            await desk.runtime.cancel(run_id, who="ann")

    play(story())


@both(
    """
await Promise.race([ctx.callTool('endless', {}), ctx.sleepUntil(ctx.now() + 1100)]);
return 'awake';
""",
    """
import asyncio
calls = [asyncio.ensure_future(call) for call in (ctx.call_tool('endless', {}), ctx.sleep_until(ctx.now() + 1100))]
await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
return 'awake'
""",
)
def test_a_sleep_ends_beside_a_call_that_goes_on(tmp_path: Path, handler: Handler) -> None:
    repo = desk_of(tmp_path / "repo", handler, tools=("endless",))
    repo.tool("endless", ts="await new Promise(r => ctx.signal.addEventListener('abort', r));", timeout=60000)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert (await desk.run("ask"))["result"] == "awake"

    play(story())


@both(
    """
const answer = ctx.requestInput('Q').then(() => 'answer');
return await Promise.race([answer, new Promise(r => setTimeout(() => r('timer'), 1300))]);
""",
    """
import asyncio
try:
    return (await asyncio.wait_for(ctx.request_input('Q'), 1.3))['value']
except TimeoutError:
    return 'timer'
""",
)
def test_a_race_lost_to_a_timer_ends_the_run_and_supersedes_the_question(tmp_path: Path, handler: Handler) -> None:
    async def story() -> None:
        async with bench(desk_of(tmp_path / "repo", handler), tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            await desk.until("run", status="completed")
            detail = await desk.detail(run_id)
            assert (detail["run"]["result"], outcomes(detail)) == ("timer", ["superseded"])
            span = (await desk.spans(run_id))["0"]
            assert (span["state"], span["code"]) == ("cancelled", "pause_superseded")
            assert (await refusal(desk, run_id, "late")).code == "not_awaiting_input"

    play(story())
