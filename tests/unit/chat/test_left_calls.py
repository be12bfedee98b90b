"""Calls that their turn leaves behind: what becomes of them, and how that is told."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from runtime_core.runtime import Runtime
from runtime_core.wire.codes import RuntimeFault
from tests.unit.chat.talking import Talker, of_type, talking
from tests.unit.chat.test_turns import calls, desk
from tests.unit.engine.workshop import Repo, play

GUARDED = """
import asyncio
import pathlib


async def handle(ctx):
    ctx.log("it pays")
    while not pathlib.Path({goes!r}).exists():
        await asyncio.sleep(0.02)
    return "paid"


tool = {{
    "id": "pay",
    "exposure": {{"kind": "requires-confirmation"}},
    "base": {{"description": "Pays.", "parametersJsonSchema": {{"type": "object"}}}},
    "handle": handle,
}}
"""


def paying(root: Path) -> tuple[Repo, Path]:
    """A desk whose agent pays when a person allows it, and the file which tells that it may end."""
    goes = root / "goes"
    repo = desk(root / "desk", calls("pay", match="^go"), {"match": "^and", "text": "{{last_tool_result}}"})
    repo.agent("default", tools=["pay"])
    repo.file("amodal/tools/pay/tool.py", GUARDED.format(goes=str(goes)))
    return repo, goes


def pays(root: Path) -> bool:
    log = root / "data" / "logs" / "handlers.log"
    return log.exists() and "it pays" in log.read_text()


def test_an_allowed_call_goes_on_when_its_turn_is_stopped(tmp_path: Path) -> None:
    repo, goes = paying(tmp_path)

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            await talker.runtime.recover()
            run_id, answering = "", None
            async for one in talker.events("go"):
                if one["type"] == "confirmation_required":
                    run_id = one["correlation_id"]
                    answering = asyncio.create_task(talker.desk.answer(run_id, True))
                    while not pays(tmp_path):  # noqa: ASYNC110 - a handler in another process makes it
                        await asyncio.sleep(0.02)
                    await talker.runtime.chats.stop(str(talker.session_id))
            (told,) = of_type((await talker.session())["turns"][0]["events"], "tool_call_update")
            assert (told["state"], told["durable_session_id"]) == ("running", run_id)
            goes.touch()
            assert answering is not None
            assert (await answering)["result"] == "paid"
            await talker.desk.until("run", session_id=run_id, status="completed")
            (told,) = of_type((await talker.session())["turns"][0]["events"], "tool_call_result")
            assert (told["state"], told["result"]) == ("ok", "paid")
            known = json.loads(Talker.text(await talker.say("and?")))
            assert (known["session_id"], known["result"]) == (run_id, "paid")

    play(story())


def test_stopping_a_turn_withdraws_what_nobody_has_allowed(tmp_path: Path) -> None:
    repo, _ = paying(tmp_path)

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            run_id = ""
            async for one in talker.events("go"):
                if one["type"] == "confirmation_required":
                    run_id = one["correlation_id"]
                    await talker.runtime.chats.stop(str(talker.session_id))
            await talker.desk.until("run", session_id=run_id, status="cancelled")
            (decision,) = (await talker.desk.detail(run_id))["decisions"]
            assert (decision["outcome"], decision["answered_by"]) == ("cancelled", "runtime")
            with pytest.raises(RuntimeFault) as late:
                await talker.desk.answer(run_id, True)
            assert late.value.code == "run_cancelled"
            assert not pays(tmp_path)

    play(story())


def test_a_conversation_that_another_process_deletes_asks_nothing_more(tmp_path: Path) -> None:
    repo, _ = paying(tmp_path)

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            other = Runtime(tmp_path / "data", execute=False)
            await other.open()
            told: list[dict[str, Any]] = []
            async for one in talker.events("go"):
                told.append(one)
                if one["type"] == "confirmation_required":
                    await other.chats.delete(str(talker.session_id))
                    assert (await other.pending(who="ann"))["total"] == 0
            (failed,) = of_type(told, "error")
            assert (failed["code"], told[-1]["type"], told[-1]["reason"]) == ("NOT_FOUND", "done", "error")
            assert not pays(tmp_path)
            await other.close()

    play(story())


def test_a_handler_that_says_what_a_run_would_is_not_told_what_became_of_it(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", calls("ship"), {"text": "I wait."})
    repo.agent("default", tools=["ship", "forge"])
    repo.durable("ship", py="return (await ctx.request_input('To whom?'))['value']")
    repo.tool("forge", py="return params")

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            (ended,) = of_type(await talker.say("ship", scope="b"), "tool_call_result")
            run_id, forged = ended["durable_session_id"], json.loads(ended["result"])
            repo.script(calls("forge", **forged), {"text": "I wait."}, {"text": "{{last_tool_result}}"})
            talker.session_id = None
            (told,) = of_type(await talker.say("forge", scope="a"), "tool_call_result")
            assert (json.loads(told["result"]), "durable_session_id" in told) == (forged, False)
            await talker.desk.answer(run_id, "secret")
            assert json.loads(Talker.text(await talker.say("and?"))) == forged

    play(story())
