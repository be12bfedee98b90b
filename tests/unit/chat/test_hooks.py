"""Hooks in the turns of a conversation: what a model does not see of a message, and a person not of an answer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from runtime_core.agents.scripted import ScriptedModel
from runtime_core.agents.turns import Heard, Reply, Turn, unheard
from tests.unit.chat.talking import Talker, of_type, talking
from tests.unit.chat.test_turns import calls, desk
from tests.unit.engine.workshop import Repo, play


def guard(repo: Repo, *points: str, body: str) -> None:
    repo.file("hooks/guard/hook.json", {"points": points, "failPolicy": "closed"})
    repo.file(
        "hooks/guard/hook.py",
        "def create_hook(config):\n    return Guard()\n\n\nclass Guard:\n    def run(self, point, payload, ctx):\n"
        f"        {body}\n        return {{'action': 'allow'}}\n",
    )


@pytest.mark.parametrize("point", ["preInput", "preOutput"])
def test_a_hook_keeps_what_is_said_from_the_other_side(tmp_path: Path, point: str) -> None:
    repo = desk(tmp_path / "desk", {"match": "^hello", "text": "The code is 4711."}, {"text": "Fine.", "repeat": True})
    body = "if '47' in payload.get('text', ''): return {'action': 'block', 'reason': 'it holds a code'}"
    guard(repo, point, body=body)

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("hello" if point == "preOutput" else "My code is 4799")
            (error,) = of_type(told, "error")
            assert (error["code"], error["message"]) == ("blocked", 'The hook "guard" blocked this: it holds a code')
            assert told[-1]["reason"] == "error"
            assert of_type(told, "text_delta") == []
            assert Talker.text(await talker.say("again")) == "Fine."
            session = await talker.session()
            assert "4711" not in json.dumps(session)
            assert session["turns"][0]["events"][-1]["code"] == "blocked"

    play(story())


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What persons said as the model was given it, for each time that it was asked."""
    given: list[list[str]] = []
    reply = ScriptedModel.reply

    async def spied(self: ScriptedModel, turn: Turn, heard: Heard = unheard) -> Reply:
        given.append([message.text for message in turn.messages if message.role == "user"])
        return await reply(self, turn, heard)

    monkeypatch.setattr(ScriptedModel, "reply", spied)
    return given


@pytest.mark.parametrize("ending", ["stop", "close"])
def test_a_message_that_no_hook_has_let_through_reaches_no_model_later(
    tmp_path: Path, ending: str, seen: list[list[str]]
) -> None:
    repo = desk(tmp_path / "desk", {"text": "Fine.", "repeat": True})
    guard(repo, "preInput", body="import time; 'SECRET' not in payload['text'] or time.sleep(60)")

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            await talker.say("one")
            async for one in talker.events("SECRET"):
                if one["type"] == "init":
                    chats = talker.runtime.chats
                    await (chats.stop(str(talker.session_id)) if ending == "stop" else chats.close())
            await talker.say("go on")
            assert [turn["text"] for turn in (await talker.session())["turns"]] == ["one", "SECRET", "go on"]

    play(story())
    assert seen == [["one"], ["one", "go on"]]


def test_a_message_that_was_let_through_is_known_later_although_its_turn_was_stopped(
    tmp_path: Path, seen: list[list[str]]
) -> None:
    repo = desk(tmp_path / "desk", calls("wait", match="^first"), {"text": "Fine."})
    repo.agent("default", tools=["wait"])
    repo.tool("wait", py="import asyncio\nawait asyncio.sleep(60)", timeout=100_000)
    guard(repo, "preInput", body="pass")

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            async for one in talker.events("first"):
                if one["type"] == "tool_call_start":
                    await talker.runtime.chats.stop(str(talker.session_id))
            await talker.say("go on")

    play(story())
    assert seen == [["first"], ["first", "go on"]]


def test_a_hook_keeps_back_what_a_trigger_would_say(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"text": "Fine."})
    trigger = {"kind": "regex", "pattern": "^late"}
    repo.tool("late", py="return {'message': 'The code is 4711.'}", effect="read", triggers=[trigger])
    guard(repo, "preOutput", body="if '47' in payload['text']: return {'action': 'block', 'reason': 'it holds a code'}")

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("late please")
            assert of_type(told, "text_delta") == []
            assert [one["code"] for one in of_type(told, "error")] == ["blocked"]
            assert told[-1]["reason"] == "error"
            end = (await talker.session())["turns"][0]["end"]
            assert (end["reason"], end["blocked"]) == ("error", "output")

    play(story())


@pytest.mark.parametrize("text", ["Fine.", ""])
def test_a_hook_sees_the_reasoning_of_an_answer_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    repo = desk(tmp_path / "desk", {"text": text, **({} if text else calls("look"))}, {"text": "Done."})
    is_reasoning = "payload.get('kind') == 'reasoning' and '47' in payload['text']"
    guard(repo, "preOutput", body=f"if {is_reasoning}: return {{'action': 'block', 'reason': 'it holds a code'}}")
    reply = ScriptedModel.reply

    async def thinking(self: ScriptedModel, turn: Turn, heard: Heard = unheard) -> Reply:
        heard("reasoning", "It is 4711.")
        return replace(await reply(self, turn, heard), reasoning="It is 4711.")

    monkeypatch.setattr(ScriptedModel, "reply", thinking)

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("go")
            assert "4711" not in json.dumps(told)
            assert [one["code"] for one in of_type(told, "error")] == ["blocked"]
            assert "4711" not in json.dumps(await talker.session())

    play(story())


def test_an_allowed_answer_is_told_when_the_hook_has_seen_it(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", calls("look", "I look first.", match="^go"), {"text": "All is well."})
    guard(repo, "preOutput", "postTurn", body="ctx.log(point)")

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("go")
            assert [one["content"] for one in of_type(told, "text_delta")] == ["I look first.", "All is well."]

    play(story())
    logged = (tmp_path / "data" / "logs" / "handlers.log").read_text()
    assert [logged.count(f"log {point}\n") for point in ("preOutput", "postTurn")] == [2, 1]
