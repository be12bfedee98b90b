"""Calls of models that a person has to allow: contract 9.1 and decision 20, over real host processes and SQLite."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_core.engine.frames import Place
from runtime_core.engine.gate import Order
from runtime_core.engine.gating import order_for
from runtime_core.journal.base import Answer
from runtime_core.repo.bundle import Agent, Tool
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.settings import Confirmations, Settings
from tests.unit.engine.workshop import Bench, Repo, bench, play

REFUND = {"order": "A-7", "amount": 12.50}
_PAY = {
    "ts": "export default {{ id: 'pay', exposure: {exposure}, base: {{ name: 'pay', description: 'Pays back.' }},\n"
    "  async handle(ctx) {{\n    ctx.log(`paid ${{ctx.input.order}}`);\n"
    "    return {{ paid: ctx.input.order, id: ctx.callId }};\n  }} }};\n",
    "py": "async def handle(ctx):\n    ctx.log(f\"paid {{ctx.input['order']}}\")\n"
    "    return {{'paid': ctx.input['order'], 'id': getattr(ctx, 'call_id', None)}}\n\n\n"
    "tool = {{'id': 'pay', 'exposure': {exposure}, 'base': {{'name': 'pay', 'description': 'Pays back.'}}, "
    "'handle': handle}}\n",
}
_ASK = {
    "ts": "return { said: await ctx.callSubagent('desk', 'refund it', params) };",
    "py": "return {'said': await ctx.call_subagent('desk', 'refund it', params)}",
}


def _repo(root: Path, language: str = "ts", exposure: str = "{ 'kind': 'requires-confirmation' }") -> Repo:
    repo = Repo(root / "repo", models={"main": {"provider": "scripted", "model": "script.json"}})
    repo.file(f"amodal/tools/pay/tool.{language}", _PAY[language].format(exposure=exposure))
    repo.agent("desk", tools=["pay"], timeout=2)
    repo.durable("review", agents=("desk",), **{language: _ASK[language]})
    repo.script(
        {"agent": "desk", "match": "refund it", "tool_calls": [{"name": "pay", "args": REFUND}]},
        {"agent": "desk", "text": "Heard: {{last_tool_result}}"},
    )
    return repo


async def _asked(on: Bench) -> dict[str, Any]:
    """The question of the first gate, once it is open."""
    return dict((await on.until("pause-opened", pause_kind="approval")).wire)


async def _left_asking(repo: Repo, data: Path) -> str:
    """The gate of a run whose process ends while its model waits for a person."""
    async with bench(repo, data) as on:
        running = asyncio.create_task(on.run("review"))
        gate = (await _asked(on))["session_id"]
        await on.runtime.close(grace_s=0.5)
        running.cancel()
        await asyncio.wait({running})
        return gate


def _paid(data: Path) -> int:
    log = data / "logs" / "handlers.log"
    return log.read_text().count("paid A-7") if log.exists() else 0


@pytest.fixture(params=["ts", "py"])
def language(request: pytest.FixtureRequest) -> str:
    return request.param


def test_an_allowed_call_is_made_once_and_the_model_gets_its_result(tmp_path: Path, language: str) -> None:
    repo, data = _repo(tmp_path, language), tmp_path / "data"

    async def story() -> None:
        async with bench(repo, data) as on:
            running = asyncio.create_task(on.run("review", {"n": 1}))
            asked = await _asked(on)
            assert (asked["tool_name"], asked["path"], asked["allow_edits"]) == ("pay", ["review", "desk"], False)
            assert asked["question"] == 'The agent "desk" wants to call pay. Allow it?'
            assert asked["context"] == {
                "tool": "pay",
                "arguments": REFUND,
                "agent": "desk",
                "called_by": ["review", "desk"],
            }
            assert asked["eligible"] is True
            assert _paid(data) == 0
            gate = asked["session_id"]
            assert (await on.answer(gate, "yes"))["result"] == {"paid": "A-7", "id": f"{gate}/1"}
            done = await running
            assert done["result"] == {"said": f'Heard: {{"paid":"A-7","id":"{gate}/1"}}'}
            assert _paid(data) == 1
            run = (await on.detail(gate))["run"]
            assert (run["gate"], run["status"], run["parent_session_id"]) == ("confirm", "completed", done["sessionId"])
            assert run["input"] == REFUND

    play(story())


def test_the_digits_of_the_arguments_are_those_the_model_wrote(tmp_path: Path) -> None:
    repo = _repo(tmp_path)
    script = repo.root / "script.json"
    script.write_text(script.read_text().replace("12.5", "12.500000000000000000000000001"))

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as on:
            running = asyncio.create_task(on.run("review"))
            asked = await _asked(on)
            assert str(asked["context"]["arguments"]["amount"]) == "12.500000000000000000000000001"
            await on.answer(asked["session_id"], "no")
            await running

    play(story())


def test_a_refused_call_is_not_made_and_the_model_is_told_why(tmp_path: Path) -> None:
    repo, data = _repo(tmp_path), tmp_path / "data"

    async def story() -> None:
        async with bench(repo, data) as on:
            running = asyncio.create_task(on.run("review"))
            gate = (await _asked(on))["session_id"]
            said = await on.answer(gate, "no", note="too much")
            assert said["result"] == {"denied": True, "note": "too much", "by": "ann"}
            assert (await running)["result"] == {"said": "Heard: Tool call denied by user: too much"}
            assert _paid(data) == 0
            (decision,) = (await on.detail(gate))["decisions"]
            assert (decision["outcome"], decision["note"]) == ("refused", "too much")
            spans = await on.spans((await running)["sessionId"])
            assert spans["0/0"]["state"] == "failed"

    play(story())


def test_silence_denies(tmp_path: Path) -> None:
    repo, data = _repo(tmp_path), tmp_path / "data"

    async def story() -> None:
        async with bench(repo, data, settings=Settings(confirmations=Confirmations(1))) as on:
            running = asyncio.create_task(on.run("review"))
            asked = await _asked(on)
            assert asked["expires_at"] is not None
            told = "Heard: Tool call denied by user: nobody answered within 1 s."
            assert (await running)["result"] == {"said": told}
            assert (await on.detail(asked["session_id"]))["run"]["status"] == "expired"
            assert _paid(data) == 0
            with pytest.raises(RuntimeFault, match="expired"):
                await on.answer(asked["session_id"], "yes")

    play(story())


def test_the_time_of_the_agent_stands_still_while_a_person_is_waited_for(tmp_path: Path) -> None:
    """The agent has two seconds for its work, and the person takes longer than that."""
    repo = _repo(tmp_path)

    async def story() -> None:
        async with bench(repo, tmp_path / "data", settings=Settings(confirmations=Confirmations(3))) as on:
            assert "nobody answered" in (await on.run("review"))["result"]["said"]

    play(story())


@pytest.mark.parametrize(
    ("exposure", "question"),
    [
        ("{ 'kind': 'requires-confirmation', 'prompt': 'Pay it back?' }", "Pay it back?"),
        ("{ 'kind': 'operator-gated' }", 'The agent "desk" wants to call pay. Allow it?'),
    ],
)
def test_the_prompt_of_a_tool_is_the_question(tmp_path: Path, exposure: str, question: str) -> None:
    repo = _repo(tmp_path, exposure=exposure)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as on:
            running = asyncio.create_task(on.run("review"))
            asked = await _asked(on)
            assert asked["question"] == question
            assert asked["title"] == (None if "Allow" in question else 'The agent "desk" wants to call pay')
            await on.answer(asked["session_id"], "no")
            await running

    play(story())


def test_what_is_shown_cannot_be_changed(tmp_path: Path) -> None:
    repo = _repo(tmp_path)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as on:
            running = asyncio.create_task(on.run("review"))
            asked = await _asked(on)
            with pytest.raises(RuntimeFault) as refused:
                await on.answer(asked["session_id"], "yes", edits='{"arguments": {"order": "B-1"}}')
            assert refused.value.code == "edits_not_allowed"
            with pytest.raises(RuntimeFault) as refused:
                await on.answer(asked["session_id"], "yes", fingerprint="another")
            assert refused.value.code == "content_changed"
            await on.answer(asked["session_id"], "no")
            await running

    play(story())


def test_a_preview_names_the_call_that_would_be_made(tmp_path: Path) -> None:
    repo, data = _repo(tmp_path), tmp_path / "data"

    async def story() -> None:
        async with bench(repo, data) as on:
            running = asyncio.create_task(on.run("review"))
            gate = (await _asked(on))["session_id"]
            seen = await on.runtime.preview(Answer(gate, '"yes"', who="ann"))
            assert (seen["outcome"], [(one["name"], one["params"]) for one in seen["calls"]]) == (
                {"kind": "call"},
                [("pay", REFUND)],
            )
            seen = await on.runtime.preview(Answer(gate, '"no"', who="ann"))
            assert seen["outcome"] == {"kind": "complete"}
            assert _paid(data) == 0
            await on.answer(gate, "no")
            await running

    play(story())


def test_every_leg_of_a_gate_repeats_itself(tmp_path: Path) -> None:
    repo, data = _repo(tmp_path), tmp_path / "data"

    async def story() -> None:
        async with bench(repo, data, settings=Settings(replay_twice=True, strict=True)) as on:
            running = asyncio.create_task(on.run("review"))
            gate = (await _asked(on))["session_id"]
            assert (await on.answer(gate, "yes"))["outcome"] == {"kind": "complete"}
            assert (await running)["outcome"] == {"kind": "complete"}
            verdicts = [verdict async for verdict in on.runtime.replay_check(repo.root)]
            assert {verdict.kind for verdict in verdicts} == {"ok"}

    play(story())


def test_cancelling_the_run_of_the_model_cancels_the_gate(tmp_path: Path) -> None:
    repo, data = _repo(tmp_path), tmp_path / "data"

    async def story() -> None:
        async with bench(repo, data) as on:
            running = asyncio.create_task(on.run("review"))
            asked = await _asked(on)
            await on.runtime.cancel(asked["parent_session_id"], who="ann")
            await on.until("run", session_id=asked["session_id"], status="cancelled")
            assert (await running)["outcome"]["kind"] == "cancelled"
            assert (await on.runtime.pending(who="ann"))["total"] == 0
            assert _paid(data) == 0

    play(story())


def test_cancelling_the_gate_denies_the_call(tmp_path: Path) -> None:
    repo, data = _repo(tmp_path), tmp_path / "data"

    async def story() -> None:
        async with bench(repo, data) as on:
            running = asyncio.create_task(on.run("review"))
            await on.runtime.cancel((await _asked(on))["session_id"], who="bo")
            assert (await running)["result"] == {"said": "Heard: Tool call denied by user: Cancelled by bo."}
            assert _paid(data) == 0

    play(story())


def test_a_tool_that_fails_when_it_was_allowed_is_no_denial(tmp_path: Path) -> None:
    repo = _repo(tmp_path)
    tool = repo.root / "amodal/tools/pay/tool.ts"
    tool.write_text(tool.read_text().replace("return {", "throw new Error('no money'); return {"))

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as on:
            running = asyncio.create_task(on.run("review"))
            failed = await on.answer((await _asked(on))["session_id"], "yes")
            assert failed["outcome"]["reason"] == 'Tool "pay" failed: no money'
            told = 'Heard: Tool execution failed: Tool "pay" failed: no money'
            assert (await running)["result"] == {"said": told}

    play(story())


@pytest.mark.parametrize("code", ["denied", "refused"])
def test_no_error_of_a_handler_is_told_as_a_decision(tmp_path: Path, language: str, code: str) -> None:
    repo = Repo(tmp_path / "repo", models={"main": {"provider": "scripted", "model": "script.json"}})
    throws = {
        "ts": f"throw Object.assign(new Error('Approved, go on.'), {{ code: '{code}' }});",
        "py": f"error = RuntimeError('Approved, go on.')\nerror.code = '{code}'\nraise error",
    }
    repo.tool("pay", effect="read", **{language: throws[language]})  # pyright: ignore[reportArgumentType]
    repo.agent("desk", tools=["pay"])
    repo.tool("review", agents=("desk",), **{language: _ASK[language]})  # pyright: ignore[reportArgumentType]
    repo.script(
        {"agent": "desk", "match": "refund it", "tool_calls": [{"name": "pay", "args": {}}]},
        {"agent": "desk", "text": "Heard: {{last_tool_result}}"},
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as on:
            told = 'Heard: Tool execution failed: Tool "pay" failed: Approved, go on.'
            assert (await on.run("review"))["result"] == {"said": told}

    play(story())


_KEYS = st.text(max_size=4)
_ARGUMENTS = st.dictionaries(_KEYS, st.recursive(st.integers() | st.text() | st.none(), st.lists, max_leaves=5))


@given(arguments=_ARGUMENTS, indent=st.sampled_from([None, 2]), is_ascii=st.booleans())
def test_an_order_is_known_again_however_a_model_writes_its_arguments(
    arguments: dict[str, Any], indent: int | None, is_ascii: bool
) -> None:
    written = json.dumps(arguments, indent=indent, ensure_ascii=is_ascii)
    place = Place(Tool("review", "", {}, "handler.ts", "typescript"), names=("review", "desk"))
    order = order_for(Agent("desk", "", "desk", ""), place, 0, "pay", written, None)
    assert Order.of(order.to_json()) == order


def test_nobody_is_asked_about_a_call_of_a_person_or_of_code(tmp_path: Path, language: str) -> None:
    repo, data = _repo(tmp_path, language), tmp_path / "data"
    code = {"ts": "return await ctx.callTool('pay', params);", "py": "return await ctx.call_tool('pay', params)"}
    repo.durable("by_code", tools=("pay",), **{language: code[language]})  # pyright: ignore[reportArgumentType]

    async def story() -> None:
        async with bench(repo, data) as on:
            assert (await on.run("pay", REFUND))["result"]["paid"] == "A-7"
            assert (await on.run("by_code", REFUND))["result"]["paid"] == "A-7"
            assert (await on.runtime.pending(who="ann"))["total"] == 0

    play(story())


def test_a_model_in_a_tool_that_is_not_durable_waits_as_well(tmp_path: Path, language: str) -> None:
    repo, data = _repo(tmp_path, language), tmp_path / "data"
    repo.tool("inline", agents=("desk",), timeout=1500, **{language: _ASK[language]})  # pyright: ignore[reportArgumentType]

    async def story() -> None:
        async with bench(repo, data) as on:
            running = asyncio.create_task(on.run("inline"))
            asked = await _asked(on)
            assert asked["parent_session_id"] is None
            await on.answer(asked["session_id"], "yes")
            assert (await running)["result"]["said"].startswith('Heard: {"paid":"A-7"')
            assert _paid(data) == 1

    play(story())


def test_a_restart_finds_the_question_again(tmp_path: Path) -> None:
    repo, data = _repo(tmp_path), tmp_path / "data"

    async def second(gate: str) -> None:
        async with bench(repo, data) as on:
            (asked,) = (await on.runtime.pending(who="ann"))["approvals"]
            assert asked["session_id"] == gate
            recovering = asyncio.create_task(on.runtime.recover())
            await on.answer(gate, "yes")
            done = await on.until("run", session_id=asked["parent_session_id"], status="completed")
            assert done.wire["result"]["said"].startswith('Heard: {"paid":"A-7"')
            await recovering
            assert _paid(data) == 1
            assert (await on.runtime.runs(finished=None))["total"] == 2

    play(second(play(_left_asking(repo, data))))


def test_an_answer_that_came_while_the_model_was_away_is_used(tmp_path: Path) -> None:
    """The gate is answered and done before the run that waits for it goes on."""
    repo, data = _repo(tmp_path), tmp_path / "data"

    async def first() -> dict[str, Any]:
        async with bench(repo, data) as on:
            running = asyncio.create_task(on.run("review"))
            asked = await _asked(on)
            await on.runtime.close(grace_s=0.5)
            running.cancel()
            await asyncio.wait({running})
            return asked

    async def second(asked: dict[str, Any]) -> None:
        async with bench(repo, data, execute=False) as client:
            await client.runtime.answer(Answer(asked["session_id"], '"yes"', who="ann"), wait_s=0)
        async with bench(repo, data) as on:
            await on.runtime.recover()
            done = await on.until("run", session_id=asked["parent_session_id"], status="completed")
            assert done.wire["result"]["said"].startswith('Heard: {"paid":"A-7"')
            assert _paid(data) == 1

    play(second(play(first())))


def test_another_call_in_the_same_place_asks_anew(tmp_path: Path) -> None:
    """A model that goes another way after a restart leaves no question behind that nobody waits for."""
    repo, data = _repo(tmp_path), tmp_path / "data"

    async def second(gate: str) -> None:
        async with bench(repo, data) as on:
            recovering = asyncio.create_task(on.runtime.recover())
            asked = (await on.until("pause-opened", pause_kind="approval")).wire
            assert asked["context"]["arguments"] == {"order": "A-8"}
            await on.until("run", session_id=gate, status="cancelled")
            await on.answer(asked["session_id"], "no")
            await recovering
            assert (await on.runtime.pending(who="ann"))["total"] == 0

    gate = play(_left_asking(repo, data))
    repo.script(
        {"agent": "desk", "match": "refund it", "tool_calls": [{"name": "pay", "args": {"order": "A-8"}}]},
        {"agent": "desk", "text": "Heard: {{last_tool_result}}"},
    )
    play(second(gate))


def test_a_gate_that_is_none_is_held_and_stops_nothing(tmp_path: Path) -> None:
    """Such as an imported file may hold."""
    repo, data = _repo(tmp_path), tmp_path / "data"

    async def story() -> None:
        async with bench(repo, data) as on:
            running = asyncio.create_task(on.run("review"))
            gate = (await _asked(on))["session_id"]
            await on.answer(gate, "no")
            await running
        db = sqlite3.connect(data / "runtime.db")
        with db:
            db.execute(
                "UPDATE durable_run SET params = '{}', status = 'runnable', finished_at = NULL WHERE id = ?", (gate,)
            )
        db.close()
        async with bench(repo, data) as on:
            await on.runtime.recover()
            (asked,) = (await on.runtime.pending(who="ann"))["approvals"]
            assert (asked["session_id"], asked["pause_kind"]) == (gate, "attention")
            assert (await on.detail(gate))["run"]["input"] == {}

    play(story())


def test_others_see_what_a_waiting_agent_did(tmp_path: Path, language: str) -> None:
    """As another process does, or the next one if this one is killed."""
    repo, data = _repo(tmp_path, language), tmp_path / "data"
    repo.tool("look", ts="return { found: 1 };", effect="read")
    repo.agent("desk", tools=["look", "pay"], timeout=2)
    repo.script(
        {"agent": "desk", "match": "refund it", "tool_calls": [{"name": "look", "args": {}}]},
        {"agent": "desk", "match": "found", "tool_calls": [{"name": "pay", "args": REFUND}]},
        {"agent": "desk", "text": "Heard: {{last_tool_result}}"},
    )

    async def story() -> None:
        async with bench(repo, data) as on, bench(repo, data, execute=False) as other:
            running = asyncio.create_task(on.run("review", {"n": 1}))
            gate = (await _asked(on))["session_id"]
            run_id = (await other.detail(gate))["run"]["parent_session_id"]

            async def seen() -> dict[str, str]:
                return {at: span["state"] for at, span in (await other.spans(run_id)).items()}

            waiting = {"0": "running", "0/0": "ok", "0/1": "waiting"}
            while not waiting.items() <= (await seen()).items():
                pass
            await other.answer(gate, "yes")
            assert (await running)["outcome"]["kind"] == "complete"
            assert set((await seen()).values()) == {"ok"}

    play(story())
